//! Changing values in memory: where one is loaded for an instruction that overwrites it, and the result is stored to the same slot
//! at once, the instruction does all of that (`incl 8(%rsp)`).
//!
//! It takes a loop's variable that is in memory throughout for load and store to be of one slot: both are of one φ-web, and
//! webs have homes.
//!
//! Ensures: what was true of the function stays so. It has fewer names, so that what fitted in registers fits.

use super::insert::reused_behind;
use super::{Fold, Spilled};
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, Rewriter, Slot, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// An instruction that changes a slot.
struct Update {
    inst: Inst,
    load: Inst,
    store: Inst,
    slot: Slot,
    /// Operands of the instruction: what it overwrites, and what with.
    read: usize,
    written: usize,
}

/// Folds loads and stores into the instructions between them.
pub(super) fn update(spilled: Spilled) -> Spilled {
    let mut updates: Vec<Update> = spilled.function.blocks.keys().flat_map(|block| in_block(&spilled, block)).collect();
    if !updates.is_empty() {
        let uses = uses(&spilled.function);
        let once = |inst: Inst, k: usize| uses[spilled.function.operands(inst)[k].value] == 1;
        updates.retain(|update| once(update.inst, update.read) && once(update.inst, update.written));
    }
    if updates.is_empty() { spilled } else { write(spilled, &updates) }
}

/// Where it is possible in a block, if what is loaded and what is stored is used nowhere else.
fn in_block(spilled: &Spilled, block: Block) -> impl Iterator<Item = Update> {
    let function = &spilled.function;
    let names = |inst: Inst, value: Value| function.operands(inst)[0].value == value;
    function.block_insts(block).filter_map(move |inst| {
        let operands = function.operands(inst);
        let written = operands.iter().position(|operand| operand.is_def() && operand.foldable)?;
        let read = usize::from(operands[written].reuse?);
        // What x87 registers hold has another form in memory for each width.
        if !function.has_one_form(operands[written].value) {
            return None;
        }
        // All refills for the instruction come right before it, and all stores of what it defines right behind it.
        let load = loads_before(function, block, inst).find(|&(load, _)| names(load, operands[read].value));
        let store = stores_behind(function, block, inst).find(|&(store, _)| names(store, operands[written].value));
        let ((load, from), (store, slot)) = (load?, store?);
        (from == slot && spilled.folds(inst).is_empty()).then_some(Update { inst, load, store, slot, read, written })
    })
}

/// The loads right before an instruction.
fn loads_before(function: &Function, block: Block, inst: Inst) -> impl Iterator<Item = (Inst, Slot)> {
    let before = (function.blocks[block].insts.start..inst.as_u32()).rev().map(Inst::from_u32);
    let refills = before.map_while(|inst| match function.insts[inst].kind {
        InstKind::Inserted(Inserted::Load(slot)) => Some((inst, Some(slot))),
        InstKind::Inserted(Inserted::Rematerialise(_)) => Some((inst, None)),
        _ => None,
    });
    refills.filter_map(|(inst, slot)| Some((inst, slot?)))
}

/// The stores right behind an instruction.
fn stores_behind(function: &Function, block: Block, inst: Inst) -> impl Iterator<Item = (Inst, Slot)> {
    let behind = (inst.as_u32() + 1..function.blocks[block].insts.end).map(Inst::from_u32);
    behind.map_while(|inst| match function.insts[inst].kind {
        InstKind::Inserted(Inserted::Store(slot)) => Some((inst, slot)),
        _ => None,
    })
}

/// How often each name is used.
fn uses(function: &Function) -> SecondaryMap<Value, u32> {
    let mut uses = of_each(function.values.len());
    let operands = function.operands.iter().filter(|operand| !operand.is_def()).map(|operand| operand.value);
    let phis = function.blocks.values().flat_map(|block| &block.phis);
    let args = phis.flat_map(|phi| &phi.args).filter_map(|arg| arg.expand());
    operands.chain(args).for_each(|value| uses[value] += 1);
    uses
}

/// Writes the function without the loads and stores.
fn write(spilled: Spilled, updates: &[Update]) -> Spilled {
    let function = &spilled.function;
    let mut needless = EntitySet::with_capacity(function.insts.len());
    needless.extend(updates.iter().flat_map(|update| [update.load, update.store]));
    let mut updates = updates.iter().peekable();
    let mut rewriter = Rewriter::new(function);
    let mut folds = Vec::with_capacity(spilled.folds.len() + 2 * updates.len());
    for block in function.blocks.keys() {
        rewriter.begin(block);
        for inst in function.block_insts(block).filter(|&inst| !needless.contains(inst)) {
            let operands = function.operands(inst);
            match updates.next_if(|update| update.inst == inst) {
                Some(&Update { slot, read, written, .. }) => {
                    let leaves = |k: usize| k == read || k == written;
                    let stays = operands.iter().enumerate().filter(|&(k, _)| !leaves(k));
                    let stays = stays.map(|(_, &operand)| Operand { reuse: reused_behind(operand, leaves), ..operand });
                    let new = rewriter.copy(inst, &stays.collect::<SmallVec<[Operand; 8]>>());
                    rewriter.new.insts[new].recomputable = false;
                    let fold = |operand: usize| Fold { inst: new, operand, slot, writes: operand == written };
                    folds.extend([fold(read.min(written)), fold(read.max(written))]);
                }
                None => {
                    let new = rewriter.copy(inst, operands);
                    folds.extend(spilled.folds(inst).iter().map(|fold| Fold { inst: new, ..*fold }));
                }
            }
        }
        rewriter.end();
    }
    Spilled { function: rewriter.new, folds, ..spilled }
}
