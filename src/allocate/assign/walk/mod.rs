//! The walk in dominance order, which gives each value a register where it is defined.
//!
//! At the head of a block, values are put where a predecessor, or the immediate dominator, left them ([`entry`]). The definitions of each instruction get
//! free registers, and values that are in the way of its constraints move ([`instruction`]), always to the best registers
//! that there are ([`choice`]). Where edges can take no code, all of their ends have to agree ([`meeting`]).
//!
//! Requires: strict SSA form in which the values in registers fit everywhere, if pins are not avoided. If they are, values
//! that find no lasting register are evicted.
//! Ensures: an [`Assignment`], with a repair wherever values move.
//! Relies on: dominators come first, in reverse postorder and in preorder of their tree, so a value has a register when the walk comes to its uses.
//!
//! ```text
//! v0:w = op                v0:w = op                      a =
//! v1:w(reuse=1) = op v0    v1:w(reuse=1) = op v0          a = a
//!                          v3:w(of=v1) = parallel v1      b = a
//! v2:w(reuse=1) = op v1    v2:w(reuse=1) = op v3          b = b
//! op v1 v2                 op v1 v2                       a b
//! ```
//!
//! v0 dies, so v1 takes over its register. v1 lives on where v2 is defined, so a copy of it is overwritten. The repair is
//! shown as the parallel copy that it becomes (`testdata/functions/two_address.txt`).

mod choice;
mod entry;
mod instruction;
mod meeting;

use super::preferences::Preferences;
use super::{Assignment, BlockOrder, Evictable, Policy, Refusal, holding};
use crate::allocate::failure::Failure;
use crate::allocate::pressure::pin_policy::PinPolicy;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundle, Bundles, Dominators, Held, Liveness, Order, PinLiveness, endangered};
use crate::machine::{Block, Function, Inst, Reg, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use meeting::Expected;

/// Assigns registers block by block.
pub(super) fn walk(
    function: &Function,
    (order, dominators): (&Order, &Dominators),
    liveness: &Liveness,
    pins: &PinLiveness,
    preferences: &Preferences,
    policy: Policy,
    evictable: Evictable,
) -> Result<Assignment, Refusal> {
    let bundles = if policy.pins.moves() { Bundles::new(function, liveness, pins) } else { Bundles::none() };
    let mut walk = DominanceWalk {
        function,
        liveness,
        pins,
        preferences,
        bundles: &bundles,
        endangered: if bundles.iter().next().is_some() { endangered(function, liveness) } else { SecondaryMap::new() },
        policy,
        evictable,
        order,
        dominators,
        places: SecondaryMap::new(),
        leaving: None,
        expected: Expected::default(),
        evicted: of_each(function.values.len()),
        register: of_each(function.values.len()),
        owner: [None; RegSet::CAPACITY],
        taken: RegSet::EMPTY,
        used: PinLiveness::written(function),
        holding: holding::needed(function, liveness, pins),
        arriving: Vec::new(),
        before: Vec::new(),
        debug: 0,
        result: Assignment::empty(function),
    };
    let mut blocks = order.blocks().to_vec();
    if policy.order == BlockOrder::DominatorTree {
        blocks.sort_unstable_by_key(|&block| dominators.preorder(block));
    }
    let walked = blocks.into_iter().try_for_each(|block| walk.block(block));
    // Evicted values may have taken registers in this round, and definitions that overwrite them others. Whether the rest
    // fits will be known in the next round.
    let evicted: Vec<Value> = function.values.keys().filter(|&value| walk.evicted[value]).collect();
    if !evicted.is_empty() {
        return Err(Refusal::Evicted(evicted));
    }
    walked?;
    walk.result.repairs.sort_by_key(|repair| repair.before);
    Ok(walk.result)
}

struct DominanceWalk<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    preferences: &'a Preferences,
    bundles: &'a Bundles,
    /// How often each value is in danger of being destroyed ([`endangered`]), if there are bundles.
    endangered: SecondaryMap<Value, f64>,
    policy: Policy,
    evictable: Evictable<'a>,
    order: &'a Order,
    dominators: &'a Dominators,
    /// For each bundle that the walk has reached, the registers in which its representatives meet, sorted.
    places: SecondaryMap<Bundle, Option<Vec<(Value, Reg)>>>,
    /// The bundle of the edges that the next instruction takes, if that is a terminator or a call that throws.
    leaving: Option<Bundle>,
    /// Where the values that cross the bundle at the current block's end are going to meet.
    expected: Expected,
    /// Values that have to be spilled, after which a new walk is needed. This one goes on without them, to find all of them.
    evicted: SecondaryMap<Value, bool>,
    /// For each live value, its register; for a dead one, the register that it had last.
    register: SecondaryMap<Value, Option<Reg>>,
    /// The live value in each register.
    owner: [Option<Value>; RegSet::CAPACITY],
    /// The registers with an owner.
    taken: RegSet,
    /// Callee-saved registers that the function saves anyway.
    used: RegSet,
    /// Copies to pinned registers that have to hold the copied values from there on ([`holding`]).
    holding: EntitySet<Inst>,
    /// The values live into the block that is being entered, with their registers at the end of a predecessor; and what
    /// `register` said about these and the definitions of φs before that. Kept for their memory.
    arriving: Vec<(Value, Reg)>,
    before: Vec<(Value, Option<Reg>)>,
    /// The next debug use, for the block that is being walked.
    debug: usize,
    result: Assignment,
}

impl DominanceWalk<'_> {
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
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let occupancy = self.pins.occupancy(self.function, block, inst);
            self.leaving = self.leaving_at(block, inst);
            let permute = self.policy.pins == PinPolicy::Permute && occupancy.takes(self.pins.before(inst));
            let to_be_moved = !self.is_in_place(block)? || self.early(inst, index).next().is_some() || self.has_to_be_held(inst);
            if permute || to_be_moved || !self.simple(inst, &occupancy) {
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
        }
        self.debug_uses(block, self.function.blocks[block].insts.len() as u32);
        let register = |&value: &Value| self.register[value].expect("a live value is in a register");
        self.result.exit.add(block, self.liveness.live_out(block).iter().map(register));
        Ok(())
    }

    /// Whether an instruction copies a value that has to be in the target register itself, and is elsewhere.
    fn has_to_be_held(&self, inst: Inst) -> bool {
        let copied = || self.pins.held(inst).iter().filter(|it| !it.before);
        self.holding.contains(inst) && copied().any(|it| self.at(it.value) != it.reg)
    }

    /// The pinned register in which a live value may be at an instruction: one that it is copied to there, or that holds it
    /// already, if that is `reg`, its present one.
    fn holder(&self, inst: Inst, value: Value, reg: Reg) -> Option<Held> {
        self.pins.holder(inst, value).filter(|it| it.reg == reg || !it.before)
    }

    /// Whether a value is held at an instruction and after it. Then it stays, whatever else moves, as it takes no register
    /// of its own.
    fn stays_held(&self, inst: Inst, value: Value) -> bool {
        self.pins.holder(inst, value).is_some_and(|it| it.after && it.reg == self.at(value))
    }

    /// The pinned registers that hold values at an instruction.
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

    /// Frees the registers of the values that die at an instruction.
    fn kill(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() && self.liveness.kills(first + k) {
                self.free(operand.value);
            }
        }
    }

    /// Puts the definitions of an instruction into their registers. Dead ones do not keep them.
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

    /// Notes the registers of the debug uses up to a point.
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
