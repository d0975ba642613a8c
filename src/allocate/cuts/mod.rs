//! Decisions between 0 and 1, of which pairs cost something: the cheapest labelling is a minimum cut.

mod cut;
mod network;
mod reduce;
mod tuning;

pub(super) use cut::{Cutter, Residual};
pub(super) use network::{Component, Constraint, Network, Node};
pub(super) use reduce::reduce;

use cranelift_entity::{EntitySet, PrimaryMap, entity_impl};
use std::ops::Range;
use tuning::{GROWTH, LEAST_GROWTH};

/// A question that is answered with 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Decision(u32);
entity_impl!(Decision);

/// What it costs if one decision is 1 and another one 0.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) one: Decision,
    pub(super) zero: Decision,
    pub(super) cost: i64,
}

/// How many places can be bought at most, for all constraints together.
pub(super) const MOST_BOUGHT: usize = 7;

/// How many decisions of a constraint can be 1, by how many places have been bought; ascending.
pub(super) type Capacities = [u16; MOST_BOUGHT + 1];

/// Of some decisions, so many at most can be 1.
#[derive(Clone)]
pub(super) struct ConstraintData {
    pub(super) capacities: Capacities,
    pub(super) frequency: f64,
}

/// Consecutive constraints that a decision is in: where constraints follow the program, a segment is in few runs of many.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) decision: Decision,
    /// Among all constraints.
    pub(super) constraints: Range<u32>,
}

/// If one decision is 1, unless a second one is, a third one is 1 as well.
#[derive(Clone, Copy)]
pub(super) struct Implication<T> {
    pub(super) premise: T,
    /// If this is 1, `premise` is 1 in any case.
    pub(super) unless: Option<T>,
    pub(super) conclusion: T,
    /// What it saves that `premise` is 1.
    pub(super) saved: i64,
}

impl<T: Copy> Implication<T> {
    /// By how much too few are 1.
    pub(super) fn violation(&self, is_one: impl Fn(T) -> bool) -> i64 {
        i64::from(is_one(self.premise)) - i64::from(self.unless.is_some_and(&is_one)) - i64::from(is_one(self.conclusion))
    }

    /// The same about what each has become.
    fn map<U>(self, to: impl Fn(T) -> U) -> Implication<U> {
        let Implication { premise, unless, conclusion, saved } = self;
        Implication { premise: to(premise), unless: unless.map(&to), conclusion: to(conclusion), saved }
    }

    fn members(self) -> impl Iterator<Item = T> {
        [self.premise, self.conclusion].into_iter().chain(self.unless)
    }
}

/// What a labelling must not do. Sums of a few dozens of these and of what can be paid do not overflow.
pub(super) const FORBIDDEN: i64 = 1 << 54;

/// Both of two costs: what is forbidden twice is forbidden.
fn capped_sum(a: i64, b: i64) -> i64 {
    (a + b).min(FORBIDDEN)
}

/// So many units of cost are one execution: so few that what is executed most often is far from forbidden.
#[derive(Clone, Copy)]
pub(super) struct Units(f64);

impl Units {
    /// Where nothing is executed more often than this.
    pub(super) fn for_executions(most: f64) -> Self {
        /// What there is to pay each time in one place, at most; and how many units that may be.
        const DEAREST: f64 = 16.0;
        const UNITS: f64 = (1u64 << 40) as f64;
        let dearest = (DEAREST * most).min(f64::MAX);
        let mut units = Units::default();
        while dearest * units.0 > UNITS {
            units.0 /= 2.0;
        }
        units
    }

    /// What so many executions cost.
    pub(super) fn cost(self, executions: f64) -> i64 {
        /// More than this is as good as forbidden.
        const MOST: f64 = (FORBIDDEN / 16) as f64;
        // (`round` is a call where processors need not have an instruction for it.)
        let units = (executions * self.0).min(MOST);
        (units + 0.5_f64.copysign(units)) as i64
    }

    /// How many executions something costs.
    pub(super) fn executions(self, cost: i64) -> f64 {
        cost as f64 / self.0
    }
}

impl Default for Units {
    /// What most functions' executions can be counted by.
    fn default() -> Self {
        Units(65536.0)
    }
}

/// Decisions, their costs, and constraints.
#[derive(Clone, Default)]
pub(super) struct Decisions {
    /// What costs are counted in.
    pub(super) units: Units,
    /// What each costs if it is 0, and if it is 1.
    pub(super) costs: PrimaryMap<Decision, [i64; 2]>,
    /// For how many of them there is room.
    reserved: usize,
    pub(super) pairs: Vec<Pair>,
    pub(super) constraints: Vec<ConstraintData>,
    pub(super) runs: Vec<Run>,
    pub(super) implications: Vec<Implication<Decision>>,
    /// Those that [`reduce`] has taken out: they cost nothing, and nothing depends on them any more.
    eliminated: EntitySet<Decision>,
}

impl Decisions {
    /// None as yet.
    pub(super) fn new(units: Units) -> Self {
        Decisions { units, ..Decisions::default() }
    }

    pub(super) fn decide(&mut self) -> Decision {
        let count = self.costs.len();
        if count == self.reserved {
            self.reserved += step(count);
            self.costs.reserve_exact(self.reserved - count);
        }
        self.costs.push([0, 0])
    }

    /// Adds to what a decision costs with this label.
    pub(super) fn charge(&mut self, decision: Decision, is_one: bool, cost: i64) {
        let sum = &mut self.costs[decision][usize::from(is_one)];
        *sum = capped_sum(*sum, cost);
    }

    /// Drops everything else.
    fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    /// If `one` is 1, `unless` is or `on` has to be.
    pub(super) fn imply(&mut self, implication: Implication<Decision>) {
        self.implications.push(implication);
    }

    /// What it costs if `one` is 1 and `zero` is 0.
    pub(super) fn pair(&mut self, one: Decision, zero: Decision, cost: i64) {
        push(&mut self.pairs, Pair { one, zero, cost });
    }
}

/// By how many items a list grows that is among the longest. Doubled, it would take half as much again for nothing.
fn step(count: usize) -> usize {
    (count / GROWTH).max(LEAST_GROWTH)
}

/// Adds an item to such a list.
pub(super) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(step(list.len()));
    }
    list.push(item);
}

#[cfg(test)]
pub(super) mod testing {
    use super::{ConstraintData, Decision, Decisions, FORBIDDEN, Implication, MOST_BOUGHT, Run, Units};
    use cranelift_entity::{EntityRef, PrimaryMap};

    /// So many executions.
    pub fn random_cost(rng: &mut fastrand::Rng) -> i64 {
        Units::default().cost(rng.i64(0..20) as f64)
    }

    /// A few decisions with random costs, pairs and, if wanted, constraints.
    pub fn random(rng: &mut fastrand::Rng, count: usize, constraints: usize) -> Decisions {
        let mut decisions = Decisions::default();
        for _ in 0..count {
            let decision = decisions.decide();
            decisions.costs[decision] = [random_cost(rng), if rng.u8(..4) == 0 { random_cost(rng) } else { 0 }];
        }
        for _ in 0..rng.usize(0..2 * count) {
            let [one, zero] = [(); 2].map(|()| Decision::new(rng.usize(..count)));
            decisions.pair(one, zero, random_cost(rng));
        }
        for constraint in 0..constraints as u32 {
            let members = (0..count).filter(|_| rng.bool()).map(Decision::new);
            decisions.runs.extend(members.map(|decision| Run { decision, constraints: constraint..constraint + 1 }));
            let mut capacity = rng.u16(0..3);
            let capacities = [(); MOST_BOUGHT + 1].map(|()| {
                capacity += u16::from(rng.bool());
                capacity
            });
            decisions.constraints.push(ConstraintData { capacities, frequency: rng.f64() });
        }
        decisions
    }

    /// The same with a implication, if there are three decisions for one.
    pub fn random_with_implication(rng: &mut fastrand::Rng, count: usize, constraints: usize) -> Decisions {
        let mut decisions = random(rng, count, constraints);
        let mut members: Vec<Decision> = decisions.costs.keys().collect();
        rng.shuffle(&mut members);
        if let [premise, conclusion, unless, ..] = *members {
            let (unless, saved) = (Some(unless).filter(|_| rng.bool()), 1 + random_cost(rng));
            decisions.charge(premise, false, saved);
            unless.into_iter().for_each(|unless| decisions.pair(unless, premise, FORBIDDEN));
            decisions.imply(Implication { premise, unless, conclusion, saved });
        }
        decisions
    }

    /// What those labels do not save of which one relies on another in vain.
    pub fn unsaved(decisions: &Decisions, labels: u32) -> i64 {
        let is_one = |decision: Decision| labels >> decision.index() & 1 != 0;
        decisions.implications.iter().filter(|it| it.violation(is_one) > 0).map(|it| it.saved).sum()
    }

    /// A labelling with a bit for each decision.
    pub fn bits(labels: &PrimaryMap<Decision, bool>) -> u32 {
        labels.iter().map(|(decision, &is_one)| u32::from(is_one) << decision.index()).sum()
    }

    /// What a labelling costs, a bit for each decision; `None` if it does not keep to the constraints with so many places bought. That one
    /// relies on another in vain, is not asked.
    pub fn cost(decisions: &Decisions, labels: u32, bought: usize) -> Option<i64> {
        let is_one = |decision: Decision| labels >> decision.index() & 1 != 0;
        let load = |constraint: u32| {
            decisions.runs.iter().filter(|run| run.constraints.contains(&constraint) && is_one(run.decision)).count()
        };
        let fits = |(constraint, data): (u32, &ConstraintData)| load(constraint) <= usize::from(data.capacities[bought]);
        let single: i64 = decisions.costs.iter().map(|(decision, costs)| costs[usize::from(is_one(decision))]).sum();
        let cut = decisions.pairs.iter().filter(|pair| is_one(pair.one) && !is_one(pair.zero));
        (0..).zip(&decisions.constraints).all(fits).then(|| single + cut.map(|pair| pair.cost).sum::<i64>())
    }

    /// The least that a labelling costs.
    pub fn least(decisions: &Decisions, bought: usize) -> i64 {
        let labels = (0..1 << decisions.costs.len()).filter(|&labels| unsaved(decisions, labels) == 0);
        labels.filter_map(|labels| cost(decisions, labels, bought)).min().expect("nothing at all fits")
    }
}
