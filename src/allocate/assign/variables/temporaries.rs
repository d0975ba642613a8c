//! Registers for all temporaries of an instruction together.
//!
//! Requires: intervals that are in the way can be evicted. Otherwise this fails.
//! Ensures: a register for each of the temporaries. Intervals are evicted until there is one, the lightest first.
//! Relies on: a matching of temporaries with registers ([`fit`]).

use super::intervals::{Interval, Intervals, LiveInterval, Temporaries};
use super::positions::Positions;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::machine::{Reg, RegSet};

/// An allocator that gives registers to intervals one after another, and may take them away again.
pub(in crate::allocate::assign) trait Placing {
    fn positions(&self) -> &Positions;

    fn intervals(&self) -> &Intervals;

    /// The registers that an interval can have, regardless of other intervals.
    fn allowed(&self, number: Interval) -> RegSet;

    /// The intervals that keep an interval from a register, each at least once.
    fn clashes(&self, number: Interval, reg: Reg) -> impl Iterator<Item = Interval>;

    /// The cost of evicting an interval, if it can be evicted.
    fn weight(&self, number: Interval) -> Option<f64>;

    /// The registers that save copies and reloads of an interval, those first that save most.
    fn favourites(&self, number: Interval) -> Vec<Reg>;

    /// The registers of an interval's class in the order in which they are tried.
    fn order(&self, interval: &LiveInterval) -> Vec<Reg>;

    fn take(&mut self, number: Interval, reg: Reg);

    fn evict(&mut self, number: Interval);

    fn is_free(&self, number: Interval, reg: Reg) -> bool {
        self.clashes(number, reg).next().is_none()
    }

    /// The intervals that keep another one from a register, with the sum of their weights, if that is below a bound.
    fn in_the_way(&self, number: Interval, reg: Reg, bound: f64) -> Option<(f64, Vec<Interval>)> {
        let mut clashing = Vec::new();
        let mut cost = 0.0;
        for other in self.clashes(number, reg) {
            if !clashing.contains(&other) {
                cost += self.weight(other)?;
                if cost >= bound {
                    return None;
                }
                clashing.push(other);
            }
        }
        Some((cost, clashing))
    }

    /// Gives an interval the register from which the lightest intervals have to be evicted, if together they are lighter
    /// than it. Otherwise, evicts the interval itself.
    fn make_room(&mut self, number: Interval) {
        let weight = self.weight(number).expect("it is no temporary");
        let allowed = self.allowed(number);
        let mut best: Option<(f64, Reg, Vec<Interval>)> = None;
        for reg in self.order(&self.intervals().data[number]).into_iter().filter(|&reg| allowed.contains(reg)) {
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

    /// Finds registers for the temporaries of an instruction together, and evicts as many intervals as that takes.
    ///
    /// # Errors
    /// If the temporaries need more registers than there are.
    fn place_temporaries(&mut self, temporaries: &Temporaries) -> Result<(), Unsupported> {
        loop {
            let wants: Vec<Want> = temporaries.intervals.iter().map(|&number| self.want(temporaries, number)).collect();
            if let Some(registers) = fit(&wants) {
                temporaries.intervals.iter().zip(registers).for_each(|(&number, reg)| self.take(number, reg));
                return Ok(());
            }
            let Some(lightest) = self.lightest_in_the_way(temporaries, &wants) else {
                let Temporaries { index, block, .. } = temporaries;
                let message = format!(
                    "no registers for what instruction {index} of {block} takes from memory, puts there, or defines last"
                );
                return Err(Unsupported(message));
            };
            self.evict(lightest);
        }
    }

    /// The registers that a temporary can have beside the intervals that have been placed.
    fn want(&self, temporaries: &Temporaries, number: Interval) -> Want {
        let moments = self.positions().of(temporaries.inst);
        let interval = &self.intervals().data[number];
        let span = match (interval.start() <= moments.read, interval.end() > moments.write) {
            (true, true) => Span::Both,
            (true, false) => Span::Before,
            (false, _) => Span::After,
        };
        let order = self.order(interval);
        let domain: RegSet = self.allowed(number).iter().filter(|&reg| self.is_free(number, reg)).collect();
        let current = self.favourites(number).into_iter().find(|&reg| domain.contains(reg));
        Want { span, domain, current, order: order.into() }
    }

    /// The lightest of the intervals in registers that would help the temporaries of an instruction if they were free.
    fn lightest_in_the_way(&self, temporaries: &Temporaries, wants: &[Want]) -> Option<Interval> {
        let useful = self.useful(temporaries, wants);
        let mut lightest: Option<(f64, Interval)> = None;
        for &number in &temporaries.intervals {
            for reg in (self.allowed(number) & useful).iter() {
                for other in self.clashes(number, reg) {
                    let Some(weight) = self.weight(other) else { continue };
                    if lightest.is_none_or(|(least, _)| weight < least) {
                        lightest = Some((weight, other));
                    }
                }
            }
        }
        lightest.map(|(_, interval)| interval)
    }

    /// The registers of which one more would help: those of the first temporary that cannot be placed beside the ones before
    /// it, and those of all temporaries that it might displace.
    fn useful(&self, temporaries: &Temporaries, wants: &[Want]) -> RegSet {
        let placed = (0..wants.len()).take_while(|&count| fit(&wants[..=count]).is_some()).count();
        let allowed = |k: usize| self.allowed(temporaries.intervals[k]);
        let mut useful = allowed(placed.min(wants.len() - 1));
        let mut rest: Vec<usize> = (0..placed).collect();
        while let Some(place) = rest.iter().position(|&k| allowed(k).intersects(useful)) {
            useful |= allowed(rest.swap_remove(place));
        }
        useful
    }
}
