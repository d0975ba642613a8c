//! Values among those that are live at the end of a block.

use crate::analysis::Liveness;
use crate::machine::{Block, Value};
use std::ops::Range;

/// Finds values, in ascending order, among those that are live at the end of a block.
pub(super) struct Before<'a> {
    live_out: &'a [Value],
    row: Range<usize>,
}

impl<'a> Before<'a> {
    pub(super) fn new(liveness: &'a Liveness, block: Block) -> Self {
        Before { live_out: liveness.live_out(block), row: liveness.live_out_row(block) }
    }

    /// Where a value is in the list of all blocks' values ([`Liveness::live_out_row`]), if it is live.
    pub(super) fn row_of(&mut self, value: Value) -> Option<usize> {
        // It is seldom far.
        let mut near = 1;
        while self.live_out.get(near).is_some_and(|&it| it <= value) {
            near *= 2;
        }
        let ahead = self.live_out[..self.live_out.len().min(near)].partition_point(|&it| it < value);
        self.live_out = &self.live_out[ahead..];
        self.row.start += ahead;
        (self.live_out.first() == Some(&value)).then_some(self.row.start)
    }
}
