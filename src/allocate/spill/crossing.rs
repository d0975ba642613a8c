//! Which values cross edges without code in memory, because there are not enough registers for all of them.
//!
//! The edges of a bundle must agree where each value is, so the decision is made once for a bundle and holds at all its
//! ends.
//!
//! Requires: bundles, and which values are spilled already.
//! Ensures: the values that stay in registers find one each at every bundle of jumps that they cross.
//! Relies on: sets of values that can be matched with registers are the independent sets of a matroid, for which
//! the greedy choice is optimal.

use super::problem::Problem;
use crate::allocate::cost;
use crate::allocate::pressure::demand::is_first_use;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::pressure::matching::{Want, fit};
use crate::allocate::pressure::meeting;
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundles, Liveness, Meeting};
use crate::machine::{Block, BlockData, Function, InstKind, RegClass, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::ops::Add;

/// The values that the edges into a block allow in registers at its head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Any: code on the edges can bring each to its place.
    Anything,
    /// Exactly those that cross the bundle in registers.
    Bundle,
    /// Those in registers at all calls that throw to the block, if one register is possible at all of them.
    Pads,
    /// Only those that cannot be in memory.
    Nothing,
}

/// The values that can be in registers at the head of a block.
pub(super) fn head(problem: &Problem, block: Block) -> Head {
    let Problem { conventional, bundles, .. } = problem;
    let function = &conventional.function;
    let BlockData { landing_pad, preds, .. } = &function.blocks[block];
    let bundle = bundles.entry(block);
    let left_by = |pred: Block| if *landing_pad { bundles.throw(pred) } else { bundles.exit(pred) };
    let mut without_code = preds.iter().filter(|&&pred| function.takes_no_code(pred, block));
    if without_code.any(|&pred| bundle.is_none() || left_by(pred) != bundle) {
        return Head::Nothing;
    }
    match bundle {
        None => Head::Anything,
        Some(_) if !landing_pad => Head::Bundle,
        Some(_) if problem.abilities.decides_at_pads => Head::Pads,
        Some(_) => Head::Nothing,
    }
}

/// Whether the spiller decides which values cross a bundle in registers.
pub(super) fn is_decided_by_spiller(problem: &Problem, meeting: &Meeting) -> bool {
    problem.abilities.decides_at_jumps && !meeting.at_pads
}

/// The values that have to be in memory at bundles, besides those that are `spilled` already, by their representatives.
/// Bundles about which the spiller decides are left to it.
pub(super) fn excess(problem: &Problem, spilled: &SecondaryMap<Value, bool>) -> Vec<Value> {
    excess_at(problem, spilled, |meeting| !is_decided_by_spiller(problem, meeting), |_| true)
}

/// The values that have to be in memory at the bundles about which the spiller has decided: those that do not cross in a
/// register by its decision, and those for which there is none.
pub(super) fn decided_excess(
    problem: &Problem,
    spilled: &SecondaryMap<Value, bool>,
    crosses: impl Fn(Value) -> bool,
) -> Vec<Value> {
    excess_at(problem, spilled, |meeting| is_decided_by_spiller(problem, meeting), crosses)
}

/// The values that have to be in memory at certain bundles. Only those that `crosses` accepts can be in registers there.
///
/// At bundles of jumps, every value takes one register, and those worth most choose first: that finds the set of greatest
/// worth that can be in registers, since such sets form a matroid. The worth of a value is how often it is accessed for as
/// long as it lives, because past the bundle, too, it keeps a register from others until it dies.
///
/// At bundles of landing pads, only values that cannot be in memory are considered. Even they may find no register.
fn excess_at(
    problem: &Problem,
    spilled: &SecondaryMap<Value, bool>,
    is_looked_at: impl Fn(&Meeting) -> bool,
    crosses: impl Fn(Value) -> bool,
) -> Vec<Value> {
    let Problem { conventional, bundles, liveness, pins, unspillable, limits, .. } = problem;
    let function = &conventional.function;
    let mut lifetimes: Option<SecondaryMap<Value, Lifetime>> = None;
    let mut out: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut excess = Vec::new();
    let matters = |meeting: &Meeting| (!meeting.at_pads || !unspillable.is_empty()) && is_looked_at(meeting);
    for (_, meeting) in bundles.iter().filter(|(_, meeting)| matters(meeting)) {
        let lifetimes = lifetimes.get_or_insert_with(|| lifetimes_of_names(conventional, liveness));
        let worth = |value: Value| match bundles.related(value) {
            _ if unspillable.contains(value) => f64::INFINITY,
            [] => lifetimes[value].density(),
            related => related.iter().fold(Lifetime::default(), |sum, &value| sum + lifetimes[value]).density(),
        };
        let mut crossing: Vec<(f64, Value)> = meeting
            .crossing
            .iter()
            .chain(&meeting.beside)
            .filter(|&&value| !spilled[value] && !out[value])
            .filter(|&&value| !meeting.at_pads || unspillable.contains(value))
            .map(|&value| (worth(value), value))
            .collect();
        crossing.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = BundleRoom::new(function, limits, meeting, pins.kept());
        for (_, value) in crossing {
            if !crosses(value) || !room.admit_crossing(function, bundles, value) {
                out[value] = true;
                excess.push(value);
            }
        }
    }
    excess
}

/// How long a value lives, and how often it is accessed meanwhile.
#[derive(Clone, Copy, Default)]
struct Lifetime {
    /// Executions of the instructions that access it.
    accesses: f64,
    /// Executions of the instructions at which it is live.
    length: f64,
}

impl Lifetime {
    fn density(self) -> f64 {
        self.accesses / self.length.max(f64::MIN_POSITIVE)
    }
}

impl Add for Lifetime {
    type Output = Lifetime;

    fn add(self, other: Lifetime) -> Lifetime {
        Lifetime { accesses: self.accesses + other.accesses, length: self.length + other.length }
    }
}

/// The lifetime of each value. That of a value which only serves to cross edges without code includes that of its copies.
fn lifetimes_of_names(conventional: &Conventional, liveness: &Liveness) -> SecondaryMap<Value, Lifetime> {
    let function = &conventional.function;
    let mut lifetimes = lifetimes(function, liveness);
    let mut without_code: EntitySet<Value> = EntitySet::new();
    without_code.extend(conventional.without_code.iter().copied());
    let copies = function.insts.keys().filter(|&inst| function.insts[inst].kind == InstKind::Copy);
    for inst in copies {
        let [to, from] = [0, 1].map(|k| function.operands(inst)[k].value);
        if without_code.contains(from) {
            lifetimes[from] = lifetimes[from] + lifetimes[to];
        }
    }
    lifetimes
}

fn lifetimes(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, Lifetime> {
    let accesses = cost::accesses(function);
    let mut lifetimes: SecondaryMap<Value, Lifetime> = of_each(function.values.len());
    for (block, data) in &function.blocks {
        // A lifetime is the index at which it ends, less that at which it begins. Live-in values begin at 0.
        let end = data.insts.len() as f64;
        liveness.live_out(block).iter().for_each(|&value| lifetimes[value].length += data.frequency * end);
        for (index, inst) in function.block_insts(block).enumerate() {
            let (first, operands) = (function.insts[inst].operands.start as usize, function.operands(inst));
            let at = data.frequency * index as f64;
            for (k, operand) in operands.iter().enumerate() {
                let begins = operand.is_def();
                let ends = liveness.kills(first + k) && (begins || is_first_use(operands, k));
                lifetimes[operand.value].length += at * f64::from(i32::from(ends) - i32::from(begins));
            }
        }
    }
    function.values.keys().for_each(|value| lifetimes[value].accesses = accesses[value]);
    lifetimes
}

/// The registers at a bundle, and the values that have been admitted to them.
pub(super) struct BundleRoom<'a> {
    limits: &'a Limits,
    meeting: &'a Meeting,
    occupied: RegSet,
    counts: Counts,
    wants: Vec<Want>,
}

impl<'a> BundleRoom<'a> {
    /// All registers but those that the program occupies, or that are `kept` from every value.
    pub(super) fn new(function: &Function, limits: &'a Limits, meeting: &'a Meeting, kept: RegSet) -> Self {
        let mut counts = Counts::default();
        for &class in &meeting.read {
            limits.count(&mut counts, class, 1);
        }
        BundleRoom { limits, meeting, occupied: meeting.occupied | kept, counts, wants: meeting::read(function, meeting) }
    }

    /// Admits a representative if there is a register for it; says whether there is.
    pub(super) fn admit_crossing(&mut self, function: &Function, bundles: &Bundles, value: Value) -> bool {
        let domain = meeting::domain(function, bundles, self.meeting, value) - self.occupied;
        self.admit(function.values[value].class, meeting::want(domain, domain.iter().collect()))
    }

    /// Admits a value if the registers suffice for it and all that were admitted before.
    fn admit(&mut self, class: RegClass, want: Want) -> bool {
        self.limits.count(&mut self.counts, class, 1);
        self.wants.push(want);
        let spare = self.limits.spare();
        let fits = self.limits.exceeded(&self.counts, self.occupied, spare).is_none() && fit(&self.wants).is_some();
        if !fits {
            self.limits.count(&mut self.counts, class, -1);
            self.wants.pop();
        }
        fits
    }
}
