//! The cost of a plan: executions, at the weights of [`cost`].

use super::update::saved;
use super::{Plan, Site};
use crate::allocate::cost::{self, Added};
use crate::allocate::spill::problem::Problem;
use crate::analysis::Liveness;
use crate::machine::{Block, Function, Phi, Value};

impl Plan {
    /// The cost of the loads, stores, folds and refills of a plan, in executions at the weights of [`cost`]. The
    /// instructions that are no longer executed where they stand are subtracted.
    pub fn cost(&self, problem: &Problem) -> f64 {
        let Problem { conventional, liveness, .. } = problem;
        let function = &conventional.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        let refills = self.refills.iter().map(|&(site, value, refill)| match site {
            Site::At(point) => problem.cost_of_refill(refill, frequency(point.block)),
            Site::Edge { from, to } => {
                let times = self.times(function, liveness, (from, to), value);
                times * problem.cost_on_edge(refill, from, to)
            }
        });
        let stores = self.stores.iter().map(|store| problem.cost(cost::STORE, frequency(store.at.block)));
        let by_block = function.blocks.iter().map(|(block, data)| {
            let folds = &self.folds[self.folds.partition_point(|(inst, _)| inst.as_u32() < data.insts.start)..];
            let folds = folds.iter().take_while(|(inst, _)| inst.as_u32() < data.insts.end);
            let cost = |added: Added| problem.cost(added, data.frequency);
            let accesses = folds.map(|&(inst, k)| match function.operands(inst)[k].is_def() {
                true => cost(cost::STORE),
                false if problem.read_in_place(inst, k).is_some() => cost(cost::READ_IN_PLACE),
                false => problem.cost_of_fold(inst, data.frequency),
            });
            let dropped = function.block_insts(block).filter(|&inst| self.dropped.contains(inst));
            let constants = dropped.map(|inst| &function.insts[inst]).filter(|data| data.is_repeatable());
            accesses.sum::<f64>() - constants.map(cost::rematerialisation).map(cost).sum::<f64>()
        });
        let updates = self.updates.iter().map(|at| saved(problem, frequency(at.block)));
        refills.sum::<f64>() + stores.sum::<f64>() + by_block.sum::<f64>() - updates.sum::<f64>()
    }

    /// The number of registers into which a value is refilled on an edge: those of the φs that take it, and its own if it
    /// lives on there.
    fn times(&self, function: &Function, liveness: &Liveness, (from, to): (Block, Block), value: Value) -> f64 {
        let column = function.column(from, to);
        let takes = |phi: &&Phi| phi.args[column] == value.into() && !self.memory_phis.contains(phi.def);
        let stays = liveness.live_in(to).binary_search(&value).is_ok() && !self.in_memory.contains(value);
        (function.blocks[to].phis.iter().filter(takes).count() + usize::from(stays)) as f64
    }
}
