//! Whether there is a register for every value at one instruction: the question that assignment will ask.

use super::demand::{Excess, LastUse, first_reuse, is_first_use};
use super::limits::Limits;
use super::matching::{Order, Span, Want, fit, fit_by_augmenting};
use crate::analysis::Occupancy;
use crate::machine::{Function, Inst, Reg, RegClass, RegSet, Role, Value};

/// The register set that cannot be distributed, if there is no way to. Where no class confines some values more than others,
/// there is a way if the counts say so (see [`Limits`]).
///
/// `live` are the values in registers before the instruction. A value that lives on in a register of the program comes with
/// that register.
pub(in crate::allocate) fn misfit(
    function: &Function,
    limits: &Limits,
    inst: Inst,
    occupancy: &Occupancy,
    live: impl Iterator<Item = (Value, Option<Reg>)>,
    folded: Option<usize>,
    last_use: impl Fn(usize) -> LastUse,
) -> Option<Excess> {
    if !limits.are_nested() || (occupancy.is_empty() && function.operands(inst).iter().all(|o| o.reuse.is_none())) {
        return None;
    }
    let operands = function.operands(inst);
    let spanning = occupancy.before | occupancy.after;
    let (mut classes, mut wants): (Vec<RegClass>, Vec<Want>) = Default::default();
    let mut want = |class: RegClass, span: Span, within: RegSet, occupied: RegSet| {
        let info = &function.file.classes[class];
        let domain = (info.regs & within) - occupied;
        classes.push(class);
        wants.push(Want { span, domain, current: None, order: Order::from_slice(&info.order) });
    };
    let class_of = |k: usize| function.values[operands[k].value].class;
    let regs_of = |k: usize| function.allowed(operands[k].value);
    let everything = RegSet::from_bits(u128::MAX);
    let dies = |value: Value| {
        operands.iter().enumerate().any(|(k, o)| o.value == value && !o.is_def() && last_use(k) == LastUse::OfValue)
    };
    for (value, holder) in live.filter(|&(value, _)| !dies(value)) {
        match holder {
            Some(reg) => want(function.values[value].class, Span::Both, RegSet::only(reg), RegSet::EMPTY),
            None => want(function.values[value].class, Span::Both, everything, spanning | occupancy.clobbers),
        }
    }
    for (k, operand) in operands.iter().enumerate().filter(|&(k, _)| Some(k) != folded) {
        match (operand.role, operand.reuse.map(usize::from)) {
            (Role::Use, _) if !is_first_use(operands, k) || last_use(k) == LastUse::No => {}
            (Role::Use, _) => match first_reuse(operands, operand.value) {
                Some(def) => want(class_of(k), Span::Both, regs_of(def), spanning),
                None => want(class_of(k), Span::Before, everything, occupancy.before),
            },
            (_, Some(use_)) => {
                let chained = last_use(use_) != LastUse::No && first_reuse(operands, operands[use_].value) == Some(k);
                if !chained {
                    want(class_of(k), Span::Both, regs_of(use_), spanning);
                }
            }
            (Role::EarlyDef, None) => want(class_of(k), Span::Both, everything, spanning),
            (Role::Def, None) => want(class_of(k), Span::After, everything, occupancy.after),
        }
    }
    if fit_by_augmenting(&wants) {
        return None;
    }
    // Banks are independent of each other.
    let bank_of = |class: RegClass| function.file.classes[class].bank;
    function.file.banks.keys().find_map(|bank| {
        let of_bank = classes.iter().zip(&wants).filter(|&(&class, _)| bank_of(class) == bank);
        let (classes, wants): (Vec<RegClass>, Vec<Want>) = of_bank.map(|(&class, want)| (class, want.clone())).unzip();
        let set = limits.widest(limits.set_of(*classes.first()?));
        fit(&wants).is_none().then_some(Excess { set, while_reading: false })
    })
}
