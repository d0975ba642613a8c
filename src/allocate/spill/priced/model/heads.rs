//! Where values are at the heads of blocks: in segments that come from the blocks before, or in new ones.

use super::{Builder, Known, Place};
use crate::allocate::cost;
use crate::allocate::spill::crossing::Head;
use crate::allocate::spill::priced::before::Before;
use crate::allocate::spill::priced::segment_merging::majority;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Inst, Value};
use smallvec::SmallVec;

/// The segment in which a value comes into a block.
#[derive(Clone, Copy)]
pub(super) struct Arriving {
    pub(super) place: Place,
    /// Whether the value comes in it from all predecessors, over edges that can take code.
    pub(super) is_one: bool,
}

impl Builder<'_> {
    /// Where a value is at a block's head, if that is not decided.
    pub(super) fn known_at_head(&mut self, head: Head, value: Value) -> Option<Place> {
        match self.known[value] {
            Known::Plain | Known::Register => Some(Place::REGISTER),
            Known::Memory => Some(Place::MEMORY),
            Known::Open if head == Head::Nothing || head == Head::Bundle && self.chosen.off_bundles[value] => {
                Some(self.in_memory(value))
            }
            Known::Open => (head == Head::Bundle).then_some(Place::REGISTER),
        }
    }

    /// The segment that goes on into a block, if it comes `before` from all predecessors, or is the usual one. Where control comes
    /// back, these have not been passed; in a loop that does not access the value in this row, it comes back as it came.
    pub(super) fn arriving_segment(&self, block: Block, row: usize, value: Value, before: &mut [Before]) -> Option<Arriving> {
        let data = &self.function.blocks[block];
        if let ([_], [before]) = (&data.preds[..], &mut *before)
            && !data.landing_pad
        {
            // No loop begins here.
            let place = before.row_of(value).map_or(Place::MEMORY, |row| self.tails[row]);
            return self.goes_on(block, value, place).then_some(Arriving { place, is_one: !data.jump_target });
        }
        let in_loop = self.passing.as_ref().and_then(|passing| passing.scarcity_in_passed_loop(block, row));
        let comes_back = |pred: Block| in_loop.is_some() && self.problem.dominators.dominates(block, pred);
        let mut tails: SmallVec<[(Block, Place); 8]> = SmallVec::new();
        for (&pred, before) in data.preds.iter().zip(before).filter(|&(&pred, _)| !comes_back(pred)) {
            let tail = match data.landing_pad {
                true => self.thrown(pred, value),
                false => before.row_of(value).map(|row| self.tails[row]),
            };
            tails.push((pred, tail.unwrap_or(Place::MEMORY)));
        }
        let &(_, first) = tails.first()?;
        let is_one = tails.iter().all(|&(_, other)| other == first);
        let arriving = if is_one { first } else { self.usual_segment(block, &tails)? };
        let goes_on = match (arriving.decision(), in_loop) {
            (Some(decision), Some(_)) => {
                let coming = tails.iter().map(|&(pred, _)| cost::edge(self.function, pred, block)).sum();
                self.passing.as_ref()?.goes_on_into_loop(decision, coming)
            }
            (None, Some(scarcity)) => arriving == Place::REGISTER && scarcity == 0 && self.quiet.is_to_first_use(block, value),
            (_, None) => self.goes_on(block, value, arriving),
        };
        let is_one = is_one && in_loop.is_none() && !data.landing_pad && !data.jump_target;
        goes_on.then_some(Arriving { place: arriving, is_one })
    }

    /// Whether a segment goes on into a block with which no loop begins that passes the value.
    fn goes_on(&self, block: Block, value: Value, arriving: Place) -> bool {
        match arriving.decision() {
            Some(decision) => self.passing.as_ref().is_some_and(|passing| passing.goes_on(block, value, decision)),
            None => arriving == Place::REGISTER && self.tight.heads[block] == 0 && self.quiet.is_to_first_use(block, value),
        }
    }

    /// Of the segments in which a value comes into a block outside of loops, that in which it comes at least every second time.
    fn usual_segment(&self, block: Block, tails: &[(Block, Place)]) -> Option<Place> {
        let is_hot = self.passing.as_ref()?.is_executed_often();
        // Where control comes back, what is in memory has not been passed.
        if self.function.blocks[block].landing_pad || is_hot || tails.iter().any(|&(_, tail)| tail == Place::MEMORY) {
            return None;
        }
        let weighted = tails.iter().map(|&(pred, tail)| (tail, cost::edge(self.function, pred, block)));
        let weighted: SmallVec<[(Place, f64); 4]> = weighted.collect();
        majority(&weighted).filter(|usual| usual.decision().is_some())
    }

    /// Notes where values are that landing pads want. What a register of the program holds at the call is in no other one.
    pub(super) fn throw(&mut self, block: Block, call: Inst) {
        let Problem { pins, .. } = self.problem;
        let wanted = self.problem.wanted_in_pads(block).into_iter().filter(|&value| pins.holder(call, value).is_none());
        self.thrown[block] = wanted.map(|value| (value, self.place[value])).collect();
    }

    /// Where a value is when the call of a block throws, unless a register of the program holds it there.
    pub(super) fn thrown(&self, block: Block, value: Value) -> Option<Place> {
        let thrown = &self.thrown[block];
        thrown.binary_search_by_key(&value, |&(thrown, _)| thrown).ok().map(|index| thrown[index].1)
    }
}
