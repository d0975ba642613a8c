//! Values that can be computed again instead of being reloaded.
//!
//! Constants and addresses can be rematerialised anywhere. Values that an instruction computes from another value can be
//! recomputed where that value is in a register.

use crate::allocate::ssa::conventional::{Conventional, Web};
use crate::analysis::Liveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Inst, InstFlags, InstKind, RegClass, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// The definition of each value that can be recomputed from another one.
pub(super) fn recomputable(conventional: &Conventional, liveness: &Liveness) -> Constants {
    let Conventional { function, webs, .. } = conventional;
    let mut recomputable = Constants::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.is(InstFlags::RECOMPUTABLE)) {
        if !liveness.kills(data.operands.start as usize + 1) {
            recomputable[function.operands(inst)[0].value] = inst.into();
        }
    }
    // A copy may share its home with the value that it copies, while both live. If that value were computed again and stored
    // there, the home would hold the copy's content without the copy having been executed. So it is not recomputed.
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

/// For each value that can be rematerialised, the imported instruction that computes it again.
pub(super) type Constants = SecondaryMap<Value, PackedOption<Inst>>;

/// The values that can be rematerialised, in two groups: those that never need a slot, and those in φ-webs, which may need
/// one because φs in memory take their arguments from slots.
///
/// The second group includes the copies that isolate φs. It leaves out webs of several classes: a constant that can be
/// computed into a register of one class need not be one that can be computed into a register of another.
pub(super) fn constants(conventional: &Conventional) -> (Constants, Constants) {
    let function = &conventional.function;
    let mut outside = of_each(function.values.len());
    let mut of_webs = SecondaryMap::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.is(InstFlags::REMATERIALISABLE)) {
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
