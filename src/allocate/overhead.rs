//! What an allocation adds to a program, by its overlay alone.
//!
//! The statistics count final code, which also shows what later passes make of it. Here allocations of one function are compared
//! with each other, without generating code.
//!
//! Requires: an overlay of the function.
//! Ensures: the sum of what each step of it costs, at the weights of [`super::cost`], and saves and restores of the callee-saved
//! registers that it names, in the entry and where control leaves. A constant that is not executed where it stands is
//! subtracted.

use super::cost::{self, Added};
use crate::machine::{Edit, Function, Inst, InstKind, Location, Overlay, RegSet, SwapKind};

/// The cost of an allocation, in executions for each execution of the function.
pub fn overhead(function: &Function, overlay: &Overlay) -> f64 {
    let edits: f64 = overlay.edits.iter().map(|(at, edit)| of_edit(function, edit, function.blocks[at.block].frequency)).sum();
    let insts = function.blocks.keys().flat_map(|block| function.block_insts(block).map(move |inst| (block, inst)));
    let insts: f64 = insts.map(|(block, inst)| of_inst(function, overlay, inst, function.blocks[block].frequency)).sum();
    edits + insts + of_saves(function, overlay)
}

/// The cost of an edit in a block of this frequency.
pub fn of_edit(function: &Function, edit: &Edit, frequency: f64) -> f64 {
    let added = match *edit {
        Edit::Load { .. } => cost::RELOAD,
        Edit::Store { .. } | Edit::StoreConstant { .. } => cost::STORE,
        Edit::Move { .. } => cost::COPY,
        Edit::Swap { kind: SwapKind::Exchange | SwapKind::Xor, .. } => cost::EXCHANGE,
        Edit::Rematerialise { inst, .. } => cost::rematerialisation(&function.insts[inst]),
        // It is executed here, and not where it stands.
        Edit::Perform { .. } => return 0.0,
    };
    added.cost(frequency, false)
}

/// The cost of an instruction of the program: operands in memory, a copy that is left. If it is not executed, what that saves is
/// negative.
fn of_inst(function: &Function, overlay: &Overlay, inst: Inst, frequency: f64) -> f64 {
    let data = &function.insts[inst];
    if overlay.is_dropped(inst) {
        let is_repeated = data.is_repeatable() && !overlay.is_performed(function, inst);
        return if is_repeated { -cost::rematerialisation(data).cost(frequency, false) } else { 0.0 };
    }
    let operands = function.operands(inst).iter().zip(overlay.operands(function, inst));
    let in_memory = operands.filter(|(_, place)| matches!(place, Some(Location::Slot(_))));
    let accesses: f64 = in_memory
        .map(|(operand, _)| if operand.is_def() { cost::STORE } else { cost::RELOAD })
        .map(|added: Added| added.cost(frequency, false))
        .sum();
    let is_left = accesses == 0.0 && moves(overlay.operands(function, inst), data.kind);
    accesses + if is_left { cost::COPY.cost(frequency, false) } else { 0.0 }
}

/// Whether a copy of the program moves anything.
fn moves(places: &[Option<Location>], kind: InstKind) -> bool {
    match (kind, places) {
        (InstKind::Copy, [to, from]) => to != from,
        (InstKind::CopyTo(reg) | InstKind::CopyFrom(reg), [place, ..]) => *place != Some(Location::Reg(reg)),
        _ => false,
    }
}

fn of_saves(function: &Function, overlay: &Overlay) -> f64 {
    let saved = named(overlay) & function.file.callee_saved;
    let leaving = function.blocks.values().filter(|data| data.succs.is_empty());
    let restores: f64 = leaving.map(|data| cost::RESTORE.cost(data.frequency, false)).sum();
    saved.len() as f64 * (cost::SAVE.cost(function.blocks[function.entry()].frequency, false) + restores)
}

/// The registers that an overlay names.
fn named(overlay: &Overlay) -> RegSet {
    let operands = overlay.locations.iter().flatten().filter_map(|place| match *place {
        Location::Reg(reg) => Some(reg),
        Location::Slot(_) => None,
    });
    let edits = overlay.edits.iter().flat_map(|(_, edit)| match *edit {
        Edit::Load { to, .. } | Edit::Rematerialise { to, .. } => [Some(to), None],
        Edit::Move { to, from, .. } => [Some(to), Some(from)],
        Edit::Swap { a, b, .. } => [Some(a), Some(b)],
        Edit::Store { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => [None, None],
    });
    operands.chain(edits.flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::allocators::Preset;
    use crate::allocate::pipeline::allocate;
    use crate::machine::parse;

    /// With two registers, one of three values is stored once and reloaded once.
    #[test]
    fn a_store_and_a_reload_cost_five() {
        let function = parse(include_str!("../../testdata/functions/too_many.txt")).unwrap();
        let (overlay, _) = allocate(&function, Preset::named("spill-free").unwrap()).unwrap();
        assert_eq!(overhead(&function, &overlay), 5.0);
    }
}
