//! Counts instructions in object files, whoever compiled them, by disassembly.
//!
//! The kinds are those of [`Static`], by the same definitions, so that what another compiler wrote can be set beside what
//! chordal counted, and so that chordal's own numbers have a second opinion which shares no code with the first.
//!
//! | file | concern |
//! |---|---|
//! | `object_file.rs` | which bytes are code, for which processor, and which symbols are functions |
//! | `extents.rs` | which bytes belong to which function |
//! | `classify.rs` | what an instruction is counted as |

mod classify;
mod extents;
mod object_file;

pub use object_file::Machine;

use crate::measure::stats::{Counts, Function, Static};
use classify::{Classifier, Kind};
use extents::{Extent, Extents, FunctionExtent};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::FileKind;
use object_file::ObjectFile;

/// What was counted in one object: a file, or a member of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The name of the archive member.
    pub member: Option<String>,
    /// The processor.
    pub machine: Machine,
    /// The functions in the order of their code. Of their counts, only [`Counts::fixed`] can be known.
    pub functions: Vec<Function>,
    /// Bytes of code, padding apart, that are in no function: they are not counted.
    pub outside: u64,
    /// Bytes in functions that are no instruction known to us, data for example.
    pub unknown: u64,
}

/// Why an object cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error("the file is empty")]
    Empty,
    #[error("not an ELF object file, nor an archive of them")]
    Format,
    #[error("damaged: {0}")]
    Damaged(String),
    #[error("code for another machine ({0}): only x86-64 and i386 can be counted")]
    Machine(String),
    #[error("no code")]
    NoCode,
    #[error("no symbol table (stripped?), so it is not known where functions begin and end")]
    Stripped,
    #[error("no function has a symbol, so it is not known where functions begin and end")]
    NoFunctions,
    #[error("a thin archive, which does not contain its members: name the members instead")]
    Thin,
    #[error("member {name}: {error}")]
    Member { name: String, error: Box<CountError> },
}

impl From<object::Error> for CountError {
    fn from(error: object::Error) -> Self {
        CountError::Damaged(error.to_string())
    }
}

/// Counts all functions of an ELF file, or of all members of an archive.
///
/// # Errors
/// If the file is not ELF for x86-64 or i386, is damaged, or has no function.
pub fn count(file: &[u8]) -> Result<Vec<Counted>, CountError> {
    if file.is_empty() {
        return Err(CountError::Empty);
    }
    match FileKind::parse(file) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => Ok(vec![count_object(file, None)?]),
        Ok(FileKind::Archive) => count_archive(file),
        _ => Err(CountError::Format),
    }
}

/// Counts the members of an archive. That one has no code (but data, say) is nothing special, if others have.
fn count_archive(file: &[u8]) -> Result<Vec<Counted>, CountError> {
    let mut counted = Vec::new();
    for (name, bytes) in object_file::members(file)? {
        match count_object(bytes, Some(name.clone())) {
            Ok(object) => counted.push(object),
            Err(CountError::NoCode) => {}
            Err(error) => return Err(CountError::Member { name, error: Box::new(error) }),
        }
    }
    if counted.is_empty() { Err(CountError::NoCode) } else { Ok(counted) }
}

fn count_object(bytes: &[u8], member: Option<String>) -> Result<Counted, CountError> {
    let object = ObjectFile::parse(bytes)?;
    let extents = Extents::of(&object)?;
    let mut counter = Counter { machine: object.machine, classifier: Classifier::new(), unknown: 0 };
    let functions = extents.functions.iter().map(|extent| counter.function(extent)).collect();
    let outside = extents.gaps.iter().map(|gap| counter.code_in(gap)).sum();
    Ok(Counted { member, machine: object.machine, functions, outside, unknown: counter.unknown })
}

struct Counter {
    machine: Machine,
    classifier: Classifier,
    unknown: u64,
}

impl Counter {
    fn function(&mut self, function: &FunctionExtent<'_>) -> Function {
        let mut sum = Static::default();
        let mut end = 0;
        for (instruction, kind) in self.classified(&function.extent) {
            match kind {
                Kind::Padding => continue,
                Kind::Unknown => self.unknown += instruction.len() as u64,
                Kind::Instruction(traits) => traits.add_to(&mut sum),
            }
            end = instruction.next_ip();
        }
        // Where no symbol says where the function ends, the padding behind it is not part of it.
        sum.bytes = Some(if function.symbol.size > 0 { function.symbol.size } else { end });
        let counts = Counts { fixed: sum, ..Counts::default() };
        Function { name: function.symbol.name.clone(), counts, ..Function::default() }
    }

    /// How many bytes between functions are not padding. Linkers pad with zeros and breakpoints, too.
    fn code_in(&mut self, gap: &Extent<'_>) -> u64 {
        let mut code = 0;
        for (instruction, kind) in self.classified(gap) {
            let bytes = &gap.bytes()[instruction.ip() as usize..instruction.next_ip() as usize];
            let filler = bytes.iter().all(|byte| [0x00, 0xcc].contains(byte));
            if !filler && kind != Kind::Padding {
                code += bytes.len() as u64;
            }
        }
        code
    }

    /// The instructions of an extent, their addresses counted from its start.
    fn classified(&mut self, extent: &Extent<'_>) -> Vec<(Instruction, Kind)> {
        let decoder = Decoder::with_ip(self.machine.bits(), extent.bytes(), 0, DecoderOptions::NONE);
        let classify = |instruction: Instruction| {
            let relocated = extent.is_relocated(instruction.ip() as usize..instruction.next_ip() as usize);
            (instruction, self.classifier.classify(&instruction, relocated))
        };
        decoder.into_iter().map(classify).collect()
    }
}
