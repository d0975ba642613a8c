//! Spilling: which values live in memory, and the loads and stores that this takes.
//!
//! Requires: conventional SSA form.
//! Ensures: at every point, the values in registers fit: for every set of registers that some class allows, the values
//! restricted to it are no more than its registers that are not occupied by pins or destroyed by clobbers. Then assignment
//! succeeds without spilling (the interference graph of an SSA program is chordal; `ssa-register-allocator.txt`,
//! section 4.4, and `ssa-allocation-lecture.txt`, "A Foundation for Spilling"). Spilled values of one φ-web share a slot
//! (frugality), and φs between them have disappeared: no φ is left that would move memory to memory.
//!
//! A spilled constant or address is computed again instead; any other spilled value is stored once, behind its definition,
//! and loaded before uses (`ssa-register-allocator.txt`, section 4.6); a load serves later uses in its block as long as
//! registers are free. Where it would serve one instruction alone, and that can read memory, there is no load (a folded
//! operand). [`Policy`] changes all of that.

mod choose;
mod crossing;
mod lower;
mod materialise;
mod slots;
mod weights;

use crate::allocate::cssa::Conventional;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::limits::Limits;
use crate::analysis::{Bundles, Liveness, Loops, Order, PinLiveness};
use crate::machine::{Block, Function, Inst, PinSets, RegClass, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use serde::{Deserialize, Serialize};

/// How to spill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// A loaded value serves later uses in its block while there is room; without, every use loads.
    pub keep_loaded: bool,
    /// Instructions read spilled operands from memory themselves where they can; without, only copies do.
    pub fold: bool,
    /// Constants and addresses are computed again instead of being stored and loaded.
    pub rematerialise: bool,
    /// A φ's argument that is stored is stored once behind its definition, not at the end of each block that it is taken
    /// from (`spill-free-ssa-elimination.txt`, section 6.1).
    pub store_hoist: bool,
    /// Section 6.2.
    pub load_lower: LoadLowering,
    /// A copy from a slot to the same slot is dropped (section 6.3).
    pub memory_coalesce: bool,
}

/// What the phases behind spilling do and want, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// Which values are to be spilled before registers are given. `None`: only those that are asked for, whole webs; assignment
    /// asks for more where they do not fit. It keeps the others in one register for life, also across edges that can take no
    /// code.
    pub choice: Option<Choice>,
    /// The values of a φ-web share a slot. Without, every value has its own, and φ elimination moves memory to memory.
    pub frugal: bool,
    /// φ elimination wants one register of each bank to stay free wherever no single instruction needs all of them.
    pub spare: bool,
    /// Assignment moves values to where they meet, so that they can cross edges without code in registers.
    pub moves: bool,
}

/// Which values are spilled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Where too many are live, those of least weight.
    Lightest,
    /// Those that are live from one block to another; then, within blocks, as above.
    AcrossBlocks,
    /// All.
    Everything,
}

/// When a φ's definition in a register is put into memory because its arguments are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadLowering {
    /// Never.
    Off,
    /// If its arguments' loads are more than its uses.
    Counted,
    /// If the loads and stores that it saves are executed more often than those that it costs.
    Weighted,
}

/// A function whose values in registers fit.
pub struct Spilled {
    pub function: Function,
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Of each spilled value that has a slot.
    pub slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// Of each spilled constant or address, the imported instruction that computes it again.
    pub again: SecondaryMap<Value, PackedOption<Inst>>,
    /// φs of each block that move memory to memory; without frugality only.
    pub memory_phis: SecondaryMap<Block, Vec<MemoryPhi>>,
    /// One a debug use: where it finds its value, if that is spilled and live.
    pub debug_slots: Vec<Option<Slot>>,
    /// What spilling came to.
    pub counts: SpillCounts,
}

/// A φ in memory whose arguments are not all in its own slot.
#[derive(Clone, Debug)]
pub struct MemoryPhi {
    pub to: Slot,
    /// As wide as what is moved.
    pub class: RegClass,
    /// The slot of each argument, in the order of the predecessors; `None` for those that are stored from registers, or
    /// undefined.
    pub from: Vec<Option<Slot>>,
}

/// What spilling came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillCounts {
    /// Spilled values.
    pub values: u64,
    pub optimisations: Optimisations,
}

/// What the optimisations of `spill-free-ssa-elimination.txt` removed (its Figure 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimisations {
    /// Store hoisting: stores of φ arguments at the ends of blocks that are not there.
    pub hoisted_stores: u64,
    /// Load lowering: φs put into memory.
    pub lowered_values: u64,
    /// Load lowering: loads at the ends of blocks that are not there. The loads before uses that stand for them are not taken
    /// off.
    pub lowered_loads: u64,
    /// Memory coalescing: copies from a slot to the same slot that are not there, each of them a load and a store.
    pub coalesced_copies: u64,
}

/// A function in conventional SSA form and what spilling needs to know about it.
pub struct Spiller<'a> {
    conventional: &'a Conventional,
    order: &'a Order,
    liveness: &'a Liveness,
    /// What can cross edges that take no code in registers.
    bundles: Bundles,
    pins: PinLiveness,
    weights: SecondaryMap<Value, f64>,
    /// Values that have to stay in registers.
    held: SecondaryMap<Value, bool>,
    constants: SecondaryMap<Value, PackedOption<Inst>>,
    limits: Limits,
    policy: Policy,
    outlook: Outlook,
}

impl<'a> Spiller<'a> {
    /// Prepares to spill.
    ///
    /// # Errors
    /// If the function has values of too many different classes.
    pub fn new(
        conventional: &'a Conventional,
        order: &'a Order,
        loops: &Loops,
        liveness: &'a Liveness,
        policy: Policy,
        outlook: Outlook,
    ) -> Result<Self, Unsupported> {
        let function = &conventional.function;
        let pins = PinLiveness::new(function);
        let held = held(function, liveness);
        let mut weights = weights::weights(function, loops, liveness);
        for value in function.values.keys().filter(|&value| held[value]) {
            weights[value] = f64::INFINITY;
        }
        Ok(Spiller {
            conventional,
            order,
            liveness,
            bundles: if outlook.moves { Bundles::new(function, liveness, &pins) } else { Bundles::none() },
            pins,
            weights,
            held,
            constants: constants(conventional),
            limits: Limits::new(function, outlook.spare)?,
            policy,
            outlook,
        })
    }

    /// The weight of each value: light ones are spilled first, those of infinite weight not at all.
    pub fn weights(&self) -> &SecondaryMap<Value, f64> {
        &self.weights
    }

    /// Spills the requested values, and others until everything fits.
    ///
    /// # Errors
    /// If an instruction alone needs more registers than there are.
    pub fn spill(&self, requested: &SecondaryMap<Value, bool>) -> Result<Spilled, Unsupported> {
        let mut chosen = choose::choose(self, requested).map_err(Unsupported)?;
        let lowered = lower::lower(self, &mut chosen.spilled);
        let plan = slots::assign(self, &chosen);
        let mut spilled = materialise::materialise(self, plan).map_err(Unsupported)?;
        spilled.counts.optimisations.lowered_values = lowered.values;
        spilled.counts.optimisations.lowered_loads = lowered.loads;
        Ok(spilled)
    }
}

/// The values that inline assembly defines and that are wanted where it jumps to: no store can stand where control passes on
/// all its ways out.
fn held(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, bool> {
    let mut held: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(function.values.len());
    let targets = |block: Block| function.blocks[block].succs.iter().filter(|&&succ| function.blocks[succ].jump_target);
    for block in function.blocks.keys() {
        for inst in function.block_insts(block).filter(|&inst| function.insts[inst].jumps) {
            for def in function.operands(inst).iter().filter(|operand| operand.is_def()) {
                held[def.value] = targets(block).any(|&target| liveness.live_in(target).binary_search(&def.value).is_ok());
            }
        }
    }
    held
}

/// The values that can be computed again wherever they are wanted, with the imported instruction that does: they need no
/// slot. φs take their arguments from registers or slots, so a web's values are not among them.
fn constants(conventional: &Conventional) -> SecondaryMap<Value, PackedOption<Inst>> {
    let function = &conventional.function;
    let mut constants = SecondaryMap::with_capacity(function.values.len());
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.rematerialisable) {
        let def = function.operands(inst)[0].value;
        if conventional.webs[def].is_none() && *function.pins(inst) == PinSets::default() {
            constants[def] = data.origin;
        }
    }
    constants
}
