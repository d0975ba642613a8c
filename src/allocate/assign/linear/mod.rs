//! Linear scan: the allocator that SSA-based allocation is measured against (`ssa-register-allocator.txt`, sections 3 and 6,
//! "(LLVM)"; Poletto and Sarkar, "Linear Scan Register Allocation", 1999; Evlogimenos, "Improvements to Linear Scan Register
//! Allocation", 2004).
//!
//! Requires: webs whose values can share a register (aggressive coalescing), all in registers or all spilled; values that are
//! not [`Evictable`] are in registers for one instruction only, or there is nothing for it.
//! Ensures: one register for each web over all of its life, so that φs and edges take no code. Where there are too few, it
//! says which webs to spill, and wants to be asked again when their loads and stores are there: they go through the scan as
//! intervals of their own, the spilled variable's second chance.
//! Relies on: an interval that starts later than another cannot take anything from it, so that one pass in the order of the
//! starts suffices. Active and inactive intervals are found by register and position ([`registers::Timeline`]) instead of in
//! two lists; a hole is filled by whatever fits into it (Traub, Holloway, Smith, "Quality and Speed in Linear-scan Register
//! Allocation", 1998).
//! Time: for each interval, its ranges times R times a logarithm; a round for each generation of spills.

mod answer;
mod intervals;
mod positions;
mod registers;

use super::{Assignment, Evictable, Refusal};
use crate::allocate::failure::{Failure, Unsupported};
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::allocate::spill::Spilled;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Function, Reg, RegSet, Value};
use cranelift_entity::SecondaryMap;
use intervals::{Interval, Intervals, LiveInterval, Temporaries};
use positions::{Position, Positions};
use registers::{Fixed, Registers};

/// Assigns registers, or finds out which values have to be spilled first.
pub(super) fn scan(
    spilled: &Spilled,
    liveness: &Liveness,
    pins: &PinLiveness,
    evictable: &Evictable,
) -> Result<Assignment, Refusal> {
    let function = &spilled.function;
    let positions = Positions::new(function);
    let intervals = Intervals::new(spilled, liveness, &positions, evictable);
    let mut scan = Scan {
        function,
        registers: Registers::new(Fixed::new(function, &positions, pins)),
        chosen: SecondaryMap::with_capacity(intervals.data.len()),
        awaited: [None; RegSet::CAPACITY],
        evicted: Vec::new(),
        positions: &positions,
        intervals,
    };
    scan.fix();
    for item in scan.unhandled() {
        match item {
            Item::Interval(interval) => scan.place(interval),
            Item::Temporaries(index) => scan.place_temporaries(index)?,
        }
    }
    match scan.evicted.is_empty() {
        true => Ok(answer::answer(&scan, liveness)),
        false => Err(Refusal::Evicted(scan.evicted)),
    }
}

/// What is placed at once.
#[derive(Clone, Copy)]
enum Item {
    Interval(Interval),
    /// An index into [`Intervals::temporaries`].
    Temporaries(usize),
}

struct Scan<'a> {
    function: &'a Function,
    positions: &'a Positions,
    intervals: Intervals,
    registers: Registers,
    /// The registers of the intervals that have been placed.
    chosen: SecondaryMap<Interval, Option<Reg>>,
    /// Where what each register had last is loaded next.
    awaited: [Option<Position>; RegSet::CAPACITY],
    /// Values that have to be spilled, so that the scan comes to nothing. It goes on without them to find out all.
    evicted: Vec<Value>,
}

impl Scan<'_> {
    /// Takes what is fixed somewhere in an interval from its registers.
    fn fix(&mut self) {
        for interval in self.intervals.data.values_mut() {
            let fixed = |range: &intervals::Range| self.registers.fixed.within(range.start, range.end);
            interval.allowed = interval.ranges.iter().fold(interval.allowed, |allowed, range| allowed - fixed(range));
        }
    }

    /// Everything in the order of the starts; what cannot be spilled comes first.
    fn unhandled(&self) -> Vec<Item> {
        let start = |&interval: &Interval| self.intervals.data[interval].start();
        let temporaries = self.intervals.temporaries.iter().enumerate();
        let temporaries = temporaries.map(|(index, all)| (all.intervals.iter().map(start).min(), 0, Item::Temporaries(index)));
        let others = self.intervals.data.iter().filter(|(_, data)| data.weight.is_some());
        let others = others.map(|(interval, data)| (Some(data.start()), 1, Item::Interval(interval)));
        let mut items: Vec<_> = temporaries.chain(others).collect();
        items.sort_by_key(|&(start, kind, _)| (start, kind));
        items.into_iter().map(|(.., item)| item).collect()
    }

    /// Finds a register for an interval, evicts lighter ones, or spills it.
    fn place(&mut self, number: Interval) {
        let interval = &self.intervals.data[number];
        let mut choices = self.hints(interval).into_iter().chain(self.ordered(interval));
        let found = choices.find(|&reg| interval.allowed.contains(reg) && self.is_free(reg, number));
        match found {
            Some(reg) => self.take(number, reg),
            None => self.make_room(number),
        }
    }

    /// The registers of an interval's class in order, but those last that have something that is going to be loaded.
    fn ordered(&self, interval: &LiveInterval) -> Vec<Reg> {
        let mut order = self.function.file.classes[interval.class].order.clone();
        order.sort_by_key(|reg| self.awaited[reg.index()] > Some(interval.start()));
        order
    }

    fn is_free(&self, reg: Reg, number: Interval) -> bool {
        self.registers.timeline(reg).clashes(number, &self.intervals.data[number]).next().is_none()
    }

    fn take(&mut self, number: Interval, reg: Reg) {
        self.registers.timeline_mut(reg).insert(number, &self.intervals.data[number]);
        self.chosen[number] = Some(reg);
        self.awaited[reg.index()] = self.intervals.data[number].awaited;
    }

    /// The registers that save copies, those first that save most.
    fn hints(&self, interval: &LiveInterval) -> Vec<Reg> {
        let partners = interval.partners.iter().filter_map(|&(partner, gain)| Some((self.chosen[partner]?, gain)));
        let mut gains: Vec<(Reg, f64)> = Vec::new();
        for (reg, gain) in partners.chain(interval.pins.iter().copied()) {
            match gains.iter_mut().find(|(other, _)| *other == reg) {
                Some((_, sum)) => *sum += gain,
                None => gains.push((reg, gain)),
            }
        }
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        gains.into_iter().map(|(reg, _)| reg).collect()
    }

    /// Gives an interval the register whose intervals in its way are lightest, if they are lighter than it is; spills it
    /// otherwise.
    fn make_room(&mut self, number: Interval) {
        let interval = &self.intervals.data[number];
        let weight = interval.weight.expect("it is no temporary");
        let mut best: Option<(f64, Reg, Vec<Interval>)> = None;
        for &reg in self.function.file.classes[interval.class].order.iter().filter(|&&reg| interval.allowed.contains(reg)) {
            let bound = best.as_ref().map_or(weight, |(cost, ..)| *cost);
            if let Some((cost, clashing)) = self.in_the_way(number, reg, bound) {
                best = Some((cost, reg, clashing));
            }
        }
        match best {
            Some((_, reg, clashing)) => {
                clashing.into_iter().for_each(|other| self.evict(other));
                self.take(number, reg);
            }
            None => self.evict(number),
        }
    }

    /// The intervals that keep another one from a register, with the sum of their weights, if that is below a bound.
    fn in_the_way(&self, number: Interval, reg: Reg, bound: f64) -> Option<(f64, Vec<Interval>)> {
        let mut clashing = Vec::new();
        let mut cost = 0.0;
        for other in self.registers.timeline(reg).clashes(number, &self.intervals.data[number]) {
            if !clashing.contains(&other) {
                cost += self.intervals.data[other].weight?;
                if cost >= bound {
                    return None;
                }
                clashing.push(other);
            }
        }
        Some((cost, clashing))
    }

    fn evict(&mut self, number: Interval) {
        let interval = &self.intervals.data[number];
        self.evicted.extend(&interval.values);
        if let Some(reg) = self.chosen[number].take() {
            self.registers.timeline_mut(reg).remove(number, interval);
        }
    }

    /// Finds registers for the temporaries of an instruction together, evicting as many intervals as it takes.
    fn place_temporaries(&mut self, index: usize) -> Result<(), Failure> {
        loop {
            let wants: Vec<Want> = self.intervals.temporaries[index].intervals.iter().map(|&t| self.want(index, t)).collect();
            if let Some(registers) = fit(&wants) {
                for (k, reg) in registers.into_iter().enumerate() {
                    self.take(self.intervals.temporaries[index].intervals[k], reg);
                }
                return Ok(());
            }
            let Some(lightest) = self.lightest_in_the_way(index, &wants) else {
                let Temporaries { inst, block, .. } = self.intervals.temporaries[index];
                let index = inst.as_u32() - self.function.blocks[block].insts.start;
                let message = format!("no registers for what instruction {index} of {block} takes from memory or puts there");
                return Err(Unsupported(message).into());
            };
            self.evict(lightest);
        }
    }

    /// What a temporary can have, beside the intervals that have been placed.
    fn want(&self, index: usize, number: Interval) -> Want {
        let moments = self.positions.of(self.intervals.temporaries[index].inst);
        let interval = &self.intervals.data[number];
        let span = match (interval.start() <= moments.read, interval.end() > moments.write) {
            (true, true) => Span::Both,
            (true, false) => Span::Before,
            (false, _) => Span::After,
        };
        let order = self.ordered(interval);
        let domain = order.iter().copied().filter(|&reg| interval.allowed.contains(reg) && self.is_free(reg, number)).collect();
        let current =
            self.still_there(interval).or_else(|| self.hints(interval).into_iter().find(|&reg| RegSet::contains(domain, reg)));
        Want { span, domain, current, order }
    }

    /// The register that has what an interval loads since an access before.
    fn still_there(&self, interval: &LiveInterval) -> Option<Reg> {
        let before = interval.reloads?;
        let reg = self.chosen[before.interval]?;
        let untouched = self.registers.timeline(reg).keeps(before.interval, before.at, interval.start())
            && !self.registers.fixed.within(before.at + 1, interval.start()).contains(reg);
        untouched.then_some(reg)
    }

    /// Of the intervals in registers that the temporaries of an instruction could use, if they were free, the lightest.
    fn lightest_in_the_way(&self, index: usize, wants: &[Want]) -> Option<Interval> {
        let temporaries = &self.intervals.temporaries[index].intervals;
        let useful = self.useful(temporaries, wants);
        let mut lightest: Option<(f64, Interval)> = None;
        for &number in temporaries {
            let interval = &self.intervals.data[number];
            for reg in (interval.allowed & useful).iter() {
                for other in self.registers.timeline(reg).clashes(number, interval) {
                    let Some(weight) = self.intervals.data[other].weight else { continue };
                    if lightest.is_none_or(|(least, _)| weight < least) {
                        lightest = Some((weight, other));
                    }
                }
            }
        }
        lightest.map(|(_, interval)| interval)
    }

    /// The registers of which one more would help: those of the first temporary that cannot be placed beside the ones before
    /// it, and of all that it might displace.
    fn useful(&self, temporaries: &[Interval], wants: &[Want]) -> RegSet {
        let placed = (0..wants.len()).take_while(|&count| fit(&wants[..=count]).is_some()).count();
        let allowed = |k: usize| self.intervals.data[temporaries[k]].allowed;
        let mut useful = allowed(placed.min(wants.len() - 1));
        let mut rest: Vec<usize> = (0..placed).collect();
        while let Some(place) = rest.iter().position(|&k| allowed(k).intersects(useful)) {
            useful |= allowed(rest.swap_remove(place));
        }
        useful
    }

    /// Whether an interval loads what its register has already.
    fn is_redundant(&self, number: Interval) -> bool {
        let interval = &self.intervals.data[number];
        interval.reloads.is_some() && self.still_there(interval) == self.chosen[number]
    }

    fn register(&self, value: Value) -> Reg {
        self.chosen[self.intervals.of(value)].expect("every interval was placed")
    }
}
