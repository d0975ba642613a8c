//! Graph colouring by iterated register coalescing \[GA96\].
//!
//! The steps are those of the paper: [`mod@build`] the interference graph; [`mod@simplify`] it by taking nodes out,
//! coalescing [`moves`], and freezing those that cannot be coalesced; and [`select`] a colour for each node, in the reverse
//! order.
//!
//! The temporaries of spilled webs are nodes, but they are not coalesced: the values from and to which they are copied are
//! only preferences. So if an instruction has constraints that colouring one node after another does not meet, its
//! temporaries can be matched with registers together, as in linear scan.
//!
//! Requires: webs whose values can share a register, each of them entirely in registers or entirely spilled. Values that are
//! not [`Evictable`] are in registers for one instruction only, unless that cannot be helped.
//! Ensures: one register for each web all its life, so that φs and edges take no code. If registers do not suffice, it names
//! webs to be spilled everywhere (Chaitin), and is called again when they have their loads and stores.
//! Relies on: a node with fewer neighbours than registers finds a register whatever they get. Since classes are of different
//! sizes, only neighbours that have a register in common with the node count (\[SRH04\]; each node takes one register).
//! Conservative coalescing (Briggs, George) keeps a graph colourable that can be coloured in this way.
//! Time: one round for each generation of spills. In each, the graph's edges once, and those of both sides for each move
//! that is looked at. No more intervals are live at once than there can be registers, so the edges are linear in the
//! intervals' ranges ([`mod@build`]).
//!
//! ```text
//! v0:w = op         b =
//! v1:w = op         a =
//! op v0             b
//! v2:w = copy v0    b = b
//! op v1             a
//! op v2             b
//! op v2             b
//! ```
//!
//! v0 and v2 do not interfere, and together they have one neighbour, v1. So they are coalesced, and the copy disappears.

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
