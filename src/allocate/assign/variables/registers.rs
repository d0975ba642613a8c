//! When registers are taken, by the program itself and by intervals that have been placed.

use super::Chosen;
use super::intervals::{Interval, LiveInterval, Range};
use super::positions::{Position, Positions};
use crate::analysis::PinLiveness;
use crate::machine::{Function, Reg, RegSet};
use std::collections::BTreeMap;

/// The fixed intervals: the positions at which registers are pinned or clobbered.
pub(in crate::allocate::assign) struct Fixed {
    /// Positions at which something is fixed, ascending.
    positions: Vec<Position>,
    /// A tree of unions. Of n leaves, leaf `i` is at n + i; the node at `i` is the union of those at 2i and 2i + 1.
    unions: Vec<RegSet>,
}

impl Fixed {
    pub(in crate::allocate::assign) fn new(function: &Function, positions: &Positions, pins: &PinLiveness) -> Self {
        let mut fixed: Vec<(Position, RegSet)> = Vec::new();
        for &block in positions.blocks() {
            let data = &function.blocks[block];
            fixed.push((positions.head(block), data.live_in_pins | pins.at(function, function.head(block))));
            for inst in function.block_insts(block) {
                let occupancy = pins.occupancy(function, block, inst);
                let moments = positions.of(inst);
                fixed.push((moments.read, occupancy.before));
                fixed.push((moments.clobber, occupancy.clobbers));
                fixed.push((moments.write, occupancy.after));
            }
            let end = crate::machine::Point { block, index: data.insts.len() as u32 };
            fixed.push((positions.end(function, block), pins.at(function, end)));
        }
        fixed.retain(|(_, set)| !set.is_empty());
        Fixed::from_sets(fixed)
    }

    /// From sets at ascending positions.
    fn from_sets(fixed: Vec<(Position, RegSet)>) -> Self {
        let count = fixed.len();
        let mut unions = vec![RegSet::EMPTY; count];
        unions.extend(fixed.iter().map(|&(_, set)| set));
        for node in (1..count).rev() {
            unions[node] = unions[2 * node] | unions[2 * node + 1];
        }
        Fixed { positions: fixed.into_iter().map(|(position, _)| position).collect(), unions }
    }

    /// The registers that are fixed somewhere from `start` up to `end`, which is excluded.
    pub(in crate::allocate::assign) fn within(&self, start: Position, end: Position) -> RegSet {
        let count = self.positions.len();
        let mut from = count + self.positions.partition_point(|&position| position < start);
        let mut to = count + self.positions.partition_point(|&position| position < end);
        let mut union = RegSet::EMPTY;
        while from < to {
            if from % 2 == 1 {
                union |= self.unions[from];
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                union |= self.unions[to];
            }
            (from, to) = (from / 2, to / 2);
        }
        union
    }
}

/// A range during which an interval has a register.
#[derive(Clone, Copy)]
struct TakenRange {
    end: Position,
    owner: Interval,
    /// An interval for which the range counts as free ([`Range::over`]).
    over: Option<Interval>,
}

/// The intervals in one register, with their holes left open.
#[derive(Clone, Default)]
pub(in crate::allocate::assign) struct Timeline {
    /// Disjoint ranges by their starts.
    ranges: BTreeMap<Position, TakenRange>,
}

impl Timeline {
    /// The ranges that overlap a range.
    fn overlapping(&self, range: &Range) -> impl Iterator<Item = (Position, &TakenRange)> {
        let start = range.start;
        let earlier = self.ranges.range(..range.end).rev().take_while(move |(_, taken)| taken.end > start);
        earlier.map(|(&start, taken)| (start, taken))
    }

    /// The intervals with which an interval cannot share the register, each once for each clash.
    pub(in crate::allocate::assign) fn clashes<'a>(
        &'a self,
        number: Interval,
        interval: &'a LiveInterval,
    ) -> impl Iterator<Item = Interval> + 'a {
        let clashing = move |range: &'a Range| {
            let clash = move |taken: &&TakenRange| taken.over != Some(number) && range.over.expand() != Some(taken.owner);
            self.overlapping(range).map(|(_, taken)| taken).filter(clash).map(|taken| taken.owner)
        };
        interval.ranges.iter().flat_map(clashing)
    }

    /// Adds an interval that clashes with none.
    pub(in crate::allocate::assign) fn insert(&mut self, number: Interval, interval: &LiveInterval) {
        for range in &interval.ranges {
            let shared: Vec<(Position, TakenRange)> = self.overlapping(range).map(|(start, taken)| (start, *taken)).collect();
            if shared.iter().any(|(_, taken)| Some(taken.owner) == range.over.expand()) {
                continue;
            }
            for (start, _) in shared {
                self.ranges.remove(&start);
            }
            self.ranges.insert(range.start, TakenRange { end: range.end, owner: number, over: range.over.expand() });
        }
    }

    pub(in crate::allocate::assign) fn remove(&mut self, number: Interval, interval: &LiveInterval) {
        for range in &interval.ranges {
            if self.ranges.get(&range.start).is_some_and(|taken| taken.owner == number) {
                self.ranges.remove(&range.start);
            }
        }
    }

    /// The interval in the register at a position.
    pub(in crate::allocate::assign) fn at(&self, position: Position) -> Option<Interval> {
        let range = Range { start: position, end: position + 1, over: None.into() };
        self.overlapping(&range).next().map(|(_, taken)| taken.owner)
    }

    /// Whether an interval has the register at a position, and nothing is written to it from there until another position.
    pub(in crate::allocate::assign) fn keeps(&self, owner: Interval, from: Position, until: Position) -> bool {
        self.at(from) == Some(owner) && self.ranges.range(from + 1..until).next().is_none()
    }
}

/// All registers' timelines.
pub(in crate::allocate::assign) struct Registers {
    pub(in crate::allocate::assign) fixed: Fixed,
    timelines: Vec<Timeline>,
}

impl Registers {
    pub(in crate::allocate::assign) fn new(fixed: Fixed) -> Self {
        Registers { fixed, timelines: vec![Timeline::default(); RegSet::CAPACITY] }
    }

    pub(in crate::allocate::assign) fn timeline(&self, reg: Reg) -> &Timeline {
        &self.timelines[reg.index()]
    }

    pub(in crate::allocate::assign) fn timeline_mut(&mut self, reg: Reg) -> &mut Timeline {
        &mut self.timelines[reg.index()]
    }

    /// The register that still has the content that an interval reloads, since a previous access.
    pub(in crate::allocate::assign) fn still_there(&self, chosen: &Chosen, interval: &LiveInterval) -> Option<Reg> {
        let before = interval.previous_access?;
        let reg = chosen[before.interval]?;
        let untouched = self.timeline(reg).keeps(before.interval, before.at, interval.start())
            && !self.fixed.within(before.at + 1, interval.start()).contains(reg);
        untouched.then_some(reg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::RegClass;
    use cranelift_entity::EntityRef;

    fn interval(ranges: &[(Position, Position, Option<usize>)]) -> LiveInterval {
        let range = |&(start, end, over): &(Position, Position, Option<usize>)| Range {
            start,
            end,
            over: over.map(Interval::new).into(),
        };
        LiveInterval {
            ranges: ranges.iter().map(range).collect(),
            allowed: RegSet::EMPTY,
            class: RegClass::new(0),
            values: Vec::new(),
            weight: None,
            pins: Vec::new(),
            partners: Vec::new(),
            previous_access: None,
            next_load: None,
        }
    }

    /// Random intervals come and go. Two of them clash if they have a position in common.
    #[test]
    fn a_timeline_is_a_row_of_owners() {
        const LENGTH: Position = 60;
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut placed, mut refused) = (0, 0);
        for _ in 0..200 {
            let mut timeline = Timeline::default();
            let mut owners: Vec<Option<Interval>> = vec![None; LENGTH as usize];
            let mut inside: Vec<(Interval, LiveInterval)> = Vec::new();
            for number in (0..40).map(Interval::new) {
                let mut at = rng.u32(..LENGTH / 2);
                let mut ranges = Vec::new();
                for _ in 0..rng.u32(1..4) {
                    let end = at + rng.u32(1..6);
                    ranges.push((at, end, None));
                    at = end + rng.u32(1..4);
                }
                let new = interval(&ranges);
                let positions = || new.ranges.iter().flat_map(|range| range.start..range.end);
                let expected: Vec<Option<Interval>> = positions().map(|p| owners[p as usize]).filter(Option::is_some).collect();
                let mut found: Vec<Interval> = timeline.clashes(number, &new).collect();
                assert!(expected.iter().all(|owner| found.contains(&owner.unwrap())));
                found.retain(|owner| !expected.contains(&Some(*owner)));
                assert!(found.is_empty());
                match expected.is_empty() {
                    true => {
                        timeline.insert(number, &new);
                        positions().for_each(|p| owners[p as usize] = Some(number));
                        inside.push((number, new));
                        placed += 1;
                    }
                    false => refused += 1,
                }
                if !inside.is_empty() && rng.u8(..4) == 0 {
                    let (number, old) = inside.swap_remove(rng.usize(..inside.len()));
                    timeline.remove(number, &old);
                    owners.iter_mut().filter(|owner| **owner == Some(number)).for_each(|owner| *owner = None);
                }
                assert!((0..LENGTH).all(|p| timeline.at(p) == owners[p as usize]));
            }
        }
        assert!(placed > 500 && refused > 500, "{placed} and {refused}");
    }

    /// Interval 1 is overwritten by a definition of interval 0, whichever of them comes first.
    #[test]
    fn a_definition_takes_over_the_register_of_what_it_overwrites() {
        let [taker, source] = [interval(&[(6, 7, Some(1)), (8, 12, None)]), interval(&[(2, 7, None)])];
        let [zero, one, other] = [0, 1, 2].map(Interval::new);
        for first in [zero, one] {
            let mut timeline = Timeline::default();
            let order = if first == zero { [(zero, &taker), (one, &source)] } else { [(one, &source), (zero, &taker)] };
            for (number, interval) in order {
                assert_eq!(timeline.clashes(number, interval).next(), None);
                timeline.insert(number, interval);
            }
            assert_eq!([2, 6, 7, 8, 11, 12].map(|p| timeline.at(p)), [Some(one), Some(one), None, Some(zero), Some(zero), None]);
            assert_eq!(timeline.clashes(other, &interval(&[(6, 7, None)])).collect::<Vec<_>>(), [one]);
        }
    }

    #[test]
    fn a_register_keeps_its_content_until_the_next_range() {
        let mut timeline = Timeline::default();
        let [first, second] = [0, 1].map(Interval::new);
        timeline.insert(first, &interval(&[(2, 5, None)]));
        timeline.insert(second, &interval(&[(9, 10, None)]));
        assert!(timeline.keeps(first, 4, 9) && !timeline.keeps(first, 4, 10), "until it is overwritten");
        assert!(!timeline.keeps(first, 5, 9) && !timeline.keeps(second, 4, 9), "it is another's");
    }

    #[test]
    fn fixed_registers_are_unions_over_positions() {
        let mut rng = fastrand::Rng::with_seed(2);
        for count in 0..40u32 {
            let sets: Vec<RegSet> = (0..count).map(|_| RegSet::from_bits(1 << rng.u32(..8))).collect();
            let fixed = Fixed::from_sets(sets.iter().enumerate().map(|(i, &set)| (2 * i as u32, set)).collect());
            for start in 0..2 * count + 2 {
                for end in start..2 * count + 2 {
                    let inside = (start..end).filter(|p| p % 2 == 0 && p / 2 < count).map(|p| sets[p as usize / 2]);
                    assert_eq!(fixed.within(start, end), inside.fold(RegSet::EMPTY, |union, set| union | set));
                }
            }
        }
    }
}
