//! The registers that suit a value, because they save moves or cost some.

use super::Preference;
use crate::allocate::cost;
use crate::analysis::grouped::Grouped;
use crate::analysis::{Liveness, PinLiveness, contested};
use crate::machine::{Function, InstKind, Reg, RegSet, Value};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Something with which a value would save a move by sharing its register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Partner {
    /// A pinned register from or to which it is copied.
    Pin(Reg),
    /// A value from or to which it is copied, or to which a φ or a two-address instruction relates it.
    Value(Value),
}

/// The preferences of values, as far as they are known before assignment starts.
pub(super) struct Preferences {
    partners: Grouped<Value, (Partner, f32)>,
    /// The registers that are pinned or clobbered somewhere in the live range, so that the value would have to leave them.
    contested: SecondaryMap<Value, RegSet>,
}

impl Preferences {
    pub(super) fn new(function: &Function, liveness: &Liveness, pins: &PinLiveness, preference: Preference) -> Self {
        let partners = match preference {
            Preference::None => Vec::new(),
            Preference::FixedPoints => fixed_points(function, liveness),
            Preference::Frequency => by_frequency(function),
            Preference::Punctual => of_definitions(function),
        };
        let partners = foremost(Grouped::new(function.values.len(), &partners));
        Preferences { partners, contested: contested(function, liveness, pins) }
    }

    /// The value's partners, each with the moves that sharing its register saves.
    pub(super) fn partners(&self, value: Value) -> &[(Partner, f32)] {
        self.partners.get(value)
    }

    /// The registers that the value cannot keep all its life.
    pub(super) fn contested(&self, value: Value) -> RegSet {
        self.contested[value]
    }
}

/// How many partners of a value are considered. All of them are looked at whenever a register is chosen for the value, which
/// would take too long for a φ of tens of thousands of arguments.
const LOOKED_AT: usize = 1_000;

/// For each value, the partners that are worth most, in their old order.
fn foremost(partners: Grouped<Value, (Partner, f32)>) -> Grouped<Value, (Partner, f32)> {
    let values = || (0..partners.keys()).map(Value::new);
    if values().all(|value| partners.get(value).len() <= LOOKED_AT) {
        return partners;
    }
    let mut pairs = Vec::new();
    for value in values() {
        let mut ranked: Vec<(usize, (Partner, f32))> = partners.get(value).iter().copied().enumerate().collect();
        if ranked.len() > LOOKED_AT {
            ranked.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
            ranked.truncate(LOOKED_AT);
            ranked.sort_unstable_by_key(|&(place, _)| place);
        }
        pairs.extend(ranked.into_iter().map(|(_, partner)| (value, partner)));
    }
    Grouped::new(partners.keys(), &pairs)
}

/// Partners as in [PP05, §4.4]: above all the source of a copy that dies there, and one point for each argument or
/// definition of a φ.
fn fixed_points(function: &Function, liveness: &Liveness) -> Vec<(Value, (Partner, f32))> {
    const COPY: f32 = 1e4;
    let mut pairs = Vec::new();
    for (block, data) in &function.blocks {
        for phi in &data.phis {
            for value in phi.args.iter().filter_map(|arg| arg.expand()) {
                pairs.push((phi.def, (Partner::Value(value), 1.0)));
                pairs.push((value, (Partner::Value(phi.def), 1.0)));
            }
        }
        for inst in function.block_insts(block) {
            let operands = function.operands(inst);
            let first = function.insts[inst].operands.start as usize;
            match function.insts[inst].kind {
                InstKind::Copy if liveness.kills(first + 1) => {
                    pairs.push((operands[0].value, (Partner::Value(operands[1].value), COPY)));
                }
                InstKind::CopyFrom(reg) => pairs.push((operands[0].value, (Partner::Pin(reg), COPY))),
                _ => {}
            }
        }
    }
    pairs
}

/// For each definition, the partners from which it is copied where it is defined.
fn of_definitions(function: &Function) -> Vec<(Value, (Partner, f32))> {
    let mut pairs = Vec::new();
    for (block, data) in &function.blocks {
        for phi in &data.phis {
            let args = phi.args.iter().zip(&data.preds).filter_map(|(arg, &from)| Some((arg.expand()?, from)));
            pairs.extend(args.map(|(arg, from)| (phi.def, (Partner::Value(arg), cost::edge(function, from, block) as f32))));
        }
        for inst in function.block_insts(block) {
            let operands = function.operands(inst);
            let source = |k: usize| Partner::Value(operands[k].value);
            let mut relate = |def: Value, partner: Partner| pairs.push((def, (partner, data.frequency as f32)));
            for operand in operands {
                operand.reuse.into_iter().for_each(|reused| relate(operand.value, source(usize::from(reused))));
            }
            match function.insts[inst].kind {
                InstKind::Copy => relate(operands[0].value, source(1)),
                InstKind::CopyFrom(reg) => relate(operands[0].value, Partner::Pin(reg)),
                _ => {}
            }
        }
    }
    pairs
}

/// All partners, with the executions of the moves that sharing a register saves.
fn by_frequency(function: &Function) -> Vec<(Value, (Partner, f32))> {
    let mut pairs = Vec::new();
    let mut relate = |a: Value, b: Value, frequency: f64| {
        pairs.push((a, (Partner::Value(b), frequency as f32)));
        pairs.push((b, (Partner::Value(a), frequency as f32)));
    };
    for (block, data) in &function.blocks {
        for phi in &data.phis {
            for (arg, &pred) in phi.args.iter().zip(&data.preds) {
                if let Some(value) = arg.expand() {
                    relate(phi.def, value, cost::edge(function, pred, block));
                }
            }
        }
        for inst in function.block_insts(block) {
            let operands = function.operands(inst);
            for operand in operands {
                if let Some(reused) = operand.reuse {
                    relate(operand.value, operands[usize::from(reused)].value, data.frequency);
                }
            }
            if function.insts[inst].kind == InstKind::Copy {
                relate(operands[0].value, operands[1].value, data.frequency);
            }
        }
    }
    for (block, data) in &function.blocks {
        for inst in function.block_insts(block) {
            if let InstKind::CopyTo(reg) | InstKind::CopyFrom(reg) = function.insts[inst].kind {
                let operand = &function.operands(inst)[0];
                pairs.push((operand.value, (Partner::Pin(reg), data.frequency as f32)));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_partners_those_worth_most_stay_in_their_order() {
        let [few, many] = [0, 1].map(Value::new);
        let partner = |worth: usize| (Partner::Value(Value::new(2 + worth)), (worth % (2 * LOOKED_AT)) as f32);
        let mut pairs = vec![(few, partner(1)), (few, partner(0))];
        pairs.extend((0..4 * LOOKED_AT).map(|worth| (many, partner(worth))));
        let foremost = foremost(Grouped::new(2, &pairs));
        let worths = |value| -> Vec<f32> { foremost.get(value).iter().map(|&(_, worth)| worth).collect() };
        assert_eq!(worths(few), [1.0, 0.0]);
        let half = (3 * LOOKED_AT / 2..2 * LOOKED_AT).map(|worth| worth as f32);
        assert_eq!(worths(many), half.clone().chain(half).collect::<Vec<f32>>());
    }
}
