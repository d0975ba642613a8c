//! The fixed point.
//!
//! Blocks are walked in passes in reverse postorder, each first with its whole entry. What an entry loses later, since
//! something is missing where an edge closes a loop, is all that is walked with then: a transfer function makes each pair of
//! a state of at most one pair, so that what it loses follows from what its argument lost. A pair is lost once at most, so
//! that time is linear in the entries, and in the function's size for each pass; there are as many passes as back edges that a
//! pair's loss takes one after the other.

use super::state::{self, Boundary, Change, Direction, State};
use super::transfer::{Transfer, Visitor};
use crate::analysis::Order;
use crate::machine::{Block, BlockData};
use cranelift_entity::SecondaryMap;
use std::collections::BTreeSet;

/// The states at the blocks' heads, behind their φs.
pub(super) fn entries(transfer: &Transfer, state: &mut State) -> SecondaryMap<Block, Boundary> {
    let function = transfer.function;
    let mut solver = Solver {
        transfer,
        order: Order::new(function),
        entries: SecondaryMap::with_capacity(function.blocks.len()),
        news: SecondaryMap::with_capacity(function.blocks.len()),
        at: 0,
        now: BTreeSet::new(),
        later: BTreeSet::new(),
        edge: Boundary::new(),
        met: Boundary::new(),
    };
    solver.entries[function.entry()] = Some(Boundary::new());
    solver.tell(function.entry(), Change::Unknown);
    while let Some(block) = solver.next() {
        match std::mem::replace(&mut solver.news[block], Change::Nothing) {
            Change::Nothing => unreachable!("only blocks with news are queued"),
            Change::Unknown => {
                state.load(solver.entries[block].as_ref().expect("only reached blocks are queued"), Direction::Held);
            }
            Change::Lost(lost) => state.load(&lost, Direction::Lost),
        }
        transfer.walk(state, block, &mut solver);
    }
    SecondaryMap::from_iter(function.blocks.keys().map(|block| {
        let entry = solver.entries[block].take();
        (block, entry.expect("every block is reachable"))
    }))
}

struct Solver<'a> {
    transfer: &'a Transfer<'a>,
    order: Order,
    /// `None`: not reached yet.
    entries: SecondaryMap<Block, Option<Boundary>>,
    /// How each block's entry changed since it was walked.
    news: SecondaryMap<Block, Change>,
    /// Of the block being walked, the position in the order.
    at: usize,
    /// Positions of the blocks with news that this pass still comes to, and of those that the next one has to begin with.
    now: BTreeSet<usize>,
    later: BTreeSet<usize>,
    /// What flows along the edge at hand, and what it makes of the target's entry.
    edge: Boundary,
    met: Boundary,
}

impl Solver<'_> {
    /// The next block with news, in this pass or else in the next one.
    fn next(&mut self) -> Option<Block> {
        if self.now.is_empty() {
            std::mem::swap(&mut self.now, &mut self.later);
        }
        self.at = self.now.pop_first()?;
        Some(self.order.blocks()[self.at])
    }

    fn tell(&mut self, block: Block, change: Change) {
        let news = &mut self.news[block];
        match (change, &mut *news) {
            (Change::Nothing, _) => return,
            (Change::Lost(more), Change::Lost(lost)) => lost.extend(more),
            (_, Change::Unknown) => {}
            (change, _) => *news = change,
        }
        let position = self.order.index(block);
        if position > self.at { &mut self.now } else { &mut self.later }.insert(position);
    }

    /// Takes the state into the entries of the wanted successors.
    fn flow(&mut self, state: &State, from: Block, wanted: fn(&BlockData) -> bool) {
        let blocks = &self.transfer.function.blocks;
        for &to in blocks[from].succs.iter().filter(|&&to| wanted(&blocks[to])) {
            self.transfer.edge(state, from, to, &mut self.edge);
            let change = match (&mut self.entries[to], state.direction()) {
                (Some(entry), Direction::Held) => {
                    let change = state::meet(entry, &self.edge, &mut self.met);
                    std::mem::swap(entry, &mut self.met);
                    change
                }
                (Some(entry), Direction::Lost) => state::lose(entry, &self.edge),
                (unreached, _) => {
                    *unreached = Some(self.edge.clone());
                    Change::Unknown
                }
            };
            self.tell(to, change);
        }
    }
}

impl Visitor for Solver<'_> {
    fn throw(&mut self, state: &State, block: Block) {
        self.flow(state, block, |target| target.landing_pad);
    }

    fn jump(&mut self, state: &State, block: Block) {
        self.flow(state, block, |target| target.jump_target);
    }

    fn end(&mut self, state: &State, block: Block) {
        // A jump target may be where the block ends, too.
        self.flow(state, block, |target| !target.landing_pad);
    }
}
