//! Values that can be computed again: constants and addresses, wherever they are needed, and values that an instruction computes
//! from another one, where that is in a register.

use crate::allocate::ssa::conventional::{Conventional, Web};
use crate::analysis::Liveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Inst, InstKind, RegClass, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Of each value, its definition, if that is recomputable.
pub(super) fn recomputable(conventional: &Conventional, liveness: &Liveness) -> Constants {
    let Conventional { function, webs, .. } = conventional;
    let mut recomputable = Constants::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.recomputable) {
        if !liveness.kills(data.operands.start as usize + 1) {
            recomputable[function.operands(inst)[0].value] = inst.into();
        }
    }
    // A copy may share its home with what it copies while both live. What has been computed again and is stored there is equal to
    // the copy, but nobody has copied it.
    for (inst, _) in function.insts.iter().filter(|(_, data)| data.kind == InstKind::Copy) {
        if let [to, from] = *function.operands(inst)
            && webs[to.value].is_some()
            && webs[to.value] == webs[from.value]
        {
            recomputable[from.value] = None.into();
        }
    }
    recomputable
}

/// The imported instruction that computes a value again, wherever it is wanted.
pub(super) type Constants = SecondaryMap<Value, PackedOption<Inst>>;

/// The values that can be computed again and need no slot, and those that may need one: φs in memory take their arguments from
/// slots. Among the latter are the copies that isolate φs, but no member of a web of several classes: what can be computed into
/// the register of one may not be into another's.
pub(super) fn constants(conventional: &Conventional) -> (Constants, Constants) {
    let function = &conventional.function;
    let mut outside = of_each(function.values.len());
    let mut of_webs = SecondaryMap::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.rematerialisable) {
        let def = function.operands(inst)[0].value;
        if !function.names_registers(inst) {
            let constants = if conventional.webs[def].is_none() { &mut outside } else { &mut of_webs };
            constants[def] = data.origin;
        }
    }
    let class = |value: Value| function.values[value].class;
    let isolating = function.insts.iter().filter(|(_, data)| data.kind == InstKind::Copy && data.origin.is_none());
    for (inst, _) in isolating {
        if let [to, from] = *function.operands(inst)
            && class(to.value) == class(from.value)
        {
            of_webs[to.value] = outside[from.value].expand().or(of_webs[from.value].expand()).into();
        }
    }
    let member = |value: Value| Some((value, conventional.webs[value].expand()?));
    let mut class_of: SecondaryMap<Web, Option<RegClass>> = of_each(conventional.web_count);
    let mut mixed: EntitySet<Web> = EntitySet::new();
    for (value, web) in function.values.keys().filter_map(member) {
        if *class_of[web].get_or_insert(class(value)) != class(value) {
            mixed.insert(web);
        }
    }
    for (value, _) in function.values.keys().filter_map(member).filter(|&(_, web)| mixed.contains(web)) {
        of_webs[value] = None.into();
    }
    (outside, of_webs)
}
