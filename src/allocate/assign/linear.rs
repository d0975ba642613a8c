//! Linear scan \[PS99\], \[Evl04\]: the allocator against which SSA-based allocation is measured ([PP05, §3 and §6], "(LLVM)").
//!
//! Intervals get registers in the order in which they start. An interval for which no register is free evicts lighter ones,
//! or is spilled itself. Instead of two lists of active and inactive intervals, each register has a
//! [`Timeline`](super::variables::registers::Timeline) of its intervals, and an interval may lie in the holes of another
//! \[THS98\].
//!
//! Requires: webs whose values can share a register (aggressive coalescing), each of them entirely in registers or entirely
//! spilled. Values that are not [`Evictable`] are in registers for one instruction only, unless that cannot be helped.
//! Ensures: one register for each web all its life, so that φs and edges take no code. If registers do not suffice, it names
//! webs to be spilled, and is called again when they have their loads and stores. These go through the scan as intervals of
//! their own: the second chance of a spilled variable.
//! Relies on: an interval takes nothing from those that start earlier, unless it evicts them, so one pass suffices.
//! Time: for each interval, its ranges times the number of registers times a logarithm. One round for each generation of
//! spills.
//!
//! ```text
//! v0:w = op              v0:w = op                    a =
//!                        store(s0) v0                 a
//! v1:w = op              v1:w = op                    b =
//! v2:w = op v1           v2:w = op v1                 a = b
//! op v1 v2               op v1 v2                     b a
//! op v1 v2               op v1 v2                     b a
//!                        v4:w(of=v0) = load(s0)       a =
//! op v0                  op v4                        a
//! v3:w = op              v3:w = op                    b =
//!                        v5:w(of=v0) = load(s0)       a = (redundant)
//! op v0 v3               op v5 v3                     a b
//! ```
//!
//! In the first round, v0 is evicted. In the second, each use has its own reload, of which the latter finds the value where
//! the former has put it (`testdata/functions/second_chance.txt`).

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
    let mut scan = LinearScan {
        function,
        registers: Registers::new(fixed),
        chosen: of_each(intervals.data.len()),
        next_load: [None; RegSet::CAPACITY],
        evicted: Vec::new(),
        positions: &positions,
        intervals: &intervals,
    };
    for item in scan.unhandled() {
        match item {
            ScanItem::Interval(interval) => scan.place(interval),
            ScanItem::Temporaries(index) => scan.place_temporaries(&intervals.temporaries[index]).map_err(Failure::from)?,
        }
    }
    match scan.evicted.is_empty() {
        true => {
            let LinearScan { registers, chosen, .. } = &scan;
            Ok(Placed { function, intervals: &intervals, registers, chosen }.answer(liveness))
        }
        false => Err(Refusal::Evicted(scan.evicted)),
    }
}

/// Something that is placed at once.
#[derive(Clone, Copy)]
enum ScanItem {
    Interval(Interval),
    /// An index into [`Intervals::temporaries`].
    Temporaries(usize),
}

struct LinearScan<'a> {
    function: &'a Function,
    positions: &'a Positions,
    intervals: &'a Intervals,
    registers: Registers,
    chosen: Chosen,
    /// For each register, where the content that it had last is reloaded next.
    next_load: [Option<Position>; RegSet::CAPACITY],
    /// Values that have to be spilled, after which a new scan is needed. This one goes on without them, to find all of them.
    evicted: Vec<Value>,
}

impl LinearScan<'_> {
    /// All items in the order of their starts. Of those that start together, the ones that cannot be spilled come first.
    fn unhandled(&self) -> Vec<ScanItem> {
        let start = |&interval: &Interval| self.intervals.data[interval].start();
        let temporaries = self.intervals.temporaries.iter().enumerate();
        let temporaries =
            temporaries.map(|(index, all)| (all.intervals.iter().map(start).min(), 0, ScanItem::Temporaries(index)));
        let others = self.intervals.data.iter().filter(|(_, data)| data.weight.is_some());
        let others = others.map(|(interval, data)| (Some(data.start()), 1, ScanItem::Interval(interval)));
        let mut items: Vec<_> = temporaries.chain(others).collect();
        items.sort_by_key(|&(start, kind, _)| (start, kind));
        items.into_iter().map(|(.., item)| item).collect()
    }

    /// Finds a free register for an interval. If there is none, it evicts lighter intervals, or this one.
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

impl Placing for LinearScan<'_> {
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

    /// The registers of the class, those last whose content is going to be reloaded.
    fn order(&self, interval: &LiveInterval) -> Vec<Reg> {
        let mut order = self.function.file.classes[interval.class].order.clone();
        order.sort_by_key(|reg| self.next_load[reg.index()] > Some(interval.start()));
        order
    }

    fn take(&mut self, number: Interval, reg: Reg) {
        self.registers.timeline_mut(reg).insert(number, &self.intervals.data[number]);
        self.chosen[number] = Some(reg);
        self.next_load[reg.index()] = self.intervals.data[number].next_load;
    }

    fn evict(&mut self, number: Interval) {
        let interval = &self.intervals.data[number];
        self.evicted.extend(&interval.values);
        if let Some(reg) = self.chosen[number].take() {
            self.registers.timeline_mut(reg).remove(number, interval);
        }
    }
}
