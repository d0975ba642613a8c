//! Reads the sections of code of an object file, and the symbols of functions in them.

use super::CountError;
use object::read::archive::ArchiveFile;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use std::collections::HashMap;

/// A processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    X86_64,
    I386,
}

impl Machine {
    /// Its name, as target triples begin with it.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::I386 => "i386",
        }
    }

    /// The width of its addresses: the decoder needs it.
    pub fn bits(self) -> u32 {
        match self {
            Machine::X86_64 => 64,
            Machine::I386 => 32,
        }
    }
}

/// The code of an ELF file: relocatable, executable or shared.
pub struct ObjectFile<'d> {
    pub machine: Machine,
    /// In the order of the file.
    pub sections: Vec<Section<'d>>,
}

/// A section of code.
pub struct Section<'d> {
    pub address: u64,
    pub bytes: &'d [u8],
    /// Offsets of the bytes that a linker still has to fill in, in ascending order.
    pub relocations: Vec<u64>,
    /// Symbols of functions, in the order of the symbol table.
    pub symbols: Vec<Symbol>,
}

/// The symbol of a function.
pub struct Symbol {
    pub name: String,
    pub address: u64,
    /// 0 if unknown, as in assembly without `.size`.
    pub size: u64,
    pub global: bool,
}

impl<'d> ObjectFile<'d> {
    /// # Errors
    /// If the file is damaged, is for another processor, or has no code or no symbol table.
    pub fn parse(bytes: &'d [u8]) -> Result<Self, CountError> {
        let file = object::File::parse(bytes)?;
        let machine = match file.architecture() {
            // X32 is 64-bit code with short pointers.
            Architecture::X86_64 | Architecture::X86_64_X32 => Machine::X86_64,
            Architecture::I386 => Machine::I386,
            other => return Err(CountError::Machine(format!("{other:?}"))),
        };
        let mut sections = Vec::new();
        let mut places = HashMap::new();
        for section in file.sections().filter(is_code) {
            // Stubs that linkers generate to reach other libraries are no functions of the program.
            let bytes = section.data()?;
            if !bytes.is_empty() && !section.name_bytes()?.starts_with(b".plt") {
                places.insert(section.index(), sections.len());
                let mut relocations: Vec<u64> = section.relocations().map(|(offset, _)| offset).collect();
                relocations.sort_unstable();
                sections.push(Section { address: section.address(), bytes, relocations, symbols: Vec::new() });
            }
        }
        if sections.is_empty() {
            return Err(CountError::NoCode);
        }
        if file.symbol_table().is_none() {
            return Err(CountError::Stripped);
        }
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
            if let Some(place) = symbol.section_index().and_then(|section| places.get(&section)) {
                sections[*place].symbols.push(Symbol {
                    name: String::from_utf8_lossy(symbol.name_bytes()?).into_owned(),
                    address: symbol.address(),
                    size: symbol.size(),
                    global: symbol.is_global(),
                });
            }
        }
        Ok(ObjectFile { machine, sections })
    }
}

fn is_code<'d>(section: &impl ObjectSection<'d>) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_EXECINSTR))
}

/// The members of an archive: their names and contents.
///
/// # Errors
/// If the archive is damaged, or is a thin one, which does not contain its members.
pub fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, CountError> {
    let archive = ArchiveFile::parse(bytes)?;
    if archive.is_thin() {
        return Err(CountError::Thin);
    }
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member?;
        members.push((String::from_utf8_lossy(member.name()).into_owned(), member.data(bytes)?));
    }
    Ok(members)
}
