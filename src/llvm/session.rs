//! The callbacks of one run of the code generator.

use super::answer::Arrays;
use super::compile::Warning;
use super::fatal::{Stage, during, with_function};
use super::ffi::SavedFlags;
use super::jobs::{Allocation, Failed, Job, Outcome, Workers};
use super::{ffi, import, registers};
use crate::allocate::degraded::Degraded;
use crate::allocate::failure::{Defect, Failure, Unsupported, guarded};
use crate::allocate::shrink_wrap;
use crate::explain::listing::Code;
use crate::machine::{Function, RegisterFile, parse, print, validate};
use crate::measure::meter;
use crate::measure::stats::{self, Counts, Place};
use indexmap::IndexMap;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// Checks that a function's text form, which is all that a defect leaves, is a valid function again.
fn reproducible(function: &Function) -> Result<(), Defect> {
    let invalid = |why: &dyn Display| Defect::Impossible(format!("its text form: {why}"));
    let again = parse(&print(function)).map_err(|error| invalid(&error))?;
    validate(&again).map_err(|violations| invalid(&violations[0]))
}

/// A register file with all registers of the target, and with those that the allocator may use.
struct Files {
    all: Arc<RegisterFile>,
    usable: Arc<RegisterFile>,
}

impl Files {
    fn new(all: RegisterFile, registers: Option<&[String]>) -> Self {
        let all = Arc::new(all);
        let usable = registers.map_or_else(|| all.clone(), |names| Arc::new(registers::restricted(&all, names)));
        Files { all, usable }
    }
}

/// The flags of the bridge in the order of [`shrink_wrap::Saved`].
const SAVED: [SavedFlags; 3] = [SavedFlags::ARRIVING, SavedFlags::WITHIN, SavedFlags::LEAVING];

/// The settings of one run of the code generator.
pub struct Task<'o> {
    /// The threads that allocate, unless one of LLVM's allocators does.
    pub workers: Option<Workers<'o>>,
    /// The general-purpose registers that the allocator may use; `None` for all.
    pub registers: Option<&'o [String]>,
    /// Whether functions that cannot be allocated are left to LLVM.
    pub fallback: bool,
    /// Whether code is listed, and what is known of how it came about.
    pub list: bool,
    /// It is told the name of each function when it is imported, and when it is done.
    pub progress: &'o dyn Fn(&str),
}

/// No allocation of ours: the session only collects what the bridge reports.
impl Default for Task<'_> {
    fn default() -> Self {
        Task { workers: None, registers: None, fallback: false, list: false, progress: &|_| () }
    }
}

/// One run of the code generator: its task, and its results so far.
pub struct Session<'o> {
    task: Task<'o>,
    files: Vec<Files>,
    /// The function that has been imported last.
    imported: Option<Result<Job, Failed>>,
    /// The results that the bridge has not asked for yet, in order.
    pending: VecDeque<Receiver<Outcome>>,
    answer: Arrays,
    /// Why functions are left to LLVM, by function.
    pub left: HashMap<String, String>,
    /// The functions that could not be allocated, in order.
    pub failures: Vec<Failed>,
    /// Reports of LLVM's machine verifier, by function.
    pub verifier_reports: Vec<(String, String)>,
    /// Counts by function.
    pub functions: IndexMap<String, Counts>,
    /// Phases that did something other than they were asked for, by function.
    pub degraded: HashMap<String, Vec<Degraded>>,
    /// LLVM's error messages.
    pub errors: Vec<String>,
    /// LLVM's warnings.
    pub warnings: Vec<Warning>,
    /// The bytes of functions' code, by symbol.
    pub sizes: HashMap<String, u64>,
    /// The code of functions, if it is listed.
    pub codes: HashMap<String, Code>,
    /// The assembly or object file.
    pub output: Vec<u8>,
    /// LLVM's remarks, as YAML.
    pub remarks: Vec<u8>,
}

impl<'o> Session<'o> {
    pub fn new(task: Task<'o>) -> Self {
        Session {
            task,
            files: Vec::new(),
            imported: None,
            pending: VecDeque::new(),
            answer: Arrays::default(),
            left: HashMap::new(),
            failures: Vec::new(),
            verifier_reports: Vec::new(),
            functions: IndexMap::new(),
            degraded: HashMap::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            sizes: HashMap::new(),
            codes: HashMap::new(),
            output: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The callbacks for one call into the bridge.
    pub fn callbacks(&mut self) -> ffi::Callbacks {
        ffi::Callbacks {
            user: std::ptr::from_mut(self).cast(),
            import,
            allocate,
            answer,
            allocated,
            wrap,
            wrapped,
            failed,
            counted,
            error,
            warning,
            size,
            emit,
            listed,
            remarks,
        }
    }

    /// Imports one function. A panic must not unwind through C++, so it becomes a failure.
    ///
    /// # Safety
    /// The flat function must be valid.
    unsafe fn import(&mut self, flat: &ffi::Function) {
        let start = Instant::now();
        let imported = guarded(|| unsafe { self.model(flat) });
        let name = unsafe { flat.name.text() };
        (self.task.progress)(&name);
        let imported = imported.map_err(|failure| Failed { name, failure, text: None });
        let names = self.task.list.then(|| unsafe { import::names(flat) });
        self.imported = Some(imported.map(|function| Job { function, import_ns: flat.import_ns + nanoseconds(start), names }));
    }

    /// Starts the allocation of the function that has been imported last.
    fn allocate(&mut self) {
        let imported = self.imported.take().expect("the bridge has a function imported before it is allocated");
        let workers = self.task.workers.as_ref().expect("the bridge asks for allocations only where there is an allocator");
        self.pending.push_back(workers.begin(imported));
    }

    /// The answer about the first function that has not been asked about. Its arrays live in `self` until the next call.
    fn answer(&mut self) -> ffi::Answer {
        let pending = self.pending.pop_front().expect("the bridge asks once about each function");
        match pending.recv().expect("who takes a job ends it") {
            Ok(Allocation { name, answer, counts, degraded, model }) => {
                if let Some(model) = model {
                    self.codes.entry(name.clone()).or_default().model = Some(*model);
                }
                if !degraded.is_empty() {
                    self.degraded.insert(name.clone(), degraded);
                }
                self.functions.insert(name, counts);
                self.answer = answer;
                self.answer.answer()
            }
            Err(Failed { name, failure: Failure::Unsupported(why), .. }) if self.task.fallback => {
                let reason = self.left.entry(name).or_insert(why.to_string());
                Arrays::none(ffi::Outcome::Left, reason)
            }
            Err(failed) => {
                self.failures.push(failed);
                Arrays::none(ffi::Outcome::Failed, "")
            }
        }
    }

    /// The functions that have been counted, in their order.
    pub fn take_functions(&mut self, places: &mut HashMap<String, Place>) -> Vec<stats::Function> {
        let counted = std::mem::take(&mut self.functions).into_iter();
        let function = |(name, mut counts): (String, Counts)| {
            let fallback = self.left.remove(&name);
            counts.fallbacks = fallback.is_some().into();
            let degraded = self.degraded.remove(&name).unwrap_or_default();
            stats::Function { place: places.remove(&name), fallback, degraded, name, counts }
        };
        counted.map(function).collect()
    }

    /// # Safety
    /// The flat function must be valid.
    unsafe fn model(&mut self, flat: &ffi::Function) -> Result<Function, Failure> {
        let unsupported = unsafe { flat.unsupported.text() };
        // A function that cannot be handed over may still bring a new register file, to whose number later functions refer.
        if let Some(new) = unsafe { flat.new_file.as_ref() } {
            let all = unsafe { import::register_file(new) }?;
            self.files.push(Files::new(all, self.task.registers));
        }
        if !unsupported.is_empty() {
            return Err(Unsupported(unsupported).into());
        }
        let Files { all, usable } = &self.files[flat.file as usize];
        let mut function = unsafe { import::function(flat, usable.clone()) }?;
        if let Some(file) = registers::completed(usable, all, &function) {
            function.file = Arc::new(file);
        }
        if cfg!(debug_assertions) {
            reproducible(&function)?;
        }
        Ok(function)
    }

    fn allocated(&mut self, function: String, ns: u64, report: String) {
        let memory = meter::peak();
        if self.task.workers.is_none() && ns > 0 {
            let counts = self.functions.entry(function.clone()).or_default();
            counts.time_ns.get_or_insert_default().add("llvm", ns);
            counts.memory_bytes = memory;
        } else if let Some(Counts { time_ns: Some(times), memory_bytes, .. }) = self.functions.get_mut(&function) {
            times.add("apply", ns);
            *memory_bytes = memory;
        }
        if !report.is_empty() {
            self.verifier_reports.push((function, report));
        }
    }

    /// Answers where callee-saved registers are to be saved.
    ///
    /// # Safety
    /// The flat frame must be valid.
    unsafe fn wrap(&mut self, flat: &ffi::Frame, saved: &mut [u8]) -> Result<(), Failed> {
        let answer = guarded(|| Ok(shrink_wrap::wrap(&unsafe { import::frame(flat) }?)));
        let answer = answer.map_err(|failure| Failed { name: unsafe { flat.name.text() }, failure, text: None })?;
        for (saved, places) in saved.chunks_exact_mut(flat.num_blocks).zip(answer) {
            for (flat, points) in saved.iter_mut().zip(places.iter().flat_map(|places| places.values())) {
                let saved = points.iter().zip(SAVED).filter(|&(&point, _)| point).map(|(_, flag)| flag);
                *flat = saved.collect::<SavedFlags>().bits();
            }
        }
        Ok(())
    }

    fn wrapped(&mut self, function: String, ns: u64, report: String) {
        if let Some(Counts { time_ns: Some(times), .. }) = self.functions.get_mut(&function) {
            times.add("wrap", ns);
        }
        if !report.is_empty() {
            self.verifier_reports.push((function, report));
        }
    }

    fn counted(&mut self, function: String, counts: &ffi::Counts) {
        (self.task.progress)(&function);
        let entry = self.functions.entry(function).or_default();
        if self.task.workers.is_none() || entry.time_ns.is_none() {
            // LLVM's own allocator, whose swaps cannot be told from the program's. A function that was left to it is not timed.
            entry.spill.swaps = counts.swaps;
            entry.time_ns.get_or_insert_default();
        }
        fill(entry, counts);
    }
}

/// Enters the bridge's counts.
fn fill(to: &mut Counts, from: &ffi::Counts) {
    to.fixed = stats::Static {
        loads: from.loads,
        stores: from.stores,
        moves: from.moves,
        xors: from.xors,
        instructions: from.instructions,
        bytes: None,
    };
    weigh(to, &from.weights);
    to.score = from.score;
    to.spill.slots = from.spill_slots;
    to.spill.slot_bytes = from.spill_slot_bytes;
    to.spill.stores = from.spill_stores;
    to.spill.reloads = from.spill_reloads;
    to.spill.folded = from.spill_folded;
    to.frame_bytes = from.frame_bytes;
}

/// Enters the bridge's counts by block frequency.
fn weigh(to: &mut Counts, from: &ffi::Weights) {
    to.weighted = stats::Weighted {
        loads: from.loads,
        stores: from.stores,
        moves: from.moves,
        xors: from.xors,
        instructions: from.instructions,
    };
    to.selected =
        stats::Selected { instructions: from.selected_instructions, weighted_instructions: from.selected_weighted_instructions };
    to.set_overhead(stats::OverheadParts {
        reloads: from.overhead.reloads,
        stores: from.overhead.stores,
        saves: from.overhead.saves,
        restores: from.overhead.restores,
        copies: from.overhead.copies,
        exchanges: from.overhead.exchanges,
        remats: from.overhead.remats,
        other: from.overhead.other,
    });
}

/// A message of LLVM's as one line, without the place that LLVM prints if it knows none.
fn said(message: &str) -> String {
    super::module::one_line(message.strip_prefix("<unknown>:0:0: ").unwrap_or(message))
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// # Safety
/// `user` must be what [`Session::callbacks`] passed to the bridge.
unsafe fn session<'a>(user: *mut c_void) -> &'a mut Session<'a> {
    unsafe { &mut *user.cast() }
}

extern "C" fn import(user: *mut c_void, function: *const ffi::Function) {
    // SAFETY: the bridge passes back its user and valid arrays.
    let (session, flat) = unsafe { (session(user), &*function) };
    // SAFETY: the name is among the arrays.
    let name = unsafe { flat.name.bytes() };
    during(Stage::Ours, || with_function(name, || unsafe { session.import(flat) }));
}

extern "C" fn allocate(user: *mut c_void) {
    // SAFETY: as in `import`.
    let session = unsafe { session(user) };
    during(Stage::Ours, || session.allocate());
}

extern "C" fn answer(user: *mut c_void, answer: *mut ffi::Answer) {
    // SAFETY: as in `import`.
    let (session, answer) = unsafe { (session(user), &mut *answer) };
    *answer = during(Stage::Ours, || session.answer());
}

extern "C" fn allocated(user: *mut c_void, function: ffi::Str, ns: u64, report: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).allocated(function.text(), ns, report.text()) }
}

extern "C" fn wrap(user: *mut c_void, frame: *const ffi::Frame, saved: *mut u8) {
    // SAFETY: as in `import`; there is room for one answer about each register and block.
    let (session, frame) = unsafe { (session(user), &*frame) };
    let saved = unsafe { std::slice::from_raw_parts_mut(saved, frame.num_registers * frame.num_blocks) };
    // SAFETY: the name is the frame's.
    let name = unsafe { frame.name.bytes() };
    if let Err(failed) = during(Stage::Ours, || with_function(name, || unsafe { session.wrap(frame, saved) })) {
        session.failures.push(failed);
    }
}

extern "C" fn wrapped(user: *mut c_void, function: ffi::Str, ns: u64, report: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).wrapped(function.text(), ns, report.text()) }
}

extern "C" fn failed(user: *mut c_void, function: ffi::Str, reason: ffi::Str) {
    // SAFETY: as in `import`.
    let (session, name, reason) = unsafe { (session(user), function.text(), reason.text()) };
    let failure = Unsupported(super::module::one_line(&reason)).into();
    session.failures.push(Failed { name, failure, text: None });
}

extern "C" fn counted(user: *mut c_void, function: ffi::Str, counts: *const ffi::Counts) {
    // SAFETY: as in `import`.
    unsafe { session(user).counted(function.text(), &*counts) }
}

extern "C" fn error(user: *mut c_void, message: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).errors.push(said(&message.text())) }
}

extern "C" fn warning(user: *mut c_void, about: u32, message: ffi::Str) {
    // SAFETY: as in `import`.
    let (session, message) = unsafe { (session(user), message.text()) };
    match ffi::Warning::try_from(about) {
        Ok(about) => session.warnings.push(Warning { about: about.into(), text: said(&message) }),
        Err(unknown) => session.errors.push(format!("this is a bug in chordal: {unknown}")),
    }
}

extern "C" fn size(user: *mut c_void, symbol: ffi::Str, bytes: u64) {
    // SAFETY: as in `import`.
    unsafe { session(user).sizes.insert(symbol.text(), bytes) };
}

extern "C" fn emit(user: *mut c_void, output: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).output = output.bytes().to_vec() }
}

extern "C" fn listed(user: *mut c_void, function: ffi::Str, flat: *const ffi::Listing) {
    // SAFETY: as in `import`.
    let (session, name) = unsafe { (session(user), function.text()) };
    // SAFETY: the bridge passes valid arrays.
    match unsafe { import::listing(&*flat) } {
        Ok(listing) => session.codes.entry(name).or_default().listing = listing,
        Err(unknown) => session.errors.push(format!("this is a bug in chordal: {unknown}")),
    }
}

extern "C" fn remarks(user: *mut c_void, yaml: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).remarks = yaml.bytes().to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bridge passes an instruction of a kind that does not exist.
    #[test]
    fn an_unknown_value_is_a_defect_of_its_function() {
        let insts = [ffi::Inst { first_operand: 0, end_operand: 0, pins: 0, kind: 200, reg: 0, flags: 0 }];
        // SAFETY: null is the pointer to an array of no elements.
        let (file, empty): (ffi::File, ffi::Function) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let flat =
            ffi::Function { name: ffi::Str::new(b"f"), new_file: &raw const file, insts: insts.as_ptr(), num_insts: 1, ..empty };
        let mut session = Session::new(Task::default());
        // SAFETY: the arrays are alive.
        unsafe { session.import(&flat) };
        let Some(Err(Failed { name, failure: Failure::Defect(defect), .. })) = session.imported else {
            panic!("it was taken over");
        };
        assert_eq!((&*name, &*defect.to_string()), ("f", "the bridge passes 200 as InstKind"));
    }
}
