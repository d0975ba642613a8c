//! What crosses edges that can take no code in memory, since there are not registers for all.

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

/// What can be in registers at the head of a block, as far as the edges to it say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Code on the edges brings everything there.
    Anything,
    /// What crosses a bundle in registers, neither more nor less.
    Bundle,
    /// What is in registers at all calls that throw there, if it can be in one register at all of them.
    Pads,
    /// Only what cannot be elsewhere.
    Nothing,
}

/// What can be in registers at the head of a block.
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

/// The representatives of what has to be in memory at the bundles of jumps, beside what is `spilled` already. At landing pads,
/// only what cannot be in memory is sure to be in registers, and that too may find none.
///
/// Everything takes one register at each bundle that it crosses, so what is worth most there goes first: sets of values that
/// find registers are the independent sets of a matroid, of which the greedy choice finds the heaviest. Worth most is what is
/// accessed most often for as long as it lives: behind the bundle, too, it is in the way of others until it dies.
pub(super) fn excess(problem: &Problem, spilled: &SecondaryMap<Value, bool>) -> Vec<Value> {
    let Problem { conventional, bundles, liveness, pins, unspillable, limits, .. } = problem;
    let function = &conventional.function;
    let mut tenures: Option<SecondaryMap<Value, Tenure>> = None;
    let mut out: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut excess = Vec::new();
    for (_, meeting) in bundles.iter().filter(|(_, meeting)| !meeting.at_pads || !unspillable.is_empty()) {
        let tenures = tenures.get_or_insert_with(|| tenures_of_names(conventional, liveness));
        let worth = |value: Value| match bundles.related(value) {
            _ if unspillable.contains(value) => f64::INFINITY,
            [] => tenures[value].density(),
            related => related.iter().fold(Tenure::default(), |sum, &value| sum + tenures[value]).density(),
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
        let mut room = Room::new(function, limits, meeting, pins.kept());
        for (_, value) in crossing {
            if !room.admit_crossing(function, bundles, value) {
                out[value] = true;
                excess.push(value);
            }
        }
    }
    excess
}

/// How a value lives.
#[derive(Clone, Copy, Default)]
struct Tenure {
    /// How often it is accessed.
    accesses: f64,
    /// How often instructions are executed that it lives at.
    length: f64,
}

impl Tenure {
    fn density(self) -> f64 {
        self.accesses / self.length.max(f64::MIN_POSITIVE)
    }
}

impl Add for Tenure {
    type Output = Tenure;

    fn add(self, other: Tenure) -> Tenure {
        Tenure { accesses: self.accesses + other.accesses, length: self.length + other.length }
    }
}

/// How each value lives; what is only there to cross edges without code lives on in what it is copied to.
fn tenures_of_names(conventional: &Conventional, liveness: &Liveness) -> SecondaryMap<Value, Tenure> {
    let function = &conventional.function;
    let mut tenures = tenures(function, liveness);
    let mut without_code: EntitySet<Value> = EntitySet::new();
    without_code.extend(conventional.without_code.iter().copied());
    let copies = function.insts.keys().filter(|&inst| function.insts[inst].kind == InstKind::Copy);
    for inst in copies {
        let [to, from] = [0, 1].map(|k| function.operands(inst)[k].value);
        if without_code.contains(from) {
            tenures[from] = tenures[from] + tenures[to];
        }
    }
    tenures
}

fn tenures(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, Tenure> {
    let accesses = cost::accesses(function);
    let mut tenures: SecondaryMap<Value, Tenure> = of_each(function.values.len());
    for (block, data) in &function.blocks {
        // From where it ends, less to where it begins; what is live in begins where the block does.
        let end = data.insts.len() as f64;
        liveness.live_out(block).iter().for_each(|&value| tenures[value].length += data.frequency * end);
        for (index, inst) in function.block_insts(block).enumerate() {
            let (first, operands) = (function.insts[inst].operands.start as usize, function.operands(inst));
            let at = data.frequency * index as f64;
            for (k, operand) in operands.iter().enumerate() {
                let begins = operand.is_def();
                let ends = liveness.kills(first + k) && (begins || is_first_use(operands, k));
                tenures[operand.value].length += at * f64::from(i32::from(ends) - i32::from(begins));
            }
        }
    }
    function.values.keys().for_each(|value| tenures[value].accesses = accesses[value]);
    tenures
}

/// The registers at a bundle, and who wants them.
pub(super) struct Room<'a> {
    limits: &'a Limits,
    meeting: &'a Meeting,
    occupied: RegSet,
    counts: Counts,
    wants: Vec<Want>,
}

impl<'a> Room<'a> {
    /// Beside what the program occupies, some registers are `kept` from everybody.
    pub(super) fn new(function: &Function, limits: &'a Limits, meeting: &'a Meeting, kept: RegSet) -> Self {
        let mut counts = Counts::default();
        for &class in &meeting.read {
            limits.count(&mut counts, class, 1);
        }
        Room { limits, meeting, occupied: meeting.occupied | kept, counts, wants: meeting::read(function, meeting) }
    }

    /// Has a representative cross, if there is a register for it.
    pub(super) fn admit_crossing(&mut self, function: &Function, bundles: &Bundles, value: Value) -> bool {
        let domain = meeting::domain(function, bundles, self.meeting, value) - self.occupied;
        self.admit(function.values[value].class, meeting::want(domain, domain.iter().collect()))
    }

    /// Has one more register wanted, if there is one.
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
