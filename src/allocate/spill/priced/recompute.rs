//! Where values may be recomputed from others.
//!
//! A value that is recomputed wherever it is needed has no need of its home. But only an instruction that reads a value
//! recomputes it, and only while its source is live. Edges do not, and nothing does after the last such instruction.

use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Value};
use cranelift_entity::EntitySet;

/// Values that may be recomputed after the blocks that define them.
pub(super) struct Recomputation<'a> {
    problem: &'a Problem<'a>,
    possible: EntitySet<Value>,
}

impl<'a> Recomputation<'a> {
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        let mut recomputation = Recomputation { problem, possible: EntitySet::new() };
        let Problem { conventional, bundles, liveness, .. } = problem;
        let function = &conventional.function;
        for block in function.blocks.keys() {
            let read = function.block_operands(block).iter().filter(|operand| !operand.is_def());
            for value in read.map(|operand| operand.value) {
                // A value is not live into the block that defines it.
                if recomputation.source_is_live_into(block, value) && liveness.live_in(block).binary_search(&value).is_ok() {
                    recomputation.possible.insert(value);
                }
            }
            // A value that crosses a bundle in a register gets into it before the end of the block.
            if bundles.exit(block).is_some() {
                recomputation.possible.extend(liveness.live_out(block).iter().copied());
            }
        }
        recomputation
    }

    /// Whether a value that is live into a block may be recomputed there, or later.
    pub(super) fn is_possible_from(&self, block: Block, value: Value) -> bool {
        self.possible.contains(value) && self.source_is_live_into(block, value)
    }

    fn source_is_live_into(&self, block: Block, value: Value) -> bool {
        let recompute = self.problem.recompute(value);
        let is_live = |value: Value| self.problem.liveness.live_in(block).binary_search(&value).is_ok();
        matches!(recompute, Some(Refill::Recompute { from, .. }) if is_live(from))
    }
}
