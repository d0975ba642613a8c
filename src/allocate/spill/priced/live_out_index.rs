//! Positions of values in the lists of those that are live at the ends of blocks.

use crate::allocate::spill::splitting::ascending::Ascending;
use crate::analysis::Liveness;
use crate::machine::{Block, Value};

/// Finds values in one block's list. Each may be asked for once, in ascending order.
pub(super) struct LiveOutIndex<'a> {
    values: Ascending<'a>,
    first: usize,
}

impl<'a> LiveOutIndex<'a> {
    pub(super) fn new(liveness: &'a Liveness, block: Block) -> Self {
        LiveOutIndex { values: Ascending::new(liveness.live_out(block)), first: liveness.live_out_row(block).start }
    }

    /// The position of a value in the concatenated lists of all blocks ([`Liveness::live_out_row`]), if it is live.
    pub(super) fn index_of(&mut self, value: Value) -> Option<usize> {
        Some(self.first + self.values.index_of(value)?)
    }
}
