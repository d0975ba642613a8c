//! Where values may be computed again from others.
//!
//! What is computed again need not be in its home where it is in no register. But only an instruction that reads it computes it
//! again, while what it is computed from is live: edges do not, nor what is behind the last such instruction.

use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Value};
use cranelift_entity::EntitySet;

/// Which values may be computed again behind the blocks that define them.
pub(super) struct Again<'a> {
    problem: &'a Problem<'a>,
    behind: EntitySet<Value>,
}

impl<'a> Again<'a> {
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        let mut again = Again { problem, behind: EntitySet::new() };
        let Problem { conventional, bundles, liveness, .. } = problem;
        let function = &conventional.function;
        for block in function.blocks.keys() {
            let read = function.block_operands(block).iter().filter(|operand| !operand.is_def());
            for value in read.map(|operand| operand.value) {
                // In the block that defines it, it is not live into.
                if again.source_is_live_into(block, value) && liveness.live_in(block).binary_search(&value).is_ok() {
                    again.behind.insert(value);
                }
            }
            // What crosses a bundle in a register comes into one before the block's end.
            if bundles.exit(block).is_some() {
                again.behind.extend(liveness.live_out(block).iter().copied());
            }
        }
        again
    }

    /// Whether a value that is live into a block may be computed again in it, or behind it.
    pub(super) fn is_possible_from(&self, block: Block, value: Value) -> bool {
        self.behind.contains(value) && self.source_is_live_into(block, value)
    }

    fn source_is_live_into(&self, block: Block, value: Value) -> bool {
        let again = self.problem.recompute(value);
        let is_live = |value: Value| self.problem.liveness.live_in(block).binary_search(&value).is_ok();
        matches!(again, Some(Refill::Recompute { from, .. }) if is_live(from))
    }
}
