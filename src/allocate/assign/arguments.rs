//! Arguments that have another name from where they cannot stay in the registers that they come in.
//!
//! An argument that lives across a call has one register all its life, most of the time one that is saved, although the call may
//! be where control seldom comes: behind a test that returns at once. With another name from there on, recolouring can leave the
//! argument where it comes in until then. The copy is executed less often, and so may be saving the register.
//!
//! Requires: strict SSA form.
//! Ensures: a name begins in a block that is executed less often than the entry and dominates all places where the program takes
//! the register while the value is live; no loop goes on with the value behind it. So names of one value meet nowhere.

use super::{Assignment, Repair, Split};
use crate::analysis::{Dominators, Liveness, Order, PinLiveness};
use crate::machine::{Block, Function, Inst, InstKind, Operand, Reg, Value};

/// How often the block is executed at most, for each time that the function is entered. More would hardly pay.
const SELDOM: f64 = 0.9;

/// How many blocks are looked at that dominate each other. Each takes time for all blocks that the value lives in.
const ATTEMPTS: usize = 8;

/// Has arguments change their names, and nothing else.
pub(super) fn part(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    liveness: &Liveness,
    pins: &PinLiveness,
    assignment: &mut Assignment,
) {
    let parting = Parting { function, order, dominators, liveness, pins };
    for inst in function.block_insts(function.entry()) {
        if let InstKind::CopyFrom(reg) = function.insts[inst].kind
            && let [def] = function.operands(inst)
            && let Some(block) = parting.place(inst, def.value, reg)
        {
            rename(function, liveness, assignment, block, def.value);
        }
    }
}

/// Gives a value another name at the head of a block, in the register that it is in there.
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

struct Parting<'a> {
    function: &'a Function,
    order: &'a Order,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
}

impl Parting<'_> {
    /// Where a value of the entry, which comes in this register, is to have another name.
    fn place(&self, definition: Inst, value: Value, reg: Reg) -> Option<Block> {
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
        let can_take_code = !data.insts.is_empty() && !data.landing_pad && !data.jump_target;
        let most = SELDOM * self.function.blocks[entry].frequency;
        (place != entry && can_take_code && data.frequency <= most).then_some(place)
    }

    fn is_live_into(&self, block: Block, value: Value) -> bool {
        self.liveness.live_in(block).binary_search(&value).is_ok()
    }

    /// Whether the program takes a register in a block, behind an instruction or from the head on, while a value lives.
    fn is_taken(&self, block: Block, behind: Option<Inst>, value: Value, reg: Reg) -> bool {
        let function = self.function;
        if behind.is_none() && function.blocks[block].live_in_pins.contains(reg) {
            return true;
        }
        for inst in function.block_insts(block).skip_while(|&inst| behind.is_some_and(|behind| inst <= behind)) {
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

    /// Whether control does not come with the value from what a block dominates to anything else, nor to the block again.
    fn is_left_for_good(&self, place: Block, live: &[Block], value: Value) -> bool {
        let below = live.iter().filter(|&&block| self.dominators.dominates(place, block));
        let mut edges = below.flat_map(|&block| &self.function.blocks[block].succs);
        edges.all(|&succ| !self.is_live_into(succ, value) || succ != place && self.dominators.dominates(place, succ))
    }
}
