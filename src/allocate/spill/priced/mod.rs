//! Spilling by prices: what is in registers where, at a cost near the least possible, with a proof of how near.
//!
//! - **State** ([`model`]): decisions about segments of live ranges, what they cost, and rows of those of which so many at most
//!   can be 1.
//! - **Connect** ([`super::cuts`]): decisions that depend on each other make clusters, which meet in rows alone.
//! - **Solve** ([`prices`]): rows get prices, under which each cluster is labelled by a minimum cut of its own; what that
//!   comes to is a lower bound. [`round`] makes labels that keep to the rows.

mod model;
mod prices;
mod round;
mod tight;

use super::Problem;
use super::choose::Chosen;
use super::cuts::{Network, Node, UNIT};
use super::plan::Refill;
use crate::allocate::cost;
use crate::machine::{Block, Inst, Value};
use cranelift_entity::PrimaryMap;
use model::{Model, Place};

/// What is to be in registers where.
pub(super) struct Solution(Option<Solved>);

struct Solved {
    model: Model,
    network: Network,
    is_one: PrimaryMap<Node, bool>,
}

impl Solution {
    /// Whether a value that is live at a block's head, or defined there, is in a register there.
    pub(super) fn is_in_register_at_head(&self, block: Block, value: Value) -> bool {
        self.0.as_ref().is_none_or(|it| it.is_in_register(it.model.at_head(block, value)))
    }

    /// Whether what an instruction accesses as the operand of this index is in a register behind it.
    pub(super) fn is_in_register_behind(&self, operand: usize) -> bool {
        self.0.as_ref().is_none_or(|it| it.is_in_register(it.model.behind(operand)))
    }
}

impl Solved {
    fn is_in_register(&self, place: Place) -> bool {
        match place {
            Place::Register => true,
            Place::Memory => false,
            Place::Open(decision) => self.is_one[self.network.node(decision)],
        }
    }
}

/// Solves the problem. The second answer is a cost, in executions at the weights of [`crate::allocate::cost`], that no plan falls
/// below which agrees with what has been decided beforehand ([`model`]).
pub(super) fn solve(problem: &Problem, chosen: &Chosen) -> (Solution, f64) {
    /// How many nodes cuts may look at, for each instruction.
    const WORK: u64 = 200;
    const ROUNDS: u32 = 3;
    let needless = needless(problem, chosen);
    let Some(model) = model::model(problem, chosen) else { return (Solution(None), -needless) };
    let network = Network::new(&model.decisions);
    let instructions = problem.conventional.function.insts.len() as u64;
    let solution = prices::solve(&network, prices::Limits { rounds: ROUNDS, work: WORK * instructions });
    let bound = (solution.bound + model.base) as f64 / UNIT - needless;
    (Solution(Some(Solved { model, network, is_one: solution.is_one })), bound)
}

/// What the constants cost that are executed where they stand, but need not be, whatever is decided.
fn needless(problem: &Problem, chosen: &Chosen) -> f64 {
    let function = &problem.conventional.function;
    let is_needless = |inst: Inst| {
        let operands = function.operands(inst);
        let unused =
            operands.iter().any(|o| o.is_def() && problem.liveness.is_dead(o.value) && problem.refill(o.value) != Refill::Load);
        function.insts[inst].rematerialisable && (chosen.drops(operands) || unused)
    };
    let in_block = |block: Block| function.block_insts(block).filter(|&inst| is_needless(inst)).count() as f64;
    let blocks = function.blocks.iter().map(|(block, data)| in_block(block) * data.frequency);
    cost::REMATERIALISATION * blocks.sum::<f64>()
}
