//! Spilling: which values live in memory, and the loads and stores that this takes.
//!
//! Requires: conventional SSA form.
//! Ensures: at every point, the values in registers fit: for every set of registers that some class allows, the values
//! restricted to it are no more than its registers that are not occupied by pins or destroyed by clobbers. Then assignment
//! succeeds without spilling (the interference graph of an SSA program is chordal; `ssa-register-allocator.txt`,
//! section 4.4, and `ssa-allocation-lecture.txt`, "A Foundation for Spilling"). Spilled values of one φ-web share a slot
//! (frugality), and φs between them have disappeared: no φ is left that would move memory to memory.
//!
//! A spilled constant or address is computed again instead; any other spilled value is stored once, behind its definition, and loaded before uses (`ssa-register-allocator.txt`,
//! section 4.6); a load serves later uses in its block as long as registers are free. Where it would serve one instruction
//! alone, and that can read memory, there is no load (a folded operand).

mod choose;
mod demand;
mod feasible;
mod live;
mod materialise;
mod slots;
mod weights;

use crate::analysis::{Liveness, Loops, Order, PinLiveness};
use crate::cssa::Conventional;
use crate::machine::{Function, Inst, PinSets, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};

/// A function whose values in registers fit.
pub struct Spilled {
    pub function: Function,
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Of each spilled value that has a slot.
    pub slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// Of each spilled constant or address, the imported instruction that computes it again.
    pub again: SecondaryMap<Value, PackedOption<Inst>>,
    /// One a debug use: where it finds its value, if that is spilled and live.
    pub debug_slots: Vec<Option<Slot>>,
    /// The number of spilled values.
    pub count: usize,
}

/// Spills until everything fits.
///
/// # Errors
/// If an instruction alone needs more registers than there are.
pub fn spill(conventional: &Conventional, order: &Order, loops: &Loops, liveness: &Liveness) -> Result<Spilled, String> {
    let function = &conventional.function;
    let pins = PinLiveness::new(function);
    let weights = weights::weights(function, loops, liveness);
    let constants = constants(conventional);
    let limits = demand::Limits::new(function);
    let chosen = choose::choose(conventional, order, liveness, &pins, &limits, &weights, &constants)?;
    let plan = slots::assign(conventional, order, liveness, &chosen, constants);
    materialise::materialise(conventional, liveness, &pins, &limits, plan)
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
