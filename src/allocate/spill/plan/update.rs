//! Changing values in memory: where one is loaded for an instruction that overwrites it, and the result is only stored to the same
//! slot, the instruction does all of that (`incl 8(%rsp)`).
//!
//! It takes a loop's variable that is in memory throughout for load and store to be of one slot: both are of one φ-web, and
//! webs have homes.
//!
//! Ensures: what was true of the function stays so. It has fewer names, so that what fitted in registers fits.
//! Relies on: until the last store, the slot is the result's alone. The values of a web do not interfere, and a home has its slot
//! for as long as a value that has it is live, in a register or not ([`super::slots`]).

use super::Refill;
use super::insert::reused_behind;
use crate::allocate::cost::{Added, FOLDED_RELOAD, FOLDED_STORE, RELOAD, STORE};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spilled::{Fold, Spilled};
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, Rewriter, Slot, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// An instruction that changes a slot.
struct Update {
    inst: Inst,
    /// The block that it stands in.
    block: Block,
    load: Inst,
    slot: Slot,
    /// Operands of the instruction: what it overwrites, and what with.
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

/// What it saves to change what is in memory, in place of a load, the instruction, and a store, where this is executed so often.
pub(in crate::allocate::spill) fn saved(problem: &Problem, frequency: f64) -> f64 {
    let cost = |added: Added| problem.cost(added, frequency);
    cost(RELOAD) + cost(STORE) - cost(FOLDED_RELOAD) - cost(FOLDED_STORE)
}

/// Folds loads and stores into the instructions between them, where that costs no more. `slot_of` says what slot a value's home
/// has, if it has one: it has it from the value's definition on. What a value without a home is stored to, for φs, has its slot
/// from the store on, and something else may be there until then.
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

/// The operands by which an instruction could change what is in memory: what it overwrites, and what with.
fn changing(function: &Function, inst: Inst) -> Option<[usize; 2]> {
    let operands = function.operands(inst);
    let written = operands.iter().position(|operand| operand.is_def() && operand.foldable)?;
    let read = usize::from(operands[written].reuse?);
    // What x87 registers hold has another form in memory for each width.
    function.has_one_form(operands[written].value).then_some([read, written])
}

/// The same, if both values have one home and nobody else reads what is overwritten: the instruction changes it if it is in no
/// register before, and not behind.
pub(in crate::allocate::spill) fn changes_home(problem: &Problem, inst: Inst) -> Option<[usize; 2]> {
    let Conventional { function, webs, .. } = problem.conventional;
    let [read, written] = changing(function, inst).filter(|_| problem.policy.fold)?;
    let operands = function.operands(inst);
    let [before, behind] = [read, written].map(|k| operands[k].value);
    let has_home = |value: Value| problem.refill(value) == Refill::Load && problem.recompute(value).is_none();
    let reads = operands.iter().filter(|operand| !operand.is_def() && operand.value == before).count();
    let is_last = reads == 1 && problem.liveness.kills(function.insts[inst].operands.start as usize + read);
    let is_one = webs[before].is_some() && webs[before] == webs[behind] && function.slot_for(before) == function.slot_for(behind);
    (is_last && is_one && has_home(before) && has_home(behind)).then_some([read, written])
}

/// Where it is possible in a block, if what is loaded is used for nothing else, and what is computed only stored.
fn in_block(spilled: &Spilled, block: Block) -> impl Iterator<Item = Update> {
    let function = &spilled.function;
    function.block_insts(block).filter_map(move |inst| {
        let [read, written] = changing(function, inst)?;
        // All refills for the instruction come right before it.
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

/// Where each name is stored.
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

/// Whether changing a slot costs no more than a load and these stores. (They may stand where control comes less often.)
fn pays(function: &Function, update: &Update, stores: &[Store], weigh_size: bool) -> bool {
    let frequency = |block: Block| function.blocks[block].frequency;
    let here = |added: Added| added.cost(frequency(update.block), weigh_size);
    let stored: f64 = stores.iter().map(|store| STORE.cost(frequency(store.block), weigh_size)).sum();
    here(FOLDED_RELOAD) + here(FOLDED_STORE) <= here(RELOAD) + stored
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

/// Writes the function without the loads and stores that are needless then.
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
