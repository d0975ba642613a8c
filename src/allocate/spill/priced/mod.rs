//! Spilling by prices decides where each value is in a register, at nearly the least cost, and proves how near.
//!
//! ```text
//!     Problem
//!       | excess_pressure   which points have more live values than registers, and which values meet there
//!       | model             decisions about segments of live ranges and about stores; their costs; pressure
//!       |                   constraints; implications, where recomputing a value needs another one in a register
//!       v
//!     cuts::Decisions
//!       | cuts::reduce      eliminates decisions under no constraint that two others at most depend on
//!       | cuts::Network     components: decisions that costs join, which meet in constraints only
//!       v
//!     cuts::Network
//!       | multipliers       prices for constraints and implications; each component is labelled by a minimum cut,
//!       |    ^              which gives a lower bound; callee-saved registers are bought if they pay
//!       |    v
//!       | rounding          labels that satisfy the constraints, from those of the cuts
//!       v
//!     labels, bound
//!       | splitting::walk   makes the plan, with the labels as its guide
//!       v
//!     Plan, Certificate     the cost of the plan beside the bound
//! ```
//!
//! [`regions`], [`store_regions`], [`uncontended`], [`grouping`], [`segment_merging`] and [`passed_loops`] keep the number
//! of decisions small. [`tuning`] has all thresholds.
//!
//! Requires: conventional SSA form.
//! Ensures: a plan that fits, and a bound. No plan costs less among those that agree about what is decided beforehand: which
//! operand of an instruction is folded, which blocks are decided about together, and, where values live beside bundles of
//! jumps, which values cross them in registers.
//! Relies on: Lagrangian relaxation \[Geo74\]; see [`model`] for the program and an example.
//!
//! A value is live across two calls that are seldom reached, and calls destroy both registers. A store after its definition
//! would be executed once, one in each arm 0.02 times in all:
//!
//! ```text
//!     b0: -> b1 b2 b3                       b0: -> b1 b2 b3
//!       v0:w = op                             v0:w = op
//!       op v0 terminator                      op v0 terminator
//!     b1: freq=0.01                         b1: freq=0.01
//!                                             store(s0) v0
//!       op clobbers=a,b                       op clobbers=a,b
//!                                             v1:w(of=v0) = load(s0)
//!       op v0                                 op v1
//!     b2: freq=0.01                         b2: freq=0.01
//!       (as b1)                               (as b1)
//!     b3: freq=0.98                         b3: freq=0.98
//! ```

mod callee_saved;
mod excess_pressure;
mod grouping;
mod live_out_index;
mod model;
mod multipliers;
#[cfg(feature = "optimal")]
mod optimal;
mod passed_loops;
mod recompute;
mod regions;
mod rounding;
mod segment_merging;
mod store_regions;
mod thoroughness;
mod tuning;
mod uncontended;

pub use thoroughness::Thoroughness;

use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Network, reduce};
use crate::allocate::degraded::Degraded;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::spill::config::Effort;
use crate::allocate::spill::plan::{Plan, Price, Refill};
use crate::allocate::spill::problem::{Abilities, Problem};
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::spilled::Certificate;
use crate::allocate::spill::spiller::Spiller;
use crate::allocate::spill::splitting::guide::{Labelled, Labels};
use crate::allocate::spill::splitting::in_memory_anyway;
use crate::allocate::spill::splitting::walk::{Ahead, walk};
use crate::analysis::Untouched;
use crate::machine::{Block, Inst, Point, Value};
use callee_saved::CalleeSaved;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use excess_pressure::{BlockExcess, ExcessPressure};
use model::{Model, Residence, Residences, Site};
use multipliers::{Purchase, Stage};
use tuning::Rounds;

/// Where values are in registers, and the bound of what that costs.
struct Decided {
    labelling: Option<Labelling>,
    excess: SecondaryMap<Block, BlockExcess>,
    callee_saved: CalleeSaved,
    /// Callee-saved registers that are not worth their saves and restores, anywhere or in some blocks.
    untouched: Untouched,
    /// A lower bound of the cost of any plan that agrees about what is decided beforehand ([`model`]), saves and restores
    /// included. In executions, at the weights of [`crate::allocate::cost`].
    bound: f64,
    /// Whether some blocks are decided about together, so that the bound is one of plans that do so.
    is_grouped: bool,
    /// What a register is worth, if that is kept.
    prices: Vec<Price>,
}

struct Labelling {
    residences: Residences,
    is_one: PrimaryMap<Decision, bool>,
}

/// The spiller that decides by prices, or by integer programming if it is to be exact.
pub struct Priced(pub Thoroughness);

impl Spiller for Priced {
    fn abilities(&self) -> Abilities {
        Abilities { splits: true, decides_at_pads: true, decides_at_jumps: true }
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let mut set = in_memory_anyway(problem, requested)?;
        let ahead = Ahead::new(problem, None);
        let solution = solve(self.0, problem, &set, &ahead);
        set.add_decided_crossing(problem, |value| solution.crosses_in_register(value))?;
        let with = |untouched: Untouched| {
            let pins = problem.pins.clone().keeping(&problem.conventional.function, &untouched);
            walk(problem, &set, &ahead, &Labelled(&solution), &pins).map(|plan| Plan { untouched, ..plan })
        };
        // Where classes of registers overlap, the registers that were bought may not suffice for some instruction.
        let mut plan = with(solution.untouched.clone()).or_else(|error| {
            let reason = format!("all callee-saved registers may be used, not only those that pay for their saves: {error}");
            with(Untouched::default()).map(|plan| Plan { degraded: vec![Degraded::new("spill", reason)], ..plan })
        })?;
        plan.counts.certificate = Some(certificate(problem, &solution, &plan));
        plan.prices = solution.prices;
        Ok(plan)
    }
}

/// The cost of a plan, and the bound of any plan's cost.
fn certificate(problem: &Problem, solution: &Decided, plan: &Plan) -> Certificate {
    let cost = plan.cost(problem) + solution.cost_of_saving_all_but(&plan.untouched);
    let bound = solution.bound;
    // Where some block is executed a thousand million times, one unit is much of the cost of a block that is executed once.
    let rounding = problem.units.executions(problem.conventional.function.operands.len() as i64);
    debug_assert!(
        bound <= cost + rounding + 1e-3 * (1.0 + cost.abs()) || has_dead_phis(problem),
        "a plan for {cost} is below the bound, {bound}"
    );
    let bounds_all = !solution.is_grouped && !has_dead_phis(problem);
    Certificate { cost, bound: bound.min(cost), bounds_all }
}

/// Whether φs that nobody reads keep values alive. The model charges for those, so a plan may cost less than it says.
fn has_dead_phis(problem: &Problem) -> bool {
    let mut phis = problem.conventional.function.blocks.values().flat_map(|data| &data.phis);
    phis.any(|phi| problem.liveness.is_dead(phi.def))
}

impl Labels for Decided {
    fn is_in_register_at_head(&self, block: Block, index: usize) -> bool {
        self.labelling.as_ref().is_none_or(|it| it.is_in_register(it.residences.at_head(block)[index]))
    }

    fn is_in_register_after(&self, operand: usize) -> bool {
        self.labelling.as_ref().is_none_or(|it| it.is_in_register(it.residences.after(operand)))
    }

    fn has_room(&self, limits: &Limits, block: Block, in_memory: &Counts) -> bool {
        let bought = self.callee_saved.untouched(0) - self.untouched.in_block(block);
        self.excess[block].leaves_room(limits, bought, in_memory)
    }
}

impl Decided {
    /// Whether the values that a representative stands for cross bundles of jumps in a register.
    fn crosses_in_register(&self, representative: Value) -> bool {
        let residence = |it: &Labelling| it.residences.at_bundles(representative);
        self.labelling.as_ref().is_none_or(|it| it.is_in_register(residence(it)))
    }

    /// The cost of saving and restoring the callee-saved registers other than these.
    fn cost_of_saving_all_but(&self, untouched: &Untouched) -> f64 {
        self.callee_saved.cost_of_all_but(untouched)
    }
}

impl Labelling {
    fn is_in_register(&self, residence: Residence) -> bool {
        residence.decision().map_or(residence == Residence::REGISTER, |decision| self.is_one[decision])
    }
}

/// States the problem as decisions, and solves it.
fn solve(thoroughness: Thoroughness, problem: &Problem, set: &SpillSet, ahead: &Ahead) -> Decided {
    let unneeded = unneeded(problem, set);
    let mut callee_saved = CalleeSaved::new(problem);
    let untouched = Untouched::from(callee_saved.untouched(0));
    let mut pressure =
        ExcessPressure::new(problem, set, &problem.pins.clone().keeping(&problem.conventional.function, &untouched));
    callee_saved.needed_in(problem, &pressure.blocks);
    let excess = std::mem::take(&mut pressure.of_block);
    if pressure.values.is_empty() {
        let (labelling, prices) = (None, Vec::new());
        return Decided { labelling, excess, untouched, callee_saved, bound: -unneeded, is_grouped: false, prices };
    }
    let model = model::model(thoroughness, problem, set, ahead, &callee_saved, pressure);
    let Model { mut decisions, base, least_bought, is_grouped, residences, sites } = model;
    let reduction = reduce(&mut decisions);
    let (network, costs) = Network::new(decisions);
    #[cfg(feature = "optimal")]
    let exact = thoroughness.exact.then(|| costs.clone());
    let purchase = Purchase { cost: callee_saved.cost_of_each(problem.units), least: least_bought, most: callee_saved.count() };
    let solution = multipliers::solve(&network, costs, purchase, &stages(thoroughness.effort, problem));
    #[cfg(feature = "optimal")]
    let solution = match &exact {
        Some(costs) => optimal::solve(&network, costs, purchase, solution, problem.policy.solver),
        None => solution,
    };
    let bound = problem.units.executions(solution.bound + reduction.base + base) - unneeded;
    let mut is_one = network.labels(|node| solution.is_one[node]);
    reduction.complete(&mut is_one);
    let labelling = Some(Labelling { residences, is_one });
    let prices = prices(problem, &sites, &solution.prices);
    Decided { labelling, excess, untouched: callee_saved.left_by(solution.bought), callee_saved, bound, is_grouped, prices }
}

/// The multipliers that are not zero, where they are in the imported function.
fn prices(problem: &Problem, sites: &[(usize, Site)], multipliers: &[i64]) -> Vec<Price> {
    let priced = sites.iter().zip(multipliers).filter(|&(_, &multiplier)| multiplier > 0);
    let price = |(&(set, (block, inst)), &multiplier): (&(usize, Site), &i64)| {
        let at = imported_point(problem, block, inst);
        Price { at, registers: problem.limits.registers(set), price: problem.units.executions(multiplier) }
    };
    priced.map(price).collect()
}

/// The point of the imported function that an instruction or a block's head is at. Code that a phase has inserted stands in front of
/// the next instruction of the program.
fn imported_point(problem: &Problem, block: Block, inst: Option<Inst>) -> Point {
    let function = &problem.conventional.function;
    let Some(inst) = inst else { return Point { block, index: 0 } };
    let mut behind = (inst.as_u32()..function.blocks[block].insts.end).map(Inst::from_u32);
    let origins = || function.block_insts(block).filter_map(|inst| function.insts[inst].origin.expand());
    let (first, count) = (origins().map(Inst::as_u32).min().unwrap_or_default(), origins().count() as u32);
    let origin = behind.find_map(|inst| function.insts[inst].origin.expand());
    Point { block, index: origin.map_or(count, |origin| origin.as_u32() - first) }
}

/// How long to go on: the stages of [`tuning::stages`], for this function.
fn stages(effort: Effort, problem: &Problem) -> Vec<Stage> {
    let insts = problem.conventional.function.insts.len();
    let stage = |&Rounds { rounds, work, gap }: &Rounds| Stage {
        gap: problem.units.cost(gap * insts as f64),
        rounds,
        rounds_unrounded: tuning::rounds_unrounded(rounds),
        work: work * insts as u64,
    };
    tuning::stages(effort).iter().map(stage).collect()
}

/// The cost of the constants that are executed where they stand in the program, but need not be, whatever is decided. Every plan
/// saves it.
fn unneeded(problem: &Problem, set: &SpillSet) -> f64 {
    let function = &problem.conventional.function;
    let is_unneeded = |inst: Inst| {
        let operands = function.operands(inst);
        let recompute = |value: Value| problem.refill(value) != Refill::Load || problem.recompute(value).is_some();
        let unused = operands.iter().any(|o| o.is_def() && problem.liveness.is_dead(o.value) && recompute(o.value));
        function.insts[inst].is_repeatable() && (set.drops(operands) || unused)
    };
    let in_block = |block: Block| -> f64 {
        let unneeded = function.block_insts(block).filter(|&inst| is_unneeded(inst));
        let frequency = function.blocks[block].frequency;
        unneeded.map(|inst| problem.cost(cost::rematerialisation(&function.insts[inst]), frequency)).sum()
    };
    function.blocks.keys().map(in_block).sum()
}
