//! Builds the pressure constraints of one set of registers while the program is visited.
//!
//! ```text
//!                     constraint   0  1  2  3  4        runs
//!       v0                         x  x  x              v0: 0..3
//!       v1                            x  x  x  x        v1: 1..5
//!       v2                                  x  x        v2: 3..5
//! ```
//!
//! Ensures: the members of a constraint are the values that compete when it is stated. Nobody lists them: those of one
//! segment are a run of constraints, even where the segment goes on into the next block. A constraint that says no more than
//! its predecessor in the block is left out; one that says more takes its place. Time is constant for each constraint, and
//! for each segment that comes or goes.

use super::Residence;
use crate::allocate::cuts::{Capacities, ConstraintData, Decisions, MOST_BOUGHT, Run, push};
use crate::analysis::grouped::each;
use crate::machine::{Block, Inst, Value};
use cranelift_entity::SecondaryMap;

/// Of a value that does not compete.
const ABSENT: u32 = u32::MAX;

/// Where a constraint is stated: at a block's head, or at an instruction.
pub(in crate::allocate::spill::priced) type Site = (Block, Option<Inst>);

/// The values that compete for the registers of a set, and their constraints so far.
pub(super) struct ConstraintBuilder {
    constraints: Vec<ConstraintData>,
    /// Where each is stated, if somebody wants to know.
    sites: Option<Vec<Site>>,
    runs: Vec<Run>,
    /// The first constraint on each value that competes, unless it is in a register in any case.
    first_constraint: SecondaryMap<Value, u32>,
    /// The latest run of each value.
    latest_run: SecondaryMap<Value, u32>,
    /// The numbers of values that compete with a decision, and that are in registers in any case.
    open: i32,
    fixed: i32,
    /// The first constraint of the current block.
    first: u32,
    /// Values that have entered since the last constraint, including those that have left again.
    newcomers: Vec<Value>,
    /// The number of them that have not left.
    new: u32,
    /// Whether members of the last constraint have left.
    has_leavers: bool,
}

impl ConstraintBuilder {
    pub(super) fn new(values: usize, keeps_sites: bool) -> Self {
        let (constraints, runs, newcomers) = Default::default();
        let [first_constraint, latest_run] = [(); 2].map(|()| each(values, ABSENT));
        ConstraintBuilder {
            constraints,
            sites: keeps_sites.then(Vec::new),
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

    /// A value has this residence from here on.
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

    /// A value has had this residence up to here.
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

    /// Adds a run, or extends the latest one if that goes on.
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

    /// Begins a block, with nothing in registers.
    pub(super) fn begin_block(&mut self) {
        debug_assert_eq!(self.open, 0);
        (self.fixed, self.first, self.has_leavers) = (0, self.next(), false);
        self.newcomers.clear();
    }

    /// The number of values that compete.
    pub(super) fn count(&self) -> i32 {
        self.fixed + self.open
    }

    /// States a constraint if the values outnumber the registers that are left, by the number of callee-saved ones that are
    /// bought. Answers how many have to be bought at least.
    pub(super) fn constrain(&mut self, left: [i32; MOST_BOUGHT + 1], frequency: f64, site: Site) -> usize {
        if self.count() == 0 || left[0] >= self.count() {
            return 0;
        }
        let exactly = left.map(|left| left - self.fixed);
        self.keep(exactly.map(|capacity| capacity.max(0) as u16), frequency, site);
        // If too few are left even for the values that are in registers in any case, more have to be bought, if that helps.
        exactly.iter().position(|&capacity| capacity >= 0).unwrap_or(0)
    }

    /// Adds a constraint, unless the last one of the block implies it. If it implies the last one, it takes its place.
    fn keep(&mut self, capacities: Capacities, frequency: f64, site: Site) {
        if let Some(last) = self.constraints.get_mut(self.first as usize..).and_then(<[ConstraintData]>::last_mut) {
            let mut pairs = last.capacities.iter().zip(&capacities);
            if self.new == 0 && pairs.clone().all(|(old, new)| old <= new) {
                return;
            }
            if !self.has_leavers && pairs.all(|(old, new)| new <= old) {
                last.capacities = capacities;
                self.sites.iter_mut().flat_map(|sites| sites.last_mut()).for_each(|last| *last = site);
                return self.admit();
            }
        }
        push(&mut self.constraints, ConstraintData { capacities, frequency });
        self.sites.iter_mut().for_each(|sites| sites.push(site));
        self.newcomers.clear();
        (self.new, self.has_leavers) = (0, false);
    }

    /// Makes all newcomers members of the last constraint.
    fn admit(&mut self) {
        let next = self.next();
        for value in self.newcomers.drain(..) {
            // Some have left again.
            if self.first_constraint[value] == next {
                self.first_constraint[value] = next - 1;
            }
        }
        self.new = 0;
    }

    /// Appends these constraints to those of other sets. Answers where each is stated, if that is kept.
    pub(super) fn finish(self, decisions: &mut Decisions) -> Vec<Site> {
        let before = decisions.constraints.len() as u32;
        decisions.constraints.reserve_exact(self.constraints.len());
        decisions.constraints.extend(self.constraints);
        let moved = |run: Run| Run { constraints: before + run.constraints.start..before + run.constraints.end, ..run };
        decisions.runs.reserve_exact(self.runs.len());
        decisions.runs.extend(self.runs.into_iter().map(moved));
        self.sites.unwrap_or_default()
    }
}
