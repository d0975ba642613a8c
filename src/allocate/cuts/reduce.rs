//! Eliminates decisions before any cut: those under no constraint and no implication that depend on two others at most.
//!
//! ```text
//!         4         2                            min(4, 2)
//!     a ------> x ------> b      becomes      a ------------> b
//! ```
//!
//! Where a and b agree, x does as they do. Where a is 1 and b is 0, x is 1, since that costs 2, and 0 would cost 4. Where a is 0
//! and b is 1, either is free. So once a and b are known, so is x ([`Reduction::complete`]).
//!
//! Relies on: minimising a submodular function over one of its variables leaves a submodular function of the others. So the
//! cost of such a decision, made as is best for its two neighbours, is again a cost of each of them and of one pair. Nothing
//! is lost.

use super::tuning::MOST_PAIRS;
use super::{Decision, Decisions, FORBIDDEN, Pair, push};
use cranelift_entity::PrimaryMap;
use smallvec::SmallVec;

/// The decisions that are made last.
pub(in crate::allocate) struct Reduction {
    /// In the order in which they were eliminated.
    eliminations: Vec<Elimination>,
    /// A cost of all labellings, on top of that of the decisions that are left.
    pub(in crate::allocate) base: i64,
}

/// A decision that has been eliminated.
struct Elimination {
    decision: Decision,
    /// The two decisions that it depends on. If there are fewer, it stands for itself, as 0.
    neighbours: [Decision; 2],
    /// Its label, by those of the two.
    is_one: [[bool; 2]; 2],
}

/// The costs of a decision that is being eliminated.
struct Eliminated {
    costs: [i64; 2],
    neighbours: SmallVec<[Neighbour; 2]>,
}

/// Another decision that one depends on.
#[derive(Clone, Copy)]
struct Neighbour {
    other: Decision,
    /// The cost if this one is 1 and the other 0.
    out: i64,
    /// The cost if this one is 0 and the other 1.
    into: i64,
}

impl Eliminated {
    /// The costs of the decision as 0 and as 1, given the labels of its neighbours.
    fn costs(&self, labels: [bool; 2]) -> [i64; 2] {
        let [mut zero, mut one] = self.costs;
        for (neighbour, label) in self.neighbours.iter().zip(labels) {
            match label {
                true => zero += neighbour.into,
                false => one += neighbour.out,
            }
        }
        [zero, one]
    }

    /// The cost of the better label, given the labels of its neighbours.
    fn least(&self, labels: [bool; 2]) -> i64 {
        let [zero, one] = self.costs(labels);
        zero.min(one).min(FORBIDDEN)
    }

    fn elimination(&self, decision: Decision) -> Elimination {
        let neighbours = [0, 1].map(|k| self.neighbours.get(k).map_or(decision, |neighbour| neighbour.other));
        let is_one = [false, true].map(|first| {
            [false, true].map(|second| {
                let [zero, one] = self.costs([first, second]);
                one <= zero
            })
        });
        Elimination { decision, neighbours, is_one }
    }
}

impl Reduction {
    /// Labels the decisions that have been eliminated, now that the others are labelled.
    pub(in crate::allocate) fn complete(&self, labels: &mut PrimaryMap<Decision, bool>) {
        for elimination in self.eliminations.iter().rev() {
            let [first, second] = elimination.neighbours.map(|other| usize::from(labels[other]));
            labels[elimination.decision] = elimination.is_one[first][second];
        }
    }
}

/// Eliminates as many decisions as it can.
pub(in crate::allocate) fn reduce(decisions: &mut Decisions) -> Reduction {
    let mut reducer = Reducer::new(decisions);
    let mut candidates = Vec::new();
    for decision in reducer.decisions.costs.keys() {
        candidates.extend(reducer.eliminate(decision));
    }
    while !candidates.is_empty() {
        candidates.sort_unstable();
        candidates.dedup();
        for decision in std::mem::take(&mut candidates) {
            candidates.extend(reducer.eliminate(decision));
        }
    }
    let Reducer { mut eliminations, base, pairs, .. } = reducer;
    decisions.pairs = pairs;
    decisions.pairs.retain(|pair| pair.cost > 0);
    decisions.pairs.shrink_to_fit();
    decisions.costs.shrink_to_fit();
    eliminations.shrink_to_fit();
    Reduction { eliminations, base }
}

/// The number of a decision under a constraint or an implication.
const CONSTRAINED: u32 = u32::MAX;

struct Reducer<'d> {
    decisions: &'d mut Decisions,
    /// Numbers of the decisions that are under no constraint and no implication.
    number: PrimaryMap<Decision, u32>,
    /// A pair of a decision that has been eliminated costs nothing.
    pairs: Vec<Pair>,
    /// By number, the pairs that each decision was in when it was last looked at, and later ones.
    pairs_of: Vec<SmallVec<[u32; 6]>>,
    eliminations: Vec<Elimination>,
    base: i64,
}

impl<'d> Reducer<'d> {
    fn new(decisions: &'d mut Decisions) -> Self {
        let mut number: PrimaryMap<Decision, u32> = decisions.costs.keys().map(|_| 0).collect();
        decisions.runs.iter().for_each(|run| number[run.decision] = CONSTRAINED);
        decisions.implications.iter().flat_map(|it| it.members()).for_each(|decision| number[decision] = CONSTRAINED);
        let mut count = 0;
        for number in number.values_mut().filter(|number| **number != CONSTRAINED) {
            *number = count;
            count += 1;
        }
        let mut pairs = std::mem::take(&mut decisions.pairs);
        pairs.retain(|pair| pair.one != pair.zero && pair.cost > 0);
        let pairs_of = (0..count).map(|_| SmallVec::new()).collect();
        let mut reducer = Reducer { decisions, number, pairs, pairs_of, eliminations: Vec::new(), base: 0 };
        (0..reducer.pairs.len()).for_each(|index| reducer.enter(index));
        reducer
    }

    /// Notes a pair at both its decisions.
    fn enter(&mut self, index: usize) {
        let Pair { one, zero, .. } = self.pairs[index];
        for decision in [one, zero] {
            if let Some(pairs) = self.pairs_of.get_mut(self.number[decision] as usize) {
                pairs.push(index as u32);
            }
        }
    }

    fn pair(&mut self, pair: Pair) {
        push(&mut self.pairs, pair);
        self.enter(self.pairs.len() - 1);
    }

    /// Eliminates a decision, if it can be. Answers its neighbours: there may now be two at most of theirs.
    fn eliminate(&mut self, decision: Decision) -> SmallVec<[Decision; 2]> {
        if self.number[decision] == CONSTRAINED || self.decisions.eliminated.contains(decision) {
            return SmallVec::new();
        }
        let Some(neighbours) = self.neighbours_of(decision) else { return SmallVec::new() };
        self.decisions.eliminated.insert(decision);
        for index in std::mem::take(&mut self.pairs_of[self.number[decision] as usize]) {
            self.pairs[index as usize].cost = 0;
        }
        let eliminated = Eliminated { costs: std::mem::take(&mut self.decisions.costs[decision]), neighbours };
        match *eliminated.neighbours.as_slice() {
            [] => self.base += eliminated.least([false; 2]),
            [neighbour] => [false, true]
                .iter()
                .for_each(|&is_one| self.decisions.charge(neighbour.other, is_one, eliminated.least([is_one; 2]))),
            [a, b, ..] => self.replace(&eliminated, a.other, b.other),
        }
        push(&mut self.eliminations, eliminated.elimination(decision));
        eliminated.neighbours.iter().map(|neighbour| neighbour.other).filter(|&other| self.number[other] != CONSTRAINED).collect()
    }

    /// The decisions that one depends on, if there are two at most.
    fn neighbours_of(&mut self, decision: Decision) -> Option<SmallVec<[Neighbour; 2]>> {
        let pairs = &self.pairs;
        let own = &mut self.pairs_of[self.number[decision] as usize];
        own.retain(|index| pairs[*index as usize].cost > 0);
        if own.len() > MOST_PAIRS {
            return None;
        }
        let mut neighbours: SmallVec<[Neighbour; 2]> = SmallVec::new();
        for pair in own.iter().map(|&index| &pairs[index as usize]) {
            let (other, out, into) = if pair.one == decision { (pair.zero, pair.cost, 0) } else { (pair.one, 0, pair.cost) };
            match neighbours.iter().position(|neighbour| neighbour.other == other) {
                Some(at) => (neighbours[at].out, neighbours[at].into) = (neighbours[at].out + out, neighbours[at].into + into),
                None if neighbours.len() == 2 => return None,
                None => neighbours.push(Neighbour { other, out, into }),
            }
        }
        Some(neighbours)
    }

    /// Charges two decisions for one that depends on both.
    fn replace(&mut self, eliminated: &Eliminated, first: Decision, second: Decision) {
        let least = |first: bool, second: bool| eliminated.least([first, second]);
        let [neither, only_first, only_second, both] =
            [least(false, false), least(true, false), least(false, true), least(true, true)];
        // A forbidden combination becomes a pair, so that the other costs stay small.
        let (one, zero, only_one, only_zero) = match only_first < only_second {
            true => (second, first, only_second, only_first),
            false => (first, second, only_first, only_second),
        };
        self.base += neither;
        self.charge(one, both - only_zero);
        self.charge(zero, only_zero - neither);
        let cost = only_one + only_zero - neither - both;
        if cost > 0 {
            self.pair(Pair { one, zero, cost });
        }
    }

    /// Adds to the cost of a decision as 1. A negative cost becomes one of 0, and of all labellings.
    fn charge(&mut self, decision: Decision, cost: i64) {
        self.decisions.charge(decision, cost >= 0, cost.abs());
        self.base += cost.min(0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Network, Run, testing};
    use super::*;
    use crate::allocate::cuts::Cutter;
    use cranelift_entity::EntityRef;

    /// The cheapest labelling of the decisions that are left, completed, is as cheap as any.
    #[test]
    fn nothing_is_lost() {
        let mut rng = fastrand::Rng::with_seed(4);
        let (mut left, mut all) = (0, 0);
        for _ in 0..1000 {
            let count = rng.usize(1..12);
            let mut decisions = testing::random(&mut rng, count, 0);
            for _ in 0..rng.usize(0..3) {
                let [one, zero] = [(); 2].map(|()| Decision::new(rng.usize(..count)));
                decisions.pair(one, zero, FORBIDDEN);
            }
            let original = decisions.clone();
            // Some are under a constraint, which constrains nothing.
            let constrained = (0..count).filter(|_| rng.u8(..3) == 0).map(Decision::new);
            decisions.runs.extend(constrained.map(|decision| Run { decision, constraints: 0..0 }));
            let reduction = reduce(&mut decisions);
            let (network, mut residual) = Network::new(decisions);
            let is_one = Cutter::new(&network).cut_all(&mut residual);
            let costs = network.components().map(|component| residual.cost(&network, component, |node| is_one[node]));
            let cost = reduction.base + costs.sum::<i64>();
            let mut labels = network.labels(|node| is_one[node]);
            reduction.complete(&mut labels);
            assert_eq!(testing::cost(&original, testing::bits(&labels), 0), Some(cost));
            assert_eq!(cost, testing::least(&original, 0));
            left += count - reduction.eliminations.len();
            all += count;
        }
        assert!(left * 2 < all, "{left} of {all} are left");
    }
}
