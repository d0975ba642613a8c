//! Spilling by prices: what is in registers where, at a cost near the least possible, with a proof of how near.
//!
//! - **State** ([`model`]): decisions about segments of live ranges, what they cost, and rows of those of which so many at most
//!   can be 1; and reliances, where what is computed again needs another value in a register.
//! - **Connect** ([`crate::allocate::cuts`]): decisions whose costs depend on each other make clusters, which meet in rows and
//!   reliances alone.
//! - **Buy** ([`callee_saved`]): a register that has to be saved and restored makes room in rows, and costs that.
//! - **Reduce** ([`crate::allocate::cuts::reduce`]): what no row and no reliance confines is decided last, where that
//!   loses nothing.
//! - **Solve** ([`prices`]): rows and reliances get prices, under which each cluster is labelled by a minimum cut of its own;
//!   what that comes to is a lower bound. [`round`] makes labels that keep to the rows.

mod again;
mod before;
mod callee_saved;
mod contest;
mod model;
#[cfg(feature = "optimal")]
mod optimal;
mod passed_loops;
mod passing;
mod prices;
mod quiet;
mod regions;
mod round;
mod stretches;
mod tight;

use super::choose::Chosen;
use super::plan::Refill;
use super::residence::Ahead;
use super::{Effort, Problem};
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Network, reduce};
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::analysis::Untouched;
use crate::machine::{Block, Inst, Value};
use callee_saved::CalleeSaved;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use model::{Model, Place, Places};
use prices::{Market, Stage};
use tight::{Tight, Tightness};

/// What is to be in registers where.
pub(super) struct Solution {
    solved: Option<Solved>,
    tightness: SecondaryMap<Block, Tightness>,
    callee_saved: CalleeSaved,
    /// Callee-saved registers that are not worth saving and restoring them, anywhere or in some blocks.
    pub(super) untouched: Untouched,
    /// A cost, in executions at the weights of [`crate::allocate::cost`], that no plan falls below which agrees with what has
    /// been decided beforehand ([`model`]), saving and restoring included.
    pub(super) bound: f64,
}

struct Solved {
    places: Places,
    is_one: PrimaryMap<Decision, bool>,
}

impl Solution {
    /// Whether a value is in a register at a block's head, by its index among those that are live into it and, behind them,
    /// those that its φs define.
    pub(super) fn is_in_register_at_head(&self, block: Block, index: usize) -> bool {
        self.solved.as_ref().is_none_or(|it| it.is_in_register(it.places.at_head(block)[index]))
    }

    /// Whether what an instruction accesses as the operand of this index is in a register behind it.
    pub(super) fn is_in_register_behind(&self, operand: usize) -> bool {
        self.solved.as_ref().is_none_or(|it| it.is_in_register(it.places.behind(operand)))
    }

    /// Whether a block has room for all values that live in it, but for so many that are in memory from end to end.
    pub(super) fn has_room(&self, limits: &Limits, block: Block, in_memory: &Counts) -> bool {
        let bought = self.callee_saved.untouched(0) - self.untouched.in_block(block);
        self.tightness[block].leaves_room(limits, bought, in_memory)
    }

    /// What it costs to save and restore the callee-saved registers but these.
    pub(super) fn cost_of_saving_all_but(&self, untouched: &Untouched) -> f64 {
        self.callee_saved.cost(untouched)
    }
}

impl Solved {
    fn is_in_register(&self, place: Place) -> bool {
        place.decision().map_or(place == Place::REGISTER, |decision| self.is_one[decision])
    }
}

/// Solves the problem.
pub(super) fn solve(problem: &Problem, chosen: &Chosen, ahead: &Ahead) -> Solution {
    let needless = needless(problem, chosen);
    let mut callee_saved = CalleeSaved::new(problem);
    let untouched = Untouched::from(callee_saved.untouched(0));
    let mut tight = Tight::new(problem, chosen, &problem.pins.clone().keeping(&problem.conventional.function, &untouched));
    callee_saved.wanted_in(problem, &tight.blocks);
    let tightness = std::mem::take(&mut tight.tightness);
    if tight.values.is_empty() {
        return Solution { solved: None, tightness, untouched, callee_saved, bound: -needless };
    }
    let model = model::model(problem, chosen, ahead, &callee_saved, tight);
    let Model { mut decisions, base, least_bought, places } = model;
    let reduction = reduce(&mut decisions);
    let (network, costs) = Network::new(decisions);
    #[cfg(feature = "optimal")]
    let exact = (problem.downstream.choice == Some(super::Choice::Optimal)).then(|| costs.clone());
    let market = Market { price: callee_saved.price(problem.units), least: least_bought, most: callee_saved.count() };
    let solution = prices::solve(&network, costs, market, &stages(problem));
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
fn stages(problem: &Problem) -> Vec<Stage> {
    let stages: &[(u32, u64, f64)] = match problem.policy.effort {
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
fn needless(problem: &Problem, chosen: &Chosen) -> f64 {
    let function = &problem.conventional.function;
    let is_needless = |inst: Inst| {
        let operands = function.operands(inst);
        let again = |value: Value| problem.refill(value) != Refill::Load || problem.recompute(value).is_some();
        let unused = operands.iter().any(|o| o.is_def() && problem.liveness.is_dead(o.value) && again(o.value));
        function.insts[inst].is_repeatable() && (chosen.drops(operands) || unused)
    };
    let in_block = |block: Block| -> f64 {
        let needless = function.block_insts(block).filter(|&inst| is_needless(inst));
        let frequency = function.blocks[block].frequency;
        needless.map(|inst| problem.cost(cost::rematerialisation(&function.insts[inst]), frequency)).sum()
    };
    function.blocks.keys().map(in_block).sum()
}
