//! Blocks in which every value stays where it is: in memory without being accessed, or in a register. There is nothing to plan.

use super::Problem;
use super::choose::Chosen;
use super::crossing::{Head, head};
use super::priced::Solution;
use crate::allocate::pressure::limits::Counts;
use crate::analysis::PinLiveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Inst, Operand, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Tells which blocks these are.
pub(super) struct Settled<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a Chosen,
    pins: &'a PinLiveness,
    solution: &'a Solution,
    /// Of each value, the last block looked at that it comes to in memory.
    in_memory: SecondaryMap<Value, PackedOption<Block>>,
}

impl<'a> Settled<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, chosen: &'a Chosen, pins: &'a PinLiveness, solution: &'a Solution) -> Self {
        Settled { problem, chosen, pins, solution, in_memory: of_each(problem.conventional.function.values.len()) }
    }

    /// Whether a block is one. Nothing will be displaced, since there is room for all. (Where a register is in reserve, counting
    /// values does not prove that.)
    pub(super) fn is_settled(&mut self, block: Block) -> bool {
        let Problem { conventional, bundles, limits, .. } = self.problem;
        limits.spare() == 0
            && conventional.function.blocks[block].throws.is_none()
            && bundles.exit(block).is_none()
            && head(self.problem, block) == Head::Anything
            && self.solution.has_room(limits, block, &self.counts_in_memory(block))
            && self.stay(block)
    }

    /// Whether a value, if it comes to the block, has been found there in memory.
    pub(super) fn is_in_memory(&self, block: Block, value: Value) -> bool {
        self.in_memory[value] == block.into()
    }

    /// How many values come to a block in memory that could be in registers, for each set of those.
    fn counts_in_memory(&mut self, block: Block) -> Counts {
        let Problem { conventional, liveness, limits, unspillable, .. } = self.problem;
        let function = &conventional.function;
        let mut counts = Counts::default();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def);
        let live = liveness.live_in(block).iter().copied().chain(phis).enumerate();
        for (index, value) in live.filter(|&(_, value)| !liveness.is_dead(value)) {
            let is_spilled = self.chosen.spilled[value];
            if is_spilled || !self.solution.is_in_register_at_head(block, index) && !unspillable.contains(value) {
                self.in_memory[value] = block.into();
                if !is_spilled {
                    limits.count(&mut counts, function.values[value].class, 1);
                }
            }
        }
        counts
    }

    /// Whether nothing that is accessed is in memory before or behind.
    fn stay(&self, block: Block) -> bool {
        let Problem { conventional, liveness, .. } = self.problem;
        let function = &conventional.function;
        let Chosen { spilled, rematerialised, .. } = self.chosen;
        let stays = |index: usize, operand: &Operand| {
            let is_dead = liveness.kills(index);
            let is_wanted = is_dead || self.solution.is_in_register_behind(index);
            match operand.is_def() {
                // What nobody reads might be written to memory.
                true => !is_dead && is_wanted && !spilled[operand.value] && !rematerialised[operand.value],
                false => is_wanted && !self.is_in_memory(block, operand.value),
            }
        };
        // It has been counted on that what may be in a register of the program is in one.
        let counts_on = |inst: Inst| self.pins.held(inst).iter().any(|held| self.is_in_memory(block, held.value));
        function.block_insts(block).all(|inst| {
            let operands = function.insts[inst].operands.start as usize..;
            operands.zip(function.operands(inst)).all(|(index, operand)| stays(index, operand)) && !counts_on(inst)
        })
    }
}
