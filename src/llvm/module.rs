//! Reading modules: bitcode or textual IR, from a file or from standard input.

use super::fatal::{Stage, during};
use super::ffi;
use super::ffi::{ReadMessage, Unknown};
use super::foreign;
use crate::allocate::failure::Defect;
use crate::input::{self, Unreadable};
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMContextSetDiagnosticHandler;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::values::FunctionValue;
use std::ffi::c_void;
use std::path::Path;

/// Why a module could not be read. The messages do not repeat the file's name.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("is empty")]
    Empty,
    #[error("is neither LLVM bitcode nor textual LLVM IR")]
    NotBitcode,
    /// A file of another kind: the kind, and how to make a module of it.
    #[error("{0}")]
    Foreign(String),
    #[error("invalid bitcode: {0}")]
    Bitcode(String),
    #[error("invalid IR: {0}")]
    Syntax(String),
    #[error("broken module: {0}")]
    Broken(String),
    #[error("is an index of ThinLTO: it holds summaries of modules, and no code")]
    Index,
    #[error("names no target triple")]
    NoTarget,
    #[error("the target `{0}` is not supported (only x86-64 and i386 on Linux are)")]
    Target(String),
    #[error("this is a bug in chordal: {0}")]
    Defect(Defect),
}

/// The bytes of a module.
pub struct Source {
    /// The module's name in LLVM, in messages and in symbols that are made of it. It is usually as the user wrote it; `-` is
    /// standard input.
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

    /// Gives the module another name.
    #[must_use]
    pub fn named(self, name: &str) -> Source {
        Source { name: name.into(), ..self }
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
    /// The target that a triple names. Only Linux is supported, because ELF and its calling conventions are assumed.
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
    // The module is dropped before its context.
    module: inkwell::module::Module<'static>,
    _context: Box<Context>,
    source: &'s Source,
    target: Target,
    warnings: Vec<String>,
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
        let mut said = Said { is_bitcode: source.is_bitcode(), error: None, warnings: Vec::new() };
        let reader = ffi::Reader { user: std::ptr::from_mut(&mut said).cast(), message };
        let (name, bytes) = (ffi::Str::new(source.name.as_bytes()), ffi::Str::new(&source.bytes));
        // SAFETY: the context, the texts and the reader are alive during the call.
        let module = unsafe { ffi::ch_read(context.raw().cast(), name, bytes, &raw const reader) };
        if module.is_null() {
            return Err(said.error.expect("the bridge says why it returns no module"));
        }
        // SAFETY: the module is nobody else's, and does not outlive the context, which is dropped after it.
        let module = unsafe { inkwell::module::Module::new(module.cast()) };
        if let Some(error) = said.error {
            return Err(error);
        }
        let triple = module.get_triple().as_str().to_string_lossy().into_owned();
        if triple.is_empty() {
            return Err(ReadError::NoTarget);
        }
        let target = Target::of_triple(&triple).ok_or(ReadError::Target(triple))?;
        Ok(Module { module, _context: context, source, target, warnings: said.warnings })
    }

    /// LLVM's warnings about the module when it was read, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
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

    /// Leaves only one function's code. What is generated for it stays the same. Answers whether the module defines the function.
    pub fn keep_only(&mut self, function: &str) -> bool {
        // SAFETY: the module and the name are alive during the call.
        unsafe { ffi::ch_keep_only(self.as_mut_ptr(), ffi::Str::new(function.as_bytes())) != 0 }
    }

    pub(super) fn as_mut_ptr(&self) -> *mut c_void {
        self.module.as_mut_ptr().cast()
    }
}

/// Ignores LLVM's own warnings about a module: the bridge reports everything that it drops, and errors are results.
extern "C" fn ignore(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}

/// The bridge's messages about a module while it is read.
struct Said {
    is_bitcode: bool,
    /// Why it could not be read.
    error: Option<ReadError>,
    warnings: Vec<String>,
}

impl Said {
    fn add(&mut self, kind: u32, text: String) {
        self.error = Some(match kind.try_into() {
            Ok(ReadMessage::Warning) => return self.warnings.push(text),
            Ok(ReadMessage::Invalid) if self.is_bitcode => ReadError::Bitcode(text),
            Ok(ReadMessage::Invalid) => ReadError::Syntax(text),
            Ok(ReadMessage::Broken) => ReadError::Broken(text),
            Ok(ReadMessage::Index) => ReadError::Index,
            Err(unknown) => ReadError::Defect(Unknown::into(unknown)),
        });
    }
}

extern "C" fn message(user: *mut c_void, kind: u32, text: ffi::Str) {
    // SAFETY: the bridge passes back its user and a text that is alive.
    let (said, text) = unsafe { (&mut *user.cast::<Said>(), one_line(&text.text())) };
    said.add(kind, text);
}

/// Joins the lines of a message.
pub(super) fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_an_unknown_kind_are_errors() {
        let mut said = Said { is_bitcode: true, error: None, warnings: Vec::new() };
        said.add(3, "old debug information".into());
        assert!(said.error.is_none() && said.warnings.len() == 1);
        said.add(4, "no bytes".into());
        let message = said.error.expect("there is no such kind").to_string();
        assert_eq!(message, "this is a bug in chordal: the bridge passes 4 as ReadMessage");
    }

    #[test]
    fn targets() {
        assert_eq!(Target::of_triple("x86_64-pc-linux-gnu"), Some(Target::X86_64));
        assert_eq!(Target::of_triple("i386-unknown-linux-gnu"), Some(Target::I386));
        for triple in ["", "x86_64", "aarch64-linux-gnu", "x86_64-pc-windows-msvc", "x86_64-linux-gnux32", "x86_64-apple-darwin"]
        {
            assert_eq!(Target::of_triple(triple), None, "{triple}");
        }
    }
}
