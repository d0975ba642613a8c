//! Uncontended blocks, in which every value stays where it is: in a register, or in memory without being accessed. Nothing
//! is to be planned there.

use super::guide::Labels;
use crate::allocate::pressure::limits::Counts;
use crate::allocate::spill::crossing::{Head, head};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::analysis::PinLiveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Inst, Operand, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Tells which blocks are uncontended.
pub(in crate::allocate::spill) struct Uncontended<'a> {
    problem: &'a Problem<'a>,
    set: &'a SpillSet,
    pins: &'a PinLiveness,
    labels: &'a dyn Labels,
    /// For each value, the last block looked at into which it comes in memory.
    in_memory: SecondaryMap<Value, PackedOption<Block>>,
}

impl<'a> Uncontended<'a> {
    pub(in crate::allocate::spill) fn new(
        problem: &'a Problem<'a>,
        set: &'a SpillSet,
        pins: &'a PinLiveness,
        labels: &'a dyn Labels,
    ) -> Self {
        Uncontended { problem, set, pins, labels, in_memory: of_each(problem.conventional.function.values.len()) }
    }

    /// Whether a block is uncontended. No value will be displaced, since there is room for all. (Where a register has to
    /// stay free, counting values does not prove that.)
    pub(in crate::allocate::spill) fn is_uncontended(&mut self, block: Block) -> bool {
        let Problem { conventional, bundles, limits, .. } = self.problem;
        limits.spare() == 0
            && conventional.function.blocks[block].throws.is_none()
            && bundles.exit(block).is_none()
            && head(self.problem, block) == Head::Anything
            && self.labels.has_room(limits, block, &self.counts_in_memory(block))
            && self.stay(block)
    }

    /// Whether a value that comes into the block comes in memory, according to the last look at the block.
    pub(in crate::allocate::spill) fn is_in_memory(&self, block: Block, value: Value) -> bool {
        self.in_memory[value] == block.into()
    }

    /// For each set of registers, the number of values that come into a block in memory although they could be in registers.
    fn counts_in_memory(&mut self, block: Block) -> Counts {
        let Problem { conventional, liveness, limits, unspillable, .. } = self.problem;
        let function = &conventional.function;
        let mut counts = Counts::default();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def);
        let live = liveness.live_in(block).iter().copied().chain(phis).enumerate();
        for (index, value) in live.filter(|&(_, value)| !liveness.is_dead(value)) {
            let is_spilled = self.set.spilled[value];
            if is_spilled || !self.labels.is_in_register_at_head(block, index) && !unspillable.contains(value) {
                self.in_memory[value] = block.into();
                if !is_spilled {
                    limits.count(&mut counts, function.values[value].class, 1);
                }
            }
        }
        counts
    }

    /// Whether no value that an instruction accesses is in memory before or after it.
    fn stay(&self, block: Block) -> bool {
        let Problem { conventional, liveness, .. } = self.problem;
        let function = &conventional.function;
        let SpillSet { spilled, rematerialised, .. } = self.set;
        let stays = |index: usize, operand: &Operand| {
            let is_dead = liveness.kills(index);
            let is_wanted = is_dead || self.labels.is_in_register_after(index);
            match operand.is_def() {
                // A value that nothing reads might be written to memory.
                true => !is_dead && is_wanted && !spilled[operand.value] && !rematerialised[operand.value],
                false => is_wanted && !self.is_in_memory(block, operand.value),
            }
        };
        // The pressure counts on a held value being in the pinned register.
        let counts_on = |inst: Inst| self.pins.held(inst).iter().any(|held| self.is_in_memory(block, held.value));
        function.block_insts(block).all(|inst| {
            let operands = function.insts[inst].operands.start as usize..;
            operands.zip(function.operands(inst)).all(|(index, operand)| stays(index, operand)) && !counts_on(inst)
        })
    }
}
