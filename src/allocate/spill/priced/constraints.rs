//! The constraints of one set of registers, made while the program is walked.
//!
//! Ensures: a constraint has the decisions that are competing when it is made, so that those of one segment follow each other: they
//! are one run, also where the segment goes on into the next block.
//! A constraint that says no more than the one before it in its block is left out, or takes its residence. Time is constant for a constraint, and
//! for each segment that comes or goes.

use super::model::Residence;
use crate::allocate::cuts::{Capacities, ConstraintData, Decisions, MOST_BOUGHT, Run, push};
use crate::analysis::grouped::each;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Not competing.
const ABSENT: u32 = u32::MAX;

/// The values that compete for the registers of a set, and the constraints that come of it.
pub(super) struct ConstraintBuilder {
    constraints: Vec<ConstraintData>,
    runs: Vec<Run>,
    /// Of each value that competes and is not in a register in any case, the first constraint that it is in.
    first_constraint: SecondaryMap<Value, u32>,
    /// Of each value, the run that was made of it last.
    latest_run: SecondaryMap<Value, u32>,
    /// How many values compete, and how many are in registers in any case.
    open: i32,
    fixed: i32,
    /// The first constraint of the block.
    first: u32,
    /// Values that have come first_constraint the last constraint, those that have gone again among them.
    newcomers: Vec<Value>,
    /// How many of them have not gone again.
    new: u32,
    /// Whether some that are in the last constraint have gone.
    has_leavers: bool,
}

impl ConstraintBuilder {
    /// Of so many values.
    pub(super) fn new(values: usize) -> Self {
        let (constraints, runs, newcomers) = Default::default();
        let [first_constraint, latest_run] = [(); 2].map(|()| each(values, ABSENT));
        ConstraintBuilder {
            constraints,
            runs,
            first_constraint,
            latest_run,
            open: 0,
            fixed: 0,
            first: 0,
            newcomers,
            new: 0,
            has_leavers: false,
        }
    }

    /// The number of the next constraint.
    fn next(&self) -> u32 {
        self.constraints.len() as u32
    }

    /// A value is where it is from here on.
    pub(super) fn enter(&mut self, value: Value, residence: Residence) {
        if residence == Residence::REGISTER {
            self.fixed += 1;
        } else if residence.decision().is_some() {
            self.open += 1;
            self.first_constraint[value] = self.next();
            self.newcomers.push(value);
            self.new += 1;
        }
    }

    /// It is no more.
    pub(super) fn leave(&mut self, value: Value, residence: Residence) {
        if residence == Residence::REGISTER {
            self.fixed -= 1;
        } else if let Some(decision) = residence.decision() {
            self.open -= 1;
            let first = std::mem::replace(&mut self.first_constraint[value], ABSENT);
            if first < self.next() {
                self.run(value, Run { decision, constraints: first..self.next() });
                self.has_leavers = true;
            } else {
                self.new -= 1;
            }
        }
    }

    /// Adds a run, to the one before it if it goes on.
    fn run(&mut self, value: Value, run: Run) {
        match self.runs.get_mut(self.latest_run[value] as usize) {
            Some(last) if last.decision == run.decision && last.constraints.end == run.constraints.start => {
                last.constraints.end = run.constraints.end
            }
            _ => {
                self.latest_run[value] = self.runs.len() as u32;
                push(&mut self.runs, run);
            }
        }
    }

    /// A block begins, with nothing in registers.
    pub(super) fn begin_block(&mut self) {
        debug_assert_eq!(self.open, 0);
        (self.fixed, self.first, self.has_leavers) = (0, self.next(), false);
        self.newcomers.clear();
    }

    /// How many values there are.
    pub(super) fn count(&self) -> i32 {
        self.fixed + self.open
    }

    /// Makes a constraint, if there are fewer registers left than values, by how many callee-saved ones have been bought. Answers how
    /// many have to be bought at least.
    pub(super) fn constrain(&mut self, left: [i32; MOST_BOUGHT + 1], frequency: f64) -> usize {
        if self.count() == 0 || left[0] >= self.count() {
            return 0;
        }
        let exactly = left.map(|left| left - self.fixed);
        self.keep(exactly.map(|capacity| capacity.max(0) as u16), frequency);
        // What is too little for those in any case has to be bought, if that helps.
        exactly.iter().position(|&capacity| capacity >= 0).unwrap_or(0)
    }

    /// Keeps a constraint, unless the last one of the block says as much; if it says more, in its residence.
    fn keep(&mut self, capacities: Capacities, frequency: f64) {
        if let Some(last) = self.constraints.get_mut(self.first as usize..).and_then(<[ConstraintData]>::last_mut) {
            let mut pairs = last.capacities.iter().zip(&capacities);
            if self.new == 0 && pairs.clone().all(|(old, new)| old <= new) {
                return;
            }
            if !self.has_leavers && pairs.all(|(old, new)| new <= old) {
                last.capacities = capacities;
                return self.admit();
            }
        }
        push(&mut self.constraints, ConstraintData { capacities, frequency });
        self.newcomers.clear();
        (self.new, self.has_leavers) = (0, false);
    }

    /// All newcomers are in the last constraint.
    fn admit(&mut self) {
        let next = self.next();
        for value in self.newcomers.drain(..) {
            // Some have gone again.
            if self.first_constraint[value] == next {
                self.first_constraint[value] = next - 1;
            }
        }
        self.new = 0;
    }

    /// Adds the constraints to those of other sets.
    pub(super) fn finish(self, decisions: &mut Decisions) {
        let before = decisions.constraints.len() as u32;
        decisions.constraints.reserve_exact(self.constraints.len());
        decisions.constraints.extend(self.constraints);
        let moved = |run: Run| Run { constraints: before + run.constraints.start..before + run.constraints.end, ..run };
        decisions.runs.reserve_exact(self.runs.len());
        decisions.runs.extend(self.runs.into_iter().map(moved));
    }
}
