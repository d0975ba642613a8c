//! Decisions between 0 and 1, of which pairs cost something: the cheapest labelling is a minimum cut.

mod cut;
mod network;
mod reduce;

pub(super) use cut::{Cutter, Residual};
pub(super) use network::{Cluster, Network, Node, Row};
pub(super) use reduce::reduce;

use cranelift_entity::{EntitySet, PrimaryMap, entity_impl};
use std::ops::Range;

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

/// How many places can be bought at most, for all rows together.
pub(super) const MOST_BOUGHT: usize = 7;

/// How many decisions of a row can be 1, by how many places have been bought; ascending.
pub(super) type Rooms = [u16; MOST_BOUGHT + 1];

/// Of some decisions, so many at most can be 1.
#[derive(Clone)]
pub(super) struct RowData {
    pub(super) rooms: Rooms,
    pub(super) frequency: f64,
}

/// Consecutive rows that a decision is in: where rows follow the program, a segment is in few runs of many.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) decision: Decision,
    /// Among all rows.
    pub(super) rows: Range<u32>,
}

/// If one decision is 1, unless a second one is, a third one is 1 as well.
#[derive(Clone, Copy)]
pub(super) struct Reliance<T> {
    pub(super) one: T,
    /// If this is 1, `one` is 1 in any case.
    pub(super) unless: Option<T>,
    pub(super) on: T,
    /// What it saves that `one` is 1.
    pub(super) saved: i64,
}

impl<T: Copy> Reliance<T> {
    /// By how much too few are 1.
    pub(super) fn excess(&self, is_one: impl Fn(T) -> bool) -> i64 {
        i64::from(is_one(self.one)) - i64::from(self.unless.is_some_and(&is_one)) - i64::from(is_one(self.on))
    }

    /// The same about what each has become.
    fn map<U>(self, to: impl Fn(T) -> U) -> Reliance<U> {
        let Reliance { one, unless, on, saved } = self;
        Reliance { one: to(one), unless: unless.map(&to), on: to(on), saved }
    }

    fn members(self) -> impl Iterator<Item = T> {
        [self.one, self.on].into_iter().chain(self.unless)
    }
}

/// What a labelling must not do. Sums of a few dozens of these and of what can be paid do not overflow.
pub(super) const FORBIDDEN: i64 = 1 << 54;

/// Both of two costs: what is forbidden twice is forbidden.
fn together(a: i64, b: i64) -> i64 {
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
    pub(super) fn price(self, executions: f64) -> i64 {
        /// More than this is as good as forbidden.
        const MOST: f64 = (FORBIDDEN / 16) as f64;
        // (`round` is a call where processors need not have an instruction for it.)
        let units = (executions * self.0).min(MOST);
        (units + 0.5_f64.copysign(units)) as i64
    }

    /// How many executions something costs.
    pub(super) fn executions(self, price: i64) -> f64 {
        price as f64 / self.0
    }
}

impl Default for Units {
    /// What most functions' executions can be counted by.
    fn default() -> Self {
        Units(65536.0)
    }
}

/// Decisions, their costs, and rows.
#[derive(Clone, Default)]
pub(super) struct Decisions {
    /// What costs are counted in.
    pub(super) units: Units,
    /// What each costs if it is 0, and if it is 1.
    pub(super) costs: PrimaryMap<Decision, [i64; 2]>,
    /// For how many of them there is room.
    room: usize,
    pub(super) pairs: Vec<Pair>,
    pub(super) rows: Vec<RowData>,
    pub(super) runs: Vec<Run>,
    pub(super) reliances: Vec<Reliance<Decision>>,
    /// Those that [`reduce`] has taken out: they cost nothing, and nothing depends on them any more.
    taken_out: EntitySet<Decision>,
}

impl Decisions {
    /// None as yet.
    pub(super) fn new(units: Units) -> Self {
        Decisions { units, ..Decisions::default() }
    }

    pub(super) fn decide(&mut self) -> Decision {
        let count = self.costs.len();
        if count == self.room {
            self.room += step(count);
            self.costs.reserve_exact(self.room - count);
        }
        self.costs.push([0, 0])
    }

    /// Adds to what a decision costs with this label.
    pub(super) fn charge(&mut self, decision: Decision, is_one: bool, cost: i64) {
        let sum = &mut self.costs[decision][usize::from(is_one)];
        *sum = together(*sum, cost);
    }

    /// Drops everything else.
    fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    /// If `one` is 1, `unless` is or `on` has to be.
    pub(super) fn rely(&mut self, reliance: Reliance<Decision>) {
        self.reliances.push(reliance);
    }

    /// What it costs if `one` is 1 and `zero` is 0.
    pub(super) fn pair(&mut self, one: Decision, zero: Decision, cost: i64) {
        push(&mut self.pairs, Pair { one, zero, cost });
    }
}

/// By how many items a list grows that is among the longest. Doubled, it would take half as much again for nothing.
fn step(count: usize) -> usize {
    (count / 4).max(256)
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
    use super::{Decision, Decisions, FORBIDDEN, MOST_BOUGHT, Reliance, RowData, Run, Units};
    use cranelift_entity::{EntityRef, PrimaryMap};

    /// So many executions.
    pub fn random_cost(rng: &mut fastrand::Rng) -> i64 {
        Units::default().price(rng.i64(0..20) as f64)
    }

    /// A few decisions with random costs, pairs and, if wanted, rows.
    pub fn random(rng: &mut fastrand::Rng, count: usize, rows: usize) -> Decisions {
        let mut decisions = Decisions::default();
        for _ in 0..count {
            let decision = decisions.decide();
            decisions.costs[decision] = [random_cost(rng), if rng.u8(..4) == 0 { random_cost(rng) } else { 0 }];
        }
        for _ in 0..rng.usize(0..2 * count) {
            let [one, zero] = [(); 2].map(|()| Decision::new(rng.usize(..count)));
            decisions.pair(one, zero, random_cost(rng));
        }
        for row in 0..rows as u32 {
            let members = (0..count).filter(|_| rng.bool()).map(Decision::new);
            decisions.runs.extend(members.map(|decision| Run { decision, rows: row..row + 1 }));
            let mut room = rng.u16(0..3);
            let rooms = [(); MOST_BOUGHT + 1].map(|()| {
                room += u16::from(rng.bool());
                room
            });
            decisions.rows.push(RowData { rooms, frequency: rng.f64() });
        }
        decisions
    }

    /// The same with a reliance, if there are three decisions for one.
    pub fn random_relying(rng: &mut fastrand::Rng, count: usize, rows: usize) -> Decisions {
        let mut decisions = random(rng, count, rows);
        let mut members: Vec<Decision> = decisions.costs.keys().collect();
        rng.shuffle(&mut members);
        if let [one, on, unless, ..] = *members {
            let (unless, saved) = (Some(unless).filter(|_| rng.bool()), 1 + random_cost(rng));
            decisions.charge(one, false, saved);
            unless.into_iter().for_each(|unless| decisions.pair(unless, one, FORBIDDEN));
            decisions.rely(Reliance { one, unless, on, saved });
        }
        decisions
    }

    /// What those labels do not save of which one relies on another in vain.
    pub fn in_vain(decisions: &Decisions, labels: u32) -> i64 {
        let is_one = |decision: Decision| labels >> decision.index() & 1 != 0;
        decisions.reliances.iter().filter(|it| it.excess(is_one) > 0).map(|it| it.saved).sum()
    }

    /// A labelling with a bit for each decision.
    pub fn bits(labels: &PrimaryMap<Decision, bool>) -> u32 {
        labels.iter().map(|(decision, &is_one)| u32::from(is_one) << decision.index()).sum()
    }

    /// What a labelling costs, a bit for each decision; `None` if it does not keep to the rows with so many places bought. That one
    /// relies on another in vain, is not asked.
    pub fn cost(decisions: &Decisions, labels: u32, bought: usize) -> Option<i64> {
        let is_one = |decision: Decision| labels >> decision.index() & 1 != 0;
        let load = |row: u32| decisions.runs.iter().filter(|run| run.rows.contains(&row) && is_one(run.decision)).count();
        let fits = |(row, data): (u32, &RowData)| load(row) <= usize::from(data.rooms[bought]);
        let single: i64 = decisions.costs.iter().map(|(decision, costs)| costs[usize::from(is_one(decision))]).sum();
        let cut = decisions.pairs.iter().filter(|pair| is_one(pair.one) && !is_one(pair.zero));
        (0..).zip(&decisions.rows).all(fits).then(|| single + cut.map(|pair| pair.cost).sum::<i64>())
    }

    /// The least that a labelling costs.
    pub fn least(decisions: &Decisions, bought: usize) -> i64 {
        let labels = (0..1 << decisions.costs.len()).filter(|&labels| in_vain(decisions, labels) == 0);
        labels.filter_map(|labels| cost(decisions, labels, bought)).min().expect("nothing at all fits")
    }
}
