//! Where values are stored that are read from their homes.
//!
//! Requires: what registers hold in each block, and where homes are read.
//! Ensures: a store, or several, on every way to each read, where the value is in a register, at the least cost; no way has more
//! than one. A value is stored behind its definition, on an edge, at a block's head, or before the terminators of a block that
//! a φ in memory takes it from.
//! Relies on: whether a home is not written yet in a block is a decision, and a store is where it is 1 before and 0 behind: a
//! minimum cut ([`super::cuts`]).

use super::Problem;
use super::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network, Residual, price};
use super::entry::Entries;
use super::plan::Store;
use crate::allocate::cost;
use crate::machine::{Block, EdgePlace, Point, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};

/// What is read where.
pub(super) struct Reads {
    /// Values that have to be in their homes in a block.
    pub(super) in_blocks: Vec<(Block, Value)>,
    /// Values that have to be there at the end of a block, since a φ in memory takes them.
    pub(super) at_ends: Vec<(Block, Value)>,
}

/// Places the stores of those of the `stored` values that are worth more than one behind the definition: (value, point).
/// The second answer is which values these are.
pub(super) fn place(
    problem: &Problem,
    entries: &Entries,
    reads: &Reads,
    stored: &EntitySet<Value>,
    defined: &SecondaryMap<Value, Option<Block>>,
) -> (Vec<Store>, EntitySet<Value>) {
    let colder = colder(problem, stored, defined);
    if colder.is_empty() {
        return (Vec::new(), colder);
    }
    let mut placing = Placing {
        problem,
        entries,
        decisions: Decisions::default(),
        homeless: SecondaryMap::new(),
        arriving: SecondaryMap::new(),
        transitions: Vec::new(),
    };
    placing.decide(&colder, defined);
    placing.read(reads);
    placing.edges();
    let stores = placing.solve(&colder, defined);
    (stores, colder)
}

/// The values that live in blocks that are executed less often than their definitions.
fn colder(problem: &Problem, stored: &EntitySet<Value>, defined: &SecondaryMap<Value, Option<Block>>) -> EntitySet<Value> {
    let function = &problem.conventional.function;
    let mut colder = EntitySet::new();
    for block in function.blocks.keys() {
        let frequency = function.blocks[block].frequency;
        let is_colder = |value: &Value| {
            stored.contains(*value) && defined[*value].is_some_and(|at| frequency < function.blocks[at].frequency)
        };
        colder.extend(problem.liveness.live_in(block).iter().copied().filter(is_colder));
    }
    colder
}

struct Placing<'a> {
    problem: &'a Problem<'a>,
    entries: &'a Entries<'a>,
    decisions: Decisions,
    /// Of each value in each block, ascending, the decision that its home is not written yet.
    homeless: SecondaryMap<Block, Vec<(Value, Decision)>>,
    /// Likewise, when control enters the block.
    arriving: SecondaryMap<Block, Vec<(Value, Decision)>>,
    /// Where a store may be: it is if the first of these is 1 and the second, if any, is 0.
    transitions: Vec<(Decision, Option<Decision>, Store)>,
}

impl Placing<'_> {
    fn decide(&mut self, colder: &EntitySet<Value>, defined: &SecondaryMap<Value, Option<Block>>) {
        let function = &self.problem.conventional.function;
        for block in function.blocks.keys() {
            for &value in self.problem.liveness.live_in(block).iter().filter(|&&value| colder.contains(value)) {
                let homeless = self.decisions.decide();
                self.homeless[block].push((value, homeless));
                let arriving = self.at_head(block, value, homeless).unwrap_or(homeless);
                self.arriving[block].push((value, arriving));
            }
        }
        for value in colder.iter() {
            let block = defined[value].expect("only what is defined can be colder elsewhere");
            let decision = self.decisions.decide();
            self.decisions.costs[decision][0] = price(cost::STORE, function.blocks[block].frequency);
            self.homeless[block].push((value, decision));
        }
        for homeless in self.homeless.values_mut() {
            homeless.sort_unstable();
        }
    }

    /// Where several ways meet, a value can be stored behind: the decision that its home is not written yet on any of them.
    fn at_head(&mut self, block: Block, value: Value, homeless: Decision) -> Option<Decision> {
        let function = &self.problem.conventional.function;
        let data = &function.blocks[block];
        if data.preds.len() < 2 || !self.entries.is_in(block, value) {
            return None;
        }
        let arriving = self.decisions.decide();
        self.decisions.pair(arriving, homeless, price(cost::STORE, data.frequency));
        self.transitions.push((arriving, Some(homeless), Store { at: function.head(block), value, home: value }));
        Some(arriving)
    }

    fn homeless(&self, block: Block, value: Value) -> Option<Decision> {
        let here = &self.homeless[block];
        here.binary_search_by_key(&value, |&(value, _)| value).ok().map(|index| here[index].1)
    }

    fn read(&mut self, reads: &Reads) {
        for &(block, value) in &reads.in_blocks {
            if let Some(homeless) = self.homeless(block, value) {
                self.decisions.costs[homeless][1] = FORBIDDEN;
            }
        }
        let function = &self.problem.conventional.function;
        let mut at_ends = reads.at_ends.clone();
        at_ends.sort_unstable();
        at_ends.dedup();
        for (block, value) in at_ends {
            let Some(homeless) = self.homeless(block, value) else { continue };
            let cost = &mut self.decisions.costs[homeless][1];
            if self.entries.is_at_end(block, value) {
                *cost = (*cost + price(cost::STORE, function.blocks[block].frequency)).min(FORBIDDEN);
                let store = Store { at: function.before_terminators(block), value, home: value };
                self.transitions.push((homeless, None, store));
            } else {
                *cost = FORBIDDEN;
            }
        }
    }

    fn edges(&mut self) {
        let function = &self.problem.conventional.function;
        for (to, data) in &function.blocks {
            for &from in data.preds.iter().filter(|_| !self.arriving[to].is_empty()) {
                let place = function.edge_place(from, to);
                for index in 0..self.arriving[to].len() {
                    let (value, zero) = self.arriving[to][index];
                    let one = self.homeless(from, value).expect("what is live into a block is live in its predecessors");
                    let at = self.store_on(place, from, to, value);
                    let cost = at.map_or(FORBIDDEN, |_| price(cost::STORE, cost::edge(function, from, to)));
                    self.decisions.pair(one, zero, cost);
                    self.transitions.extend(at.map(|at| (one, Some(zero), Store { at, value, home: value })));
                }
            }
        }
    }

    /// Where a value can be stored on an edge.
    fn store_on(&self, place: EdgePlace, from: Block, to: Block, value: Value) -> Option<Point> {
        match place {
            EdgePlace::Head(at) if self.entries.is_in(to, value) && self.entries.comes_over(from, to, value) => Some(at),
            EdgePlace::Tail(at) if self.entries.is_at_end(from, value) => Some(at),
            _ => None,
        }
    }

    fn solve(&self, colder: &EntitySet<Value>, defined: &SecondaryMap<Value, Option<Block>>) -> Vec<Store> {
        let network = Network::new(&self.decisions);
        let mut residual = Residual::new(&network);
        let mut cutter = Cutter::new(&network);
        let mut is_one: PrimaryMap<_, bool> = network.costs.keys().map(|_| false).collect();
        for cluster in network.clusters() {
            cutter.cut(cluster, &mut residual);
            network.nodes(cluster).for_each(|node| is_one[node] = cutter.is_one(node));
        }
        let is_one = |decision: Decision| is_one[network.node(decision)];
        let function = &self.problem.conventional.function;
        let taken = self.transitions.iter().filter(|&&(one, zero, _)| is_one(one) && zero.is_none_or(|zero| !is_one(zero)));
        let mut stores: Vec<Store> = taken.map(|&(.., store)| store).collect();
        for value in colder.iter() {
            let block = defined[value].expect("only what is defined can be colder elsewhere");
            if !is_one(self.homeless(block, value).expect("a value has a home where it is defined")) {
                stores.push(Store { at: behind_definition(function, block, value), value, home: value });
            }
        }
        stores
    }
}

/// The point behind a value's definition in this block.
fn behind_definition(function: &crate::machine::Function, block: Block, value: Value) -> Point {
    let defines = |inst| function.operands(inst).iter().any(|operand| operand.is_def() && operand.value == value);
    let inst = function.block_insts(block).position(defines);
    inst.map_or(function.head(block), |index| Point { block, index: index as u32 + 1 })
}
