//! Spilling on demand as Brisk has it: all transfers between slots of a location transfer graph happen at one point of its
//! code. If no register is free there, one is stored before and loaded back after them.
//!
//! `windmill.rs` does better: it orders all edges of a graph such that a register is free when one is needed.
//!
//! Requires: no edge goes from a register to a slot. (Values are stored where they are defined.)
//! Relies on: [PP09, §1] ("spills a variable on demand, uses the newly vacant register to implement memory transfers, and
//! later reloads the spilled variable") and [PP09, §2, Figure 2(c)] (its code).

use super::sequence::Surroundings;
use super::windmill::{self, Implemented, LocationTransfer, NoRegister, Scratch};
use crate::machine::{Location, Reg, RegSet};

/// Implements a graph, as [`windmill::implement`] does, in two parts. Transfers between slots come first, while registers hold
/// the sources of the others. Where one overwrites a slot that another edge reads, they come last.
///
/// # Errors
/// If a transfer between slots finds no register at all.
pub fn implement(
    transfers: &[LocationTransfer],
    around: &Surroundings,
    scratch: &mut Scratch,
) -> Result<Implemented, NoRegister> {
    let (between_slots, others): (Vec<LocationTransfer>, Vec<_>) = transfers.iter().partition(|transfer| transfer.is_in_memory());
    let overwrites = |other: &LocationTransfer| between_slots.iter().any(|transfer| transfer.to == other.from);
    let last = others.iter().any(overwrites);
    let registers = |location: fn(&LocationTransfer) -> Location| -> RegSet {
        others.iter().filter_map(|other| register(location(other))).collect()
    };
    let (sources, targets) = (registers(|other| other.from), registers(|other| other.to));
    let taken = if last { targets } else { sources };
    let available = around.available | sources | targets;
    let beside = Surroundings { kept: around.kept | taken, available, ..*around };
    let moved = windmill::implement(&between_slots, &beside, scratch)?;
    let rest = windmill::implement(&others, around, scratch)?;
    let [first, second] = if last { [rest, moved] } else { [moved, rest] };
    Ok(Implemented { edits: [first.edits, second.edits].concat(), spills: first.spills + second.spills })
}

fn register(location: Location) -> Option<Reg> {
    match location {
        Location::Reg(reg) => Some(reg),
        Location::Slot(_) => None,
    }
}
