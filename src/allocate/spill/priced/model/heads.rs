//! Where values are at the heads of blocks: in segments that go on from earlier blocks, or in new ones.

use super::{Builder, Known, Residence};
use crate::allocate::cost;
use crate::allocate::spill::crossing::Head;
use crate::allocate::spill::priced::live_out_index::LiveOutIndex;
use crate::allocate::spill::priced::segment_merging::majority;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Inst, Value};
use smallvec::SmallVec;

/// The segment in which a value comes into a block.
#[derive(Clone, Copy)]
pub(super) struct Arriving {
    pub(super) residence: Residence,
    /// Whether the value comes in this segment from all predecessors, over edges that can take code.
    pub(super) from_all: bool,
}

impl Builder<'_> {
    /// The residence of a value at a block's head, if there is nothing to decide.
    pub(super) fn known_at_head(&mut self, block: Block, head: Head, value: Value) -> Option<Residence> {
        match self.known[value] {
            Known::Unaffected | Known::Register => Some(Residence::REGISTER),
            Known::Memory => Some(Residence::MEMORY),
            Known::Open if head == Head::Nothing || head == Head::Bundle && self.chosen.off_bundles[value] => {
                Some(self.in_memory(value))
            }
            Known::Open if head == Head::Bundle => {
                let bundle = self.problem.bundles.entry(block).expect("the head is at a bundle");
                Some(self.cross(bundle, value))
            }
            Known::Open => None,
        }
    }

    /// The segment that goes on into a block: the one in which the value comes from all predecessors, or else the usual one.
    /// Predecessors from which control comes back have not been visited. In a loop that does not access the value, it comes
    /// back as it came.
    pub(super) fn arriving_segment(
        &self,
        block: Block,
        index: usize,
        value: Value,
        before: &mut [LiveOutIndex],
    ) -> Option<Arriving> {
        let data = &self.function.blocks[block];
        if let ([_], [before]) = (&data.preds[..], &mut *before)
            && !data.landing_pad
        {
            // A block with one predecessor begins no loop.
            let residence = before.index_of(value).map_or(Residence::MEMORY, |index| self.tails[index]);
            return self.goes_on(block, value, residence).then_some(Arriving { residence, from_all: true });
        }
        let in_loop = self.merging.as_ref().and_then(|merging| merging.excess_in_passed_loop(block, index));
        let comes_back = |pred: Block| in_loop.is_some() && self.problem.dominators.dominates(block, pred);
        let mut tails: SmallVec<[(Block, Residence); 8]> = SmallVec::new();
        for (&pred, before) in data.preds.iter().zip(before).filter(|&(&pred, _)| !comes_back(pred)) {
            let tail = match data.landing_pad {
                true => self.thrown(pred, value),
                false => before.index_of(value).map(|index| self.tails[index]),
            };
            tails.push((pred, tail.unwrap_or(Residence::MEMORY)));
        }
        let &(_, first) = tails.first()?;
        let from_all = tails.iter().all(|&(_, other)| other == first);
        let arriving = if from_all { first } else { self.usual_segment(block, &tails)? };
        let goes_on = match (arriving.decision(), in_loop) {
            (Some(decision), Some(_)) => {
                let coming = tails.iter().map(|&(pred, _)| cost::edge(self.function, pred, block)).sum();
                self.merging.as_ref()?.goes_on_into_loop(block, decision, coming)
            }
            (None, Some(excess)) => {
                arriving == Residence::REGISTER && excess == 0 && self.uncontended.is_to_first_use(block, value)
            }
            (_, None) => self.goes_on(block, value, arriving),
        };
        let from_all = from_all && in_loop.is_none() && !data.landing_pad;
        goes_on.then_some(Arriving { residence: arriving, from_all })
    }

    /// Whether a segment goes on into a block that begins no loop, or one that accesses the value.
    fn goes_on(&self, block: Block, value: Value, arriving: Residence) -> bool {
        match arriving.decision() {
            Some(decision) => self.merging.as_ref().is_some_and(|merging| merging.goes_on(block, value, decision)),
            None => {
                arriving == Residence::REGISTER
                    && self.pressure.heads[block] == 0
                    && self.uncontended.is_to_first_use(block, value)
            }
        }
    }

    /// The segment in which a value comes into a block outside of loops in at least half of the executions.
    fn usual_segment(&self, block: Block, tails: &[(Block, Residence)]) -> Option<Residence> {
        let is_frequent = self.merging.as_ref()?.is_frequent_block();
        // Memory may stand for a block that has not been visited, from which control comes back.
        if self.function.blocks[block].landing_pad || is_frequent || tails.iter().any(|&(_, tail)| tail == Residence::MEMORY) {
            return None;
        }
        let weighted = tails.iter().map(|&(pred, tail)| (tail, cost::edge(self.function, pred, block)));
        let weighted: SmallVec<[(Residence, f64); 4]> = weighted.collect();
        majority(&weighted).filter(|usual| usual.decision().is_some())
    }

    /// Notes the residences of values that the landing pad of a call needs. A value that a register of the program holds at
    /// the call is in no other register.
    pub(super) fn throw(&mut self, block: Block, call: Inst) {
        let Problem { pins, .. } = self.problem;
        let needed = self.problem.wanted_in_pads(block).into_iter().filter(|&value| pins.holder(call, value).is_none());
        self.thrown[block] = needed.map(|value| (value, self.residence[value])).collect();
    }

    /// The residence of a value when the call of a block throws, unless a register of the program holds it there.
    pub(super) fn thrown(&self, block: Block, value: Value) -> Option<Residence> {
        let thrown = &self.thrown[block];
        thrown.binary_search_by_key(&value, |&(thrown, _)| thrown).ok().map(|index| thrown[index].1)
    }
}
