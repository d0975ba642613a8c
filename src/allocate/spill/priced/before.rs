//! Values among those that are live at the end of a block.

use crate::analysis::Liveness;
use crate::machine::{Block, Value};
use std::ops::Range;

/// Finds values, each once and in ascending order, among those that are live at the end of a block.
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
        // Most of the time, it is the next one.
        if self.live_out.first().is_some_and(|&next| next < value) {
            self.pass(value);
        }
        let (_, behind) = self.live_out.split_first().filter(|&(&next, _)| next == value)?;
        self.live_out = behind;
        self.row.next()
    }

    /// Passes all values in front of one.
    fn pass(&mut self, value: Value) {
        // It is seldom far.
        let mut near = 1;
        while self.live_out.get(near).is_some_and(|&it| it <= value) {
            near *= 2;
        }
        let ahead = self.live_out[..self.live_out.len().min(near)].partition_point(|&it| it < value);
        self.live_out = &self.live_out[ahead..];
        self.row.start += ahead;
    }
}
