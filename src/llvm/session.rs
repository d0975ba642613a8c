//! The callbacks of one run of the code generator.

use super::answer::Arrays;
use super::{ffi, import, registers};
use crate::allocate::pipeline::{self, Failure, Report, Strategy};
use crate::machine::{Edit, Function, Overlay, RegisterFile};
use crate::measure::meter;
use crate::measure::stats::{self, Counts};
use indexmap::IndexMap;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Once;
use std::time::Instant;

/// What a run is asked to do and what it has come to so far.
pub struct Session<'o> {
    strategy: Option<Strategy>,
    registers: Option<&'o [String]>,
    progress: &'o dyn Fn(&str),
    files: Vec<Rc<RegisterFile>>,
    answer: Arrays,
    /// Why functions could not be allocated, in order.
    pub failures: Vec<(String, Failure)>,
    /// What LLVM's machine verifier said about functions.
    pub verifier_reports: Vec<(String, String)>,
    /// What was counted, by function.
    pub functions: IndexMap<String, Counts>,
    /// LLVM's error messages.
    pub errors: Vec<String>,
    /// The assembly or object file.
    pub output: Vec<u8>,
}

impl<'o> Session<'o> {
    /// A session that allocates by a strategy, or that only listens to LLVM's own allocator; `progress` is told the name of
    /// each function that is done.
    pub fn new(strategy: Option<Strategy>, registers: Option<&'o [String]>, progress: &'o dyn Fn(&str)) -> Self {
        Session {
            strategy,
            registers,
            progress,
            files: Vec::new(),
            answer: Arrays::default(),
            failures: Vec::new(),
            verifier_reports: Vec::new(),
            functions: IndexMap::new(),
            errors: Vec::new(),
            output: Vec::new(),
        }
    }

    /// The callbacks, for one call into the bridge.
    pub fn callbacks(&mut self) -> ffi::Callbacks {
        ffi::Callbacks { user: std::ptr::from_mut(self).cast(), allocate, allocated, failed, counted, error, emit }
    }

    /// Allocates one function; the answer's arrays live in `self` until the next call.
    ///
    /// # Safety
    /// The flat function must be valid.
    unsafe fn allocate(&mut self, flat: &ffi::Function) -> Result<(), Failure> {
        let unsupported = unsafe { flat.unsupported.text() };
        // Even a function that cannot be handed over may bring a new register file, whose number later ones use.
        let file = unsafe { self.register_file(flat) };
        if !unsupported.is_empty() {
            return Err(Failure::Unsupported(unsupported));
        }
        let strategy = self.strategy.expect("the bridge asks for allocations only where a strategy is given");
        let start = Instant::now();
        let function = unsafe { import::function(flat, file) };
        let import_ns = flat.import_ns + nanoseconds(start);
        let (overlay, report) = pipeline::allocate(&function, strategy)?;
        self.answer = Arrays::new(&overlay, &function);
        self.record(&function, import_ns, &overlay, &report);
        Ok(())
    }

    unsafe fn register_file(&mut self, flat: &ffi::Function) -> Rc<RegisterFile> {
        if let Some(new) = unsafe { flat.new_file.as_ref() } {
            let mut file = unsafe { import::register_file(new) };
            if let Some(names) = self.registers {
                registers::restrict(&mut file, names);
            }
            self.files.push(Rc::new(file));
        }
        self.files[flat.file as usize].clone()
    }

    /// Notes what only the allocator knows; the rest is counted in the output.
    fn record(&mut self, function: &Function, import_ns: u64, overlay: &Overlay, report: &Report) {
        let counts = self.functions.entry(function.name.clone()).or_default();
        let edits = |wanted: fn(&Edit) -> bool| overlay.edits.iter().filter(|(_, edit)| wanted(edit)).count() as u64;
        counts.spill.remats = edits(|edit| matches!(edit, Edit::Rematerialise { .. }));
        counts.spill.copies = edits(|edit| matches!(edit, Edit::Move { .. }));
        counts.spill.swaps = edits(|edit| matches!(edit, Edit::Swap { .. }));
        enter_report(counts, report);
        let times = counts.time_ns.get_or_insert_default();
        times.add("import", import_ns);
        for (phase, time) in &report.phases {
            times.add(phase, time.as_nanos() as u64);
        }
    }

    fn allocated(&mut self, function: String, ns: u64, report: String) {
        let memory = meter::peak();
        if self.strategy.is_none() && ns > 0 {
            let counts = self.functions.entry(function.clone()).or_default();
            counts.time_ns.get_or_insert_default().add("llvm", ns);
            counts.memory_bytes = Some(memory);
        } else if let Some(Counts { time_ns: Some(times), memory_bytes, .. }) = self.functions.get_mut(&function) {
            times.add("apply", ns);
            *memory_bytes = Some(memory);
        }
        if !report.is_empty() {
            self.verifier_reports.push((function, report));
        }
    }

    fn counted(&mut self, function: String, counts: &ffi::Counts) {
        (self.progress)(&function);
        let entry = self.functions.entry(function).or_default();
        if self.strategy.is_none() || entry.time_ns.is_none() {
            // LLVM's own allocator, whose swaps cannot be told from those of the program; as a fallback it is not timed.
            entry.spill.swaps = counts.swaps;
            entry.time_ns.get_or_insert_default();
        }
        fill(entry, counts);
    }
}

/// Enters what the allocator counted.
fn enter_report(to: &mut Counts, report: &Report) {
    let Report { conversion, graphs, spill, elimination, .. } = report;
    to.spill.values = spill.values;
    to.conversion = stats::Conversion {
        copies_before: conversion.copies_before,
        copies_after: conversion.copies_after,
        classes_before: conversion.classes_before,
        classes_after: conversion.classes_after,
    };
    to.graphs = stats::Graphs { value_register: graphs.value_register, interference: graphs.interference };
    to.optimisations = stats::Optimisations {
        hoisted_stores: spill.hoisted_stores,
        lowered_values: spill.lowered_values,
        lowered_loads: spill.lowered_loads,
        coalesced_copies: spill.coalesced_copies,
    };
    to.elimination = stats::Elimination {
        graphs: elimination.graphs,
        edges: elimination.edges,
        memory_transfers: elimination.memory_transfers,
        potential_spills: elimination.potential_spills,
        fixed_points: elimination.fixed_points,
        spills: elimination.spills,
    };
}

/// Enters what the bridge counted.
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

/// Enters what the bridge counted by block frequency.
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

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs an allocation. A panic must not unwind through C++: it becomes a failure, whose message the panic hook catches.
fn guarded(run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                PANIC.set(Some(info.to_string()));
            } else {
                default(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(false);
    result.unwrap_or_else(|_| {
        let message = PANIC.take().unwrap_or_default();
        Err(Failure::Unsupported(format!("internal error: {}", super::module::one_line(&message))))
    })
}

/// # Safety
/// `user` must be what [`Session::callbacks`] passed to the bridge.
unsafe fn session<'a>(user: *mut c_void) -> &'a mut Session<'a> {
    unsafe { &mut *user.cast() }
}

extern "C" fn allocate(user: *mut c_void, function: *const ffi::Function, answer: *mut ffi::Answer) {
    // SAFETY: the bridge passes back its user and valid arrays.
    let (session, flat, answer) = unsafe { (session(user), &*function, &mut *answer) };
    match guarded(|| unsafe { session.allocate(flat) }) {
        Ok(()) => *answer = session.answer.answer(),
        Err(failure) => {
            answer.outcome = ffi::FAILED;
            session.failures.push((unsafe { flat.name.text() }, failure));
        }
    }
}

extern "C" fn allocated(user: *mut c_void, function: ffi::Str, ns: u64, report: ffi::Str) {
    // SAFETY: as in `allocate`.
    unsafe { session(user).allocated(function.text(), ns, report.text()) }
}

extern "C" fn failed(user: *mut c_void, function: ffi::Str, reason: ffi::Str) {
    // SAFETY: as in `allocate`.
    unsafe { session(user).failures.push((function.text(), Failure::Unsupported(super::module::one_line(&reason.text())))) }
}

extern "C" fn counted(user: *mut c_void, function: ffi::Str, counts: *const ffi::Counts) {
    // SAFETY: as in `allocate`.
    unsafe { session(user).counted(function.text(), &*counts) }
}

extern "C" fn error(user: *mut c_void, message: ffi::Str) {
    // SAFETY: as in `allocate`.
    unsafe { session(user).errors.push(super::module::one_line(&message.text())) }
}

extern "C" fn emit(user: *mut c_void, output: ffi::Str) {
    // SAFETY: as in `allocate`.
    unsafe { session(user).output = output.bytes().to_vec() }
}
