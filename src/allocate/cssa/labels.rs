//! Copies of φs' definitions are taken back at crowded labels of computed jumps.
//!
//! A φ on edges without code is isolated from the rest of the program, so its definition is copied to the program's name at
//! the head of its block. Where such a label has more φs than there are registers, most of them are in memory, and each of
//! the two names has a home: whatever the program keeps in memory is copied from slot to slot at each label. So here the φ
//! defines the program's name directly, which then shares the home of the web, unless the two interfere.
//!
//! Where there are enough registers, the copy is worth more than it costs: the name can be in memory although the web is in
//! a register.

use super::phi_mem::{merge_phis, without};
use super::{Classes, Conventional, ConversionCounts, Sharing, Webs, is_entered_without_code};
use crate::analysis::{Dominators, Interference, Liveness};
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Removes the copies of φs' definitions at crowded labels, the most frequent first, as long as webs do not interfere.
pub fn rejoin(isolated: Conventional, dominators: &Dominators) -> Conventional {
    let function = &isolated.function;
    let mut copies = if isolated.without_code.is_empty() { Vec::new() } else { copies_at_crowded_labels(function) };
    if copies.is_empty() {
        return isolated;
    }
    let frequency = |(block, _): &(Block, Inst)| function.blocks[*block].frequency;
    copies.sort_by(|a, b| frequency(b).total_cmp(&frequency(a)));
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, dominators, &liveness);
    let mut classes = Classes::new(function, dominators, &interference, Sharing::Memory);
    merge_phis(function, &mut classes);
    let mut renamed: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut removed: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, inst) in copies {
        let [to, from] = copied(function, inst);
        // Whether a definition crosses a bundle is found out from liveness, so a dead one cannot take the place of its φ's.
        let alike = function.values[to].class == function.values[from].class && !liveness.is_dead(to);
        if alike && classes.merge(from, to) {
            renamed[from] = to.into();
            removed[inst] = true;
        }
    }
    let rewritten = without(function, &removed, &renamed);
    let Webs { of: webs, count: web_count } = classes.webs(&rewritten);
    let mut without_code = isolated.without_code;
    without_code.retain(|&value| renamed[value].is_none());
    let taken_back = (function.insts.len() - rewritten.insts.len()) as u64;
    let counts = ConversionCounts { copies_after: isolated.counts.copies_after - taken_back, ..isolated.counts };
    let mut rejoined = Conventional { function: rewritten, webs, web_count, without_code, counts };
    rejoined.counts.classes_after = rejoined.related_classes();
    rejoined
}

/// Whether a label of computed jumps has more φs of some bank than the bank has registers.
fn is_crowded(function: &Function, block: Block) -> bool {
    let data = &function.blocks[block];
    if data.landing_pad || !is_entered_without_code(function, block) {
        return false;
    }
    let bank = |value: Value| function.file.classes[function.values[value].class].bank;
    function.file.banks.keys().any(|of| {
        let phis = data.phis.iter().filter(|phi| bank(phi.def) == of).count();
        phis > function.file.allocatable(of).len()
    })
}

/// The copies of φs' definitions at crowded labels, each at the head of its φ's block.
fn copies_at_crowded_labels(function: &Function) -> Vec<(Block, Inst)> {
    let crowded: Vec<Block> = function.blocks.keys().filter(|&block| is_crowded(function, block)).collect();
    let mut defined = EntitySet::new();
    defined.extend(crowded.iter().flat_map(|&block| &function.blocks[block].phis).map(|phi| phi.def));
    let insts = crowded.iter().flat_map(|&block| function.block_insts(block).map(move |inst| (block, inst)));
    insts.filter(|&(_, it)| function.insts[it].origin.is_none() && defined.contains(copied(function, it)[1])).collect()
}

/// The target and the source of a copy.
fn copied(function: &Function, inst: Inst) -> [Value; 2] {
    [0, 1].map(|k| function.operands(inst)[k].value)
}
