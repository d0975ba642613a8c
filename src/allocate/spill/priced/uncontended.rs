//! Segments in which registers are not scarce.
//!
//! A segment that no row confines, and that begins with its value in a register, costs nothing if the value stays there, and the
//! access that it ends with may need a refill if not. So the value stays, and nothing is left to decide.

use super::excess_pressure::Tight;
use crate::allocate::pressure::demand::foldable_operands;
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::splitting::walk::Ahead;
use crate::analysis::{FirstUses, NEVER};
use crate::machine::{Block, Function, Inst, Value};

/// Where the places of the current block are in which there are more values than registers.
pub(super) struct Quiet<'a> {
    function: &'a Function,
    ahead: &'a Ahead<'a>,
    first_uses: FirstUses,
    fold: bool,
    /// Whether there are any.
    is_tight: bool,
    /// By index, the next such instruction, beginning with this one; [`NEVER`] if there is none.
    tight: Vec<u32>,
}

impl<'a> Quiet<'a> {
    pub(super) fn new(problem: &'a Problem, ahead: &'a Ahead) -> Self {
        let function = &problem.conventional.function;
        let (first_uses, fold) = (FirstUses::new(function), problem.policy.fold);
        Quiet { function, ahead, first_uses, fold, is_tight: false, tight: Vec::new() }
    }

    /// Looks at the next block.
    pub(super) fn enter(&mut self, tight: &Tight, block: Block) {
        self.is_tight = tight.blocks.contains(block);
        if !self.is_tight {
            return;
        }
        let insts = self.function.block_insts(block);
        self.first_uses.enter(self.function, block);
        self.tight.clear();
        self.tight.resize(insts.len() + 1, NEVER);
        for (index, inst) in insts.enumerate().rev() {
            self.tight[index] = if tight.insts[inst] > 0 { index as u32 } else { self.tight[index + 1] };
        }
    }

    /// Whether nothing competes with a value from an instruction, which accesses it as its k-th operand, to its next use in the
    /// block, or to the block's end.
    pub(super) fn is_to_next_use(&self, block: Block, inst: Inst, k: usize) -> bool {
        if !self.is_tight {
            return true;
        }
        let start = self.function.blocks[block].insts.start;
        let next = match self.ahead.in_block[self.function.insts[inst].operands.start as usize + k] {
            NEVER => NEVER,
            next => next - start,
        };
        self.is_between(block, inst.as_u32() - start, next)
    }

    /// The same of a value that is live into the block.
    pub(super) fn is_to_first_use(&self, block: Block, value: Value) -> bool {
        !self.is_tight || self.is_between(block, 0, self.first_uses.of(value).unwrap_or(NEVER))
    }

    /// Where an operand could be read from memory, its value competes until it is read.
    fn is_between(&self, block: Block, from: u32, to: u32) -> bool {
        let tight = self.tight[from as usize];
        tight == NEVER || tight > to || tight == to && !self.folds(Inst::from_u32(self.function.blocks[block].insts.start + to))
    }

    fn folds(&self, inst: Inst) -> bool {
        foldable_operands(self.function, inst, self.fold).next().is_some()
    }
}
