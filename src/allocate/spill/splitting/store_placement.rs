//! Where values are stored that are read from their homes.
//!
//! Requires: what registers hold in each block, and where homes are read.
//! Ensures: a store, or several, on every way to each read, where the value is in a register or a constant that needs none, at
//! the least cost; no way has more than one. A value is stored behind its definition, on an edge, at a block's head, or before the terminators of a block that
//! a φ in memory takes it from.
//! Relies on: whether a home is not written yet in a block is a decision, and a store is where it is 1 before and 0 behind: a
//! minimum cut ([`crate::allocate::cuts`]). Where nothing can be stored between a block and a read, its home has to be written:
//! that is most blocks on the way, since the value has left its registers for a reason, and nothing is decided there.

use super::entry::Entries;
use crate::allocate::cost;
use crate::allocate::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network};
use crate::allocate::spill::plan::Store;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, EdgePlace, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// What is read where.
pub(in crate::allocate::spill) struct Reads {
    /// Values that have to be in their homes in a block.
    pub(in crate::allocate::spill) in_blocks: Vec<(Block, Value)>,
    /// Values that have to be there at the end of a block, since a φ in memory takes them.
    pub(in crate::allocate::spill) at_ends: Vec<(Block, Value)>,
}

/// Places the stores of those of the `stored` values, `defined` in these blocks, for which there are cheaper places than behind
/// their definitions. The second answer is which values these are; all others are to be stored behind their definitions.
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

/// What there is to say about a value's home in a block.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Home {
    /// Nothing: the block is on no way from the value's definition to a read.
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
    homes: SecondaryMap<Block, Home>,
    /// The blocks on ways from the value's definition to its reads.
    region: Vec<Block>,
    /// Those of them where the home has to be written, as far as that has not been passed on to the blocks before.
    written: Vec<Block>,
    transitions: Vec<Transition>,
    /// Of each value, the decision about the block that defines it.
    definitions: Vec<(Value, Decision)>,
    /// Of the values that have been solved, what [`place`] answers.
    stores: Vec<Store>,
    elsewhere: EntitySet<Value>,
}

impl Placing<'_> {
    /// Finds the region of a value; says whether a part of it is executed less often than the definition, so that the value may
    /// be stored there.
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
        // Edges with blocks of their own are executed less often than these blocks' sources.
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

    /// In a block, or in the block before it if it is passed, the home has to be written.
    fn write(&mut self, block: Block) {
        let block = self.problem.source(block);
        let before = std::mem::replace(&mut self.homes[block], Home::Written);
        if before != Home::Written {
            self.written.push(block);
        }
        if before == Home::Unread {
            self.region.push(block);
        }
    }

    /// A block, or the block before it if it is passed, is on a way to a read.
    fn open(&mut self, block: Block) {
        let block = self.problem.source(block);
        if self.homes[block] == Home::Unread {
            self.homes[block] = Home::Undecided;
            self.region.push(block);
        }
    }

    fn forget_region(&mut self) {
        self.written.clear();
        self.region.drain(..).for_each(|block| self.homes[block] = Home::Unread);
    }

    fn value(&mut self, value: Value, definition: Block, at_ends: &[Block]) {
        let function = &self.problem.conventional.function;
        for index in 0..self.region.len() {
            let home = &mut self.homes[self.region[index]];
            if *home == Home::Undecided {
                *home = Home::Open(self.decisions.decide());
            }
        }
        let Home::Open(defined) = self.at(definition) else { unreachable!("it could be stored nowhere else") };
        self.decisions.costs[defined][0] =
            self.problem.units.price(self.problem.cost(cost::STORE, function.blocks[definition].frequency));
        self.definitions.push((value, defined));
        let mut at_ends = at_ends.to_vec();
        at_ends.sort_unstable();
        at_ends.dedup();
        for block in at_ends {
            // A value that a φ in memory takes can be stored at the end of its block, if it is there in a register.
            let store = Store { at: function.before_terminators(block), value, home: value };
            self.store_between(self.at(block), Home::Written, Some(store), function.blocks[block].frequency);
        }
        for index in 0..self.region.len() {
            let block = self.region[index];
            if block != definition {
                self.edges_to(block, value);
            }
        }
    }

    /// The home in a block of the region, or one that is passed behind it.
    fn at(&self, block: Block) -> Home {
        self.homes[self.problem.source(block)]
    }

    /// A value can be stored on an edge, or, where several ways meet, behind.
    fn edges_to(&mut self, to: Block, value: Value) {
        let function = &self.problem.conventional.function;
        let data = &function.blocks[to];
        let mut arriving = self.at(to);
        if self.is_stored_at_head(to, value) {
            let behind = std::mem::replace(&mut arriving, Home::Open(self.decisions.decide()));
            let store = Store { at: function.head(to), value, home: value };
            self.store_between(arriving, behind, Some(store), data.frequency);
        }
        for &from in &data.preds {
            let before = self.at(from);
            if before != Home::Written {
                let store = self.store_on_edge(from, to, value);
                self.store_between(before, arriving, store, cost::edge(function, from, to));
            }
        }
    }

    /// Whether a value can be stored at the head of a block at which several edges meet.
    fn is_stored_at_head(&self, block: Block, value: Value) -> bool {
        self.problem.conventional.function.blocks[block].preds.len() > 1 && self.can_store_at_head(block, value)
    }

    /// How a value can be stored on an edge.
    fn store_on_edge(&self, from: Block, to: Block, value: Value) -> Option<Store> {
        let at = match self.problem.conventional.function.edge_place(from, to) {
            EdgePlace::Head(at) if self.can_store_at_head(to, value) && self.comes_over(from, to, value) => at,
            EdgePlace::Tail(at) if self.is_at_end(from, value) => at,
            _ => return None,
        };
        Some(Store { at, value, home: value })
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

    /// Between two places there can be this store, or none.
    fn store_between(&mut self, before: Home, behind: Home, store: Option<Store>, frequency: f64) {
        let Home::Open(before) = before else { return };
        let cost = if store.is_some() { self.problem.units.price(self.problem.cost(cost::STORE, frequency)) } else { FORBIDDEN };
        let behind = if let Home::Open(behind) = behind { Some(behind) } else { None };
        match behind {
            Some(behind) => self.decisions.pair(before, behind, cost),
            // It is written there.
            None => self.decisions.charge(before, true, cost),
        }
        self.transitions.extend(store.map(|store| Transition { before, behind, store }));
    }

    /// Makes the decisions that there are.
    fn solve(&mut self) {
        if self.definitions.is_empty() {
            return;
        }
        let (network, mut residual) = Network::new(std::mem::replace(&mut self.decisions, Decisions::new(self.problem.units)));
        let is_one = Cutter::new(&network).cut_all(&mut residual);
        let is_one = |decision: Decision| is_one[network.node(decision)];
        let is_taken = |it: &Transition| is_one(it.before) && it.behind.is_none_or(|behind| !is_one(behind));
        self.stores.extend(self.transitions.drain(..).filter(is_taken).map(|it| it.store));
        let elsewhere = self.definitions.drain(..).filter(|&(_, decision)| is_one(decision));
        self.elsewhere.extend(elsewhere.map(|(value, _)| value));
    }
}
