//! Changing values in memory. Where a value is loaded, overwritten by an instruction, and the result only stored to the same
//! slot, the instruction can do all three: `incl 8(%rsp)`.
//!
//! A loop's variable that is in memory throughout is such a value, if load and store are of one slot. They are, because both
//! values belong to one φ-web and so have one home.
//!
//! Requires: a function as [`super::insert`] writes it.
//! Ensures: the same program, with fewer names, so values that fitted in registers still fit.
//! Relies on: no other value is in the slot until the last store. The values of a web do not interfere, and a home keeps its
//! slot for as long as one of its values is live, in a register or not ([`super::slots`]).

use super::Refill;
use super::insert::reuse_without;
use crate::allocate::cost::{Added, FOLDED_RELOAD, FOLDED_STORE, RELOAD, STORE};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spilled::{Fold, Spilled};
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, Function, Inserted, Inst, InstFlags, InstKind, Operand, Rewriter, Slot, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// An instruction that changes a slot.
struct Update {
    inst: Inst,
    /// The block in which it stands.
    block: Block,
    load: Inst,
    slot: Slot,
    /// The operands of the instruction that are folded: the use that it overwrites, and the definition that overwrites it.
    read: usize,
    written: usize,
}

/// A store of a value to a slot.
#[derive(Clone, Copy)]
struct Store {
    inst: Inst,
    block: Block,
    slot: Slot,
}

/// The saving of an update, in place of a load, the instruction and a store, in a block of this frequency.
pub(in crate::allocate::spill) fn saved(problem: &Problem, frequency: f64) -> f64 {
    let cost = |added: Added| problem.cost(added, frequency);
    cost(RELOAD) + cost(STORE) - cost(FOLDED_RELOAD) - cost(FOLDED_STORE)
}

/// Folds loads and stores into the instructions between them, where that costs no more.
///
/// `slot_of` gives the slot of a value that has a home. It is the value's from the definition on. A value without a home
/// that is stored for a φ has the φ's slot only from the store on, and until then another value may be in it.
pub(in crate::allocate::spill) fn update(spilled: Spilled, slot_of: impl Fn(Value) -> Option<Slot>, weigh_size: bool) -> Spilled {
    let function = &spilled.function;
    let mut updates: Vec<Update> = function.blocks.keys().flat_map(|block| in_block(&spilled, block)).collect();
    if updates.is_empty() {
        return spilled;
    }
    let uses = uses(function);
    let stores = stores(function);
    updates.retain(|update| {
        let [read, written] = [update.read, update.written].map(|k| function.operands(update.inst)[k].value);
        let stores = stores.get(written);
        let is_only_stored = uses[written] as usize == stores.len() && stores.iter().all(|store| store.slot == update.slot);
        let is_there = slot_of(function.original(written)) == Some(update.slot);
        uses[read] == 1 && is_there && !stores.is_empty() && is_only_stored && pays(function, update, stores, weigh_size)
    });
    if updates.is_empty() {
        return spilled;
    }
    let mut needless = EntitySet::with_capacity(function.insts.len());
    for update in &updates {
        needless.insert(update.load);
        let written = function.operands(update.inst)[update.written].value;
        needless.extend(stores.get(written).iter().map(|store| store.inst));
    }
    write(spilled, &updates, &needless)
}

/// The operands by which an instruction could change a slot: the use that it overwrites, and the definition that overwrites
/// it.
fn changing(function: &Function, inst: Inst) -> Option<[usize; 2]> {
    let operands = function.operands(inst);
    let written = operands.iter().position(|operand| operand.is_def() && operand.foldable)?;
    let read = usize::from(operands[written].reuse?);
    // The content of an x87 register has another form in memory for each width.
    function.has_one_form(operands[written].value).then_some([read, written])
}

/// The operands by which an instruction could change a slot, if both have one home and nothing else reads the overwritten
/// value. The instruction does change the slot if the value is in no register before it, and the result in none after it.
pub(in crate::allocate::spill) fn changes_home(problem: &Problem, inst: Inst) -> Option<[usize; 2]> {
    let Conventional { function, webs, .. } = problem.conventional;
    let [read, written] = changing(function, inst).filter(|_| problem.policy.fold)?;
    let operands = function.operands(inst);
    let [before, after] = [read, written].map(|k| operands[k].value);
    let has_home = |value: Value| problem.refill(value) == Refill::Load && problem.recompute(value).is_none();
    let reads = operands.iter().filter(|operand| !operand.is_def() && operand.value == before).count();
    let is_last = reads == 1 && problem.liveness.kills(function.insts[inst].operands.start as usize + read);
    let is_one = webs[before].is_some() && webs[before] == webs[after] && function.slot_for(before) == function.slot_for(after);
    (is_last && is_one && has_home(before) && has_home(after)).then_some([read, written])
}

/// The instructions of a block that could change a slot, where the loaded value is used for nothing else.
fn in_block(spilled: &Spilled, block: Block) -> impl Iterator<Item = Update> {
    let function = &spilled.function;
    function.block_insts(block).filter_map(move |inst| {
        let [read, written] = changing(function, inst)?;
        // All refills for an instruction come right before it.
        let loads = |load: Inst| function.operands(load)[0].value == function.operands(inst)[read].value;
        let (load, slot) = loads_before(function, block, inst).find(|&(load, _)| loads(load))?;
        spilled.folds(inst).is_empty().then_some(Update { inst, block, load, slot, read, written })
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

/// The stores of each name.
fn stores(function: &Function) -> Grouped<Value, Store> {
    let in_block = |block: Block| {
        function.block_insts(block).filter_map(move |inst| match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Store(slot)) => Some((function.operands(inst)[0].value, Store { inst, block, slot })),
            _ => None,
        })
    };
    let stores: Vec<(Value, Store)> = function.blocks.keys().flat_map(in_block).collect();
    Grouped::new(function.values.len(), &stores)
}

/// Whether changing a slot costs no more than a load and these stores. (The stores may be in blocks that are executed less
/// often.)
fn pays(function: &Function, update: &Update, stores: &[Store], weigh_size: bool) -> bool {
    let frequency = |block: Block| function.blocks[block].frequency;
    let here = |added: Added| added.cost(frequency(update.block), weigh_size);
    let stored: f64 = stores.iter().map(|store| STORE.cost(frequency(store.block), weigh_size)).sum();
    here(FOLDED_RELOAD) + here(FOLDED_STORE) <= here(RELOAD) + stored
}

/// The number of uses of each name.
fn uses(function: &Function) -> SecondaryMap<Value, u32> {
    let mut uses = of_each(function.values.len());
    let operands = function.operands.iter().filter(|operand| !operand.is_def()).map(|operand| operand.value);
    let phis = function.blocks.values().flat_map(|block| &block.phis);
    let args = phis.flat_map(|phi| &phi.args).filter_map(|arg| arg.expand());
    operands.chain(args).for_each(|value| uses[value] += 1);
    uses
}

/// Writes the function without the loads and stores that the updates make needless.
fn write(spilled: Spilled, updates: &[Update], needless: &EntitySet<Inst>) -> Spilled {
    let function = &spilled.function;
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
                    let stays = stays.map(|(_, &operand)| Operand { reuse: reuse_without(operand, leaves), ..operand });
                    let new = rewriter.copy(inst, &stays.collect::<SmallVec<[Operand; 8]>>());
                    rewriter.new.insts[new].flags.remove(InstFlags::RECOMPUTABLE);
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
