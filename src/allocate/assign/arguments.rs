//! Arguments get another name where they cannot stay in the registers in which they come in.
//!
//! An argument that lives across a call has one register all its life, mostly a callee-saved one. But the call may be in a
//! part of the function that is seldom reached, after a test that returns at once. If the argument gets another name there,
//! recolouring can leave it in the register in which it comes in until then. The copy is executed less often than at the
//! entry, and so may be the saving of a callee-saved register.
//!
//! Requires: strict SSA form.
//! Ensures: the other name begins in a block that is executed less often than the entry, and that dominates all places where
//! the program takes the register while the value is live. From the blocks that it dominates, control does not take the
//! value anywhere else, nor back to it. So two names of a value never meet.
//!
//! ```text
//! b0: live=a -> b1 b2              b0: live=a -> b1 b2
//!   v0:w = copy-from(a)              v0:w = copy-from(a)          a =
//!   op terminator                    op terminator
//! b1: freq=0.2                     b1: freq=0.2
//!                                    v1:w(of=v0) = parallel v0    d = a
//!   op                               op
//!   op clobbers=a,b,c                op clobbers=a,b,c
//!   op v0                            op v1                        d
//! b2: freq=0.8                     b2: freq=0.8
//!   op v0                            op v0                        a
//! ```
//!
//! These are the registers after recolouring. Without the second name, v0 would be in d from the beginning
//! (`testdata/functions/split_arguments.txt`).

use super::{Assignment, Repair, Split};
use crate::analysis::{Dominators, Liveness, Order, PinLiveness};
use crate::machine::{Block, Function, Inst, InstKind, Operand, Reg, Value};

/// How often the block may be executed for each time that the function is entered. More would hardly pay.
const SELDOM: f64 = 0.9;

/// How many dominators are tried as the block. Each takes time for all blocks in which the value lives.
const ATTEMPTS: usize = 8;

/// Gives arguments their other names, in the registers in which they are already.
pub(super) fn split(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    liveness: &Liveness,
    pins: &PinLiveness,
    assignment: &mut Assignment,
) {
    let splitter = ArgumentSplitter { function, order, dominators, liveness, pins };
    for inst in function.block_insts(function.entry()) {
        if let InstKind::CopyFrom(reg) = function.insts[inst].kind
            && let [def] = function.operands(inst)
            && let Some(block) = splitter.split_block(inst, def.value, reg)
        {
            rename(function, liveness, assignment, block, def.value);
        }
    }
}

/// Gives a value another name at the head of a block, in its register there.
fn rename(function: &Function, liveness: &Liveness, assignment: &mut Assignment, block: Block, value: Value) {
    let place = liveness.live_in(block).binary_search(&value).expect("the value lives into the block");
    let to = assignment.entry.get(block)[place];
    let before = Inst::from_u32(function.blocks[block].insts.start + function.head(block).index);
    let split = Split { value, to, operand: None };
    match assignment.repairs.binary_search_by_key(&before, |repair| repair.before) {
        Err(at) => assignment.repairs.insert(at, Repair { before, splits: vec![split] }),
        Ok(at) => {
            let splits = &mut assignment.repairs[at].splits;
            if !splits.iter().any(|other| other.value == value && other.operand.is_none()) {
                splits.push(split);
            }
        }
    }
}

struct ArgumentSplitter<'a> {
    function: &'a Function,
    order: &'a Order,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
}

impl ArgumentSplitter<'_> {
    /// The block in which a value that comes in this register gets another name, if that is worthwhile.
    fn split_block(&self, definition: Inst, value: Value, reg: Reg) -> Option<Block> {
        let entry = self.function.entry();
        let lives_on = self.liveness.live_out(entry).binary_search(&value).is_ok();
        if !lives_on || !self.function.allowed(value).contains(reg) || self.is_taken(entry, Some(definition), value, reg) {
            return None;
        }
        let live: Vec<Block> = self.order.blocks().iter().copied().filter(|&block| self.is_live_into(block, value)).collect();
        let taken = live.iter().copied().filter(|&block| self.is_taken(block, None, value, reg));
        let nearest = taken.reduce(|a, b| self.dominators.meet(a, b))?;
        let mut places = std::iter::successors(Some(nearest), |&block| self.dominators.idom(block)).take(ATTEMPTS);
        let place = places.find(|&block| block == entry || self.is_left_for_good(block, &live, value))?;
        let data = &self.function.blocks[place];
        let can_take_code = !data.insts.is_empty() && !data.landing_pad;
        let most = SELDOM * self.function.blocks[entry].frequency;
        (place != entry && can_take_code && data.frequency <= most).then_some(place)
    }

    fn is_live_into(&self, block: Block, value: Value) -> bool {
        self.liveness.live_in(block).binary_search(&value).is_ok()
    }

    /// Whether the program takes a register in a block while a value is live, after an instruction or from the head on.
    fn is_taken(&self, block: Block, after: Option<Inst>, value: Value, reg: Reg) -> bool {
        let function = self.function;
        if after.is_none() && function.blocks[block].live_in_pins.contains(reg) {
            return true;
        }
        for inst in function.block_insts(block).skip_while(|&inst| after.is_some_and(|after| inst <= after)) {
            let occupancy = self.pins.occupancy(function, block, inst);
            let first = function.insts[inst].operands.start as usize;
            let dies = |(k, operand): (usize, &Operand)| operand.value == value && self.liveness.kills(first + k);
            let last = function.operands(inst).iter().enumerate().any(dies);
            if occupancy.before.contains(reg) || !last && occupancy.all().contains(reg) {
                return true;
            }
            if last {
                return false;
            }
        }
        false
    }

    /// Whether the value is live on no edge that leaves the blocks dominated by `place`, or that returns to `place` itself.
    fn is_left_for_good(&self, place: Block, live: &[Block], value: Value) -> bool {
        let below = live.iter().filter(|&&block| self.dominators.dominates(place, block));
        let mut edges = below.flat_map(|&block| &self.function.blocks[block].succs);
        edges.all(|&succ| !self.is_live_into(succ, value) || succ != place && self.dominators.dominates(place, succ))
    }
}
