//! Whether there is a register for every value at one instruction: the question that assignment will ask.

use super::demand::{Residence, first_reuse, is_first_use};
use crate::analysis::Occupancy;
use crate::assign::fit::{Span, Want, fit};
use crate::machine::{Function, Inst, RegClass, RegSet, Role, Value};

/// The class of a value for which there is no register, if there is one: of those concerned, the most confined.
///
/// `live` are the values in registers before the instruction.
pub(super) fn misfit(
    function: &Function,
    inst: Inst,
    occupancy: &Occupancy,
    live: &[Value],
    folded: Option<usize>,
    residence: impl Fn(usize) -> Residence,
) -> Option<RegClass> {
    let operands = function.operands(inst);
    let spanning = occupancy.before | occupancy.after;
    let mut wants: Vec<(RegClass, Want)> = Vec::with_capacity(live.len() + operands.len());
    let mut want = |class: RegClass, span: Span, within: RegSet, occupied: RegSet| {
        let info = &function.file.classes[class];
        let domain = (info.regs & within) - occupied;
        wants.push((class, Want { span, domain, current: None, order: info.order.clone() }));
    };
    let class_of = |k: usize| function.values[operands[k].value].class;
    let regs_of = |k: usize| function.allowed(operands[k].value);
    let everything = RegSet::from_bits(u128::MAX);
    let dies = |value: Value| {
        operands.iter().enumerate().any(|(k, o)| o.value == value && !o.is_def() && residence(k) == Residence::Dies)
    };
    for &value in live.iter().filter(|&&value| !dies(value)) {
        want(function.values[value].class, Span::Both, everything, spanning | occupancy.clobbers);
    }
    for (k, operand) in operands.iter().enumerate().filter(|&(k, _)| Some(k) != folded) {
        match (operand.role, operand.reuse.map(usize::from)) {
            (Role::Use, _) if !is_first_use(operands, k) || residence(k) == Residence::LivesOn => {}
            (Role::Use, _) => match first_reuse(operands, operand.value) {
                Some(def) => want(class_of(k), Span::Both, regs_of(def), spanning),
                None => want(class_of(k), Span::Before, everything, occupancy.before),
            },
            (_, Some(use_)) => {
                let chained = residence(use_) != Residence::LivesOn && first_reuse(operands, operands[use_].value) == Some(k);
                if !chained {
                    want(class_of(k), Span::Both, regs_of(use_), spanning);
                }
            }
            (Role::EarlyDef, None) => want(class_of(k), Span::Both, everything, spanning),
            (Role::Def, None) => want(class_of(k), Span::After, everything, occupancy.after),
        }
    }
    let (classes, wants): (Vec<RegClass>, Vec<Want>) = wants.into_iter().unzip();
    if fit(&wants).is_some() {
        return None;
    }
    classes.into_iter().min_by_key(|&class| function.file.classes[class].regs.len())
}
