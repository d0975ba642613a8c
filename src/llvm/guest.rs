//! The plug-in: allocation in a process of LLVM's, which generates code and calls the bridge (`guest.cpp`).
//!
//! Requires: LLVM calls [`join`] when it loads the library, and generates code afterwards.
//! Ensures: each module is allocated by itself, on whatever thread LLVM generates its code; nothing panics into LLVM.

use super::compile::{self, Allocator, CompileError, Pace, Stock};
use super::ffi;
use super::jobs::Workers;
use super::module::Target;
use super::places;
use super::session::{Session, Task};
use crate::allocate::failure::{Failure, guarded};
use crate::measure::stats::{Function, Place};
use inkwell::module::Module;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use std::time::Instant;

/// Who tells how to allocate, and takes the results.
pub trait Host: Sync {
    /// How to allocate in modules for a target.
    ///
    /// # Errors
    /// If what the user has asked for is invalid.
    fn how(&self, target: Target) -> Result<How, String>;

    /// Takes what became of a module. Returns the messages about it.
    fn finished(&self, module: &str, result: Result<Generated, CompileError>) -> Vec<Message>;
}

/// How to allocate in one module.
pub struct How {
    pub allocator: Allocator<'static>,
    /// Run LLVM's machine verifier on every function after allocation.
    pub verify: bool,
    /// The general-purpose registers that the allocator may use; `None` for all.
    pub registers: Option<&'static [String]>,
    /// Whether functions that cannot be allocated are left to LLVM's greedy allocator, which then has all registers.
    pub fallback: bool,
    /// The order of functions where code of only one module is generated; elsewhere they come in turn.
    pub pace: Pace,
    /// Whether there will be statistics, which say where functions are in the source, and how large they are.
    pub statistics: bool,
}

/// A module whose code has been generated.
pub struct Generated {
    /// LLVM's name for it: in clang the source as given, in a linker the object.
    pub identifier: String,
    /// The source that it was made of.
    pub source: String,
    pub triple: String,
    /// The general-purpose registers that the allocator might use; `None` for all.
    pub registers: Option<&'static [String]>,
    pub functions: Vec<Function>,
    /// Time of code generation in nanoseconds.
    pub time_ns: u64,
}

/// A message about a module.
pub enum Message {
    Error(String),
    Warning(String),
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Takes part in all code that LLVM generates in this process from now on.
pub fn join(host: &'static dyn Host) {
    const CALLBACKS: ffi::Host = ffi::Host { begin, look, finish, end };
    static JOINED: SharedHost = SharedHost(CALLBACKS);
    if HOST.set(host).is_ok() {
        // SAFETY: the callbacks live as long as the process.
        unsafe { ffi::ch_join(&raw const JOINED.0) }
    }
}

/// Pointers to functions, which any thread may call.
struct SharedHost(ffi::Host);
// SAFETY: there is nothing but functions.
unsafe impl Sync for SharedHost {}

/// The callback with which LLVM offers to have the code of a whole module generated, as LLVM's `PassPluginLibraryInfo` declares
/// it: with a module, a target machine, a kind of file and a stream.
///
/// # Safety
/// All of these must be LLVM's, and alive.
pub unsafe extern "C" fn generate_whole(module: *mut c_void, machine: *mut c_void, file_type: u32, stream: *mut c_void) -> bool {
    unsafe { ffi::ch_generate_whole(module, machine, file_type, stream) != 0 }
}

/// The plug-in's own options on LLVM's command line.
#[derive(Clone, Copy)]
pub enum CommandLine {
    Allocator,
    Registers,
    Options,
    Stats,
}

/// The value of an option on LLVM's command line (`-mllvm -chordal-...`), if it is given.
pub fn given(option: CommandLine) -> Option<String> {
    let option = match option {
        CommandLine::Allocator => ffi::Option::Allocator,
        CommandLine::Registers => ffi::Option::Registers,
        CommandLine::Options => ffi::Option::Options,
        CommandLine::Stats => ffi::Option::Stats,
    };
    // SAFETY: the value is LLVM's, and lives as long as the process.
    Some(unsafe { ffi::ch_option(option as u32).text() }).filter(|value| !value.is_empty())
}

/// A module whose code is being generated.
struct Guest {
    session: Session<'static>,
    triple: String,
    registers: Option<&'static [String]>,
    /// The registers that LLVM's allocator may not use.
    excluded: Vec<ffi::Str>,
    rule: Cow<'static, str>,
    statistics: bool,
    identifier: String,
    source: String,
    places: HashMap<String, Place>,
    start: Instant,
}

/// A guest, or why LLVM allocates as it would without us.
enum Begun {
    Joined(Box<Guest>),
    Refused(Option<Message>),
}

fn host() -> &'static dyn Host {
    *HOST.get().expect("callbacks come after `join`")
}

impl Guest {
    fn begin(triple: String, is_whole: bool) -> Result<(Box<Self>, ffi::Options), Message> {
        let Some(target) = Target::of_triple(&triple) else {
            return Err(Message::Warning(format!("the target `{triple}` is not supported: LLVM allocates")));
        };
        let how = host().how(target).map_err(Message::Error)?;
        let (allocator, schedule, separate_saves) = match how.allocator {
            Allocator::Ours(ours) => (ffi::Allocator::Ours as u32, false, ours.separate_saves),
            Allocator::Llvm(Stock { algorithm, schedule }) => (algorithm as u32, schedule, false),
        };
        let beside = match how.pace {
            Pace::Ahead { beside } if is_whole => beside,
            _ => 0,
        };
        let workers = match how.allocator {
            Allocator::Ours(ours) => Some(Workers::start(ours, beside)),
            Allocator::Llvm(_) => None,
        };
        let workers = workers.transpose().map_err(|error| Message::Error(CompileError::Threads(error).to_string()))?;
        let registers = how.registers;
        let session = Session::new(Task { workers, registers, fallback: how.fallback, ..Task::default() });
        let guest = Box::new(Guest {
            session,
            excluded: compile::excluded(registers, target),
            rule: how.allocator.rule(),
            triple,
            registers,
            statistics: how.statistics,
            identifier: String::new(),
            source: String::new(),
            places: HashMap::new(),
            start: Instant::now(),
        });
        let options = ffi::Options {
            allocator,
            schedule: schedule.into(),
            ahead: (how.pace != Pace::InTurn).into(),
            separate_saves: separate_saves.into(),
            verify: how.verify.into(),
            excluded: guest.excluded.as_ptr(),
            num_excluded: guest.excluded.len(),
            rule: ffi::Str::new(guest.rule.as_bytes()),
            ..nobody()
        };
        Ok((guest, options))
    }

    /// # Safety
    /// The module must be LLVM's, and alive.
    unsafe fn look(&mut self, module: *mut c_void) {
        // The module stays LLVM's.
        let module = ManuallyDrop::new(unsafe { Module::new(module.cast()) });
        self.identifier = module.get_name().to_string_lossy().into_owned();
        self.source = module.get_source_file_name().to_string_lossy().into_owned();
        if self.statistics {
            self.places = places::of(module.get_functions().filter(|function| function.count_basic_blocks() > 0));
        }
    }

    fn finish(&mut self) -> Vec<Message> {
        let mut messages: Vec<Message> =
            std::mem::take(&mut self.session.warnings).into_iter().map(|warning| Message::Warning(warning.text)).collect();
        let left = &self.session.left;
        let mut left: Vec<String> =
            left.iter().map(|(name, why)| format!("function {name}: left to LLVM's greedy allocator: {why}")).collect();
        left.sort_unstable();
        messages.extend(left.into_iter().map(Message::Warning));
        let result = self.generated();
        messages.extend(host().finished(&self.identifier, result));
        messages
    }

    fn generated(&mut self) -> Result<Generated, CompileError> {
        compile::refuse(&self.session.failures, |_| true)?;
        compile::check(&self.session, 0)?;
        let mut functions = self.session.take_functions(&mut self.places);
        // (There is no object in a linker, and assembly is not taken apart.)
        if self.statistics
            && let Ok(sizes) = compile::sizes_in(&self.session.output)
        {
            compile::enter_sizes(&sizes, &mut functions);
        }
        Ok(Generated {
            identifier: self.identifier.clone(),
            source: std::mem::take(&mut self.source),
            triple: std::mem::take(&mut self.triple),
            registers: self.registers,
            functions,
            time_ns: self.start.elapsed().as_nanos() as u64,
        })
    }
}

/// The options of a module in which we do not take part.
fn nobody() -> ffi::Options {
    // SAFETY: it consists of numbers, and of arrays without elements.
    let options: ffi::Options = unsafe { std::mem::zeroed() };
    ffi::Options { allocator: ffi::Allocator::Nobody as u32, ..options }
}

extern "C" fn begin(triple: ffi::Str, whole: u32, options: *mut ffi::Options, callbacks: *mut ffi::Callbacks) -> *mut c_void {
    // SAFETY: the bridge passes a text that is alive.
    let triple = unsafe { triple.text() };
    let begun = guarded(|| Ok(Guest::begin(triple, whole != 0)));
    let begun = begun.unwrap_or_else(|failure: Failure| Err(Message::Error(failure.to_string())));
    let (begun, flat) = match begun {
        Ok((guest, flat)) => (Begun::Joined(guest), flat),
        Err(message) => (Begun::Refused(Some(message)), nobody()),
    };
    let mut begun = Box::new(begun);
    // SAFETY: the bridge passes room for both.
    unsafe {
        options.write(flat);
        if let Begun::Joined(guest) = &mut *begun {
            callbacks.write(guest.session.callbacks());
        }
    }
    Box::into_raw(begun).cast()
}

extern "C" fn look(guest: *mut c_void, module: *mut c_void) {
    // SAFETY: the bridge passes what `begin` returned, and a module that is alive.
    if let Begun::Joined(guest) = unsafe { &mut *guest.cast::<Begun>() } {
        let looked = guarded(|| {
            unsafe { guest.look(module) };
            Ok(())
        });
        if let Err(failure) = looked {
            guest.session.errors.push(failure.to_string());
        }
    }
}

extern "C" fn finish(guest: *mut c_void, user: *mut c_void, report: ffi::Report) {
    // SAFETY: as in `look`.
    let messages = match unsafe { &mut *guest.cast::<Begun>() } {
        Begun::Joined(guest) => {
            guarded(|| Ok(guest.finish())).unwrap_or_else(|failure| vec![Message::Error(failure.to_string())])
        }
        Begun::Refused(message) => message.take().into_iter().collect(),
    };
    for message in messages {
        let (severity, text) = match message {
            Message::Error(text) => (ffi::Severity::Error, text),
            Message::Warning(text) => (ffi::Severity::Warn, text),
        };
        let text = format!("chordal: {text}");
        report(user, severity as u32, ffi::Str::new(text.as_bytes()));
    }
}

extern "C" fn end(guest: *mut c_void) {
    // SAFETY: as in `look`; the bridge does not use it afterwards.
    drop(unsafe { Box::from_raw(guest.cast::<Begun>()) });
}
