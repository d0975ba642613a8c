//! Decisions that need not be made before others: those that no row confines, that no reliance is about, and that at most two
//! others depend on.
//!
//! Relies on: what such a decision costs, if it is made as is best for the two others, is a function of their labels; and what
//! is left of a submodular function when one variable has been minimised away is submodular, so that this is a cost of each of
//! the two and of one pair again. So nothing is lost: once the others are known, so is this one.

use super::{Decision, Decisions, FORBIDDEN, Pair, push};
use cranelift_entity::PrimaryMap;
use smallvec::SmallVec;

/// Decisions to be made last.
pub(in crate::allocate) struct Reduction {
    /// In the order in which they were taken out.
    steps: Vec<Step>,
    /// What all labellings of what is left cost besides.
    pub(in crate::allocate) base: i64,
}

/// A decision that has been taken out.
struct Step {
    decision: Decision,
    /// What it depends on; itself, which is not made yet, in place of what there is not.
    near: [Decision; 2],
    /// How it is made, by the labels of these two.
    is_one: [[bool; 2]; 2],
}

/// What a decision costs.
struct Dependent {
    costs: [i64; 2],
    near: SmallVec<[Near; 2]>,
}

/// Another decision that one depends on.
#[derive(Clone, Copy)]
struct Near {
    other: Decision,
    /// What it costs if this one is 1 and the other 0.
    out: i64,
    /// What it costs if this one is 0 and the other 1.
    into: i64,
}

impl Dependent {
    /// What the decision costs where it is 0, and where it is 1, by the labels of those that it depends on.
    fn costs(&self, labels: [bool; 2]) -> [i64; 2] {
        let [mut zero, mut one] = self.costs;
        for (near, label) in self.near.iter().zip(labels) {
            match label {
                true => zero += near.into,
                false => one += near.out,
            }
        }
        [zero, one]
    }

    /// What it costs at least.
    fn least(&self, labels: [bool; 2]) -> i64 {
        let [zero, one] = self.costs(labels);
        zero.min(one).min(FORBIDDEN)
    }

    /// How it is made.
    fn step(&self, decision: Decision) -> Step {
        let near = [0, 1].map(|k| self.near.get(k).map_or(decision, |near| near.other));
        let is_one = [false, true].map(|first| {
            [false, true].map(|second| {
                let [zero, one] = self.costs([first, second]);
                one <= zero
            })
        });
        Step { decision, near, is_one }
    }
}

impl Reduction {
    /// Makes the decisions that have been taken out, now that the others are made.
    pub(in crate::allocate) fn complete(&self, labels: &mut PrimaryMap<Decision, bool>) {
        for step in self.steps.iter().rev() {
            let [first, second] = step.near.map(|other| usize::from(labels[other]));
            labels[step.decision] = step.is_one[first][second];
        }
    }
}

/// Takes decisions out.
pub(in crate::allocate) fn reduce(decisions: &mut Decisions) -> Reduction {
    let mut reducer = Reducer::new(decisions);
    let mut again = Vec::new();
    for decision in reducer.decisions.costs.keys() {
        again.extend(reducer.take_out(decision));
    }
    while !again.is_empty() {
        again.sort_unstable();
        again.dedup();
        for decision in std::mem::take(&mut again) {
            again.extend(reducer.take_out(decision));
        }
    }
    let Reducer { mut steps, base, pairs, .. } = reducer;
    decisions.pairs = pairs;
    decisions.pairs.retain(|pair| pair.cost > 0);
    decisions.pairs.shrink_to_fit();
    decisions.costs.shrink_to_fit();
    steps.shrink_to_fit();
    Reduction { steps, base }
}

/// No number.
const CONFINED: u32 = u32::MAX;

struct Reducer<'d> {
    decisions: &'d mut Decisions,
    /// Of each decision that no row confines, and no reliance.
    number: PrimaryMap<Decision, u32>,
    /// Those that are left cost something.
    pairs: Vec<Pair>,
    /// By these numbers, the pairs that each decision was in when it was looked at last, and later ones.
    pairs_of: Vec<SmallVec<[u32; 6]>>,
    steps: Vec<Step>,
    base: i64,
}

impl<'d> Reducer<'d> {
    fn new(decisions: &'d mut Decisions) -> Self {
        let mut number: PrimaryMap<Decision, u32> = decisions.costs.keys().map(|_| 0).collect();
        decisions.runs.iter().for_each(|run| number[run.decision] = CONFINED);
        decisions.reliances.iter().flat_map(|it| it.members()).for_each(|decision| number[decision] = CONFINED);
        let mut count = 0;
        for number in number.values_mut().filter(|number| **number != CONFINED) {
            *number = count;
            count += 1;
        }
        let mut pairs = std::mem::take(&mut decisions.pairs);
        pairs.retain(|pair| pair.one != pair.zero && pair.cost > 0);
        let pairs_of = (0..count).map(|_| SmallVec::new()).collect();
        let mut reducer = Reducer { decisions, number, pairs, pairs_of, steps: Vec::new(), base: 0 };
        (0..reducer.pairs.len()).for_each(|index| reducer.enter(index));
        reducer
    }

    /// Both decisions of a pair know it.
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

    /// Takes a decision out that nothing confines, if it can be. Answers the others that it was paired with.
    fn take_out(&mut self, decision: Decision) -> SmallVec<[Decision; 2]> {
        if self.number[decision] == CONFINED || self.decisions.taken_out.contains(decision) {
            return SmallVec::new();
        }
        let Some(near) = self.near(decision) else { return SmallVec::new() };
        self.decisions.taken_out.insert(decision);
        for index in std::mem::take(&mut self.pairs_of[self.number[decision] as usize]) {
            self.pairs[index as usize].cost = 0;
        }
        let taken = Dependent { costs: std::mem::take(&mut self.decisions.costs[decision]), near };
        match *taken.near.as_slice() {
            [] => self.base += taken.least([false; 2]),
            [near] => {
                [false, true].iter().for_each(|&is_one| self.decisions.charge(near.other, is_one, taken.least([is_one; 2])))
            }
            [a, b, ..] => self.replace(&taken, a.other, b.other),
        }
        push(&mut self.steps, taken.step(decision));
        taken.near.iter().map(|near| near.other).filter(|&other| self.number[other] != CONFINED).collect()
    }

    /// What a decision depends on, if that is no more than two others.
    fn near(&mut self, decision: Decision) -> Option<SmallVec<[Near; 2]>> {
        /// Further pairs are not looked at.
        const PAIRS: usize = 8;
        let pairs = &self.pairs;
        let own = &mut self.pairs_of[self.number[decision] as usize];
        own.retain(|index| pairs[*index as usize].cost > 0);
        if own.len() > PAIRS {
            return None;
        }
        let mut near: SmallVec<[Near; 2]> = SmallVec::new();
        for pair in own.iter().map(|&index| &pairs[index as usize]) {
            let (other, out, into) = if pair.one == decision { (pair.zero, pair.cost, 0) } else { (pair.one, 0, pair.cost) };
            match near.iter().position(|near| near.other == other) {
                Some(at) => (near[at].out, near[at].into) = (near[at].out + out, near[at].into + into),
                None if near.len() == 2 => return None,
                None => near.push(Near { other, out, into }),
            }
        }
        Some(near)
    }

    /// Has two decisions pay what one costs that depends on them.
    fn replace(&mut self, taken: &Dependent, first: Decision, second: Decision) {
        let least = |first: bool, second: bool| taken.least([first, second]);
        let [neither, only_first, only_second, both] =
            [least(false, false), least(true, false), least(false, true), least(true, true)];
        // What is forbidden is so as a pair, so that no other cost is as large.
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

    /// What it costs if a decision is 1. That may be less than nothing.
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

    /// The cheapest labelling of what is left, with the rest made last, is as cheap as any.
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
            // Some are confined, but not by much.
            let confined = (0..count).filter(|_| rng.u8(..3) == 0).map(Decision::new);
            decisions.runs.extend(confined.map(|decision| Run { decision, rows: 0..0 }));
            let reduction = reduce(&mut decisions);
            let (network, mut residual) = Network::new(decisions);
            let is_one = Cutter::new(&network).cut_all(&mut residual);
            let costs = network.clusters().map(|cluster| residual.cost(&network, cluster, |node| is_one[node]));
            let cost = reduction.base + costs.sum::<i64>();
            let mut labels = network.labels(|node| is_one[node]);
            reduction.complete(&mut labels);
            assert_eq!(testing::cost(&original, testing::bits(&labels), 0), Some(cost));
            assert_eq!(cost, testing::least(&original, 0));
            left += count - reduction.steps.len();
            all += count;
        }
        assert!(left * 2 < all, "{left} of {all} are left");
    }
}
