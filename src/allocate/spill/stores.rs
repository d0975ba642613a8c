//! Where values are stored that are read from their homes.
//!
//! Requires: what registers hold in each block, and where homes are read.
//! Ensures: a store, or several, on every way to each read, where the value is in a register or a constant that needs none, at
//! the least cost; no way has more than one. A value is stored behind its definition, on an edge, at a block's head, or before the terminators of a block that
//! a φ in memory takes it from.
//! Relies on: whether a home is not written yet in a block is a decision, and a store is where it is 1 before and 0 behind: a
//! minimum cut ([`crate::allocate::cuts`]).

use super::Problem;
use super::entry::Entries;
use super::plan::Store;
use crate::allocate::cost;
use crate::allocate::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network, price};
use crate::analysis::grouped::Grouped;
use crate::machine::{Block, EdgePlace, Value};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};

/// What is read where.
pub(super) struct Reads {
    /// Values that have to be in their homes in a block.
    pub(super) in_blocks: Vec<(Block, Value)>,
    /// Values that have to be there at the end of a block, since a φ in memory takes them.
    pub(super) at_ends: Vec<(Block, Value)>,
}

/// Places the stores of those of the `stored` values, `defined` in these blocks, for which there are cheaper places than behind
/// their definitions. The second answer is which values these are; all others are to be stored behind their definitions.
pub(super) fn place(
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
        decisions: Decisions::default(),
        homeless: SecondaryMap::new(),
        region: Vec::new(),
        transitions: Vec::new(),
        definitions: Vec::new(),
        stores: Vec::new(),
        elsewhere: EntitySet::new(),
    };
    for value in stored.iter() {
        let Some(definition) = defined(value) else { continue };
        if placing.find_region(definition, in_blocks.get(value), at_ends.get(value)) {
            placing.value(value, definition, in_blocks.get(value), at_ends.get(value));
        }
        placing.forget_region();
        if placing.decisions.costs.len() >= AT_ONCE {
            placing.solve();
        }
    }
    placing.solve();
    (placing.stores, placing.elsewhere)
}

/// Values do not depend on each other, so that few at once have decisions: all together would take memory for each value and
/// block.
const AT_ONCE: usize = 1 << 14;

/// A store that may be.
struct Transition {
    /// It is if this is 1, and the other one, if there is one, is 0.
    before: Decision,
    behind: Option<Decision>,
    store: Store,
}

struct Placing<'a> {
    problem: &'a Problem<'a>,
    entries: &'a Entries<'a>,
    decisions: Decisions,
    /// Of each block of the region, the decision that the value's home is not written yet.
    homeless: SecondaryMap<Block, PackedOption<Decision>>,
    /// The blocks on ways from the value's definition to its reads.
    region: Vec<Block>,
    transitions: Vec<Transition>,
    /// Of each value, the decision about the block that defines it.
    definitions: Vec<(Value, Decision)>,
    /// Of the values that have been solved, what [`place`] answers.
    stores: Vec<Store>,
    elsewhere: EntitySet<Value>,
}

impl Placing<'_> {
    /// Finds the region of a value; says whether a part of it is executed less often than the definition.
    fn find_region(&mut self, definition: Block, in_blocks: &[Block], at_ends: &[Block]) -> bool {
        let function = &self.problem.conventional.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        let mut least = f64::INFINITY;
        for &block in in_blocks.iter().chain(at_ends).chain([&definition]) {
            least = least.min(frequency(block));
            self.enter(block);
        }
        let mut next = 0;
        while let Some(&block) = self.region.get(next) {
            next += 1;
            if block != definition {
                for &pred in &function.blocks[block].preds {
                    least = least.min(frequency(pred));
                    self.enter(pred);
                }
            }
        }
        least < frequency(definition)
    }

    /// A block that is passed is one with the block before it.
    fn enter(&mut self, block: Block) {
        let block = self.problem.source(block);
        if self.homeless[block].is_none() {
            // No decision yet, but a mark.
            self.homeless[block] = Decision::new(0).into();
            self.region.push(block);
        }
    }

    fn forget_region(&mut self) {
        for block in self.region.drain(..) {
            self.homeless[block] = None.into();
        }
    }

    fn value(&mut self, value: Value, definition: Block, in_blocks: &[Block], at_ends: &[Block]) {
        let function = &self.problem.conventional.function;
        for index in 0..self.region.len() {
            self.homeless[self.region[index]] = self.decisions.decide().into();
        }
        let defined = self.at(definition);
        self.decisions.costs[defined][0] = price(self.problem.cost(cost::STORE, function.blocks[definition].frequency));
        self.definitions.push((value, defined));
        for &block in in_blocks {
            let read = self.at(block);
            self.decisions.costs[read][1] = FORBIDDEN;
        }
        let mut at_ends = at_ends.to_vec();
        at_ends.sort_unstable();
        at_ends.dedup();
        for block in at_ends {
            self.read_at_end(block, value);
        }
        for index in 0..self.region.len() {
            let block = self.region[index];
            if block != definition {
                self.edges_to(block, value);
            }
        }
    }

    /// The decision about a block of the region, or one that is passed behind it.
    fn at(&self, block: Block) -> Decision {
        self.homeless[self.problem.source(block)].expect("the block is on a way to a read")
    }

    /// A value that a φ in memory takes can be stored at the end of its block.
    fn read_at_end(&mut self, block: Block, value: Value) {
        let function = &self.problem.conventional.function;
        let homeless = self.at(block);
        let is_there = self.is_at_end(block, value);
        let cost = &mut self.decisions.costs[homeless][1];
        if is_there {
            *cost = (*cost + price(self.problem.cost(cost::STORE, function.blocks[block].frequency))).min(FORBIDDEN);
            let store = Store { at: function.before_terminators(block), value, home: value };
            self.transitions.push(Transition { before: homeless, behind: None, store });
        } else {
            *cost = FORBIDDEN;
        }
    }

    /// A value can be stored on an edge, or, where several ways meet, behind.
    fn edges_to(&mut self, to: Block, value: Value) {
        let function = &self.problem.conventional.function;
        let data = &function.blocks[to];
        let mut arriving = self.at(to);
        if data.preds.len() > 1 && self.can_store_at_head(to, value) {
            let behind = std::mem::replace(&mut arriving, self.decisions.decide());
            let store = Store { at: function.head(to), value, home: value };
            self.store_between(arriving, behind, Some(store), data.frequency);
        }
        for &from in &data.preds {
            let at = match function.edge_place(from, to) {
                EdgePlace::Head(at) if self.can_store_at_head(to, value) && self.comes_over(from, to, value) => Some(at),
                EdgePlace::Tail(at) if self.is_at_end(from, value) => Some(at),
                _ => None,
            };
            let store = at.map(|at| Store { at, value, home: value });
            self.store_between(self.at(from), arriving, store, cost::edge(function, from, to));
        }
    }

    /// Whether a value can be stored at a block's end: it is in a register, or needs none.
    fn is_at_end(&self, block: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.is_at_end(block, value)
    }

    /// Likewise at a block's head.
    fn can_store_at_head(&self, block: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.can_store_at_head(block, value)
    }

    /// Likewise on an edge.
    fn comes_over(&self, from: Block, to: Block, value: Value) -> bool {
        self.problem.storable(value).is_some() || self.entries.comes_over(from, to, value)
    }

    /// Between two decisions there can be this store, or none.
    fn store_between(&mut self, before: Decision, behind: Decision, store: Option<Store>, frequency: f64) {
        let cost = if store.is_some() { price(self.problem.cost(cost::STORE, frequency)) } else { FORBIDDEN };
        self.decisions.pair(before, behind, cost);
        self.transitions.extend(store.map(|store| Transition { before, behind: Some(behind), store }));
    }

    /// Makes the decisions that there are.
    fn solve(&mut self) {
        if self.definitions.is_empty() {
            return;
        }
        let (network, mut residual) = Network::new(std::mem::take(&mut self.decisions));
        let is_one = Cutter::new(&network).cut_all(&mut residual);
        let is_one = |decision: Decision| is_one[network.node(decision)];
        let is_taken = |it: &Transition| is_one(it.before) && it.behind.is_none_or(|behind| !is_one(behind));
        self.stores.extend(self.transitions.drain(..).filter(is_taken).map(|it| it.store));
        let elsewhere = self.definitions.drain(..).filter(|&(_, decision)| is_one(decision));
        self.elsewhere.extend(elsewhere.map(|(value, _)| value));
    }
}
