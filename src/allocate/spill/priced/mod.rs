//! Spilling by prices: what is in registers where, at a cost near the least possible, with a proof of how near.
//!
//! - **State** ([`model`]): decisions about segments of live ranges, what they cost, and rows of those of which so many at most
//!   can be 1; and reliances, where what is computed again needs another value in a register.
//! - **Connect** ([`crate::allocate::cuts`]): decisions whose costs depend on each other make clusters, which meet in rows and
//!   reliances alone.
//! - **Buy** ([`callee_saved`]): a register that has to be saved and restored makes room in rows, and costs that.
//! - **Reduce** ([`crate::allocate::cuts::reduce`]): what no row and no reliance confines is decided last, where that
//!   loses nothing.
//! - **Solve** ([`multipliers`]): rows and reliances get prices, under which each cluster is labelled by a minimum cut of its own;
//!   what that comes to is a lower bound. [`rounding`] makes labels that keep to the rows.

mod before;
mod callee_saved;
mod constraints;
mod excess_pressure;
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
mod uncontended;

use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Network, reduce};
use crate::allocate::degraded::Degraded;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::spill::config::Effort;
use crate::allocate::spill::plan::{Plan, Refill};
use crate::allocate::spill::problem::{Abilities, Problem};
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::spilled::Certificate;
use crate::allocate::spill::spiller::Spiller;
use crate::allocate::spill::splitting::guide::{Labelled, Labels};
use crate::allocate::spill::splitting::in_memory_anyway;
use crate::allocate::spill::splitting::walk::{Ahead, walk};
use crate::analysis::Untouched;
use crate::machine::{Block, Inst, InstData, Value};
use callee_saved::CalleeSaved;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use excess_pressure::{Tight, Tightness};
use model::{Model, Place, Places};
use multipliers::{Market, Stage};

/// What is to be in registers where.
struct Solution {
    solved: Option<Solved>,
    tightness: SecondaryMap<Block, Tightness>,
    callee_saved: CalleeSaved,
    /// Callee-saved registers that are not worth saving and restoring them, anywhere or in some blocks.
    untouched: Untouched,
    /// A cost, in executions at the weights of [`crate::allocate::cost`], that no plan falls below which agrees with what has
    /// been decided beforehand ([`model`]), saving and restoring included.
    bound: f64,
}

struct Solved {
    places: Places,
    is_one: PrimaryMap<Decision, bool>,
}

/// Decides by prices, or, if it is to be exact, by integer programming.
pub struct Priced {
    /// How long to look for something better.
    pub effort: Effort,
    pub exact: bool,
}

impl Priced {
    /// Whether values may be in registers in any blocks that they pass, whatever neighbouring blocks do. Otherwise blocks that are
    /// alike are decided about together, and the bound is one of plans that do so.
    fn considers_all(&self) -> bool {
        self.exact || matches!(self.effort, Effort::More | Effort::Most)
    }
}

impl Spiller for Priced {
    fn abilities(&self) -> Abilities {
        Abilities { splits: true, decides_at_pads: true }
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let set = in_memory_anyway(problem, requested)?;
        let ahead = Ahead::new(problem, None);
        let solution = solve(self, problem, &set, &ahead);
        let with = |untouched: Untouched| {
            let pins = problem.pins.clone().keeping(&problem.conventional.function, &untouched);
            walk(problem, &set, &ahead, &Labelled(&solution), &pins).map(|plan| Plan { untouched, ..plan })
        };
        // Where classes of registers overlap, those that were bought may not suffice for some instruction.
        let mut plan = with(solution.untouched.clone()).or_else(|error| {
            let reason = format!("all callee-saved registers may be used, not only those that pay for their saves: {error}");
            with(Untouched::default()).map(|plan| Plan { degraded: vec![Degraded::new("spill", reason)], ..plan })
        })?;
        plan.counts.certificate = Some(certificate(problem, &solution, &plan));
        Ok(plan)
    }
}

/// The cost of a plan, and the bound of what any plan costs.
fn certificate(problem: &Problem, solution: &Solution, plan: &Plan) -> Certificate {
    let cost = plan.cost(problem) + solution.cost_of_saving_all_but(&plan.untouched);
    let bound = solution.bound;
    // Where something is executed a thousand million times, a unit is much of the cost of what is executed once.
    let rounding = problem.units.executions(problem.conventional.function.operands.len() as i64);
    debug_assert!(
        bound <= cost + rounding + 1e-3 * (1.0 + cost.abs()) || has_dead_phis(problem),
        "a plan for {cost} is below the bound, {bound}"
    );
    Certificate { cost, bound: bound.min(cost) }
}

/// Whether φs keep values alive that nobody reads. The model charges for those, too.
fn has_dead_phis(problem: &Problem) -> bool {
    let mut phis = problem.conventional.function.blocks.values().flat_map(|data| &data.phis);
    phis.any(|phi| problem.liveness.is_dead(phi.def))
}

impl Labels for Solution {
    fn is_in_register_at_head(&self, block: Block, index: usize) -> bool {
        self.solved.as_ref().is_none_or(|it| it.is_in_register(it.places.at_head(block)[index]))
    }

    fn is_in_register_after(&self, operand: usize) -> bool {
        self.solved.as_ref().is_none_or(|it| it.is_in_register(it.places.behind(operand)))
    }

    fn has_room(&self, limits: &Limits, block: Block, in_memory: &Counts) -> bool {
        let bought = self.callee_saved.untouched(0) - self.untouched.in_block(block);
        self.tightness[block].leaves_room(limits, bought, in_memory)
    }
}

impl Solution {
    /// The cost of saving and restoring the callee-saved registers other than these.
    fn cost_of_saving_all_but(&self, untouched: &Untouched) -> f64 {
        self.callee_saved.cost(untouched)
    }
}

impl Solved {
    fn is_in_register(&self, place: Place) -> bool {
        place.decision().map_or(place == Place::REGISTER, |decision| self.is_one[decision])
    }
}

/// Solves the problem.
fn solve(priced: &Priced, problem: &Problem, set: &SpillSet, ahead: &Ahead) -> Solution {
    let needless = needless(problem, set);
    let mut callee_saved = CalleeSaved::new(problem);
    let untouched = Untouched::from(callee_saved.untouched(0));
    let mut tight = Tight::new(problem, set, &problem.pins.clone().keeping(&problem.conventional.function, &untouched));
    callee_saved.wanted_in(problem, &tight.blocks);
    let tightness = std::mem::take(&mut tight.tightness);
    if tight.values.is_empty() {
        return Solution { solved: None, tightness, untouched, callee_saved, bound: -needless };
    }
    let model = model::model(priced, problem, set, ahead, &callee_saved, tight);
    let Model { mut decisions, base, least_bought, places } = model;
    let reduction = reduce(&mut decisions);
    let (network, costs) = Network::new(decisions);
    #[cfg(feature = "optimal")]
    let exact = priced.exact.then(|| costs.clone());
    let market = Market { price: callee_saved.price(problem.units), least: least_bought, most: callee_saved.count() };
    let solution = multipliers::solve(&network, costs, market, &stages(priced.effort, problem));
    #[cfg(feature = "optimal")]
    let solution = match &exact {
        Some(costs) => optimal::solve(&network, costs, market, solution, problem.policy.solver),
        None => solution,
    };
    let bound = problem.units.executions(solution.bound + reduction.base + base) - needless;
    let mut is_one = network.labels(|node| solution.is_one[node]);
    reduction.complete(&mut is_one);
    let solved = Some(Solved { places, is_one });
    Solution { solved, tightness, untouched: callee_saved.left_by(solution.bought), callee_saved, bound }
}

/// How long to go on. Of each stage: rounds; how many nodes cuts may look at for each instruction; and how many executions have to
/// be open for each instruction for it to be worth its time. So much is open in few functions, whose loops are hot, and these
/// hold most of what is open in a program.
fn stages(effort: Effort, problem: &Problem) -> Vec<Stage> {
    let stages: &[(u32, u64, f64)] = match effort {
        Effort::Least => &[],
        Effort::Usual => &[(7, 300, 0.0), (24, 1_000, 0.2), (80, 3_000, 2.0)],
        Effort::More => &[(24, 1_000, 0.0), (80, 3_000, 2.0)],
        Effort::Most => &[(80, 10_000, 0.0)],
    };
    let insts = problem.conventional.function.insts.len();
    let stage = |&(rounds, work, open): &(u32, u64, f64)| Stage {
        open: problem.units.price(open * insts as f64),
        rounds,
        alone: rounds * 2 / 3,
        work: work * insts as u64,
    };
    stages.iter().map(stage).collect()
}

/// What the constants cost that are executed where they stand, but need not be, whatever is decided.
fn needless(problem: &Problem, set: &SpillSet) -> f64 {
    let function = &problem.conventional.function;
    let is_needless = |inst: Inst| {
        let operands = function.operands(inst);
        let again = |value: Value| problem.refill(value) != Refill::Load || problem.recompute(value).is_some();
        let unused = operands.iter().any(|o| o.is_def() && problem.liveness.is_dead(o.value) && again(o.value));
        let InstData { rematerialisable, recomputable, .. } = function.insts[inst];
        (rematerialisable || recomputable) && (set.drops(operands) || unused)
    };
    let in_block = |block: Block| -> f64 {
        let needless = function.block_insts(block).filter(|&inst| is_needless(inst));
        let frequency = function.blocks[block].frequency;
        needless.map(|inst| problem.cost(cost::rematerialisation(&function.insts[inst]), frequency)).sum()
    };
    function.blocks.keys().map(in_block).sum()
}
