//! The identity of a compiler, for records that are to be used again.

use object::{Object as _, ObjectSection as _, SectionFlags, elf};
use xxhash_rust::xxh3::Xxh3;

/// Enters the sections of an executable that are loaded when it runs, or the whole file if it has no such sections.
///
/// Stripping symbols and debug information or linking the program once more does not change these sections; a build ID,
/// which is a note, does change.
pub fn enter(executable: &[u8], hash: &mut Xxh3) {
    let Some(sections) = loaded(executable) else { return hash.update(executable) };
    for (address, data) in sections {
        hash.update(&address.to_le_bytes());
        hash.update(data);
    }
}

/// The addresses and contents of the sections that are loaded, notes excepted; `None` if there are none.
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
