//! The checker: does a function, read through an overlay, still compute what it computed?
//!
//! It knows no allocator. It follows where each value is, symbolically, over all paths.
//!
//! Requires: a valid imported function (critical edges may be split; nothing in the function itself is inserted or
//! folded).
//! Ensures: if it accepts, every use finds its value, and no inserted instruction or definition overwrites a physical
//! register that the program itself is keeping something in.
//!
//! # Lattice
//!
//! A *place* is a register or a slot. A state gives each place the set of values that it has the content of: several
//! after copies, none after something unknown was written. The meet is intersection, place by place. The state before
//! the entry block is empty; a block not reached yet has everything everywhere (it is left out of the meet). One more
//! pseudo-place, *anywhere*, holds the values that are undefined: all places hold those.
//!
//! # Transfer
//!
//! - Load, store, move: the target holds what the source holds and nothing else; only values of classes no wider than the
//!   edit's are carried. A swap exchanges so. Rematerialisation: the register holds exactly the value,
//!   its dropped copies and the φs that take nothing else, and the physical registers that the instruction writes hold nothing.
//!   If the instruction reads a value, the register holds the value and its dropped copies if that one is where it is read, else
//!   nothing. (In SSA form, where a value is live, what it was computed from has not changed since.)
//!   A constant written to memory: the slot holds the same, as far as it is no wider.
//! - An instruction: registers that it clobbers or writes itself hold nothing; then, for each value it defines, no place
//!   holds that value (what a place has is the value of the loop's last round), and its own place holds it alone.
//! - `Copy` and `CopyFrom`: as a move between the two places, except that the defined value is added, to the register that a
//!   `CopyFrom` reads as well: the value is what that register holds, or the low part of it. A `Copy` that is as wide
//!   as its source, or a part of it, executed or dropped: the defined value is wherever its source is, too. `CopyTo`: nothing, if the value is in the register; otherwise the register
//!   holds nothing, for it may have got a part of the value.
//! - An edge: all φs at once. A place holds a φ's definition exactly if it held the argument; where the argument is
//!   undefined, the definition is anywhere. Into a landing pad flows the state at the predecessor's throwing call: after
//!   what it clobbers, without what it defines; and the registers the unwinder passes something in hold nothing.
//!
//! Only values that are live are carried into a block, and those that such are computed again from; if liveness is wrong, something is missing, so that the checker
//! complains rather than accepts.
//!
//! Physical registers that the program names itself are live from the pins that write them to the last that read them;
//! that is found by scanning a block backwards. Landing pads count for nothing there: the unwinder writes theirs.
//!
//! Relies on: all transfer functions distribute over the meet, so the greatest fixed point is the meet over all paths. More than
//! that, whether a place holds a value afterwards depends on at most one place and value before ([`solve`]).

mod boundary;
mod complaint;
mod form;
mod rules;
mod solve;
mod state;
#[cfg(test)]
mod tests;
mod transfer;

pub use complaint::{Complaint, Fault, Subject};

use crate::analysis::Liveness;
use crate::machine::{Function, Overlay};
use rules::Rules;
use state::{Direction, State};
use transfer::Transfer;

/// Checks the overlay; all complaints are in program order. If the overlay is malformed, only that is reported.
pub fn check(function: &Function, overlay: &Overlay) -> Result<(), Vec<Complaint>> {
    form::check(function, overlay)?;
    let liveness = Liveness::new(function);
    let transfer = Transfer::new(function, overlay, &liveness);
    let mut state = State::new(function.values.len(), overlay.slots.len(), Direction::Held);
    let entries = solve::entries(&transfer, &mut state, overlay.slots.len());
    let mut rules = Rules::new(function, overlay, transfer.given());
    for block in function.blocks.keys() {
        state.load(&entries[block]);
        rules.enter(block);
        transfer.walk(&mut state, block, &mut rules);
    }
    rules.finish()
}
