//! Reading modules: bitcode or textual IR, from a file or from standard input.

use super::fatal::{Stage, during};
use super::foreign;
use crate::input::{self, Unreadable};
use inkwell::context::Context;
use inkwell::debug_info::debug_metadata_version;
use inkwell::llvm_sys::core::LLVMContextSetDiagnosticHandler;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::values::FunctionValue;
use std::ffi::c_void;
use std::path::Path;

/// Why a module could not be read. The messages say what is wrong with the file and do not repeat its name.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("is empty")]
    Empty,
    #[error("is neither LLVM bitcode nor textual LLVM IR")]
    NotBitcode,
    /// What it is instead, and what makes a module of it.
    #[error("{0}")]
    Foreign(String),
    #[error("invalid bitcode: {0}")]
    Bitcode(String),
    #[error("invalid IR: {0}")]
    Syntax(String),
    #[error("broken module: {0}")]
    Broken(String),
    #[error("names no target triple")]
    NoTarget,
    #[error("the target `{0}` is not supported (only x86-64 and i386 on Linux are)")]
    Target(String),
}

/// The bytes of a module.
pub struct Source {
    /// As the user wrote it; `-` is standard input.
    pub name: String,
    bytes: Vec<u8>,
}

impl Source {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be read, or is empty.
    pub fn read(path: &Path) -> Result<Source, ReadError> {
        Source::new(path.display().to_string(), input::bytes(path)?)
    }

    /// A module that is in memory already.
    ///
    /// # Errors
    /// If there are no bytes.
    pub fn new(name: String, bytes: Vec<u8>) -> Result<Source, ReadError> {
        if bytes.is_empty() { Err(ReadError::Empty) } else { Ok(Source { name, bytes }) }
    }

    /// Bitcode starts with `BC 0xC0DE`, or with the wrapper's 0x0B17C0DE.
    fn is_bitcode(&self) -> bool {
        self.bytes.starts_with(b"BC\xC0\xDE") || self.bytes.starts_with(&0x0B17_C0DE_u32.to_le_bytes())
    }
}

/// The processors that modules are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    X86_64,
    I386,
}

impl Target {
    /// The target that a triple names; Linux alone, because ELF and its calling conventions are assumed.
    pub fn of_triple(triple: &str) -> Option<Target> {
        let (processor, system) = triple.split_once('-')?;
        if !system.contains("linux") || system.ends_with("x32") {
            return None;
        }
        match processor {
            "x86_64" | "amd64" => Some(Target::X86_64),
            "i386" | "i486" | "i586" | "i686" => Some(Target::I386),
            _ => None,
        }
    }
}

/// A module that LLVM's verifier accepts, for a supported target.
pub struct Module<'s> {
    // Dropped before its context.
    module: inkwell::module::Module<'static>,
    _context: Box<Context>,
    source: &'s Source,
    target: Target,
}

impl<'s> Module<'s> {
    /// Parses and verifies a module.
    ///
    /// # Errors
    /// If the bytes are not a module of LLVM 22 or older, if the module is broken, or if its target is not supported.
    pub fn parse(source: &'s Source) -> Result<Module<'s>, ReadError> {
        if let Some(what) = foreign::compiled(&source.bytes) {
            return Err(ReadError::Foreign(what.into()));
        }
        if !source.is_bitcode() && source.bytes.contains(&0) {
            return Err(ReadError::NotBitcode);
        }
        super::initialise();
        during(Stage::Reading, || Module::read(source)).map_err(|error| match error {
            ReadError::Syntax(_) => foreign::source(Path::new(&source.name)).map_or(error, ReadError::Foreign),
            _ => error,
        })
    }

    fn read(source: &'s Source) -> Result<Module<'s>, ReadError> {
        let context = Box::new(Context::create());
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(ignore), std::ptr::null_mut()) };
        let buffer = MemoryBuffer::create_from_memory_range_copy(&source.bytes, BUFFER);
        let module = context.create_module_from_ir(buffer).map_err(|error| {
            let reason = explain(&error.to_string());
            if source.is_bitcode() { ReadError::Bitcode(reason) } else { ReadError::Syntax(reason) }
        })?;
        // SAFETY: the module does not outlive the context, which is dropped after it.
        let module = unsafe { std::mem::transmute::<inkwell::module::Module<'_>, inkwell::module::Module<'static>>(module) };
        if module.get_debug_metadata_version() != debug_metadata_version() {
            module.strip_debug_info();
        }
        module.verify().map_err(|error| ReadError::Broken(one_line(&error.to_string())))?;
        let triple = module.get_triple().as_str().to_string_lossy().into_owned();
        if triple.is_empty() {
            return Err(ReadError::NoTarget);
        }
        let target = Target::of_triple(&triple).ok_or(ReadError::Target(triple))?;
        Ok(Module { module, _context: context, source, target })
    }

    /// Where the module came from.
    pub fn source(&self) -> &'s Source {
        self.source
    }

    pub fn target(&self) -> Target {
        self.target
    }

    /// The target triple, as the module writes it.
    pub fn triple(&self) -> String {
        self.module.get_triple().as_str().to_string_lossy().into_owned()
    }

    /// How many functions the module defines.
    pub fn num_functions(&self) -> usize {
        self.functions().count()
    }

    /// The functions that the module defines.
    pub(super) fn functions(&self) -> impl Iterator<Item = FunctionValue<'_>> {
        self.module.get_functions().filter(|function| function.count_basic_blocks() > 0)
    }

    pub(super) fn as_mut_ptr(&self) -> *mut c_void {
        self.module.as_mut_ptr().cast()
    }
}

/// What LLVM calls the input in its messages, from which the name is taken off again.
const BUFFER: &str = "<chordal>";

/// LLVM's warnings about a module (debug information that it drops) concern nobody here; its errors arrive as results.
extern "C" fn ignore(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}

/// LLVM's `<chordal>:LINE:COLUMN: error: REASON` with the source line below, as one line.
fn explain(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let text = first.strip_prefix(BUFFER).and_then(|rest| rest.strip_prefix(':')).unwrap_or(first);
    let (place, reason) = text.split_once("error: ").unwrap_or(("", text));
    let mut place = place.trim().split(':');
    match (place.next(), place.next()) {
        (Some(line), Some(column)) if !line.is_empty() => format!("line {line}, column {column}: {reason}"),
        _ => reason.to_owned(),
    }
}

/// A message of several lines as one.
pub(super) fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(Target::of_triple("x86_64-pc-linux-gnu"), Some(Target::X86_64));
        assert_eq!(Target::of_triple("i386-unknown-linux-gnu"), Some(Target::I386));
        for triple in ["", "x86_64", "aarch64-linux-gnu", "x86_64-pc-windows-msvc", "x86_64-linux-gnux32", "x86_64-apple-darwin"]
        {
            assert_eq!(Target::of_triple(triple), None, "{triple}");
        }
    }

    #[test]
    fn explanations_are_one_line() {
        let message = "<chordal>:3:5: error: expected type\n  foo\n  ^\n";
        assert_eq!(explain(message), "line 3, column 5: expected type");
        assert_eq!(explain("error: Invalid record"), "Invalid record");
    }
}
