//! Placing stores for values that are read from their homes.
//!
//! Requires: the values in registers in each block, and the places where homes are read.
//! Ensures: at the least cost, one store on every path to each read, where the value is in a register or is a constant that
//! needs none. A store is after the value's definition, on an edge, at a block's head, or before the terminators of a block
//! from which a φ in memory takes the value.
//! Relies on: in each block, "the home is not written yet" is a decision, and a store is where it is 1 before and 0 after.
//! The cheapest stores are a minimum cut ([`crate::allocate::cuts`]). Where no store is possible between a block and a read,
//! the home has to be written in that block. This is so for most blocks on the way, since the value has left its registers
//! for a reason, so there is no decision about them.

use super::entry::Entries;
use crate::allocate::cost;
use crate::allocate::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network};
use crate::allocate::spill::plan::Store;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, EdgePlace, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// The places where homes are read.
pub(in crate::allocate::spill) struct Reads {
    /// Values that have to be in their homes in a block.
    pub(in crate::allocate::spill) in_blocks: Vec<(Block, Value)>,
    /// Values that have to be in their homes at the end of a block, since a φ in memory takes them.
    pub(in crate::allocate::spill) at_ends: Vec<(Block, Value)>,
}

/// Places the stores of those of the `stored` values for which there are cheaper places than after their definitions.
/// `defined` gives the block of a definition. The second result is the set of these values: the stores of all others belong
/// after their definitions.
pub(in crate::allocate::spill) fn place(
    problem: &Problem,
    entries: &Entries,
    reads: &Reads,
    stored: &EntitySet<Value>,
    defined: impl Fn(Value) -> Option<Block>,
) -> (Vec<Store>, EntitySet<Value>) {
    let values = problem.conventional.function.values.len();
    let by_value =
        |reads: &[(Block, Value)]| -> Vec<(Value, Block)> { reads.iter().map(|&(block, value)| (value, block)).collect() };
    let (in_blocks, at_ends) = (by_value(&reads.in_blocks), by_value(&reads.at_ends));
    let (in_blocks, at_ends) = (Grouped::new(values, &in_blocks), Grouped::new(values, &at_ends));
    let mut placing = Placing {
        problem,
        entries,
        decisions: Decisions::new(problem.units),
        homes: of_each(problem.conventional.function.blocks.len()),
        region: Vec::new(),
        written: Vec::new(),
        transitions: Vec::new(),
        definitions: Vec::new(),
        stores: Vec::new(),
        elsewhere: EntitySet::new(),
    };
    for value in stored.iter() {
        let Some(definition) = defined(value) else { continue };
        if placing.find_region(value, definition, in_blocks.get(value), at_ends.get(value)) {
            placing.value(value, definition, at_ends.get(value));
        }
        placing.forget_region();
        if placing.decisions.costs.len() >= AT_ONCE {
            placing.solve();
        }
    }
    placing.solve();
    (placing.stores, placing.elsewhere)
}

/// Values do not depend on each other, so the decisions about few of them are made at once. About all of them together, they
/// would take memory for each pair of a value and a block.
const AT_ONCE: usize = 1 << 14;

/// A store that is possible.
struct Transition {
    /// The store is made if this is 1 and the other decision, if there is one, is 0.
    before: Decision,
    after: Option<Decision>,
    store: Store,
}

/// The state of a value's home in a block.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum HomeState {
    /// Not needed: the block is on no path from the value's definition to a read.
    #[default]
    Unread,
    /// It has to be written.
    Written,
    /// Whether it is written is to be decided.
    Undecided,
    /// The decision that it is not written yet.
    Open(Decision),
}

struct Placing<'a> {
    problem: &'a Problem<'a>,
    entries: &'a Entries<'a>,
    decisions: Decisions,
    homes: SecondaryMap<Block, HomeState>,
    /// The blocks on paths from the value's definition to its reads.
    region: Vec<Block>,
    /// Those of them where the home has to be written, as far as that has not been passed on to the blocks before.
    written: Vec<Block>,
    transitions: Vec<Transition>,
    /// For each value, the decision about the block that defines it.
    definitions: Vec<(Value, Decision)>,
    /// The results of [`place`] for the values that have been solved.
    stores: Vec<Store>,
    elsewhere: EntitySet<Value>,
}

impl Placing<'_> {
    /// Finds the region of a value. Returns whether a part of the region is executed less often than the definition, so that
    /// a store may be cheaper there.
    fn find_region(&mut self, value: Value, definition: Block, in_blocks: &[Block], at_ends: &[Block]) -> bool {
        let function = &self.problem.conventional.function;
        in_blocks.iter().for_each(|&block| self.write(block));
        for &block in at_ends {
            if self.is_at_end(block, value) { self.open(block) } else { self.write(block) }
        }
        while let Some(block) = self.written.pop() {
            if block == definition {
                return false;
            }
            let at_head = self.is_stored_at_head(block, value);
            for &pred in &function.blocks[block].preds {
                if !at_head && self.store_on_edge(pred, block, value).is_none() {
                    self.write(pred);
                }
            }
        }
        self.open(definition);
        // Edges with blocks of their own are executed less often than the sources of these blocks.
        let frequency = |block: Block| function.blocks[block].frequency;
        let reads = in_blocks.iter().chain(at_ends);
        let mut least = reads.map(|&block| frequency(block)).fold(f64::INFINITY, f64::min);
        let mut next = 0;
        while let Some(&block) = self.region.get(next) {
            next += 1;
            if block != definition {
                for &pred in &function.blocks[block].preds {
                    least = least.min(frequency(pred));
                    self.open(pred);
                }
            }
        }
        least < frequency(definition)
    }

    /// The home has to be written in a block, or in the block before it if it is passed.
    fn write(&mut self, block: Block) {
        let block = self.problem.source(block);
        let before = std::mem::replace(&mut self.homes[block], HomeState::Written);
        if before != HomeState::Written {
            self.written.push(block);
        }
        if before == HomeState::Unread {
            self.region.push(block);
        }
    }

    /// A block, or the block before it if it is passed, is on a path to a read.
    fn open(&mut self, block: Block) {
        let block = self.problem.source(block);
        if self.homes[block] == HomeState::Unread {
            self.homes[block] = HomeState::Undecided;
            self.region.push(block);
        }
    }

    fn forget_region(&mut self) {
        self.written.clear();
        self.region.drain(..).for_each(|block| self.homes[block] = HomeState::Unread);
    }

    fn value(&mut self, value: Value, definition: Block, at_ends: &[Block]) {
        let function = &self.problem.conventional.function;
        for index in 0..self.region.len() {
            let home = &mut self.homes[self.region[index]];
            if *home == HomeState::Undecided {
                *home = HomeState::Open(self.decisions.decide());
            }
        }
        let HomeState::Open(defined) = self.at(definition) else { unreachable!("it could be stored nowhere else") };
        self.decisions.costs[defined][0] =
            self.problem.units.cost(self.problem.cost(cost::STORE, function.blocks[definition].frequency));
        self.definitions.push((value, defined));
        let mut at_ends = at_ends.to_vec();
        at_ends.sort_unstable();
        at_ends.dedup();
        for block in at_ends {
            // A value that a φ in memory takes can be stored at the end of the block that it comes from, if it is in a
            // register there.
            let store = Store { at: function.before_terminators(block), value, home: value };
            self.store_between(self.at(block), HomeState::Written, Some(store), function.blocks[block].frequency);
        }
        for index in 0..self.region.len() {
            let block = self.region[index];
            if block != definition {
                self.edges_to(block, value);
            }
        }
    }

    /// The state of the home in a block of the region, or in a passed block after one.
    fn at(&self, block: Block) -> HomeState {
        self.homes[self.problem.source(block)]
    }

    /// A value can be stored on an edge or, where several edges meet, after them.
    fn edges_to(&mut self, to: Block, value: Value) {
        let function = &self.problem.conventional.function;
        let data = &function.blocks[to];
        let mut arriving = self.at(to);
        if self.is_stored_at_head(to, value) {
            let after = std::mem::replace(&mut arriving, HomeState::Open(self.decisions.decide()));
            let store = Store { at: function.head(to), value, home: value };
            self.store_between(arriving, after, Some(store), data.frequency);
        }
        for &from in &data.preds {
            let before = self.at(from);
            if before != HomeState::Written {
                let store = self.store_on_edge(from, to, value);
                self.store_between(before, arriving, store, cost::edge(function, from, to));
            }
        }
    }

    /// Whether a value can be stored at the head of a block at which several edges meet.
    fn is_stored_at_head(&self, block: Block, value: Value) -> bool {
        self.problem.conventional.function.blocks[block].preds.len() > 1 && self.can_store_at_head(block, value)
    }

    /// The store of a value on an edge, if one is possible.
    fn store_on_edge(&self, from: Block, to: Block, value: Value) -> Option<Store> {
        let at = match self.problem.conventional.function.edge_place(from, to) {
            EdgePlace::Head(at) if self.can_store_at_head(to, value) && self.comes_over(from, to, value) => at,
            EdgePlace::Tail(at) if self.is_at_end(from, value) => at,
            _ => return None,
        };
        Some(Store { at, value, home: value })
    }

    /// Whether a value can be stored at a block's end: it is in a register there, or needs none.
    fn is_at_end(&self, block: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.is_at_end(block, value)
    }

    /// Whether a value can be stored at a block's head.
    fn can_store_at_head(&self, block: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.can_store_at_head(block, value)
    }

    /// Whether a value can be stored on an edge.
    fn comes_over(&self, from: Block, to: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.comes_over(from, to, value)
    }

    /// Adds the possibility of a store between two places, or forbids that there is one.
    fn store_between(&mut self, before: HomeState, after: HomeState, store: Option<Store>, frequency: f64) {
        let HomeState::Open(before) = before else { return };
        let cost = if store.is_some() { self.problem.units.cost(self.problem.cost(cost::STORE, frequency)) } else { FORBIDDEN };
        let after = if let HomeState::Open(after) = after { Some(after) } else { None };
        match after {
            Some(after) => self.decisions.pair(before, after, cost),
            // The home is written there.
            None => self.decisions.charge(before, true, cost),
        }
        self.transitions.extend(store.map(|store| Transition { before, after, store }));
    }

    /// Solves for the decisions collected so far.
    fn solve(&mut self) {
        if self.definitions.is_empty() {
            return;
        }
        let (network, mut residual) = Network::new(std::mem::replace(&mut self.decisions, Decisions::new(self.problem.units)));
        let is_one = Cutter::new(&network).cut_all(&mut residual);
        let is_one = |decision: Decision| is_one[network.node(decision)];
        let is_taken = |it: &Transition| is_one(it.before) && it.after.is_none_or(|after| !is_one(after));
        self.stores.extend(self.transitions.drain(..).filter(is_taken).map(|it| it.store));
        let elsewhere = self.definitions.drain(..).filter(|&(_, decision)| is_one(decision));
        self.elsewhere.extend(elsewhere.map(|(value, _)| value));
    }
}
