//! Copies to pinned registers after which the copied value has to be in that register itself, so that everything fits.
//!
//! A value that is equal to the content of a pinned register may share it (a *held value*). Where that is not necessary, it
//! is left to assignment: the value may soon have to be elsewhere again.

use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::feasible::misfit;
use crate::allocate::pressure::limits::Limits;
use crate::allocate::pressure::live_set::LiveSet;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::EntitySet;

/// The copies to pinned registers that have to hold the copied values from there on ([`crate::analysis::Held`]), because not
/// all values find registers of their own.
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
        // The values that are held, each with the copy from which on it is.
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

/// Whether all live values find registers of their own at an instruction.
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
