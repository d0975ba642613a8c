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
//! starts suffices. Active and inactive intervals are found by register and position
//! ([`Timeline`](super::variables::registers::Timeline)) instead of in two lists; a hole is filled by whatever fits into it
//! (Traub, Holloway, Smith, "Quality and Speed in Linear-scan Register Allocation", 1998).
//! Time: for each interval, its ranges times R times a logarithm; a round for each generation of spills.

use super::variables::Chosen;
use super::variables::answer::Placed;
use super::variables::intervals::{Interval, Intervals, LiveInterval};
use super::variables::positions::{Position, Positions};
use super::variables::registers::{Fixed, Registers};
use super::variables::temporaries::Placing;
use super::{Assignment, Evictable, Refusal};
use crate::allocate::failure::Failure;
use crate::allocate::spill::Spilled;
use crate::analysis::grouped::of_each;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Function, Reg, RegSet, Value};

/// Assigns registers, or finds out which values have to be spilled first.
pub(super) fn scan(
    spilled: &Spilled,
    liveness: &Liveness,
    pins: &PinLiveness,
    evictable: &Evictable,
) -> Result<Assignment, Refusal> {
    let function = &spilled.function;
    let positions = Positions::new(function);
    let fixed = Fixed::new(function, &positions, pins);
    let intervals = Intervals::new(spilled, liveness, &positions, evictable).beside(&fixed);
    let mut scan = Scan {
        function,
        registers: Registers::new(fixed),
        chosen: of_each(intervals.data.len()),
        awaited: [None; RegSet::CAPACITY],
        evicted: Vec::new(),
        positions: &positions,
        intervals: &intervals,
    };
    for item in scan.unhandled() {
        match item {
            Item::Interval(interval) => scan.place(interval),
            Item::Temporaries(index) => scan.place_temporaries(&intervals.temporaries[index]).map_err(Failure::from)?,
        }
    }
    match scan.evicted.is_empty() {
        true => {
            let Scan { registers, chosen, .. } = &scan;
            Ok(Placed { function, intervals: &intervals, registers, chosen }.answer(liveness))
        }
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
    intervals: &'a Intervals,
    registers: Registers,
    chosen: Chosen,
    /// Where what each register had last is loaded next.
    awaited: [Option<Position>; RegSet::CAPACITY],
    /// Values that have to be spilled, so that the scan comes to nothing. It goes on without them to find out all.
    evicted: Vec<Value>,
}

impl Scan<'_> {
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
        let mut choices = self.intervals.hints(&[number], |partner| self.chosen[partner]).into_iter().chain(self.order(interval));
        let found = choices.find(|&reg| interval.allowed.contains(reg) && self.is_free(number, reg));
        match found {
            Some(reg) => self.take(number, reg),
            None => self.make_room(number),
        }
    }
}

impl Placing for Scan<'_> {
    fn positions(&self) -> &Positions {
        self.positions
    }

    fn intervals(&self) -> &Intervals {
        self.intervals
    }

    fn allowed(&self, number: Interval) -> RegSet {
        self.intervals.data[number].allowed
    }

    fn clashes(&self, number: Interval, reg: Reg) -> impl Iterator<Item = Interval> {
        self.registers.timeline(reg).clashes(number, &self.intervals.data[number])
    }

    fn weight(&self, number: Interval) -> Option<f64> {
        self.intervals.data[number].weight
    }

    fn favourites(&self, number: Interval) -> Vec<Reg> {
        match self.registers.still_there(&self.chosen, &self.intervals.data[number]) {
            Some(reg) => vec![reg],
            None => self.intervals.hints(&[number], |partner| self.chosen[partner]),
        }
    }

    /// Those last that have something that is going to be loaded.
    fn order(&self, interval: &LiveInterval) -> Vec<Reg> {
        let mut order = self.function.file.classes[interval.class].order.clone();
        order.sort_by_key(|reg| self.awaited[reg.index()] > Some(interval.start()));
        order
    }

    fn take(&mut self, number: Interval, reg: Reg) {
        self.registers.timeline_mut(reg).insert(number, &self.intervals.data[number]);
        self.chosen[number] = Some(reg);
        self.awaited[reg.index()] = self.intervals.data[number].awaited;
    }

    fn evict(&mut self, number: Interval) {
        let interval = &self.intervals.data[number];
        self.evicted.extend(&interval.values);
        if let Some(reg) = self.chosen[number].take() {
            self.registers.timeline_mut(reg).remove(number, interval);
        }
    }
}
