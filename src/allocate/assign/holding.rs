//! Where a value that is copied to a register of the program has to be there itself, so that everything fits.
//!
//! Whether it is better off there otherwise is not known: it may have to be elsewhere again soon.

use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::feasible::misfit;
use crate::allocate::pressure::limits::Limits;
use crate::allocate::pressure::live_set::LiveSet;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::EntitySet;

/// The copies to registers of the program that hold the copied values from there on ([`crate::analysis::Held`]), since not all
/// find registers of their own.
pub(super) fn needed(function: &Function, liveness: &Liveness, pins: &PinLiveness) -> EntitySet<Inst> {
    let mut needed = EntitySet::new();
    let holds = |block: &Block| function.block_insts(*block).any(|inst| !pins.held(inst).is_empty());
    let mut blocks = function.blocks.keys().filter(holds).peekable();
    if blocks.peek().is_none() {
        return needed;
    }
    let limits = Limits::new(function, false).expect("spilling has provided for the classes");
    let mut live = LiveSet::new(function, &limits);
    for block in blocks {
        live.clear();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
        liveness.live_in(block).iter().copied().chain(phis).for_each(|value| live.add(value));
        // Where what is held was copied.
        let mut copies: Vec<(Value, Inst)> = Vec::new();
        for inst in function.block_insts(block) {
            let held = pins.held(inst);
            copies.extend(held.iter().filter(|it| !it.before).map(|it| (it.value, inst)));
            if !held.is_empty() && !fits(function, &limits, liveness, pins, block, inst, &live) {
                let copied = |value: Value| copies.iter().rev().find(|&&(other, _)| other == value).map(|&(_, copy)| copy);
                needed.extend(held.iter().filter_map(|it| copied(it.value)));
            }
            live.advance(liveness, inst, |_| true);
        }
    }
    needed
}

/// Whether an instruction leaves registers for all that are live, with none held.
fn fits(
    function: &Function,
    limits: &Limits,
    liveness: &Liveness,
    pins: &PinLiveness,
    block: Block,
    inst: Inst,
    live: &LiveSet,
) -> bool {
    let first = function.insts[inst].operands.start as usize;
    let last_use = |k: usize| if liveness.kills(first + k) { LastUse::OfValue } else { LastUse::No };
    let demand = Demand::of(function, limits, inst, None, last_use);
    let occupancy = pins.occupancy(function, block, inst);
    let through = live.counts_without(&demand.dying);
    demand.excess(limits, &through, &occupancy, 0).is_none()
        && misfit(function, limits, inst, &occupancy, live.values().iter().map(|&value| (value, None)), None, last_use).is_none()
}
