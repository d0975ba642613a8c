//! The options of chordal's allocators.

use super::allocators::Configured;
use super::choices::{self, Choice as _};
use crate::allocate::HAS_SOLVER;
use crate::allocate::allocators::{AssignmentStrategy, Elimination, Preset, RegisterCoalescing};
use crate::allocate::assign::PinPolicy;
use crate::allocate::cssa::Coalescing;
use crate::allocate::destruct::{Merging, Notion, Source};
use crate::allocate::eliminate::SwapPolicy;
use crate::allocate::pipeline::Strategy;
use crate::allocate::spill::{self, Effort, LoadLowering};
use crate::llvm::{Algorithm, Stock};
use crate::measure::stats::{DestructionOptions, Options, OwnOptions};
use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use std::time::Duration;

/// Choices that override an allocator's own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of chordal's allocators (each has its own defaults; see `chordal list`)")]
pub struct AllocatorOptions {
    /// How phis are eliminated after allocation; the latter two imply `--frugal off`, and `--spill weight` where values would
    /// be in memory for parts of their lives
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<Elimination>())]
    eliminate: Option<Elimination>,

    /// Which values are spilled
    #[arg(long, value_name = "WHICH", value_parser = choices::parser::<spill::Choice>())]
    spill: Option<spill::Choice>,

    /// How long `--spill priced` looks for something better
    #[arg(long, value_name = "LEVEL", value_parser = choices::parser::<Effort>())]
    effort: Option<Effort>,

    /// How long integer programs of one function may take, in spilling and in coalescing, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    solver_seconds: Option<u32>,

    /// Whether spilled values related by phis share one slot; if not, phis move memory to memory
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    frugal: Option<Switch>,

    /// Whether a phi argument that goes to memory is stored once, after its definition
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    store_hoist: Option<Switch>,

    /// When a phi whose arguments are in memory is put there too, and loaded before its uses
    #[arg(long, value_name = "WHEN", value_parser = choices::parser::<LoadLowering>())]
    load_lower: Option<LoadLowering>,

    /// Whether copies from a spill slot to the same slot are dropped
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    memory_coalesce: Option<Switch>,

    /// Whether instructions read spilled operands directly from memory, or change them there; if not, only copies do
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    fold: Option<Switch>,

    /// Whether instructions read arguments on the stack, and constants in memory, from there, if live ranges are split
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    read_in_place: Option<Switch>,

    /// Whether constants and addresses are computed again instead of being spilled
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    rematerialise: Option<Switch>,

    /// Whether instructions cost a little however seldom they are executed and however little they do
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    weigh_size: Option<Switch>,

    /// Whether values are read in place of their copies, and constants computed where they are copied to
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    merge_copies: Option<Switch>,

    /// Whether values wait in registers that --registers excludes, where the program has put them or wants them
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    park: Option<Switch>,

    /// Whether two-address instructions move behind the last use of what they overwrite
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    sink: Option<Switch>,

    /// Whether what is computed moves down to its first use where registers are scarce
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    delay: Option<Switch>,

    /// Whether two-address instructions get other forms (operands exchanged, three addresses) where that saves a copy
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    forms: Option<Switch>,

    /// Whether copies avoid edges that get a block of their own, and a jump, for them, where that costs less
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    spare_jumps: Option<Switch>,

    /// Whether callee-saved registers are saved each for itself, where that costs less, and not by the prologue
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    separate_saves: Option<Switch>,

    /// Whether what a two-address instruction overwrites, and what is read of it later, are recoloured apart
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    split_ties: Option<Switch>,

    /// Whether an argument has another register from where it cannot stay in the one it comes in, if control seldom comes there
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    split_arguments: Option<Switch>,

    /// What happens to values whose registers are taken by calls, the ABI or instructions
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<PinPolicy>())]
    pins: Option<PinPolicy>,

    /// What makes copies between registers come to nothing
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<RegisterCoalescing>())]
    coalesce: Option<RegisterCoalescing>,

    /// Which of the copies that isolate phis from each other are taken back, so that what a phi relates can share one slot
    #[arg(long, value_name = "WHICH", value_parser = choices::parser::<Coalescing>())]
    cssa: Option<Coalescing>,

    /// Out of SSA form: what allocates registers then
    #[arg(long, value_name = "WHAT", value_parser = choices::parser::<AssignmentStrategy>())]
    after: Option<AssignmentStrategy>,

    /// Out of SSA form: when two variables interfere, so that they cannot be one
    #[arg(long, value_name = "WHEN", value_parser = choices::parser::<Notion>())]
    interference: Option<Notion>,

    /// Out of SSA form: whether copies that isolate phis are inserted only if they stay
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    virtualize: Option<Switch>,

    /// Out of SSA form: how it is found out whether a variable is live somewhere
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<Source>())]
    liveness: Option<Source>,

    /// Out of SSA form: in which order copies' two sides become one variable
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<Merging>())]
    merge: Option<Merging>,

    /// How registers trade contents when a parallel copy forms a cycle
    #[arg(long, value_name = "HOW", value_parser = choices::parser::<SwapPolicy>())]
    swap: Option<SwapPolicy>,
}

/// Choices about LLVM's allocators.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of LLVM's allocators")]
pub struct StockOptions {
    /// Whether LLVM's scheduler runs before its allocator, as it does in llc; chordal's allocators do without [default: on]
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    llvm_schedule: Option<Switch>,
}

impl StockOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If an option is not for this allocator.
    pub fn apply(&self, algorithm: Algorithm) -> Result<Stock, String> {
        if algorithm != Algorithm::Fast {
            return Ok(Stock { algorithm, schedule: self.llvm_schedule != Some(Switch::Off) });
        }
        match self.given() {
            Some(option) => Err(format!("{option} is not for LLVM's fast allocator, which is never scheduled for")),
            None => Ok(Stock { algorithm, schedule: false }),
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        self.llvm_schedule.map(|_| "--llvm-schedule")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl AllocatorOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If the choices contradict each other.
    pub fn apply(&self, mut preset: Preset) -> Result<Preset, String> {
        set(&mut preset.spill.store_hoist, self.store_hoist.map(Switch::is_on));
        set(&mut preset.spill.load_lower, self.load_lower);
        set(&mut preset.spill.memory_coalesce, self.memory_coalesce.map(Switch::is_on));
        set(&mut preset.spill.fold, self.fold.map(Switch::is_on));
        set(&mut preset.spill.read_in_place, self.read_in_place.map(Switch::is_on));
        set(&mut preset.spill.rematerialise, self.rematerialise.map(Switch::is_on));
        set(&mut preset.spill.effort, self.effort);
        set(&mut preset.spill.solver, self.solver_seconds.map(|seconds| Duration::from_secs(seconds.into())));
        set(&mut preset.spill.weigh_size, self.weigh_size.map(Switch::is_on));
        set(&mut preset.merge_copies, self.merge_copies.map(Switch::is_on));
        set(&mut preset.park, self.park.map(Switch::is_on));
        set(&mut preset.sink, self.sink.map(Switch::is_on));
        set(&mut preset.delay, self.delay.map(Switch::is_on));
        set(&mut preset.forms, self.forms.map(Switch::is_on));
        set(&mut preset.spare_jumps, self.spare_jumps.map(Switch::is_on));
        set(&mut preset.separate_saves, self.separate_saves.map(Switch::is_on));
        set(&mut preset.swap, self.swap);
        match &mut preset.assignment {
            AssignmentStrategy::DominanceOrder(dominance) => {
                set(&mut dominance.spilling, self.spill);
                set(&mut dominance.elimination, self.eliminate);
                set(&mut dominance.assign.pins, self.pins);
                set(&mut dominance.assign.split_ties, self.split_ties.map(Switch::is_on));
                set(&mut dominance.assign.split_arguments, self.split_arguments.map(Switch::is_on));
                self.coalesce.into_iter().for_each(|how| dominance.coalesce(how));
                set(&mut preset.coalescing, self.cssa);
                // Who wants to see memory moved to memory wants values that are in memory all their lives.
                if self.spill.is_none() && dominance.spilling.splits() && !dominance.elimination.is_frugal() {
                    dominance.spilling = spill::Choice::Lightest;
                }
            }
            AssignmentStrategy::LinearScan | AssignmentStrategy::GraphColouring => self.check_for_one_place(preset.name)?,
        }
        match &mut preset.coalescing {
            Coalescing::Destruction(policy) => {
                set(&mut preset.assignment, self.after);
                set(&mut policy.notion, self.interference);
                set(&mut policy.virtualize, self.virtualize.map(Switch::is_on));
                set(&mut policy.liveness, self.liveness);
                set(&mut policy.merging, self.merge);
            }
            _ => self.check_within_ssa(preset.name)?,
        }
        self.check_frugality(preset.assignment.elimination())?;
        check_shared_slots(&preset.assignment)?;
        check_solver(&preset.assignment)?;
        Ok(preset)
    }

    /// An error if an option is not for an allocator that keeps each variable in one place.
    fn check_for_one_place(&self, name: &str) -> Result<(), String> {
        let moves = [self.eliminate.is_some_and(|how| !how.is_frugal()), self.pins.is_some_and(|pins| pins != PinPolicy::Avoid)];
        if moves.contains(&true) {
            return Err(format!(
                "{name} keeps each variable in one place: nothing moves for phis or pins, so `--eliminate` and `--pins` do not apply"
            ));
        }
        if [self.split_ties, self.split_arguments].contains(&Some(Switch::On)) {
            return Err(format!(
                "{name} keeps each variable in one place: nothing is split, so `--split-ties` and `--split-arguments` do not apply"
            ));
        }
        if self.coalesce.is_some() {
            return Err(format!("{name} has a way of its own to coalesce copies, so `--coalesce` does not apply"));
        }
        if self.cssa.is_some() {
            return Err(format!("{name} has values share registers, not only slots, so `--cssa` does not apply"));
        }
        if self.spill.is_some() {
            return Err(format!("{name} spills a variable when it finds no register for it, so `--spill` does not apply"));
        }
        Ok(())
    }

    /// An error if an option is not for an allocator whose program does not leave SSA form before, or not in that way.
    fn check_within_ssa(&self, name: &str) -> Result<(), String> {
        let given = [
            ("--after", self.after.is_some()),
            ("--interference", self.interference.is_some()),
            ("--virtualize", self.virtualize.is_some()),
            ("--liveness", self.liveness.is_some()),
            ("--merge", self.merge.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(format!("`{option}` is about leaving SSA form as out-of-ssa does, which {name} does not")),
            None => Ok(()),
        }
    }

    /// An error if `--frugal` contradicts the way in which φs are eliminated, which decides whether slots are shared.
    fn check_frugality(&self, elimination: Elimination) -> Result<(), String> {
        match self.frugal {
            Some(Switch::Off) if elimination.is_frugal() => Err("spill-free elimination of phis needs frugal slots: \
                     with `--frugal off`, choose `--eliminate spare-register` or `--eliminate on-demand`"
                .into()),
            Some(Switch::On) if !elimination.is_frugal() => {
                let name = elimination.name();
                Err(format!(
                    "with `--frugal on`, phis move nothing from memory to memory, so there is nothing to do for `--eliminate {name}`"
                ))
            }
            _ => Ok(()),
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--eliminate", self.eliminate.is_some()),
            ("--frugal", self.frugal.is_some()),
            ("--spill", self.spill.is_some()),
            ("--store-hoist", self.store_hoist.is_some()),
            ("--load-lower", self.load_lower.is_some()),
            ("--memory-coalesce", self.memory_coalesce.is_some()),
            ("--fold", self.fold.is_some()),
            ("--read-in-place", self.read_in_place.is_some()),
            ("--rematerialise", self.rematerialise.is_some()),
            ("--effort", self.effort.is_some()),
            ("--solver-seconds", self.solver_seconds.is_some()),
            ("--weigh-size", self.weigh_size.is_some()),
            ("--merge-copies", self.merge_copies.is_some()),
            ("--park", self.park.is_some()),
            ("--sink", self.sink.is_some()),
            ("--delay", self.delay.is_some()),
            ("--forms", self.forms.is_some()),
            ("--spare-jumps", self.spare_jumps.is_some()),
            ("--separate-saves", self.separate_saves.is_some()),
            ("--split-ties", self.split_ties.is_some()),
            ("--split-arguments", self.split_arguments.is_some()),
            ("--pins", self.pins.is_some()),
            ("--coalesce", self.coalesce.is_some()),
            ("--cssa", self.cssa.is_some()),
            ("--after", self.after.is_some()),
            ("--interference", self.interference.is_some()),
            ("--virtualize", self.virtualize.is_some()),
            ("--liveness", self.liveness.is_some()),
            ("--merge", self.merge.is_some()),
            ("--swap", self.swap.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// An error if values move between registers and slots that φs would have to move between slots as well.
fn check_shared_slots(registers: &AssignmentStrategy) -> Result<(), String> {
    match registers.spilling() {
        Some(how) if how.splits() && !registers.elimination().is_frugal() => {
            let (how, elimination) = (how.name(), registers.elimination().name());
            Err(format!("`--spill {how}` needs frugal slots, which `--eliminate {elimination}` does without"))
        }
        _ => Ok(()),
    }
}

/// What to say where integer programs are wanted of a build that cannot solve them.
pub const NO_SOLVER: &str = "this chordal was built without a solver for integer programs; `make optimal` builds one that has it";

/// An error if integer programs are wanted of a build that cannot solve them.
fn check_solver(registers: &AssignmentStrategy) -> Result<(), String> {
    if registers.needs_solver() && !HAS_SOLVER {
        return Err(NO_SOLVER.into());
    }
    Ok(())
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

fn set<T>(choice: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *choice = given;
    }
}

/// The choices that an allocator works by, as the command line names them.
pub fn of(allocator: &Configured) -> Option<Options> {
    match allocator {
        Configured::Ours(Strategy::Phases(preset)) => Some(Options::Own(Box::new(describe(preset)))),
        Configured::Ours(Strategy::Regalloc2(_)) => None,
        Configured::Llvm(stock) => Some(Options::Other(IndexMap::from([("llvm_schedule".to_owned(), stock.schedule)]))),
    }
}

fn describe(preset: &Preset) -> OwnOptions {
    let elimination = preset.assignment.elimination();
    let has_effort = matches!(preset.assignment.spilling(), Some(spill::Choice::Priced | spill::Choice::Optimal));
    OwnOptions {
        eliminate: elimination.name().into(),
        frugal: elimination.is_frugal(),
        spill: preset.assignment.spilling().map_or("requested", spill::Choice::name).into(),
        store_hoist: preset.spill.store_hoist,
        load_lower: preset.spill.load_lower.name().into(),
        memory_coalesce: preset.spill.memory_coalesce,
        fold: preset.spill.fold,
        read_in_place: preset.spill.read_in_place,
        rematerialise: preset.spill.rematerialise,
        effort: has_effort.then(|| preset.spill.effort.name().into()),
        solver_seconds: preset.assignment.needs_solver().then_some(preset.spill.solver.as_secs()),
        weigh_size: preset.spill.weigh_size,
        merge_copies: preset.merge_copies,
        park: preset.park,
        sink: preset.sink,
        delay: preset.delay,
        forms: preset.forms,
        spare_jumps: preset.spare_jumps,
        separate_saves: preset.separate_saves,
        split_ties: preset.assignment.split_ties(),
        split_arguments: preset.assignment.split_arguments(),
        pins: preset.assignment.pins().name().into(),
        coalesce: preset.assignment.coalescing().name().into(),
        cssa: matches!(preset.assignment, AssignmentStrategy::DominanceOrder(_)).then(|| preset.coalescing.name().into()),
        destruction: destruction(preset),
        swap: preset.swap.name().into(),
    }
}

/// How the program leaves SSA form.
fn destruction(preset: &Preset) -> Option<DestructionOptions> {
    let Coalescing::Destruction(policy) = preset.coalescing else { return None };
    Some(DestructionOptions {
        after: preset.assignment.name().into(),
        interference: policy.notion.name().into(),
        virtualize: policy.virtualize,
        liveness: policy.liveness.name().into(),
        merge: policy.merging.name().into(),
    })
}

/// An allocator as arguments, with the options that differ from its own.
pub fn command(name: &str, allocator: &Configured) -> String {
    let mut words = vec![format!("--allocator {name}")];
    if let Configured::Ours(Strategy::Phases(preset)) = allocator {
        let own = Preset::named(preset.name).map_or_else(Vec::new, |own| arguments(&own));
        words.extend(arguments(preset).into_iter().filter(|argument| !own.contains(argument)));
    }
    words.join(" ")
}

/// The choices of one of chordal's allocators as arguments, one an option.
pub fn arguments(preset: &Preset) -> Vec<String> {
    let switch = |on: bool| if on { "on" } else { "off" };
    let OwnOptions {
        eliminate,
        frugal,
        spill,
        store_hoist,
        load_lower,
        memory_coalesce,
        fold,
        read_in_place,
        rematerialise,
        effort,
        solver_seconds,
        weigh_size,
        merge_copies,
        park,
        sink,
        delay,
        forms,
        spare_jumps,
        separate_saves,
        split_ties,
        split_arguments,
        pins,
        coalesce,
        cssa,
        destruction,
        swap,
    } = describe(preset);
    let mut arguments = vec![
        format!("--eliminate {eliminate}"),
        format!("--frugal {}", switch(frugal)),
        format!("--store-hoist {}", switch(store_hoist)),
        format!("--load-lower {load_lower}"),
        format!("--memory-coalesce {}", switch(memory_coalesce)),
        format!("--fold {}", switch(fold)),
        format!("--read-in-place {}", switch(read_in_place)),
        format!("--rematerialise {}", switch(rematerialise)),
        format!("--weigh-size {}", switch(weigh_size)),
        format!("--merge-copies {}", switch(merge_copies)),
        format!("--park {}", switch(park)),
        format!("--sink {}", switch(sink)),
        format!("--delay {}", switch(delay)),
        format!("--forms {}", switch(forms)),
        format!("--spare-jumps {}", switch(spare_jumps)),
        format!("--separate-saves {}", switch(separate_saves)),
        format!("--split-ties {}", switch(split_ties)),
        format!("--split-arguments {}", switch(split_arguments)),
        format!("--pins {pins}"),
        format!("--swap {swap}"),
    ];
    if let Some(cssa) = cssa {
        arguments.extend([format!("--coalesce {coalesce}"), format!("--cssa {cssa}")]);
    }
    if let Some(DestructionOptions { after, interference, virtualize, liveness, merge }) = destruction {
        arguments.extend([
            format!("--after {after}"),
            format!("--interference {interference}"),
            format!("--virtualize {}", switch(virtualize)),
            format!("--liveness {liveness}"),
            format!("--merge {merge}"),
        ]);
    }
    if let Some(effort) = effort {
        arguments.push(format!("--effort {effort}"));
    }
    if let Some(seconds) = solver_seconds {
        arguments.push(format!("--solver-seconds {seconds}"));
    }
    if preset.assignment.spilling().is_some() {
        arguments.insert(0, format!("--spill {spill}"));
    }
    arguments
}
