//! Where values are among those that are live at the end of a block.

use crate::allocate::spill::splitting::ascending::Ascending;
use crate::analysis::Liveness;
use crate::machine::{Block, Value};

/// Finds the rows of values, each once and in ascending order.
pub(super) struct Before<'a> {
    values: Ascending<'a>,
    first_row: usize,
}

impl<'a> Before<'a> {
    pub(super) fn new(liveness: &'a Liveness, block: Block) -> Self {
        Before { values: Ascending::new(liveness.live_out(block)), first_row: liveness.live_out_row(block).start }
    }

    /// Where a value is in the list of all blocks' values ([`Liveness::live_out_row`]), if it is live.
    pub(super) fn row_of(&mut self, value: Value) -> Option<usize> {
        Some(self.first_row + self.values.index_of(value)?)
    }
}
