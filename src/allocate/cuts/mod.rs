//! Decisions between 0 and 1, with costs of single decisions and of pairs: the cheapest labelling is a minimum cut.
//!
//! Given costs cᵢ(xᵢ) and wᵢⱼ ≥ 0, the *labelling* x is sought that minimises
//!
//! ```text
//!     Σ cᵢ(xᵢ)  +  Σ wᵢⱼ · xᵢ · (1 − xⱼ)
//! ```
//!
//! Each decision becomes a node of a network with a source S and a sink T. A node on the side of S is 1, a node on the side
//! of T is 0. The cost of being 0 is the capacity of an arc from S, the cost of being 1 that of an arc to T, and wᵢⱼ that of
//! an arc from i to j, which is cut if i is 1 and j is 0 \[PR75\]. Here a costs 5 as 0, b costs 3 as 1, and "a is 1 and b is
//! 0" costs 4:
//!
//! ```text
//!          5          4          3                 a  b   cost
//!     S ------> a ------> b ------> T              1  1     3   b -> T is cut: the minimum
//!                                                  1  0     4   a -> b is cut
//!                                                  0  0     5   S -> a is cut
//!                                                  0  1     8   both others are cut
//! ```
//!
//! [`Decisions`] states such a problem. [`reduce()`] eliminates decisions that two others at most depend on. [`Network`]
//! splits the rest into components, and a [`Cutter`] cuts them. The users are spilling by prices ([`super::spill`]), which
//! also adds pressure constraints and implications; the placement of stores; and [`super::shrink_wrap`].
//!
//! Requires: costs of pairs that are not negative.
//! Ensures: of the cheapest labellings, the one with the most ones.
//! Relies on: max-flow = min-cut, for functions of this form, which are submodular \[PR75\].

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

/// A cost that is paid if one decision is 1 and another one 0.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) one: Decision,
    pub(super) zero: Decision,
    pub(super) cost: i64,
}

/// The greatest number of registers that can be bought, for all constraints together.
pub(super) const MOST_BOUGHT: usize = 7;

/// The number of decisions of a constraint that can be 1, by how many registers have been bought; ascending.
pub(super) type Capacities = [u16; MOST_BOUGHT + 1];

/// A limit to the number of decisions that are 1, among those whose [`Run`]s include the constraint.
#[derive(Clone)]
pub(super) struct ConstraintData {
    pub(super) capacities: Capacities,
    pub(super) frequency: f64,
}

/// Consecutive constraints that include a decision. Constraints are numbered as the program goes, so that a segment of a
/// live range is in few runs of many constraints.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) decision: Decision,
    /// Indices into [`Decisions::constraints`].
    pub(super) constraints: Range<u32>,
}

/// If the premise is 1, then so is the conclusion, or `unless`.
#[derive(Clone, Copy)]
pub(super) struct Implication<T> {
    pub(super) premise: T,
    /// If this is 1, the premise is 1 in any case.
    pub(super) unless: Option<T>,
    pub(super) conclusion: T,
    /// The cost that is saved if the premise is 1.
    pub(super) saved: i64,
}

impl<T: Copy> Implication<T> {
    /// 1 if the implication is violated; 0 or less if not.
    pub(super) fn violation(&self, is_one: impl Fn(T) -> bool) -> i64 {
        i64::from(is_one(self.premise)) - i64::from(self.unless.is_some_and(&is_one)) - i64::from(is_one(self.conclusion))
    }

    fn map<U>(self, to: impl Fn(T) -> U) -> Implication<U> {
        let Implication { premise, unless, conclusion, saved } = self;
        Implication { premise: to(premise), unless: unless.map(&to), conclusion: to(conclusion), saved }
    }

    fn members(self) -> impl Iterator<Item = T> {
        [self.premise, self.conclusion].into_iter().chain(self.unless)
    }
}

/// A cost that no labelling may pay. It is so small that sums of a few dozen of them and of everything that can be paid do
/// not overflow.
pub(super) const FORBIDDEN: i64 = 1 << 54;

/// The sum of two costs, at most [`FORBIDDEN`].
fn capped_sum(a: i64, b: i64) -> i64 {
    (a + b).min(FORBIDDEN)
}

/// The number of units of cost for each execution. It is so small that the cost of the block that is executed most often is
/// far from [`FORBIDDEN`].
#[derive(Clone, Copy)]
pub(super) struct Units(f64);

impl Units {
    /// Units for a function in which no block is executed more often than `most`.
    pub(super) fn for_executions(most: f64) -> Self {
        /// The greatest cost of one place for each of its executions, and the number of units that this may become.
        const DEAREST: f64 = 16.0;
        const UNITS: f64 = (1u64 << 40) as f64;
        let dearest = (DEAREST * most).min(f64::MAX);
        let mut units = Units::default();
        while dearest * units.0 > UNITS {
            units.0 /= 2.0;
        }
        units
    }

    /// The cost of a number of executions, in units.
    pub(super) fn cost(self, executions: f64) -> i64 {
        /// Greater costs are as good as forbidden.
        const MOST: f64 = (FORBIDDEN / 16) as f64;
        // `f64::round` would be a call on processors that need not have an instruction for it.
        let units = (executions * self.0).min(MOST);
        (units + 0.5_f64.copysign(units)) as i64
    }

    /// The number of executions that cost this many units.
    pub(super) fn executions(self, cost: i64) -> f64 {
        cost as f64 / self.0
    }
}

impl Default for Units {
    /// Units that suit most functions.
    fn default() -> Self {
        Units(65536.0)
    }
}

/// Decisions, their costs, and the constraints and implications that they are under.
#[derive(Clone, Default)]
pub(super) struct Decisions {
    pub(super) units: Units,
    /// The cost of each decision if it is 0, and if it is 1.
    pub(super) costs: PrimaryMap<Decision, [i64; 2]>,
    /// The number of decisions for which there is memory.
    reserved: usize,
    pub(super) pairs: Vec<Pair>,
    pub(super) constraints: Vec<ConstraintData>,
    pub(super) runs: Vec<Run>,
    pub(super) implications: Vec<Implication<Decision>>,
    /// Decisions that [`reduce()`] has eliminated: they cost nothing, and nothing depends on them any more.
    eliminated: EntitySet<Decision>,
}

impl Decisions {
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

    /// Adds to the cost of a label.
    pub(super) fn charge(&mut self, decision: Decision, is_one: bool, cost: i64) {
        let sum = &mut self.costs[decision][usize::from(is_one)];
        *sum = capped_sum(*sum, cost);
    }

    /// The pairs; everything else is dropped, and its memory with it.
    fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    /// Adds an implication.
    pub(super) fn imply(&mut self, implication: Implication<Decision>) {
        self.implications.push(implication);
    }

    /// Adds a cost that is paid if `one` is 1 and `zero` is 0.
    pub(super) fn pair(&mut self, one: Decision, zero: Decision, cost: i64) {
        push(&mut self.pairs, Pair { one, zero, cost });
    }
}

/// The number of items by which one of the longest lists grows.
fn step(count: usize) -> usize {
    (count / GROWTH).max(LEAST_GROWTH)
}

/// Adds an item to one of the longest lists.
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

    /// The cost of up to twenty executions.
    pub fn random_cost(rng: &mut fastrand::Rng) -> i64 {
        Units::default().cost(rng.i64(0..20) as f64)
    }

    /// A few decisions with random costs, pairs and constraints.
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

    /// Random decisions with an implication, if there are three decisions to make one of.
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

    /// The savings that a labelling loses by violating implications.
    pub fn unsaved(decisions: &Decisions, labels: u32) -> i64 {
        let is_one = |decision: Decision| labels >> decision.index() & 1 != 0;
        decisions.implications.iter().filter(|it| it.violation(is_one) > 0).map(|it| it.saved).sum()
    }

    /// A labelling as a number, with a bit for each decision.
    pub fn bits(labels: &PrimaryMap<Decision, bool>) -> u32 {
        labels.iter().map(|(decision, &is_one)| u32::from(is_one) << decision.index()).sum()
    }

    /// The cost of a labelling, or `None` if it violates a constraint with this many registers bought. Implications are not
    /// looked at.
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

    /// The least cost of any labelling.
    pub fn least(decisions: &Decisions, bought: usize) -> i64 {
        let labels = (0..1 << decisions.costs.len()).filter(|&labels| unsaved(decisions, labels) == 0);
        labels.filter_map(|labels| cost(decisions, labels, bought)).min().expect("nothing at all fits")
    }
}
