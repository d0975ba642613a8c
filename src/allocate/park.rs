//! Copies from and to registers that are excluded from allocation: values wait there until they are needed.
//!
//! A register that `--registers` excludes holds an argument or a result where the program has put it there, and no other
//! value may have it. So a value that comes in such a register may as well stay there until an instruction needs the value
//! or the register. A value that goes into such a register may go there as soon as no other instruction needs it. And a
//! value that is copied to the register in which it still waits has been there all the time. Meanwhile it takes no register
//! that is allocated. (If no register is excluded, there is none to wait in: colouring leaves values in the registers that
//! they come in. LLVM's coalescer and its copy propagation leave values in excluded registers, too.)
//!
//! Requires: SSA form.
//! Ensures: the same function. Copies from excluded registers have moved down in their blocks, or are gone if nothing needs
//! their values. Copies to them have moved up, or are gone if the register holds the value already.

use crate::analysis::Liveness;
use crate::machine::{Block, Function, Inst, InstFlags, InstKind, Operand, Reg, RegClass, RegSet, Rewriter, Value};
use cranelift_entity::EntitySet;
use std::collections::BTreeMap;

/// The copies that have moved ([`super::changes::Changes::parked`]).
pub(super) type Parked = BTreeMap<Inst, RegClass>;

/// Whether there are registers to wait in.
pub(super) fn is_possible(function: &Function) -> bool {
    !excluded(function).is_empty()
}

/// Moves copies; `None` if none moves.
pub(super) fn park(function: &Function, liveness: &Liveness) -> Option<(Function, Parked)> {
    let parking = Parking { function, liveness, excluded: excluded(function) };
    let lots: Vec<Lot> = function.blocks.keys().filter_map(|block| parking.block(block)).collect();
    (!lots.is_empty()).then(|| write(function, lots))
}

/// The registers that values can wait in. They include no callee-saved ones, lest these have to be saved earlier.
fn excluded(function: &Function) -> RegSet {
    function.file.excluded - function.file.callee_saved
}

/// A block in which copies have moved.
struct Lot {
    block: Block,
    /// Its instructions in their new order, without copies that are gone.
    order: Vec<Inst>,
    /// Copies that are no longer where they were.
    moved: EntitySet<Inst>,
}

/// The function with its blocks as they are now.
fn write(function: &Function, lots: Vec<Lot>) -> (Function, Parked) {
    let entry = |inst: Inst| {
        let origin = function.insts[inst].origin.expand().expect("nothing is inserted yet");
        (origin, function.values[function.operands(inst)[0].value].class)
    };
    let parked = lots.iter().flat_map(|lot| lot.moved.iter().map(entry)).collect();
    let mut lots = lots.into_iter().peekable();
    let mut rewriter = Rewriter::new(function);
    for block in function.blocks.keys() {
        rewriter.begin(block);
        match lots.next_if(|lot| lot.block == block) {
            Some(lot) => lot.write(function, &mut rewriter),
            None => function.block_insts(block).for_each(|inst| _ = rewriter.copy(inst, function.operands(inst))),
        }
        rewriter.end();
    }
    (rewriter.new, parked)
}

struct Parking<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    excluded: RegSet,
}

impl Parking<'_> {
    /// A block's instructions in their new order, if some of them move.
    fn block(&self, block: Block) -> Option<Lot> {
        let is_copy = |inst: Inst| self.copied_from(inst).or_else(|| self.copied_to(inst)).is_some();
        if !self.function.block_insts(block).any(is_copy) {
            return None;
        }
        let mut lot = self.wait(block);
        for index in 0..lot.order.len() {
            self.hurry(&mut lot, index);
        }
        (!lot.moved.is_empty()).then_some(lot)
    }

    /// Moves copies from registers down to the first instruction that needs the value or the register.
    fn wait(&self, block: Block) -> Lot {
        let mut lot = Lot { block, order: Vec::new(), moved: EntitySet::new() };
        let mut waiting: Vec<Waiting> = Vec::new();
        // The contents of registers. (A copy to one may be of a part of the value.)
        let mut content: BTreeMap<Reg, Value> = BTreeMap::new();
        for inst in self.function.block_insts(block) {
            if let Some((value, reg)) = self.copied_to(inst)
                && content.get(&reg) == Some(&value)
            {
                // A value that still waits has been read by such copies alone.
                lot.moved.insert(inst);
                if self.liveness.kills(self.function.insts[inst].operands.start as usize) {
                    let read = waiting.extract_if(.., |it| it.value == value && it.reg == reg);
                    read.for_each(|it| _ = lot.moved.insert(it.copy));
                }
                continue;
            }
            let now = lot.order.len();
            waiting.retain(|it| {
                let goes = self.is_exit(block, inst) || self.written(inst).contains(it.reg) || self.accesses(inst, it.value);
                if goes {
                    lot.leave(it, now);
                }
                !goes
            });
            content.retain(|&reg, _| !self.written(inst).contains(reg));
            if let Some((value, reg)) = self.copied_from(inst) {
                waiting.push(Waiting { copy: inst, value, reg, since: lot.order.len() });
                content.insert(reg, value);
                continue;
            }
            lot.order.push(inst);
        }
        let end = lot.order.len();
        waiting.iter().for_each(|it| lot.leave(it, end));
        lot
    }

    /// Moves a copy to a register up to right after the last instruction before it that accesses the value, the register, or
    /// the value that came in the register.
    fn hurry(&self, lot: &mut Lot, index: usize) {
        let copy = lot.order[index];
        let Some((value, reg)) = self.copied_to(copy) else { return };
        if !self.liveness.kills(self.function.insts[copy].operands.start as usize) {
            return;
        }
        let before = &lot.order[..index];
        let names = |inst: Inst| self.function.pins(inst).uses.contains(reg) || self.written(inst).contains(reg);
        // LLVM's copy propagation reads the value that came in from its register, as long as that is not overwritten.
        let came = before.iter().rev().find(|&&inst| names(inst)).and_then(|&inst| self.copied_from(inst));
        let in_the_way = |&inst: &Inst| {
            let accesses = self.accesses(inst, value) || came.is_some_and(|(value, _)| self.accesses(inst, value));
            accesses || names(inst) || self.function.insts[inst].is(InstFlags::LABEL) || self.is_exit(lot.block, inst)
        };
        let to = before.iter().rposition(in_the_way).map_or(0, |last| last + 1);
        // A constant is computed in the register, which is best done late.
        let constant = to > 0 && self.function.insts[lot.order[to - 1]].is(InstFlags::REMATERIALISABLE);
        if to < index && !constant {
            lot.moved.insert(copy);
            lot.order[to..=index].rotate_right(1);
        }
    }

    /// The value that an instruction copies from an excluded register, and the register.
    fn copied_from(&self, inst: Inst) -> Option<(Value, Reg)> {
        let InstKind::CopyFrom(reg) = self.function.insts[inst].kind else { return None };
        let &[Operand { value, .. }] = self.function.operands(inst) else { return None };
        (self.can_wait(value, reg) && !self.liveness.is_dead(value)).then_some((value, reg))
    }

    /// The value that an instruction copies to an excluded register, and the register.
    fn copied_to(&self, inst: Inst) -> Option<(Value, Reg)> {
        let InstKind::CopyTo(reg) = self.function.insts[inst].kind else { return None };
        let &[Operand { value, .. }] = self.function.operands(inst) else { return None };
        self.can_wait(value, reg).then_some((value, reg))
    }

    fn can_wait(&self, value: Value, reg: Reg) -> bool {
        let file = &self.function.file;
        self.excluded.contains(reg) && file.bank(reg) == Some(file.classes[self.function.values[value].class].bank)
    }

    fn written(&self, inst: Inst) -> RegSet {
        let pins = self.function.pins(inst);
        pins.defs | pins.early_defs | pins.clobbers
    }

    fn accesses(&self, inst: Inst, value: Value) -> bool {
        self.function.operands(inst).iter().any(|operand| operand.value == value)
    }

    /// Whether control may leave the block at an instruction.
    fn is_exit(&self, block: Block, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        data.is(InstFlags::TERMINATOR) || self.function.blocks[block].throws.expand() == Some(inst)
    }
}

/// A value that waits in a register, and the copy that will take it from there.
struct Waiting {
    copy: Inst,
    value: Value,
    reg: Reg,
    /// How many instructions stood before the copy when the value came.
    since: usize,
}

impl Lot {
    fn write(&self, function: &Function, rewriter: &mut Rewriter) {
        for &inst in &self.order {
            if self.moved.contains(inst) {
                rewriter.transplant(inst);
            } else {
                rewriter.copy(inst, function.operands(inst));
            }
        }
    }

    /// Puts a copy at the end of the order, which has come to `now` instructions, with others that may have waited with it.
    fn leave(&mut self, waiting: &Waiting, now: usize) {
        self.order.push(waiting.copy);
        if waiting.since < now {
            self.moved.insert(waiting.copy);
        }
    }
}
