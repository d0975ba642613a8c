//! The fixed point: the state at each block's head.
//!
//! Blocks are walked in passes in reverse postorder. First, each is walked with its whole entry state. Later, an entry may
//! lose pairs, because something is missing where an edge closes a loop; then the block is walked with just those. This
//! suffices because each pair of a state results from at most one pair of the state before, so that what is lost follows
//! from what was lost. A pair is lost at most once. So the time is linear in the entry states, and in the function's size
//! for each pass. The number of passes is the largest number of back edges that the loss of a pair takes one after the
//! other.

use super::boundary::{Boundary, Change};
use super::state::{Direction, State};
use super::transfer::{Transfer, Visitor};
use crate::analysis::Order;
use crate::machine::{Block, BlockData};
use cranelift_entity::SecondaryMap;
use std::collections::BTreeSet;

/// The states at the blocks' heads, after their φs.
pub(super) fn entries(transfer: &Transfer, state: &mut State, slots: usize) -> SecondaryMap<Block, Boundary> {
    let function = transfer.function;
    let mut solver = Solver {
        transfer,
        order: Order::new(function),
        entries: SecondaryMap::with_capacity(function.blocks.len()),
        news: SecondaryMap::with_capacity(function.blocks.len()),
        at: 0,
        now: BTreeSet::new(),
        later: BTreeSet::new(),
    };
    solver.entries[function.entry()] = Some(Boundary::default());
    solver.tell(function.entry(), Change::Unknown);
    let mut losing = None;
    while let Some(block) = solver.next() {
        match std::mem::replace(&mut solver.news[block], Change::Nothing) {
            Change::Nothing => unreachable!("only blocks with news are queued"),
            Change::Unknown => {
                state.load(solver.entries[block].as_ref().expect("only reached blocks are queued"));
                transfer.walk(state, block, &mut solver);
            }
            Change::Lost(lost) => {
                let losing = losing.get_or_insert_with(|| State::new(function.values.len(), slots, Direction::Lost));
                losing.load_pairs(&lost);
                transfer.walk(losing, block, &mut solver);
            }
        }
    }
    SecondaryMap::from_iter(function.blocks.keys().map(|block| {
        let entry = solver.entries[block].take();
        (block, entry.expect("every block is reachable"))
    }))
}

struct Solver<'a> {
    transfer: &'a Transfer<'a>,
    order: Order,
    /// `None` until the block is reached.
    entries: SecondaryMap<Block, Option<Boundary>>,
    /// How each block's entry has changed since the block was walked.
    news: SecondaryMap<Block, Change>,
    /// The position in the order of the block that is being walked.
    at: usize,
    /// Positions of blocks with news: those that this pass still reaches, and those with which the next one begins.
    now: BTreeSet<usize>,
    later: BTreeSet<usize>,
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

    /// Lets the state flow into the entries of those successors that are `wanted`.
    fn flow(&mut self, state: &State, from: Block, wanted: fn(&BlockData) -> bool) {
        let blocks = &self.transfer.function.blocks;
        for &to in blocks[from].succs.iter().filter(|&&to| wanted(&blocks[to])) {
            let change = match (&mut self.entries[to], state.direction()) {
                (Some(entry), Direction::Held) => entry.meet(&self.transfer.held_on_edge(state, from, to)),
                (Some(entry), Direction::Lost) => entry.lose(&self.transfer.lost_on_edge(state, from, to)),
                (unreached, _) => {
                    *unreached = Some(self.transfer.held_on_edge(state, from, to));
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

    fn end(&mut self, state: &State, block: Block) {
        self.flow(state, block, |target| !target.landing_pad);
    }
}
