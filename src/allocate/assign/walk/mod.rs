//! The walk along the dominance order.
//!
//! At a block's head, values come to be where they were in front of it ([`entry`]); each instruction's definitions get registers,
//! and what is in the way moves ([`instruction`]), to the best that there are ([`choice`]). Where edges can take no code, all ends
//! have to agree ([`meeting`]).

mod choice;
mod entry;
mod instruction;
mod meeting;

use super::preferences::Preferences;
use super::{Assignment, Evictable, PinPolicy, Policy, Refusal, holding};
use crate::allocate::failure::Failure;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundle, Bundles, Held, Liveness, Order, PinLiveness, endangered};
use crate::machine::{Block, Function, Inst, InstFlags, Reg, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use meeting::Expected;

/// Assigns registers block by block in reverse postorder, in which dominators come first.
pub(super) fn walk(
    function: &Function,
    order: &Order,
    liveness: &Liveness,
    pins: &PinLiveness,
    preferences: &Preferences,
    policy: Policy,
    evictable: Evictable,
) -> Result<Assignment, Refusal> {
    let bundles = if policy.pins.moves() { Bundles::new(function, liveness, pins) } else { Bundles::none() };
    let mut walk = Walk {
        function,
        liveness,
        pins,
        preferences,
        bundles: &bundles,
        endangered: if bundles.iter().next().is_some() { endangered(function, liveness) } else { SecondaryMap::new() },
        policy,
        evictable,
        order,
        places: SecondaryMap::new(),
        leaving: None,
        expected: Expected::default(),
        evicted: of_each(function.values.len()),
        register: of_each(function.values.len()),
        owner: [None; RegSet::CAPACITY],
        taken: RegSet::EMPTY,
        used: PinLiveness::written(function),
        holding: holding::needed(function, liveness, pins),
        departed: Vec::new(),
        arriving: Vec::new(),
        before: Vec::new(),
        debug: 0,
        result: Assignment::empty(function),
    };
    let walked = order.blocks().iter().try_for_each(|&block| walk.block(block));
    // What has been evicted may still take registers, and what overwrites it others: whether the rest fits is known in the next
    // round.
    let evicted: Vec<Value> = function.values.keys().filter(|&value| walk.evicted[value]).collect();
    if !evicted.is_empty() {
        return Err(Refusal::Evicted(evicted));
    }
    walked?;
    walk.result.repairs.sort_by_key(|repair| repair.before);
    Ok(walk.result)
}

struct Walk<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    preferences: &'a Preferences,
    bundles: &'a Bundles,
    /// If there are bundles, what [`endangered`] says.
    endangered: SecondaryMap<Value, f64>,
    policy: Policy,
    evictable: Evictable<'a>,
    order: &'a Order,
    /// Of each bundle that was come upon, where its representatives meet, sorted.
    places: SecondaryMap<Bundle, Option<Vec<(Value, Reg)>>>,
    /// At terminators and where a call throws, the bundle of the edges that they take.
    leaving: Option<Bundle>,
    /// What crosses the bundle at the end of the block that is being walked.
    expected: Expected,
    /// Values that have to be spilled, so that the walk comes to nothing. It goes on without them to find out all.
    evicted: SecondaryMap<Value, bool>,
    /// Of each live value, where it is; of a dead one, where it was last.
    register: SecondaryMap<Value, Option<Reg>>,
    /// The live value in each register.
    owner: [Option<Value>; RegSet::CAPACITY],
    /// The registers with an owner.
    taken: RegSet,
    /// Callee-saved registers that the function saves anyway.
    used: RegSet,
    /// Copies to registers of the program that have to hold the copied values from there on.
    holding: EntitySet<Inst>,
    /// Behind inline assembly that jumps, what is live where it jumps to. Control may leave for there at the block's end, too, so
    /// these values stay where they are.
    departed: Vec<Value>,
    /// The values that are live into the block that is being entered, with their registers at the end of a predecessor; and where
    /// these and what its φs define were known to be before. Kept for their memory.
    arriving: Vec<(Value, Reg)>,
    before: Vec<(Value, Option<Reg>)>,
    /// The next debug use, for the block that is being walked.
    debug: usize,
    result: Assignment,
}

impl Walk<'_> {
    fn put(&mut self, value: Value, reg: Reg) {
        debug_assert!(self.owner[reg.index()].is_none());
        self.register[value] = Some(reg);
        self.owner[reg.index()] = Some(value);
        self.taken.insert(reg);
        self.used.insert(reg);
    }

    fn free(&mut self, value: Value) {
        let reg = self.at(value);
        if self.owner[reg.index()] == Some(value) {
            self.owner[reg.index()] = None;
            self.taken.remove(reg);
        }
    }

    fn at(&self, value: Value) -> Reg {
        self.register[value].expect("a live value is in a register")
    }

    fn block(&mut self, block: Block) -> Result<(), Failure> {
        self.enter(block)?;
        self.debug = self.function.debug_uses.partition_point(|debug| debug.at.block < block);
        self.expect(block);
        self.departed.clear();
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let occupancy = self.pins.occupancy(self.function, block, inst);
            self.leaving = self.leaving_at(block, inst);
            let permute = self.policy.pins == PinPolicy::Permute && occupancy.takes(self.pins.before(inst));
            let to_be_moved = !self.is_in_place(block)? || self.early(inst, index).next().is_some() || self.has_to_be_held(inst);
            if permute || to_be_moved || !self.simple(block, inst, &occupancy) {
                self.repair(block, inst, &occupancy, permute)?;
            }
            self.debug_uses(block, index as u32);
            self.kill(inst);
            if self.throws(block, inst) {
                let mut values: Vec<(Value, Reg)> = self.taken.iter().filter_map(|r| Some((self.owner[r.index()]?, r))).collect();
                values.sort_unstable();
                self.result.at_throw[block] = values.into_iter().unzip();
            }
            self.define(inst);
            if self.function.insts[inst].is(InstFlags::JUMPS) {
                self.departed = self.live_into_jump_targets(block);
            }
        }
        self.debug_uses(block, self.function.blocks[block].insts.len() as u32);
        let register = |&value: &Value| self.register[value].expect("a live value is in a register");
        self.result.exit.add(block, self.liveness.live_out(block).iter().map(register));
        Ok(())
    }

    fn live_into_jump_targets(&self, block: Block) -> Vec<Value> {
        let blocks = &self.function.blocks;
        let targets = blocks[block].succs.iter().filter(|&&succ| blocks[succ].jump_target);
        targets.flat_map(|&target| self.liveness.live_in(target)).copied().collect()
    }

    /// Whether a value that is copied has to be in the register that it is copied to, and is elsewhere.
    fn has_to_be_held(&self, inst: Inst) -> bool {
        let copied = || self.pins.held(inst).iter().filter(|it| !it.before);
        self.holding.contains(inst) && copied().any(|it| self.at(it.value) != it.reg)
    }

    /// The register of the program that a live value, which is in this one, may be in at an instruction: where it is held
    /// already, or copied to.
    fn holder(&self, inst: Inst, value: Value, reg: Reg) -> Option<Held> {
        self.pins.holder(inst, value).filter(|it| it.reg == reg || !it.before)
    }

    /// Whether a value is held at an instruction and behind it. Whatever else moves, it stays: it takes no register there.
    fn stays_held(&self, inst: Inst, value: Value) -> bool {
        self.pins.holder(inst, value).is_some_and(|it| it.behind && it.reg == self.at(value))
    }

    /// The registers of the program at an instruction that values are held in.
    fn held(&self, inst: Inst) -> RegSet {
        let held = self.pins.held(inst).iter().filter(|it| self.owner[it.reg.index()] == Some(it.value));
        held.map(|it| it.reg).collect()
    }

    fn throws(&self, block: Block, inst: Inst) -> bool {
        self.function.blocks[block].throws == inst.into()
    }

    fn is_live(&self, value: Value) -> bool {
        self.register[value].is_some_and(|reg| self.owner[reg.index()] == Some(value))
    }

    /// Frees the registers of the values that die at the instruction.
    fn kill(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() && self.liveness.kills(first + k) {
                self.free(operand.value);
            }
        }
    }

    /// Puts the definitions into their registers; dead ones are gone at once.
    fn define(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() {
                continue;
            }
            let reg = self.result.operands[first + k].expect("a definition was placed");
            self.used.insert(reg);
            if self.liveness.kills(first + k) || self.evicted[operand.value] {
                self.register[operand.value] = Some(reg);
            } else {
                self.put(operand.value, reg);
            }
        }
    }

    /// Notes where the debug uses at this point find their values.
    fn debug_uses(&mut self, block: Block, index: u32) {
        while let Some(debug) = self.function.debug_uses.get(self.debug)
            && debug.at.block == block
            && debug.at.index <= index
        {
            self.result.debug[self.debug] = self.register[debug.value].filter(|reg| self.owner[reg.index()] == Some(debug.value));
            self.debug += 1;
        }
    }
}
