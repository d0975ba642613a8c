//! Live intervals with holes.
//!
//! Requires: no two values of a web interfere (see [`crate::allocate::cssa::Coalescing::Aggressive`]).
//! Ensures: one interval for each web, and one for each other value in registers. An interval consists of exactly the
//! positions at which its values are live, so two intervals can share a register if and only if they have no position in
//! common.
//! Relies on: [THS98, §2.1] for holes.

use super::positions::{Position, Positions};
use super::registers::Fixed;
use crate::allocate::assign::Evictable;
use crate::allocate::spill::Spilled;
use crate::allocate::ssa::conventional::Web;
use crate::analysis::Liveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, Reg, RegClass, RegSet, Role, Slot, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use std::collections::BTreeMap;

/// A virtual register: a web, or a value outside webs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::allocate::assign) struct Interval(u32);
entity_impl!(Interval, "interval");

/// The positions from `start` up to `end`, which is excluded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allocate::assign) struct Range {
    pub(in crate::allocate::assign) start: Position,
    pub(in crate::allocate::assign) end: Position,
    /// The interval of the dying value that a two-address definition overwrites. While operands are read, the definition has
    /// its register already, unless that is the register of this interval.
    pub(in crate::allocate::assign) over: PackedOption<Interval>,
}

/// The positions at which a virtual register is live, and the registers that suit it.
pub(in crate::allocate::assign) struct LiveInterval {
    /// Disjoint, ascending, not empty.
    pub(in crate::allocate::assign) ranges: Vec<Range>,
    /// The registers that every one of its values may be in.
    pub(in crate::allocate::assign) allowed: RegSet,
    /// The narrowest class among its values.
    pub(in crate::allocate::assign) class: RegClass,
    pub(in crate::allocate::assign) values: Vec<Value>,
    /// The cost of spilling for each position that it frees. `None` if it cannot be spilled.
    pub(in crate::allocate::assign) weight: Option<f64>,
    /// The pinned registers from or to which it is copied, with the frequencies of the copies.
    pub(in crate::allocate::assign) pins: Vec<(Reg, f64)>,
    /// The intervals from or to which it is copied, or that it overwrites, with the frequencies of the copies.
    pub(in crate::allocate::assign) partners: Vec<(Interval, f64)>,
    /// For a reload, the last access before it in the same block that had the slot's content in a register.
    pub(in crate::allocate::assign) previous_access: Option<Access>,
    /// Where the content of its register is reloaded next in the same block, if it is.
    pub(in crate::allocate::assign) next_load: Option<Position>,
}

/// A moment at which an interval's register has the content of a slot.
#[derive(Clone, Copy)]
pub(in crate::allocate::assign) struct Access {
    pub(in crate::allocate::assign) interval: Interval,
    pub(in crate::allocate::assign) at: Position,
    width: u32,
}

/// The intervals of the values that are loaded and stored for one instruction. They are short, and cannot be spilled.
pub(in crate::allocate::assign) struct Temporaries {
    pub(in crate::allocate::assign) inst: Inst,
    pub(in crate::allocate::assign) block: Block,
    /// The instruction's index in its block.
    pub(in crate::allocate::assign) index: u32,
    pub(in crate::allocate::assign) intervals: Vec<Interval>,
}

/// All live intervals of a function.
pub(in crate::allocate::assign) struct Intervals {
    pub(in crate::allocate::assign) data: PrimaryMap<Interval, LiveInterval>,
    pub(in crate::allocate::assign) of: SecondaryMap<Value, PackedOption<Interval>>,
    /// In the order of their positions.
    pub(in crate::allocate::assign) temporaries: Vec<Temporaries>,
}

impl LiveInterval {
    pub(in crate::allocate::assign) fn start(&self) -> Position {
        self.ranges[0].start
    }

    pub(in crate::allocate::assign) fn end(&self) -> Position {
        self.ranges[self.ranges.len() - 1].end
    }
}

impl Intervals {
    pub(in crate::allocate::assign) fn new(
        spilled: &Spilled,
        liveness: &Liveness,
        positions: &Positions,
        evictable: &Evictable,
    ) -> Self {
        let mut builder = Builder {
            function: &spilled.function,
            spilled,
            liveness,
            positions,
            evictable,
            of_web: SecondaryMap::new(),
            intervals: Intervals { data: PrimaryMap::new(), of: of_each(spilled.function.values.len()), temporaries: Vec::new() },
            spent: SecondaryMap::new(),
            noted: SecondaryMap::new(),
        };
        builder.number();
        for &block in positions.blocks() {
            builder.ranges(block);
            builder.relations(block);
        }
        builder.finish();
        builder.intervals
    }

    /// Takes from each interval the registers that are fixed somewhere in it.
    pub(in crate::allocate::assign) fn beside(mut self, fixed: &Fixed) -> Self {
        for interval in self.data.values_mut() {
            let fixed = |range: &Range| fixed.within(range.start, range.end);
            interval.allowed = interval.ranges.iter().fold(interval.allowed, |allowed, range| allowed - fixed(range));
        }
        self
    }

    /// The registers that save copies if all of these intervals are in them, those first that save most.
    pub(in crate::allocate::assign) fn hints(&self, together: &[Interval], chosen: impl Fn(Interval) -> Option<Reg>) -> Vec<Reg> {
        let mut gains: Vec<(Reg, f64)> = Vec::new();
        for interval in together.iter().map(|&number| &self.data[number]) {
            let partners = interval.partners.iter().filter_map(|&(partner, gain)| Some((chosen(partner)?, gain)));
            for (reg, gain) in partners.chain(interval.pins.iter().copied()) {
                match gains.iter_mut().find(|(other, _)| *other == reg) {
                    Some((_, sum)) => *sum += gain,
                    None => gains.push((reg, gain)),
                }
            }
        }
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        gains.into_iter().map(|(reg, _)| reg).collect()
    }

    /// The interval of a value in a register.
    pub(in crate::allocate::assign) fn of(&self, value: Value) -> Interval {
        self.of[value].expand().expect("a value in a register has an interval")
    }
}

struct Builder<'a> {
    function: &'a Function,
    spilled: &'a Spilled,
    liveness: &'a Liveness,
    positions: &'a Positions,
    evictable: &'a Evictable<'a>,
    of_web: SecondaryMap<Web, PackedOption<Interval>>,
    intervals: Intervals,
    /// For each interval, the sum of its values' weights times the numbers of their positions, and the number of all
    /// positions.
    spent: SecondaryMap<Interval, (f64, f64)>,
    /// The intervals that are among the temporaries of an instruction already.
    noted: SecondaryMap<Interval, bool>,
}

impl Builder<'_> {
    /// Gives each definition its interval.
    fn number(&mut self) {
        for &block in self.positions.blocks() {
            let phis = &self.function.blocks[block].phis;
            phis.iter().for_each(|phi| self.define(phi.def));
            for inst in self.function.block_insts(block) {
                let operands = self.function.operands(inst);
                for (k, operand) in operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
                    match self.overwritten(inst, k).filter(|&source| self.is_alone(source) && self.is_alone(operand.value)) {
                        Some(source) => self.join(operand.value, self.intervals.of(source)),
                        None => self.define(operand.value),
                    }
                }
            }
        }
    }

    fn define(&mut self, value: Value) {
        let web = self.evictable.web(value);
        if let Some(interval) = web.and_then(|web| self.of_web[web].expand()) {
            return self.join(value, interval);
        }
        let class = self.function.values[value].class;
        let interval = self.intervals.data.push(LiveInterval {
            ranges: Vec::new(),
            allowed: self.function.allowed(value),
            class,
            values: vec![value],
            weight: None,
            pins: Vec::new(),
            partners: Vec::new(),
            previous_access: None,
            next_load: None,
        });
        self.intervals.of[value] = interval.into();
        if let Some(web) = web {
            self.of_web[web] = interval.into();
        }
    }

    fn join(&mut self, value: Value, interval: Interval) {
        let registers = |class: RegClass| self.function.file.classes[class].regs.len();
        let data = &mut self.intervals.data[interval];
        let class = self.function.values[value].class;
        data.allowed = data.allowed & self.function.allowed(value);
        if registers(class) < registers(data.class) {
            data.class = class;
        }
        data.values.push(value);
        self.intervals.of[value] = interval.into();
    }

    /// Whether the value cannot be spilled, because it has been already or for another reason.
    fn is_temporary(&self, value: Value) -> bool {
        self.evictable.weight(value).is_none()
    }

    /// Whether the value is a temporary outside webs. (What a terminator defines cannot be spilled, but may be in a web. A
    /// definition that overwrites it may interfere with other values of the web.)
    fn is_alone(&self, value: Value) -> bool {
        self.is_temporary(value) && self.evictable.web(value).is_none()
    }

    /// The dying value whose register a definition takes over, if that is the first definition to do so.
    fn overwritten(&self, inst: Inst, def: usize) -> Option<Value> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        let source = operands[reused].value;
        let reuses = |o: &Operand| o.reuse.is_some_and(|u| operands[usize::from(u)].value == source);
        (self.liveness.kills(first + reused) && operands.iter().position(reuses) == Some(def)).then_some(source)
    }

    /// Adds a range to a value's interval.
    fn cover(&mut self, value: Value, start: Position, end: Position) {
        let interval = self.intervals.of(value);
        self.intervals.data[interval].ranges.push(Range { start, end, over: None.into() });
        if let Some(weight) = self.evictable.weight(value) {
            let length = f64::from(end - start);
            let (cost, size) = self.spent[interval];
            self.spent[interval] = (cost + weight * length, size + length);
        }
    }

    /// Adds the ranges of a block, which is walked backwards.
    fn ranges(&mut self, block: Block) {
        let function = self.function;
        let end = self.positions.end(function, block) + 1;
        // For each value that is live at the current point, the end of its range.
        let mut ends: BTreeMap<Value, Position> = self.liveness.live_out(block).iter().map(|&value| (value, end)).collect();
        for inst in function.block_insts(block).rev() {
            let moments = self.positions.of(inst);
            let operands = function.operands(inst);
            for (k, operand) in operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
                let end = ends.remove(&operand.value).unwrap_or(moments.write + 1);
                self.cover(operand.value, moments.write, end);
                self.cover_reading(inst, k, moments.read);
            }
            for operand in operands.iter().filter(|o| !o.is_def()) {
                ends.entry(operand.value).or_insert(moments.read + 1);
            }
        }
        let head = self.positions.head(block);
        for phi in &function.blocks[block].phis {
            let end = ends.remove(&phi.def).unwrap_or(head + 1);
            self.cover(phi.def, head, end);
        }
        for (value, end) in ends {
            self.cover(value, head, end);
        }
    }

    /// Adds the moment at which operands are read to the range of a definition that has its register already then: an early
    /// one, or one that overwrites a value outside its own interval.
    fn cover_reading(&mut self, inst: Inst, def: usize, read: Position) {
        let operand = &self.function.operands(inst)[def];
        let interval = self.intervals.of(operand.value);
        let over = self.overwritten(inst, def).map(|source| self.intervals.of(source));
        if over != Some(interval) && (operand.reuse.is_some() || operand.role == Role::EarlyDef) {
            self.intervals.data[interval].ranges.push(Range { start: read, end: read + 1, over: over.into() });
        }
    }

    /// Notes the relations of intervals to pinned registers, slots and one another, and the temporaries of instructions.
    fn relations(&mut self, block: Block) {
        let function = self.function;
        let frequency = function.blocks[block].frequency;
        let mut accesses: BTreeMap<Slot, Access> = BTreeMap::new();
        for inst in function.block_insts(block) {
            let operands = function.operands(inst);
            match function.insts[inst].kind {
                InstKind::CopyTo(reg) | InstKind::CopyFrom(reg) => {
                    let interval = self.intervals.of(operands[0].value);
                    self.intervals.data[interval].pins.push((reg, frequency));
                }
                InstKind::Copy => {
                    self.relate(operands[0].value, operands[1].value, frequency);
                }
                _ => {}
            }
            for operand in operands {
                let Some(reused) = operand.reuse else { continue };
                let source = operands[usize::from(reused)].value;
                let interval = self.intervals.of(operand.value);
                let data = &mut self.intervals.data[interval];
                data.allowed = data.allowed & function.allowed(source);
                self.relate(operand.value, source, frequency);
            }
            self.access(inst, &mut accesses);
            self.note_temporaries(block, inst);
        }
    }

    fn relate(&mut self, a: Value, b: Value, frequency: f64) {
        let (a, b) = (self.intervals.of(a), self.intervals.of(b));
        if a != b {
            self.intervals.data[a].partners.push((b, frequency));
            self.intervals.data[b].partners.push((a, frequency));
        }
    }

    /// Keeps account of the registers that have the contents of slots.
    fn access(&mut self, inst: Inst, accesses: &mut BTreeMap<Slot, Access>) {
        let function = self.function;
        let operands = function.operands(inst);
        let moments = self.positions.of(inst);
        match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Load(slot)) => {
                let (interval, width) = (self.intervals.of(operands[0].value), function.slot_for(operands[0].value).size);
                if let Some(access) = accesses.get(&slot).filter(|access| access.width == width) {
                    self.intervals.data[interval].previous_access = Some(*access);
                    self.intervals.data[access.interval].next_load = Some(moments.write);
                }
                accesses.insert(slot, Access { interval, at: moments.write, width });
            }
            InstKind::Inserted(Inserted::Store(slot)) => {
                let (interval, width) = (self.intervals.of(operands[0].value), function.slot_for(operands[0].value).size);
                accesses.insert(slot, Access { interval, at: moments.read, width });
            }
            _ => {
                for fold in self.spilled.folds(inst).iter().filter(|fold| fold.writes) {
                    accesses.remove(&fold.slot);
                }
            }
        }
    }

    /// Notes the temporaries of an instruction that is no load or store itself. A value that lives longer and still cannot
    /// be spilled is among those of the first instruction that names it.
    fn note_temporaries(&mut self, block: Block, inst: Inst) {
        if matches!(self.function.insts[inst].kind, InstKind::Inserted(_)) {
            return;
        }
        let operands = self.function.operands(inst).iter().filter(|o| self.is_temporary(o.value));
        let mut intervals: Vec<Interval> = operands.map(|o| self.intervals.of(o.value)).collect();
        intervals.retain(|&interval| !std::mem::replace(&mut self.noted[interval], true));
        if !intervals.is_empty() {
            let index = inst.as_u32() - self.function.blocks[block].insts.start;
            self.intervals.temporaries.push(Temporaries { inst, block, index, intervals });
        }
    }

    /// Sorts the ranges, joins those that touch, and weighs the intervals.
    fn finish(&mut self) {
        for (interval, data) in &mut self.intervals.data {
            data.ranges.sort_unstable_by_key(|range| (range.start, range.end));
            data.ranges.dedup_by(|next, range| {
                let joined = next.start <= range.end && next.over.is_none() && range.over.is_none();
                if joined {
                    range.end = range.end.max(next.end);
                }
                joined
            });
            let (cost, size) = self.spent[interval];
            if data.values.iter().all(|&value| self.evictable.weight(value).is_some()) {
                // Between two neighbouring instructions, spilling frees nothing.
                let short = data.end() - data.start() <= 2;
                data.weight = Some(if short { f64::INFINITY } else { cost / size });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::parse;
    use std::collections::BTreeSet;

    /// The moments before a moment: one of the same block, or those at the ends of the predecessors.
    fn before(function: &Function, positions: &Positions, at: Position) -> Vec<Position> {
        let head = function.blocks.keys().find(|&block| positions.head(block) == at);
        let ends = |block: Block| function.blocks[block].preds.iter().map(|&pred| positions.end(function, pred)).collect();
        head.map_or_else(|| vec![at - 1], ends)
    }

    /// The moments at which a value is defined, and those at which it is read.
    fn moments(function: &Function, positions: &Positions, value: Value) -> (BTreeSet<Position>, Vec<Position>) {
        let (mut defs, mut uses) = (BTreeSet::new(), Vec::new());
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                if phi.def == value {
                    defs.insert(positions.head(block));
                }
                let args = phi.args.iter().zip(&data.preds).filter(|(arg, _)| **arg == value.into());
                uses.extend(args.map(|(_, &pred)| positions.end(function, pred)));
            }
            for inst in function.block_insts(block) {
                for operand in function.operands(inst).iter().filter(|o| o.value == value) {
                    match operand.is_def() {
                        true => {
                            defs.insert(positions.of(inst).write);
                        }
                        false => uses.push(positions.of(inst).read),
                    }
                }
            }
        }
        (defs, uses)
    }

    /// All moments from which a use can be reached without passing the definition.
    fn live(function: &Function, positions: &Positions, value: Value) -> BTreeSet<Position> {
        let (mut reached, mut open) = moments(function, positions, value);
        while let Some(at) = open.pop() {
            if reached.insert(at) {
                open.extend(before(function, positions, at));
            }
        }
        reached
    }

    /// The moments of reading at which definitions of a value need its register already.
    fn reading(function: &Function, positions: &Positions, value: Value) -> BTreeSet<Position> {
        let early = |inst: &Inst| {
            let defs = function.operands(*inst).iter().filter(|o| o.is_def() && o.value == value);
            defs.into_iter().any(|o| o.role == Role::EarlyDef || o.reuse.is_some())
        };
        function.insts.keys().filter(early).map(|inst| positions.of(inst).read).collect()
    }

    #[test]
    fn intervals_are_where_values_are_live() {
        let (mut holes, mut covered) = (0, 0);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/functions");
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let function = parse(&std::fs::read_to_string(&entry).unwrap()).unwrap();
            let positions = Positions::new(&function);
            let spilled = Spilled::nothing(function.clone());
            let evictable = Evictable { weight: &|_| 1.0, webs: &SecondaryMap::new(), spilled: &spilled };
            let intervals = Intervals::new(&spilled, &Liveness::new(&function), &positions, &evictable);
            for value in function.values.keys() {
                let ranges = &intervals.data[intervals.of(value)].ranges;
                let found: BTreeSet<Position> = ranges.iter().flat_map(|range| range.start..range.end).collect();
                let expected = &live(&function, &positions, value) | &reading(&function, &positions, value);
                assert_eq!(found, expected, "{value} of {}", entry.display());
                assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "{value} of {}: {ranges:?}", entry.display());
                holes += ranges.len() - 1;
                covered += found.len();
            }
        }
        assert!(holes > 5 && covered > 500, "{holes} holes, {covered} positions");
    }

    #[test]
    fn a_block_without_a_use_is_a_hole() {
        let function = parse(include_str!("../../../../testdata/functions/hole.txt")).unwrap();
        let positions = Positions::new(&function);
        let spilled = Spilled::nothing(function.clone());
        let evictable = Evictable { weight: &|_| 1.0, webs: &SecondaryMap::new(), spilled: &spilled };
        let intervals = Intervals::new(&spilled, &Liveness::new(&function), &positions, &evictable);
        let [b0, b1, b2] = [0, 1, 2].map(Block::from_u32);
        let after = |block| positions.end(&function, block) + 1;
        let defined = positions.of(Inst::from_u32(0)).write;
        let expected = [(defined, after(b0)), (positions.head(b2), positions.head(b2) + 2)];
        let found = &intervals.data[intervals.of(Value::from_u32(0))].ranges;
        assert_eq!(found.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>(), expected);
        assert!(positions.head(b1) >= expected[0].1 && after(b1) <= expected[1].0, "b1 lies between");
    }
}
