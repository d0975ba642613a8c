//! Segments that nothing competes with.
//!
//! If a segment is under no constraint and its value is in a register before, the value stays. That costs nothing, while
//! leaving might cost a refill at the access that ends the segment. So there is nothing to decide.

use super::excess_pressure::ExcessPressure;
use crate::allocate::pressure::demand::foldable_operands;
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::splitting::walk::Ahead;
use crate::analysis::{FirstUses, NEVER};
use crate::machine::{Block, Function, Inst, Value};

/// The points of the current block at which values compete.
pub(super) struct Uncontended<'a> {
    function: &'a Function,
    ahead: &'a Ahead<'a>,
    first_uses: FirstUses,
    fold: bool,
    /// Whether there are any.
    is_contended: bool,
    /// By index, the next instruction with excess pressure, or [`NEVER`]; an instruction may be its own next one.
    next_contended: Vec<u32>,
}

impl<'a> Uncontended<'a> {
    pub(super) fn new(problem: &'a Problem, ahead: &'a Ahead) -> Self {
        let function = &problem.conventional.function;
        let (first_uses, fold) = (FirstUses::new(function), problem.policy.fold);
        Uncontended { function, ahead, first_uses, fold, is_contended: false, next_contended: Vec::new() }
    }

    /// Begins the next block.
    pub(super) fn enter(&mut self, pressure: &ExcessPressure, block: Block) {
        self.is_contended = pressure.blocks.contains(block);
        if !self.is_contended {
            return;
        }
        let insts = self.function.block_insts(block);
        self.first_uses.enter(self.function, block);
        self.next_contended.clear();
        self.next_contended.resize(insts.len() + 1, NEVER);
        for (index, inst) in insts.enumerate().rev() {
            self.next_contended[index] = if pressure.insts[inst] > 0 { index as u32 } else { self.next_contended[index + 1] };
        }
    }

    /// Whether nothing competes with a value from an instruction that accesses it, as its k-th operand, to the next use in
    /// the block, or to the end of the block.
    pub(super) fn is_to_next_use(&self, block: Block, inst: Inst, k: usize) -> bool {
        if !self.is_contended {
            return true;
        }
        let start = self.function.blocks[block].insts.start;
        let next = match self.ahead.in_block[self.function.insts[inst].operands.start as usize + k] {
            NEVER => NEVER,
            next => next - start,
        };
        self.is_between(block, inst.as_u32() - start, next)
    }

    /// Whether nothing competes with a value that is live into the block, up to its first use.
    pub(super) fn is_to_first_use(&self, block: Block, value: Value) -> bool {
        !self.is_contended || self.is_between(block, 0, self.first_uses.of(value).unwrap_or(NEVER))
    }

    /// A value that the last instruction could read from memory competes until it is read.
    fn is_between(&self, block: Block, from: u32, to: u32) -> bool {
        let contended = self.next_contended[from as usize];
        contended == NEVER
            || contended > to
            || contended == to && !self.folds(Inst::from_u32(self.function.blocks[block].insts.start + to))
    }

    fn folds(&self, inst: Inst) -> bool {
        foldable_operands(self.function, inst, self.fold).next().is_some()
    }
}
