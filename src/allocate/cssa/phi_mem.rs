//! PhiMemCoalesce [PP05, §4.3]: after φ-lifting, copies are removed as long as no two φ-related values come to interfere.

use super::classes::Classes;
use super::{Conventional, Sharing, Webs};
use crate::analysis::{Dominators, Interference, Liveness};
use crate::machine::{Function, Inst, Rewriter, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Merges the classes of each copy's source and target unless they interfere, in the order in which φ-lifting made the
/// copies, and removes copies within a class. The copies of values that cross edges without code stay.
pub(super) fn coalesce(lifted: Conventional, dominators: &Dominators) -> Conventional {
    let function = &lifted.function;
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, dominators, &liveness);
    let mut classes = Classes::new(function, dominators, &interference, Sharing::Memory);
    merge_phis(function, &mut classes);
    let mut without_code = EntitySet::new();
    without_code.extend(lifted.without_code.iter().copied());
    // Every φ was lifted, so the values that it names were made for its copies. A copy that is removed takes its name along.
    let mut lifted_names = EntitySet::new();
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        lifted_names.extend(phi.args.iter().filter_map(|arg| arg.expand()).chain([phi.def]));
    }
    let mut copies: Vec<(Value, Value, Inst)> = function
        .insts
        .keys()
        .filter(|&inst| function.insts[inst].origin.is_none())
        .map(|inst| {
            let [a, b] = [0, 1].map(|k| function.operands(inst)[k].value);
            if lifted_names.contains(a) { (a, b, inst) } else { (b, a, inst) }
        })
        .filter(|&(fresh, old, _)| !without_code.contains(fresh) && !without_code.contains(old))
        .collect();
    copies.sort_unstable();
    let mut renamed: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut removed: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (fresh, old, inst) in copies {
        if classes.merge(old, fresh) {
            renamed[fresh] = old.into();
            removed[inst] = true;
        }
    }
    let rewritten = without(function, &removed, &renamed);
    let Webs { of: webs, count: web_count } = classes.webs(&rewritten);
    Conventional { function: rewritten, webs, web_count, without_code: lifted.without_code, counts: lifted.counts }
}

/// Merges the classes of the definition and the arguments of each φ, all of which are isolated.
pub(super) fn merge_phis(function: &Function, classes: &mut Classes) {
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
            let conventional = classes.merge(phi.def, arg);
            debug_assert!(conventional, "{} and {arg} are isolated", phi.def);
        }
    }
}

/// The function without the removed copies. Only φs name the values that were made for these, and are renamed.
pub(super) fn without(
    function: &Function,
    removed: &SecondaryMap<Inst, bool>,
    renamed: &SecondaryMap<Value, PackedOption<Value>>,
) -> Function {
    let mut rewriter = Rewriter::new(function);
    for block in function.blocks.keys() {
        rewriter.begin(block);
        for inst in function.block_insts(block).filter(|&inst| !removed[inst]) {
            rewriter.copy(inst, function.operands(inst));
        }
        rewriter.end();
    }
    for phi in rewriter.new.blocks.values_mut().flat_map(|data| &mut data.phis) {
        phi.def = renamed[phi.def].expand().unwrap_or(phi.def);
        for arg in &mut phi.args {
            *arg = arg.map(|value| renamed[value].expand().unwrap_or(value)).into();
        }
    }
    rewriter.new
}
