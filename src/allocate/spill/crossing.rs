//! What crosses edges that can take no code in memory, since there are not registers for all.

use super::Problem;
use crate::allocate::cost;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::pressure::matching::{Want, fit};
use crate::allocate::pressure::meeting;
use crate::analysis::Meeting;
use crate::machine::{Block, EdgePlace, Function, RegClass, Value};
use cranelift_entity::SecondaryMap;

/// What can be in registers at the head of a block, as far as the edges to it say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Code on the edges brings everything there.
    Anything,
    /// What crosses a bundle in registers, neither more nor less.
    Bundle,
    /// Only what cannot be elsewhere.
    Nothing,
}

/// What can be in registers at the head of a block.
pub(super) fn head(problem: &Problem, block: Block) -> Head {
    let Problem { conventional, bundles, .. } = problem;
    let function = &conventional.function;
    let bundle = bundles.entry(block);
    let mut without_code =
        function.blocks[block].preds.iter().filter(|&&pred| function.edge_place(pred, block) == EdgePlace::Nowhere);
    if without_code.any(|&pred| bundle.is_none() || bundles.exit(pred) != bundle) {
        Head::Nothing
    } else if bundle.is_some() {
        Head::Bundle
    } else {
        Head::Anything
    }
}

/// The representatives of what has to be in memory at the bundles, beside what is `spilled` already.
///
/// Everything takes one register at each bundle that it crosses, so what is accessed most often goes first: sets of values
/// that find registers are the independent sets of a matroid, of which the greedy choice finds the heaviest.
pub(super) fn excess(problem: &Problem, spilled: &SecondaryMap<Value, bool>) -> Vec<Value> {
    let Problem { conventional, bundles, unspillable, limits, .. } = problem;
    let function = &conventional.function;
    let mut accesses: Option<SecondaryMap<Value, f64>> = None;
    let mut out: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut excess = Vec::new();
    for (_, meeting) in bundles.iter() {
        let accesses = accesses.get_or_insert_with(|| cost::accesses(function));
        let gain = |value: Value| -> f64 {
            let related = bundles.related(value).iter().filter(|&&other| other != value);
            if unspillable.contains(value) {
                f64::INFINITY
            } else {
                accesses[value] + related.map(|&other| accesses[other]).sum::<f64>()
            }
        };
        let mut crossing: Vec<(f64, Value)> = meeting
            .crossing
            .iter()
            .chain(&meeting.beside)
            .filter(|&&value| !spilled[value] && !out[value])
            .map(|&value| (gain(value), value))
            .collect();
        crossing.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = Room::new(function, limits, meeting);
        for (_, value) in crossing {
            let domain = meeting::domain(function, bundles, meeting, value);
            if !room.admit(function.values[value].class, meeting::want(domain, domain.iter().collect())) {
                out[value] = true;
                excess.push(value);
            }
        }
    }
    excess
}

/// The registers at a bundle, and who wants them.
pub(super) struct Room<'a> {
    limits: &'a Limits,
    meeting: &'a Meeting,
    counts: Counts,
    wants: Vec<Want>,
}

impl<'a> Room<'a> {
    pub(super) fn new(function: &Function, limits: &'a Limits, meeting: &'a Meeting) -> Self {
        let mut counts = Counts::default();
        for &class in &meeting.read {
            limits.count(&mut counts, class, 1);
        }
        Room { limits, meeting, counts, wants: meeting::read(function, meeting) }
    }

    /// Has one more register wanted, if there is one.
    pub(super) fn admit(&mut self, class: RegClass, want: Want) -> bool {
        self.limits.count(&mut self.counts, class, 1);
        self.wants.push(want);
        let spare = self.limits.spare();
        let fits = self.limits.exceeded(&[&self.counts], self.meeting.occupied, spare).is_none() && fit(&self.wants).is_some();
        if !fits {
            self.limits.count(&mut self.counts, class, -1);
            self.wants.pop();
        }
        fits
    }
}
