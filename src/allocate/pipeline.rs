//! The phases of an allocation, one after another, and the ways to call it.
//!
//! [`allocate`] allocates by an allocator of ours, and checks the result. An allocator of one's own implements [`Allocate`]
//! (`examples/my_allocator.rs`); a spiller of one's own runs among the other phases by [`WithSpiller`]
//! (`examples/my_spiller.rs`).
//!
//! The order of phases is `by_phases` below: prepare the program, convert it to conventional SSA form, spill and assign (in
//! turns if assignment finds no register for a value), recolour, eliminate φs. Each phase's folder or file says what it
//! requires and ensures.

use super::changes::Changes;
use super::park::{self, park};
use super::sink::{Moves, sink};
use super::{assign, copies, cost, cssa, debug, eliminate, forms, recolour, register_slots};
use crate::allocate::HAS_SOLVER;
use crate::allocate::allocators::{AssignmentStrategy, DominanceOrder, Preset};
use crate::allocate::assign::{Assignment, Coloured, Evictable, Refusal};
use crate::allocate::cssa::{Coalescing, Conventional, ConversionCounts};
use crate::allocate::degraded::Degraded;
use crate::allocate::destruct::{DestructionCounts, destruct, unsplit::unsplit};
use crate::allocate::eliminate::{EdgeCode, EliminationCounts};
use crate::allocate::failure::{Defect, Failure, Unsupported};
use crate::allocate::observe::{Observer, Phase, Stage};
use crate::allocate::recolour::{Recolouring, RecolouringCounts};
use crate::allocate::regalloc2::{self, Algorithm};
use crate::allocate::spill::strategies::{SpillStrategy, spiller_within_reach};
use crate::allocate::spill::{Memory, Price, Problem, SpillCounts, Spilled, Spiller, spill};
use crate::analysis::{Dominators, GraphSizes, Interference, Liveness, Order, PinLiveness, graph_sizes};
use crate::check;
use crate::machine::{Block, ClassInfo, Edit, Function, Overlay, RegSet, Value};
use cranelift_entity::SecondaryMap;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// An allocator: it allocates registers of functions, each function for itself, on any thread.
pub trait Allocate: Sync {
    /// Allocates registers for a function, without checking the result ([`check()`] does).
    ///
    /// # Errors
    /// If the function contains something that this allocator cannot allocate, or a phase finds a bug.
    fn allocate(&self, function: &Function) -> Result<(Overlay, Report), Failure>;

    /// The sizes of a function's interference graphs before spilling, for the statistics. No phase builds these graphs. An
    /// allocator without such a point returns the default.
    fn graphs(&self, function: &Function) -> GraphSizes;

    /// How it chooses what is in memory, as a sentence or two, for explanations.
    fn rule(&self) -> Cow<'static, str> {
        "This allocator does not say how it chooses what is in memory.".into()
    }
}

/// The allocators that come with chordal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Our phases, by these choices.
    Phases(Preset),
    Regalloc2(Algorithm),
}

impl From<Preset> for Strategy {
    fn from(preset: Preset) -> Self {
        Strategy::Phases(preset)
    }
}

impl Allocate for Strategy {
    fn allocate(&self, function: &Function) -> Result<(Overlay, Report), Failure> {
        self.run(function, None, &mut ())
    }

    fn graphs(&self, function: &Function) -> GraphSizes {
        match self {
            Strategy::Phases(preset) => sizes_before_spilling(function, preset),
            Strategy::Regalloc2(_) => GraphSizes::default(),
        }
    }

    fn rule(&self) -> Cow<'static, str> {
        match self {
            Strategy::Phases(preset) => match preset.assignment.spilling() {
                Some(spilling) => format!("What is spilled (`--spill {}`): {}.", spilling.name, spilling.about).into(),
                None => "What finds no register when registers are assigned is spilled, unless it weighs more than others.".into(),
            },
            Strategy::Regalloc2(Algorithm::Backtracking) => {
                "regalloc2 evicts bundles of live ranges that weigh less, splits those that do not fit, and spills the smallest parts."
                    .into()
            }
            Strategy::Regalloc2(Algorithm::Fast) => "regalloc2's fast allocator keeps values in memory between blocks.".into(),
        }
    }
}

/// One of our allocators, with another spiller in place of the one that its choices name.
pub struct WithSpiller<'s> {
    pub preset: Preset,
    pub spiller: &'s dyn Spiller,
}

impl Allocate for WithSpiller<'_> {
    fn allocate(&self, function: &Function) -> Result<(Overlay, Report), Failure> {
        Strategy::Phases(self.preset).run(function, Some(self.spiller), &mut ())
    }

    fn graphs(&self, function: &Function) -> GraphSizes {
        Strategy::Phases(self.preset).graphs(function)
    }
}

impl Strategy {
    /// [`Allocate::allocate`] with an observer, and perhaps another spiller than the strategy's own.
    fn run(
        &self,
        function: &Function,
        spiller: Option<&dyn Spiller>,
        observer: &mut dyn Observer,
    ) -> Result<(Overlay, Report), Failure> {
        if !self.leaves_ssa_form()
            && let Some(block) = function.blocks.keys().find(|&block| defines_beyond_code(function, block))
        {
            let message = format!(
                "a terminator of {block} defines a value, and code that moves it has no place on all edges: only out-of-ssa can \
                 do it"
            );
            return Err(Unsupported(message).into());
        }
        match self {
            Strategy::Phases(preset) => match by_phases(function, preset, spiller, Clock::new(*self, observer)) {
                // A value that is read in place of its copy may have fewer registers, and an instruction that has moved may
                // compete with others for them.
                Err(Failure::Unsupported(reason)) if preset.prepares() => as_it_is(function, preset, spiller, &reason, observer),
                result => result,
            },
            Strategy::Regalloc2(algorithm) => by_regalloc2(function, *algorithm, Clock::new(*self, observer)),
        }
    }

    /// The same allocator, which also reports what registers are worth, if it decides by that ([`Report::prices`]).
    pub fn keeping_prices(mut self) -> Self {
        if let Strategy::Phases(preset) = &mut self {
            preset.spill.keep_prices = true;
        }
        self
    }

    /// The phases that this allocator runs, in order, without analyses, which change nothing.
    pub fn phases(&self) -> Vec<Phase> {
        Phase::ALL.into_iter().filter(|&phase| self.runs(phase)).collect()
    }

    fn runs(&self, phase: Phase) -> bool {
        let Strategy::Phases(preset) = self else { return phase == Phase::Regalloc2 };
        match phase {
            Phase::Unsplit | Phase::Destruct => self.leaves_ssa_form(),
            Phase::Cssa => !self.leaves_ssa_form(),
            Phase::Copies => preset.merge_copies || preset.park,
            Phase::Sink => moves(preset).any(),
            Phase::Forms => preset.forms,
            Phase::Recolour => preset.assignment.recolouring() != Recolouring::Never,
            Phase::Spill | Phase::Assign | Phase::Eliminate => true,
            Phase::Analysis | Phase::Regalloc2 => false,
        }
    }

    /// Whether callee-saved registers are saved each for itself, where that costs less, once the function is allocated.
    pub fn separate_saves(&self) -> bool {
        matches!(self, Strategy::Phases(Preset { separate_saves: true, .. }))
    }

    /// Whether the program leaves SSA form before allocation, by the conversion that can handle values that no copy can
    /// separate.
    fn leaves_ssa_form(&self) -> bool {
        matches!(self, Strategy::Phases(Preset { coalescing: Coalescing::Destruction(_), .. }))
    }
}

/// Whether terminators define values that code may not be able to move at the heads of the successors: these have other
/// predecessors, or φs, which take values from predecessors' ends. So it is in no function that LLVM hands over.
fn defines_beyond_code(function: &Function, block: Block) -> bool {
    let takes_no_code = |&succ: &Block| function.blocks[succ].preds.len() > 1 || !function.blocks[succ].phis.is_empty();
    function.defined_by_terminators(block).next().is_some() && function.blocks[block].succs.iter().any(takes_no_code)
}

/// A message about a move or swap between registers that are not together in any class as wide. (If an instruction takes
/// none of the registers that may be used, its class has others, which may be in no class with these.)
fn moved_by_no_class(function: &Function, overlay: &Overlay) -> Option<String> {
    let file = &function.file;
    overlay.edits.iter().find_map(|(point, edit)| {
        let (from, to, class) = match *edit {
            Edit::Move { to, from, class } => (from, to, class),
            Edit::Swap { a, b, class, .. } => (a, b, class),
            _ => return None,
        };
        // The program itself copies to and from registers that are excluded from allocation.
        let ends = RegSet::from_iter([from, to]) - file.excluded;
        let wanted = &file.classes[class];
        let moves = |c: &ClassInfo| c.bank == wanted.bank && c.slot_size >= wanted.slot_size && ends.is_subset(c.regs);
        let moved = moves(wanted) || file.classes.values().any(moves);
        let names = [from, to].map(|reg| file.name(reg));
        (!moved).then(|| {
            format!("no class moves what {} holds between {} and {}, in {}", wanted.name, names[0], names[1], point.block)
        })
    })
}

/// The statistics of allocating one function.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Conversion to conventional SSA form.
    pub conversion: ConversionCounts,
    /// Destruction of SSA form before allocation.
    pub destruction: DestructionCounts,
    /// Spilling.
    pub spill: SpillCounts,
    /// Recolouring.
    pub recolouring: RecolouringCounts,
    /// φ elimination, as in [PP09, Figure 10].
    pub elimination: EliminationCounts,
    /// The phases that did something else than they were asked for.
    pub degraded: Vec<Degraded>,
    /// What registers are worth, where they are worth anything, if the spiller keeps that.
    pub prices: Vec<Price>,
    /// The time of each phase, in the order in which they ran.
    pub phases: Vec<(Phase, Duration)>,
}

/// Allocates registers for a function, and checks the result.
///
/// # Errors
/// If the function contains something that cannot be allocated, or a phase, or the checker, finds a bug.
pub fn allocate(function: &Function, strategy: impl Into<Strategy>) -> Result<(Overlay, Report), Failure> {
    allocate_watched(function, strategy, &mut ())
}

/// [`allocate`], with an observer of the phases.
///
/// # Errors
/// As those of [`allocate`].
pub fn allocate_watched(
    function: &Function,
    strategy: impl Into<Strategy>,
    observer: &mut dyn Observer,
) -> Result<(Overlay, Report), Failure> {
    let (overlay, report) = strategy.into().run(function, None, observer)?;
    check(function, &overlay)?;
    Ok((overlay, report))
}

/// Checks an allocation.
///
/// # Errors
/// If it is wrong.
pub fn check(function: &Function, overlay: &Overlay) -> Result<(), Defect> {
    check::check(function, overlay).map_err(|complaints| Defect::Rejected(listed(&complaints)))
}

/// Allocates by our phases.
///
/// In a function with a call that may return twice, the program may read a value in memory after values that only live after
/// the first return have been written. So no two values share a slot there, except for a φ and the copies that isolate it.
fn by_phases(
    imported: &Function,
    preset: &Preset,
    spiller: Option<&dyn Spiller>,
    mut clock: Clock,
) -> Result<(Overlay, Report), Failure> {
    if preset.assignment.needs_solver() && !HAS_SOLVER {
        return Err(Unsupported("this build has no solver for integer programs".into()).into());
    }
    let unsplit = without_blocks_on_edges(imported, preset);
    let function = unsplit.as_ref().unwrap_or(imported);
    clock.after(Phase::Unsplit, Stage::Program(function));
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    clock.lap(Phase::Analysis);
    let Prepared { program, liveness, changes } = prepare(function, &order, &dominators, preset, &mut clock);
    let prepared = program.as_ref().unwrap_or(function);
    let (mut conventional, liveness, destruction) =
        convert(prepared, liveness, &order, &dominators, preset, spiller, &mut clock)?;
    // From here on memory use is greatest, so what is no longer needed is dropped.
    drop(program);
    if preset.forms {
        forms::choose(&mut conventional, &liveness);
    }
    clock.after(Phase::Forms, Stage::Conventional(&conventional));
    let Allocated { spilled, liveness: among_spilled, assignment, prices } =
        allocated(&conventional, &order, &dominators, &liveness, preset, spiller, &mut clock)?;
    let graphs = eliminate::Graphs::new(&conventional, &liveness, &spilled.memory);
    let conversion = conventional.counts;
    // No later phase needs these.
    drop((conventional, liveness));
    let mut coloured = assign::split_at_repairs(&spilled, &order, &dominators, &among_spilled, assignment);
    let Spilled { memory, untouched, counts, degraded, .. } = spilled;
    drop(among_spilled);
    clock.after(Phase::Assign, Stage::Coloured(&coloured, &memory));
    let liveness = Liveness::new(&coloured.function);
    coloured.forget_dead_debug_uses(&liveness);
    let pins = preset.assignment.pins().occupied(&coloured.function, &liveness, &untouched);
    clock.lap(Phase::Analysis);
    let recolouring = recolour::recolour(&mut coloured, &liveness, &pins, preset.assignment.recolouring(), preset.spill.solver);
    clock.after(Phase::Recolour, Stage::Coloured(&coloured, &memory));
    let (overlay, code) = answer((imported, &changes), &memory, &coloured, &liveness, &pins, preset)?;
    clock.after(Phase::Eliminate, Stage::Allocated(imported, &overlay));
    let elimination = graphs.count(&coloured, &memory, &liveness, &code);
    let phases = clock.phases;
    let report = Report { conversion, destruction, spill: counts, recolouring, elimination, degraded, prices, phases };
    Ok((overlay, report))
}

/// Eliminates φs, and makes the overlay of the imported function. `changes` are the differences between that function and
/// the program that was allocated.
fn answer(
    (imported, changes): (&Function, &Changes),
    memory: &Memory,
    coloured: &Coloured,
    liveness: &Liveness,
    pins: &PinLiveness,
    preset: &Preset,
) -> Result<(Overlay, EdgeCode), Failure> {
    let code =
        eliminate::eliminate(memory, coloured, liveness, pins, preset.swap, preset.assignment.elimination().memory_transfers())?;
    let mut overlay = eliminate::overlay((imported, changes), memory, coloured, liveness, pins, &code, preset.swap);
    if preset.spare_jumps {
        eliminate::hoist(imported, coloured, liveness, pins, preset.spill.weigh_size, &mut overlay);
    }
    if let Some(message) = moved_by_no_class(imported, &overlay) {
        return Err(Unsupported(message).into());
    }
    if let Some(inst) = overlay.displaced_record(imported) {
        let message = format!("a value moves between where its place is taken, {inst}, and where the place is recorded");
        return Err(Unsupported(message).into());
    }
    if preset.register_slots {
        register_slots::into_registers(imported, &mut overlay);
    }
    debug::locate(imported, &mut overlay);
    Ok((overlay, code))
}

/// Allocates the program as imported, since it could not be allocated as it had been prepared.
fn as_it_is(
    function: &Function,
    preset: &Preset,
    spiller: Option<&dyn Spiller>,
    reason: &Unsupported,
    observer: &mut dyn Observer,
) -> Result<(Overlay, Report), Failure> {
    let reason = format!("without merging copies, parking, sinking and other forms: {reason}");
    observer.undone(&reason);
    let preset = preset.unprepared();
    let (overlay, mut report) = by_phases(function, &preset, spiller, Clock::new(preset.into(), observer))?;
    report.degraded.insert(0, Degraded::new("prepare", reason));
    Ok((overlay, report))
}

fn by_regalloc2(function: &Function, algorithm: Algorithm, mut clock: Clock) -> Result<(Overlay, Report), Failure> {
    let allocated = regalloc2::allocate(function, algorithm)?;
    clock.after(Phase::Regalloc2, Stage::Allocated(function, &allocated.overlay));
    let spill = SpillCounts { values: allocated.spilled, ..SpillCounts::default() };
    Ok((allocated.overlay, Report { spill, phases: clock.phases, ..Report::default() }))
}

/// The program in a form that can be allocated better.
struct Prepared {
    /// `None` if it is as imported.
    program: Option<Function>,
    /// That of the program as it is now, if a phase has needed it.
    liveness: Option<Liveness>,
    changes: Changes,
}

fn prepare(function: &Function, order: &Order, dominators: &Dominators, preset: &Preset, clock: &mut Clock) -> Prepared {
    // If a call returns twice, the program may read a value in memory after its first return although the value has been
    // overwritten.
    let mut changes = Changes::default();
    let (mut prepared, mut known) = (None, None);
    if preset.merge_copies && !function.returns_twice {
        let merged = copies::merge(function, order, dominators, preset.spill.rematerialise);
        (prepared, changes.computed, changes.computes_in_place) = (Some(merged.0), merged.1, true);
    }
    clock.lap(Phase::Copies);
    if preset.park && park::is_possible(function) {
        let program = prepared.as_ref().unwrap_or(function);
        let liveness = Liveness::new(program);
        clock.lap(Phase::Analysis);
        match park(program, &liveness) {
            Some((program, parked)) => (prepared, changes.parked) = (Some(program), parked),
            None => known = Some(liveness),
        }
        clock.lap(Phase::Copies);
    }
    clock.show(Phase::Copies, Stage::Program(prepared.as_ref().unwrap_or(function)));
    let moves = moves(preset);
    if moves.any() {
        let program = prepared.as_ref().unwrap_or(function);
        let liveness = known.take().unwrap_or_else(|| Liveness::new(program));
        clock.lap(Phase::Analysis);
        let sunk = sink(program, &liveness, moves);
        clock.lap(Phase::Sink);
        known = Some(match sunk {
            Some((program, moved)) => {
                let liveness = liveness.reordered(&program);
                (prepared, changes.moved) = (Some(program), moved);
                liveness
            }
            None => liveness,
        });
        clock.lap(Phase::Analysis);
        clock.show(Phase::Sink, Stage::Program(prepared.as_ref().unwrap_or(function)));
    }
    if preset.spill.weigh_size {
        cost::weigh_size(prepared.get_or_insert_with(|| function.clone()));
    }
    Prepared { program: prepared, liveness: known, changes }
}

/// The instructions that an allocator moves down.
fn moves(preset: &Preset) -> Moves {
    Moves { overwrite: preset.sink, delay: preset.delay }
}

/// The program without blocks on edges, if it is to leave SSA form before allocation, which does not need them.
fn without_blocks_on_edges(function: &Function, preset: &Preset) -> Option<Function> {
    if matches!(preset.coalescing, Coalescing::Destruction(_)) { unsplit(function) } else { None }
}

fn convert(
    function: &Function,
    liveness: Option<Liveness>,
    order: &Order,
    dominators: &Dominators,
    preset: &Preset,
    spiller: Option<&dyn Spiller>,
    clock: &mut Clock,
) -> Result<(Conventional, Liveness, DestructionCounts), Unsupported> {
    if let Coalescing::Destruction(policy) = preset.coalescing {
        let (destructed, counts) = destruct(function, order, dominators, policy, !function.returns_twice)?;
        clock.after(Phase::Destruct, Stage::Conventional(&destructed));
        let liveness = Liveness::new(&destructed.function);
        clock.lap(Phase::Analysis);
        return Ok((destructed, liveness, counts));
    }
    let coalescing = if function.returns_twice { Coalescing::Nothing } else { preset.coalescing };
    if coalescing == Coalescing::Value {
        let conventional = cssa::by_value(function, order, dominators)?;
        clock.after(Phase::Cssa, Stage::Conventional(&conventional));
        let liveness = Liveness::new(&conventional.function);
        clock.lap(Phase::Analysis);
        return Ok((conventional, liveness, DestructionCounts::default()));
    }
    let liveness = liveness.unwrap_or_else(|| Liveness::new(function));
    clock.lap(Phase::Analysis);
    let interference = Interference::new(function, dominators, &liveness);
    let mut conventional = cssa::conventional(function, order, dominators, &interference, coalescing, preset.spare_jumps);
    let splits =
        spiller.map_or_else(|| preset.assignment.spilling().is_some_and(SpillStrategy::splits), |it| it.abilities().splits);
    if matches!(coalescing, Coalescing::ByPhi | Coalescing::Pairwise) && splits {
        conventional = cssa::rejoin(conventional, dominators);
    }
    clock.after(Phase::Cssa, Stage::Conventional(&conventional));
    let liveness = liveness.isolated(function, &conventional.function);
    clock.lap(Phase::Analysis);
    Ok((conventional, liveness, DestructionCounts::default()))
}

fn sizes_before_spilling(function: &Function, preset: &Preset) -> GraphSizes {
    let unsplit = without_blocks_on_edges(function, preset);
    let function = unsplit.as_ref().unwrap_or(function);
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let Ok((conventional, liveness, _)) =
        convert(function, None, &order, &dominators, preset, None, &mut Clock::new((*preset).into(), &mut ()))
    else {
        return GraphSizes::default();
    };
    let function = &conventional.function;
    graph_sizes(function, &liveness, &PinLiveness::new(function))
}

/// A function whose values are in registers or in memory.
struct Allocated {
    spilled: Spilled,
    /// That of the spilled function.
    liveness: Liveness,
    assignment: Assignment,
    /// [`Plan::prices`](crate::allocate::spill::Plan::prices).
    prices: Vec<Price>,
}

/// Spills and assigns, in turns as long as assignment finds more to spill.
fn allocated(
    conventional: &Conventional,
    order: &Order,
    dominators: &Dominators,
    liveness: &Liveness,
    preset: &Preset,
    spiller: Option<&dyn Spiller>,
    clock: &mut Clock,
) -> Result<Allocated, Failure> {
    let (choice, effort) = (preset.assignment.spilling(), preset.spill.effort);
    let (own, degraded) = spiller_within_reach(choice, effort, &conventional.function, liveness);
    let (spiller, degraded) = spiller.map_or((&*own, degraded), |spiller| (spiller, None));
    let (policy, downstream) = (preset.spill, preset.assignment.downstream());
    let problem = Problem::new(conventional, order, dominators, liveness, policy, downstream, spiller.abilities())?;
    let mut requested: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut rounds = 0;
    loop {
        let (plan, mut spilled) = spill(&problem, spiller, &requested)?;
        spilled.degraded.extend(degraded.clone());
        clock.after(Phase::Spill, Stage::Spilled(&spilled));
        let liveness = Liveness::new(&spilled.function);
        let weight = |value: Value| problem.weights()[value];
        let evictable = Evictable { weight: &weight, webs: &conventional.webs, spilled: &spilled };
        let assignment = match preset.assignment {
            AssignmentStrategy::DominanceOrder(DominanceOrder { assign, .. }) => {
                assign::assign(&spilled, order, dominators, &liveness, assign, evictable)
            }
            AssignmentStrategy::LinearScan => assign::scan(&spilled, &liveness, evictable),
            AssignmentStrategy::GraphColouring => assign::colour_graph(&spilled, &liveness, evictable),
        };
        clock.lap(Phase::Assign);
        match assignment {
            Ok(assignment) => return Ok(Allocated { spilled, liveness, assignment, prices: plan.prices }),
            Err(Refusal::Evicted(values)) => {
                clock.observer.evicted(&values);
                let kept = plan.in_memory.iter().filter(|_| rounds >= PATIENCE);
                values.into_iter().chain(kept).for_each(|value| requested[value] = true);
                rounds += 1;
            }
            Err(Refusal::Failed(failure)) => return Err(failure),
        }
    }
}

/// The number of rounds in which a value that assignment evicts may leave its place to another one that was spilled before.
/// After that, spilled values stay spilled, because hundreds of values could follow each other into one place that none of
/// them can keep. (One of bzip2's functions takes 43 rounds.)
const PATIENCE: usize = 64;

/// The first few complaints, and how many more there are.
fn listed(complaints: &[check::Complaint]) -> String {
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = complaints.iter().take(SHOWN).map(ToString::to_string).collect();
    if complaints.len() > SHOWN {
        lines.push(format!("and {} more", complaints.len() - SHOWN));
    }
    lines.join("; ")
}

/// Measures the time of phases, and shows them to the observer.
struct Clock<'o> {
    last: Instant,
    phases: Vec<(Phase, Duration)>,
    strategy: Strategy,
    observer: &'o mut dyn Observer,
}

impl<'o> Clock<'o> {
    fn new(strategy: Strategy, observer: &'o mut dyn Observer) -> Self {
        Clock { last: Instant::now(), phases: Vec::new(), strategy, observer }
    }

    /// Ends a phase, or a part of it.
    fn lap(&mut self, phase: Phase) {
        let now = Instant::now();
        self.phases.push((phase, now - self.last));
        self.last = now;
    }

    /// Shows the function after a phase. (A phase that the allocator does not run has a time as well, close to none, but is
    /// not shown.)
    fn show(&mut self, phase: Phase, stage: Stage) {
        if self.strategy.runs(phase) {
            self.observer.after(phase, stage);
        }
    }

    /// Ends a phase, and shows the function after it.
    fn after(&mut self, phase: Phase, stage: Stage) {
        self.lap(phase);
        self.show(phase, stage);
    }
}
