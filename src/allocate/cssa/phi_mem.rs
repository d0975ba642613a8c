//! PhiMemCoalesce [PP05, §4.3]: copies that isolate φs are removed as long as no two φ-related values come to interfere.

use super::classes::Classes;
use super::{Conventional, Sharing, Webs};
use crate::analysis::{Dominators, Interference, Liveness};
use crate::machine::{Block, Function, Inst, InstKind, Rewriter, Value};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};

/// A copy that isolates a φ.
pub(super) struct Removable {
    block: Block,
    inst: Inst,
    /// The name that was made for the copy. Only the φ takes or defines it.
    fresh: Value,
    /// The program's value.
    old: Value,
}

/// Removes copies in the order in which φ-lifting made them. `program` is the number of values before that.
pub(super) fn coalesce(lifted: Conventional, dominators: &Dominators, program: usize) -> Conventional {
    remove_copies(lifted, dominators, program, |copies| copies.sort_unstable_by_key(|copy| copy.fresh))
}

/// Removes copies that [`Pairwise`](super::Coalescing::Pairwise) coalescing has inserted, the most frequent first.
/// `program` is the number of values before that.
pub(super) fn remove_redundant(isolated: Conventional, dominators: &Dominators, program: usize) -> Conventional {
    let frequencies: SecondaryMap<Block, f64> =
        isolated.function.blocks.iter().map(|(block, data)| (block, data.frequency)).collect();
    remove_copies(isolated, dominators, program, |copies| {
        copies.sort_unstable_by_key(|copy| copy.fresh);
        copies.sort_by(|a, b| frequencies[b.block].total_cmp(&frequencies[a.block]));
    })
}

/// Merges the classes of each copy's source and target unless they interfere, in some order, and removes copies within a
/// class. The copies of values that cross edges without code stay.
///
/// Classes only grow. So two that interfere when their copy's turn comes also do so in the end, and no copy is left that
/// could be removed without an interference: none is redundant [PP09, §3].
fn remove_copies(
    isolated: Conventional,
    dominators: &Dominators,
    program: usize,
    sort: impl FnOnce(&mut [Removable]),
) -> Conventional {
    let function = &isolated.function;
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, dominators, &liveness);
    let mut classes = Classes::new(function, dominators, &interference, Sharing::Memory);
    merge_phis(function, &mut classes);
    let mut copies = removable(&isolated, program);
    sort(&mut copies);
    let mut renamed: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut removed: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for Removable { inst, fresh, old, .. } in copies {
        if classes.merge(old, fresh) {
            renamed[fresh] = old.into();
            removed[inst] = true;
        }
    }
    let rewritten = without(function, &removed, &renamed);
    let Webs { of: webs, count: web_count } = classes.webs(&rewritten);
    Conventional { function: rewritten, webs, web_count, ..isolated }
}

/// The copies that isolate φs, except those of values that cross edges without code.
fn removable(isolated: &Conventional, program: usize) -> Vec<Removable> {
    let function = &isolated.function;
    let mut without_code = EntitySet::new();
    without_code.extend(isolated.without_code.iter().copied());
    let blocks = function.blocks.keys();
    let insts = blocks.flat_map(|block| function.block_insts(block).map(move |inst| (block, inst)));
    let copies = insts.filter(|&(_, inst)| function.insts[inst].kind == InstKind::Copy).map(|(block, inst)| {
        let [to, from] = [0, 1].map(|k| function.operands(inst)[k].value);
        let (fresh, old) = if to.index() >= program { (to, from) } else { (from, to) };
        Removable { block, inst, fresh, old }
    });
    copies.filter(|copy| copy.fresh.index() >= program && !without_code.contains(copy.fresh)).collect()
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
