//! What it costs to have one value in memory at one point, and in a register wherever else that is cheapest.
//!
//! It is the question that explains a decision: of the values that meet where registers are short, which could have given way,
//! and what for? The live range of the value is cut into segments, as for [spilling by prices](super::spill), but it is alone:
//! no other value is in its way, so a minimum cut answers.
//!
//! Requires: strict SSA form.
//! Ensures: the least cost of the reloads that are then needed, and of the store, if the value has to be stored for that; at the
//! weights of [`super::cost`].

use super::cost;
use super::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network, Units};
use crate::analysis::Liveness;
use crate::machine::{Block, Function, Inst, InstFlags, Operand, Point, Value};
use cranelift_entity::SecondaryMap;
use std::collections::HashMap;

/// Answers for one function.
pub struct Evictions<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    units: Units,
    /// The instruction that defines each value; none for φs.
    definition: SecondaryMap<Value, Option<(Block, Option<Inst>)>>,
    /// The blocks in which each value lives.
    blocks: SecondaryMap<Value, Vec<Block>>,
    /// The values that have been asked about.
    known: HashMap<Value, LiveRange>,
}

/// A live range, as decisions: 1 if the value is in a register throughout a segment.
struct LiveRange {
    decisions: Decisions,
    /// The segments of each block, with the index of the instruction before which each begins.
    segments: HashMap<Block, Vec<(u32, Decision)>>,
}

impl<'a> Evictions<'a> {
    pub fn new(function: &'a Function, liveness: &'a Liveness) -> Self {
        let most = function.blocks.values().map(|data| data.frequency).fold(0.0, f64::max);
        let mut definition = SecondaryMap::with_capacity(function.values.len());
        let mut blocks: SecondaryMap<Value, Vec<Block>> = SecondaryMap::with_capacity(function.values.len());
        for (block, data) in &function.blocks {
            data.phis.iter().for_each(|phi| definition[phi.def] = Some((block, None)));
            for inst in function.block_insts(block) {
                let defs = function.operands(inst).iter().filter(|operand| operand.is_def());
                defs.for_each(|operand| definition[operand.value] = Some((block, Some(inst))));
            }
            let defined = data.phis.iter().map(|phi| phi.def).chain(function.block_operands(block).iter().map(|o| o.value));
            for value in defined.chain(liveness.live_in(block).iter().copied()) {
                if blocks[value].last() != Some(&block) {
                    blocks[value].push(block);
                }
            }
        }
        let units = Units::for_executions(most);
        Evictions { function, liveness, units, definition, blocks, known: HashMap::new() }
    }

    /// The cost of having a value in memory at a point; `None` if the instruction there reads it from a register. `stored`: it is in memory in any case somewhere, so that its store costs nothing more.
    pub fn cost(&mut self, value: Value, at: Point, stored: bool) -> Option<f64> {
        let is_read = |operand: &Operand| operand.value == value && !operand.is_def() && !operand.foldable;
        let Point { block, index } = at;
        let inst = self.function.block_insts(block).nth(index as usize);
        if inst.is_some_and(|inst| self.function.operands(inst).iter().any(is_read)) {
            return None;
        }
        if !self.known.contains_key(&value) {
            let range = self.live_range(value);
            self.known.insert(value, range);
        }
        let LiveRange { decisions, segments } = &self.known[&value];
        let of_block = segments.get(&block)?;
        let segment = of_block.partition_point(|&(first, _)| first <= index).checked_sub(1).map(|at| of_block[at].1)?;
        let mut decisions = decisions.clone();
        decisions.charge(segment, true, FORBIDDEN);
        let (network, mut residual) = Network::new(decisions);
        let mut cutter = Cutter::new(&network);
        let component = network.component_of(network.node(segment));
        cutter.cut(component, &mut residual);
        let reloads = residual.cost_of_cut(&network, component, |node| cutter.is_one(node), |_| 0);
        let store = if stored || self.constant(value).is_some() { 0.0 } else { self.store(value) };
        Some(self.units.executions(reloads) + store)
    }

    /// The instruction that can compute a value again.
    fn constant(&self, value: Value) -> Option<Inst> {
        self.definition[value]?.1.filter(|&inst| self.function.insts[inst].is(InstFlags::REMATERIALISABLE))
    }

    fn store(&self, value: Value) -> f64 {
        self.definition[value].map_or(0.0, |(block, _)| cost::STORE.cost(self.function.blocks[block].frequency, false))
    }

    fn live_range(&self, value: Value) -> LiveRange {
        let reload = self.constant(value).map_or(cost::RELOAD, |inst| cost::rematerialisation(&self.function.insts[inst]));
        let reload = |executions: f64| self.units.cost(reload.cost(executions, false));
        let mut range = LiveRange { decisions: Decisions::new(self.units), segments: HashMap::new() };
        for &block in &self.blocks[value] {
            let segments = self.segments(value, block, &mut range.decisions, reload);
            range.segments.insert(block, segments);
        }
        for &from in &self.blocks[value] {
            let last = range.segments[&from].last();
            let Some(&(_, tail)) = last.filter(|_| self.liveness.live_out(from).binary_search(&value).is_ok()) else {
                continue;
            };
            for &to in &self.function.blocks[from].succs {
                let executions = cost::edge(self.function, from, to);
                if let Some(&(0, head)) = range.segments.get(&to).and_then(|it| it.first())
                    && self.liveness.live_in(to).binary_search(&value).is_ok()
                {
                    range.decisions.pair(head, tail, reload(executions));
                }
                let column = self.function.column(from, to);
                if self.function.blocks[to].phis.iter().any(|phi| phi.args[column] == value.into()) {
                    range.decisions.charge(tail, false, reload(executions));
                }
            }
        }
        range
    }

    /// The segments of a block, charged for what their accesses take.
    fn segments(
        &self,
        value: Value,
        block: Block,
        decisions: &mut Decisions,
        reload: impl Fn(f64) -> i64,
    ) -> Vec<(u32, Decision)> {
        let data = &self.function.blocks[block];
        let mut segments = Vec::new();
        let is_phi = data.phis.iter().any(|phi| phi.def == value);
        if is_phi || self.liveness.live_in(block).binary_search(&value).is_ok() {
            segments.push((0, decisions.decide()));
        }
        for (index, inst) in (1..).zip(self.function.block_insts(block)) {
            let operands = self.function.operands(inst);
            let first = self.function.insts[inst].operands.start as usize;
            let is_accessed = operands.iter().any(|operand| operand.value == value);
            if let Some(&(_, last)) = segments.last().filter(|_| operands.iter().any(|o| o.value == value && !o.is_def())) {
                decisions.charge(last, false, reload(data.frequency));
            }
            let goes_on = !operands.iter().enumerate().any(|(k, o)| o.value == value && self.liveness.kills(first + k));
            if is_accessed && goes_on {
                segments.push((index, decisions.decide()));
            }
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::parse;
    use cranelift_entity::EntityRef;

    /// v0 is read in each of ten turns of a loop, v1 twice in an arm that is executed two times.
    const LOOP: &str = "target tiny
function f
b0: -> b1
  v0:w = op
  v1:w = op
b1: freq=10 -> b2 b3
  op v0
  op terminator
b2: freq=2 -> b4
  op v1
  op v1
b3: freq=8 -> b4
b4: freq=10 -> b5 b6
  op terminator
b5: freq=9 -> b1
b6:
";

    #[test]
    fn a_value_is_reloaded_where_that_is_cheapest() {
        let function = parse(LOOP).unwrap();
        let liveness = Liveness::new(&function);
        let mut evictions = Evictions::new(&function, &liveness);
        let mut cost = |value: usize, block: usize, index: u32, stored| {
            evictions.cost(Value::new(value), Point { block: Block::new(block), index }, stored)
        };
        // A store, and a reload at the head of the arm, which both of its reads use.
        assert_eq!(cost(1, 1, 0, false), Some(1.0 + 4.0 * 2.0));
        // Behind the read of the other one, too.
        assert_eq!(cost(1, 1, 1, false), Some(1.0 + 4.0 * 2.0));
        // In the arm, of which each execution takes a reload.
        assert_eq!(cost(0, 2, 0, false), Some(1.0 + 4.0 * 2.0));
        assert_eq!(cost(0, 2, 2, true), Some(4.0 * 2.0));
        // Behind the read, on the way to the next one.
        assert_eq!(cost(0, 1, 1, false), Some(1.0 + 4.0 * 9.0));
        // An instruction reads it.
        assert_eq!(cost(0, 1, 0, false), None);
    }

    #[test]
    fn a_constant_is_computed_again() {
        let function = parse("target tiny\nfunction f\nb0:\n  v0:w = op rematerialisable\n  op\n  op v0\n").unwrap();
        let liveness = Liveness::new(&function);
        let mut evictions = Evictions::new(&function, &liveness);
        let cost = evictions.cost(Value::new(0), Point { block: Block::new(0), index: 1 }, false);
        assert!(cost.is_some_and(|cost| (cost - 0.2).abs() < 1e-4), "{cost:?}");
    }
}
