//! The callbacks of one run of the code generator.

use super::answer::Arrays;
use super::fatal::{Stage, during};
use super::{ffi, import, registers};
use crate::allocate::failure::{Defect, Failure, Unsupported, guarded};
use crate::allocate::pipeline::{self, Allocate, Report};
use crate::allocate::shrink_wrap;
use crate::machine::{Edit, Function, Overlay, RegisterFile, parse, print, undefined, validate};
use crate::measure::meter;
use crate::measure::stats::{self, Counts};
use indexmap::IndexMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::Instant;

/// An allocator outside of LLVM.
#[derive(Clone, Copy)]
pub struct Ours<'o> {
    pub allocator: &'o dyn Allocate,
    /// Whether its allocations are checked.
    pub check: bool,
    /// Whether interference graphs are measured.
    pub graphs: bool,
    /// Whether callee-saved registers are saved each for itself, where that costs less.
    pub separate_saves: bool,
}

/// Whether a function's text form, which is all that a defect leaves behind, is a valid function again; if not, why.
fn reproducible(function: &Function) -> Result<(), String> {
    let again = parse(&print(function)).map_err(|error| format!("its text form: {error}"))?;
    validate(&again).map_err(|violations| format!("its text form: {}", violations[0]))
}

/// A register file as the target has it, and as the allocator may use it.
struct Files {
    all: Rc<RegisterFile>,
    usable: Rc<RegisterFile>,
}

impl Files {
    fn new(all: RegisterFile, registers: Option<&[String]>) -> Self {
        let all = Rc::new(all);
        let usable = registers.map_or_else(|| all.clone(), |names| Rc::new(registers::restricted(&all, names)));
        Files { all, usable }
    }
}

/// A function that could not be allocated.
#[derive(Clone, Debug)]
pub struct Failed {
    pub name: String,
    pub failure: Failure,
    /// In text form, where allocation came upon a defect.
    pub text: Option<String>,
}

/// What a run is asked to do and what it has come to so far.
pub struct Session<'o> {
    ours: Option<Ours<'o>>,
    registers: Option<&'o [String]>,
    progress: &'o dyn Fn(&str),
    files: Vec<Files>,
    /// What is to be allocated next, and how long it took to hand it over, in nanoseconds.
    imported: Option<(Function, u64)>,
    answer: Arrays,
    /// The functions that could not be allocated, in order.
    pub failures: Vec<Failed>,
    /// What LLVM's machine verifier said about functions.
    pub verifier_reports: Vec<(String, String)>,
    /// What was counted, by function.
    pub functions: IndexMap<String, Counts>,
    /// LLVM's error messages.
    pub errors: Vec<String>,
    /// And warnings.
    pub warnings: Vec<String>,
    /// The assembly or object file.
    pub output: Vec<u8>,
}

impl<'o> Session<'o> {
    /// A session that allocates, or that only listens to LLVM's own allocator; `progress` is told the name of
    /// each function that is done.
    pub fn new(ours: Option<Ours<'o>>, registers: Option<&'o [String]>, progress: &'o dyn Fn(&str)) -> Self {
        Session {
            ours,
            registers,
            progress,
            files: Vec::new(),
            imported: None,
            answer: Arrays::default(),
            failures: Vec::new(),
            verifier_reports: Vec::new(),
            functions: IndexMap::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            output: Vec::new(),
        }
    }

    /// The callbacks, for one call into the bridge.
    pub fn callbacks(&mut self) -> ffi::Callbacks {
        ffi::Callbacks {
            user: std::ptr::from_mut(self).cast(),
            import,
            allocate,
            allocated,
            wrap,
            wrapped,
            failed,
            counted,
            error,
            warning,
            emit,
        }
    }

    /// Takes one function over. A panic must not unwind through C++.
    ///
    /// # Safety
    /// The flat function must be valid.
    unsafe fn import(&mut self, flat: &ffi::Function) -> Result<(), Failed> {
        let start = Instant::now();
        let imported = guarded(|| unsafe { self.model(flat) });
        let function = imported.map_err(|failure| Failed { name: unsafe { flat.name.text() }, failure, text: None })?;
        self.imported = Some((function, flat.import_ns + nanoseconds(start)));
        Ok(())
    }

    /// Allocates what was taken over; the answer's arrays live in `self` until the next call. A panic must not unwind through C++.
    fn allocate(&mut self) -> Result<(), Failed> {
        let (function, import_ns) = self.imported.take().expect("the bridge has a function imported before it is allocated");
        guarded(|| self.allocate_imported(&function, import_ns)).map_err(|failure| {
            let text = matches!(failure, Failure::Defect(_)).then(|| print(&function));
            Failed { name: function.name, failure, text }
        })
    }

    /// # Safety
    /// The flat function must be valid.
    unsafe fn model(&mut self, flat: &ffi::Function) -> Result<Function, Failure> {
        let unsupported = unsafe { flat.unsupported.text() };
        // Even a function that cannot be handed over may bring a new register file, whose number later ones use.
        if let Some(new) = unsafe { flat.new_file.as_ref() } {
            let all = unsafe { import::register_file(new) };
            self.files.push(Files::new(all, self.registers));
        }
        if !unsupported.is_empty() {
            return Err(Unsupported(unsupported).into());
        }
        let Files { all, usable } = &self.files[flat.file as usize];
        let mut function = unsafe { import::function(flat, usable.clone()) };
        // LLVM takes what a block defines behind a call that throws for defined where the exception is caught.
        if function.blocks.values().any(|block| block.throws.is_some())
            && let Some(violation) = undefined(&function)
        {
            return Err(Unsupported(format!(
                "what is defined behind a call that throws is wanted where it throws to: {violation}"
            ))
            .into());
        }
        if let Some(file) = registers::completed(usable, all, &function) {
            function.file = Rc::new(file);
        }
        if cfg!(debug_assertions) {
            reproducible(&function).map_err(Defect::Impossible)?;
        }
        Ok(function)
    }

    fn allocate_imported(&mut self, function: &Function, import_ns: u64) -> Result<(), Failure> {
        let Ours { allocator, check, graphs, .. } =
            self.ours.expect("the bridge asks for allocations only where there is an allocator");
        let (overlay, report) = allocator.allocate(function)?;
        self.answer = Arrays::new(&overlay, function);
        let counts = self.functions.entry(function.name.clone()).or_default();
        let times = counts.time_ns.get_or_insert_default();
        times.add("import", import_ns);
        for (phase, time) in &report.phases {
            times.add(phase, time.as_nanos() as u64);
        }
        if check {
            let start = Instant::now();
            meter::apart(|| pipeline::check(function, &overlay))?;
            times.add(stats::CHECKER, nanoseconds(start));
        }
        if graphs {
            counts.graphs = meter::apart(|| allocator.graphs(function));
        }
        enter_account(counts, &overlay, report);
        Ok(())
    }

    fn allocated(&mut self, function: String, ns: u64, report: String) {
        let memory = meter::peak();
        if self.ours.is_none() && ns > 0 {
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
        let answer = guarded(|| Ok(shrink_wrap::wrap(&unsafe { import::frame(flat) })));
        let answer = answer.map_err(|failure| Failed { name: unsafe { flat.name.text() }, failure, text: None })?;
        for (saved, places) in saved.chunks_exact_mut(flat.num_blocks).zip(answer) {
            for (flat, points) in saved.iter_mut().zip(places.iter().flat_map(|places| places.values())) {
                *flat = points.iter().zip(ffi::SAVED).filter(|&(&point, _)| point).map(|(_, bit)| bit).sum();
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
        (self.progress)(&function);
        let entry = self.functions.entry(function).or_default();
        if self.ours.is_none() || entry.time_ns.is_none() {
            // LLVM's own allocator, whose swaps cannot be told from those of the program; as a fallback it is not timed.
            entry.spill.swaps = counts.swaps;
            entry.time_ns.get_or_insert_default();
        }
        fill(entry, counts);
    }
}

/// Enters what only the allocator knows; the rest is counted in the output.
fn enter_account(to: &mut Counts, overlay: &Overlay, report: Report) {
    let edits = |wanted: fn(&Edit) -> bool| overlay.edits.iter().filter(|(_, edit)| wanted(edit)).count() as u64;
    to.spill.remats = edits(|edit| matches!(edit, Edit::Rematerialise { .. }));
    to.spill.copies = edits(|edit| matches!(edit, Edit::Move { .. }));
    to.spill.swaps = edits(|edit| matches!(edit, Edit::Swap { .. }));
    to.spill.values = report.spill.values;
    to.spill.cost = report.spill.certificate.map(|it| it.cost);
    to.spill.bound = report.spill.certificate.map(|it| it.bound);
    to.conversion = report.conversion;
    to.destruction = report.destruction;
    to.optimisations = report.spill.optimisations;
    to.recolouring = report.recolouring;
    to.elimination = report.elimination;
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

/// # Safety
/// `user` must be what [`Session::callbacks`] passed to the bridge.
unsafe fn session<'a>(user: *mut c_void) -> &'a mut Session<'a> {
    unsafe { &mut *user.cast() }
}

extern "C" fn import(user: *mut c_void, function: *const ffi::Function) -> u32 {
    // SAFETY: the bridge passes back its user and valid arrays.
    let (session, flat) = unsafe { (session(user), &*function) };
    let imported = during(Stage::Ours, || unsafe { session.import(flat) });
    let is_imported = imported.is_ok();
    session.failures.extend(imported.err());
    is_imported.into()
}

extern "C" fn allocate(user: *mut c_void, answer: *mut ffi::Answer) {
    // SAFETY: as in `import`.
    let (session, answer) = unsafe { (session(user), &mut *answer) };
    match during(Stage::Ours, || session.allocate()) {
        Ok(()) => *answer = session.answer.answer(),
        Err(failed) => {
            answer.outcome = ffi::FAILED;
            session.failures.push(failed);
        }
    }
}

extern "C" fn allocated(user: *mut c_void, function: ffi::Str, ns: u64, report: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).allocated(function.text(), ns, report.text()) }
}

extern "C" fn wrap(user: *mut c_void, frame: *const ffi::Frame, saved: *mut u8) {
    // SAFETY: as in `import`; there is room for one answer about each register and block.
    let (session, frame) = unsafe { (session(user), &*frame) };
    let saved = unsafe { std::slice::from_raw_parts_mut(saved, frame.num_registers * frame.num_blocks) };
    if let Err(failed) = during(Stage::Ours, || unsafe { session.wrap(frame, saved) }) {
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
    unsafe { session(user).errors.push(super::module::one_line(&message.text())) }
}

extern "C" fn warning(user: *mut c_void, message: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).warnings.push(super::module::one_line(&message.text())) }
}

extern "C" fn emit(user: *mut c_void, output: ffi::Str) {
    // SAFETY: as in `import`.
    unsafe { session(user).output = output.bytes().to_vec() }
}
