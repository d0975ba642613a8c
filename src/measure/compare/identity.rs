//! The identity of a compiler, for records that are to be used again.

use object::{Object as _, ObjectSection as _, SectionFlags, elf};
use xxhash_rust::xxh3::Xxh3;

/// Enters an executable: what of it is loaded when it runs. It is the same program with its symbols and debug information
/// stripped, and when it was linked once more; a build ID changes with these.
pub fn enter(executable: &[u8], hash: &mut Xxh3) {
    let Some(sections) = loaded(executable) else { return hash.update(executable) };
    for (address, data) in sections {
        hash.update(&address.to_le_bytes());
        hash.update(data);
    }
}

/// The sections that are loaded, but for notes, if it has such.
fn loaded(executable: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let file = object::File::parse(executable).ok()?;
    let is_loaded = |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
    let mut sections = Vec::new();
    for section in file.sections() {
        if is_loaded(section.flags()) && !section.name().ok()?.starts_with(".note") {
            sections.push((section.address(), section.data().ok()?));
        }
    }
    (!sections.is_empty()).then_some(sections)
}
