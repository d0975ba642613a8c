//! Counts the instructions of object files by disassembly, whoever compiled them.
//!
//! The kinds are those of [`Static`], by the same definitions. So another compiler's code can be compared with the numbers
//! that chordal counted, and those numbers have a second opinion that shares no code with the first.
//!
//! Requires: ELF for x86-64 or i386, with the symbols of its functions.
//! Ensures: each byte of code is counted in one function at most; bytes outside functions, and bytes that are no
//! instruction, are reported.
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

/// The counts of one object: a file, or a member of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The name of the member, in an archive.
    pub member: Option<String>,
    /// The processor that the code is for.
    pub machine: Machine,
    /// The functions in the order of their code. Of their counts, an object file reveals only [`Counts::fixed`].
    pub functions: Vec<Function>,
    /// Bytes of code, other than padding, that are in no function. They are not counted.
    pub outside: u64,
    /// Bytes in functions that the decoder does not know as instructions: data, for example.
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

/// Counts the members of an archive. A member without code is passed over, if others have some.
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
        // If the symbol does not say where the function ends, the padding after it is not part of it.
        sum.bytes = Some(if function.symbol.size > 0 { function.symbol.size } else { end });
        let counts = Counts { fixed: sum, ..Counts::default() };
        Function { name: function.symbol.name.clone(), counts, ..Function::default() }
    }

    /// How many bytes between functions are not padding. Linkers pad with zeros and breakpoints as well.
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

    /// The instructions of an extent, with addresses relative to its start.
    fn classified(&mut self, extent: &Extent<'_>) -> Vec<(Instruction, Kind)> {
        let decoder = Decoder::with_ip(self.machine.bits(), extent.bytes(), 0, DecoderOptions::NONE);
        let classify = |instruction: Instruction| {
            let relocated = extent.is_relocated(instruction.ip() as usize..instruction.next_ip() as usize);
            (instruction, self.classifier.classify(&instruction, relocated))
        };
        decoder.into_iter().map(classify).collect()
    }
}
