//! Iterated register coalescing (George and Appel, "Iterated Register Coalescing", TOPLAS 18(3), 1996).
//!
//! Requires: webs whose values can share a register, all in registers or all spilled; values that are not [`Evictable`] are in
//! registers for one instruction only, or there is nothing for it.
//! Ensures: one register for each web over all of its life, so that φs and edges take no code. Where there are too few, it
//! says which webs to spill everywhere (Chaitin), and wants to be asked again when their loads and stores are there.
//! Relies on: a node with fewer neighbours than registers finds one whatever they get. Classes are of different sizes, so
//! neighbours are those that have a register in common with the node (Smith, Ramsey, Holloway, "A Generalized Algorithm for
//! Graph-Coloring Register Allocation", PLDI 2004; each node takes one register). Conservative coalescing (Briggs, George)
//! leaves a graph that can be coloured that way as it is.
//! Time: a round for each generation of spills; in each, the graph's edges, and those of both sides for each move that is
//! looked at. No more intervals are live at once than there can be registers, so edges are linear in the intervals' ranges
//! ([`build`]).
//!
//! The temporaries of spilled webs are nodes, but are coalesced with none: what they are copied to and from is a preference.
//! So where an instruction has constraints that colouring one by one does not meet, they can be matched with registers
//! together, as in linear scan.

mod build;
mod graph;
mod moves;
mod select;
mod simplify;
#[cfg(test)]
mod tests;

use super::variables::answer::Placed;
use super::variables::intervals::Intervals;
use super::variables::positions::Positions;
use super::variables::registers::{Fixed, Registers};
use super::{Assignment, Evictable, Refusal};
use crate::allocate::failure::Failure;
use crate::allocate::spill::Spilled;
use crate::analysis::{Liveness, PinLiveness};
use build::build;
use moves::Moves;
use select::Select;
use simplify::simplify;

/// Assigns registers, or finds out which values have to be spilled first.
pub(super) fn colour(
    spilled: &Spilled,
    liveness: &Liveness,
    pins: &PinLiveness,
    evictable: &Evictable,
) -> Result<Assignment, Refusal> {
    let function = &spilled.function;
    let positions = Positions::new(function);
    let fixed = Fixed::new(function, &positions, pins);
    let intervals = Intervals::new(spilled, liveness, &positions, evictable).beside(&fixed);
    let graph = build(function, &intervals);
    let moves = Moves::new(&intervals, &graph);
    let simplified = simplify(graph, moves);
    let mut select = Select::new(function, &positions, &intervals, &simplified);
    select.run().map_err(Failure::from)?;
    if !select.evicted.is_empty() {
        return Err(Refusal::Evicted(select.evicted));
    }
    let chosen = select.chosen();
    let mut registers = Registers::new(fixed);
    for (number, interval) in &intervals.data {
        let reg = chosen[number].expect("every interval has a register");
        registers.timeline_mut(reg).insert(number, interval);
    }
    Ok(Placed { function, intervals: &intervals, registers: &registers, chosen: &chosen }.answer(liveness))
}
