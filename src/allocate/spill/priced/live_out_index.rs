//! Where values are among those that are live at the end of a block.

use crate::allocate::spill::splitting::ascending::Ascending;
use crate::analysis::Liveness;
use crate::machine::{Block, Value};

/// Finds the rows of values, each once and in ascending order.
pub(super) struct LiveOutIndex<'a> {
    values: Ascending<'a>,
    first: usize,
}

impl<'a> LiveOutIndex<'a> {
    pub(super) fn new(liveness: &'a Liveness, block: Block) -> Self {
        LiveOutIndex { values: Ascending::new(liveness.live_out(block)), first: liveness.live_out_row(block).start }
    }

    /// Where a value is in the list of all blocks' values ([`Liveness::live_out_row`]), if it is live.
    pub(super) fn index_of(&mut self, value: Value) -> Option<usize> {
        Some(self.first + self.values.index_of(value)?)
    }
}
