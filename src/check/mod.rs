//! The checker: does a function, read through an overlay, still compute what it computed before allocation?
//!
//! It follows symbolically where each value is, over all paths, and knows nothing of allocators.
//!
//! Requires: a valid imported function. Critical edges may be split; nothing in the function itself is inserted or folded.
//! Ensures: if it accepts, every use finds its value, and no inserted instruction or definition overwrites a physical
//! register in which the program itself keeps something.
//! Relies on: all transfer functions distribute over the meet, so the greatest fixed point is the meet over all paths.
//! Moreover, whether a place holds a value after an instruction depends on at most one pair of place and value before it
//! ([`solve`]).
//!
//! For example, let v0 and v1 be in register `a` and v2 in `b`:
//!
//! ```text
//! b0: -> b1
//!   v0:w = op               ; a holds v0
//! b1: -> b1 b2              ; from b0, a holds v1, the φ's definition; from b1, b does; so nothing holds v1 here
//!   v1:w = phi b0:v0 b1:v2
//!   v2:w = op v1            ; b1, instruction 0, operand 1: expected v1 in a, which holds no value
//! b2:
//! ```
//!
//! If the overlay moves `b` to `a` at the end of b1, then a holds v2 there, and v1 on both edges to b1: it is accepted.
//!
//! # Lattice
//!
//! A *place* is a register or a slot. A state assigns to each place the set of values whose content it has: several after
//! copies, none after something unknown has been written. The meet is intersection, place by place. The state before the
//! entry block is empty. Before a block is reached, every place in it holds everything, so it is left out of the meet. One
//! more pseudo-place, *anywhere*, holds the values that are undefined: every place holds those.
//!
//! # Transfer
//!
//! - Load, store, move: the target holds what the source holds and nothing else. Only values of classes no wider than the
//!   edit's are carried. A swap exchanges the contents likewise.
//! - Rematerialisation: the register holds exactly the value, its dropped copies, and the φs that take nothing else. The
//!   physical registers that the instruction writes hold nothing. If the instruction reads another value (recomputation),
//!   the register holds the value and its dropped copies if the other value is where it is read, else nothing. In SSA form,
//!   while a value is live, what it was computed from does not change.
//! - A constant written to memory: the slot holds the same as a register would, as far as that is no wider.
//! - An instruction: registers that it clobbers or writes by itself hold nothing. Then, for each value that it defines, no
//!   place holds the value (it would be that of the loop's previous round), and finally its own place holds it, and nothing
//!   else.
//! - `Copy` and `CopyFrom`: a move between the two places, which adds the defined value to the target; a `CopyFrom` adds it
//!   to the register that it reads as well, since the value is the content of that register or its low part. If a `Copy` is
//!   as wide as its source, or a part of it, the defined value is wherever its source is, whether the copy is executed or
//!   dropped.
//! - `CopyTo`: no effect if the value is in the register already. Otherwise the register holds nothing, since it may have
//!   received only a part of the value.
//! - An edge: all φs at once. A place holds a φ's definition exactly if it held the argument; if the argument is undefined,
//!   the definition is anywhere. Into a landing pad flows the state at the predecessor's throwing call: after the clobbers,
//!   without the definitions. The registers in which the unwinder passes something hold nothing.
//!
//! Only live values, and those from which live ones are recomputed, are carried into a block. If liveness were wrong,
//! something would be missing, so the checker would complain rather than accept.
//!
//! Physical registers that the program itself names are live from the pins that write them to the last pins that read them.
//! A backward scan of each block finds this. Landing pads do not count: the unwinder writes their registers.

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
use crate::machine::{Block, Edit, Function, Inst, Location, Overlay, Point, Value};
use rules::Rules;
use state::{Direction, State};
use transfer::{Transfer, Visitor};

/// Checks the overlay. Complaints are in program order; if the overlay is malformed, only that is reported.
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

/// Looks at an allocation, step by step: in each block the edits and the instructions, in the order in which they are executed.
pub trait Watcher {
    /// Before an edit.
    fn edit(&mut self, whereabouts: Whereabouts<'_>, edit: &(Point, Edit));
    /// Before an instruction, whether it is executed there or not.
    fn inst(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Inst);
    /// At a block's end.
    fn end(&mut self, whereabouts: Whereabouts<'_>, block: Block);
}

/// Where the contents of values are at one point.
#[derive(Clone, Copy)]
pub struct Whereabouts<'s>(&'s State);

impl Whereabouts<'_> {
    /// All places that hold a value's content; none for a value that may be anything.
    pub fn of(self, value: Value) -> impl Iterator<Item = Location> {
        let location = |place: &state::Place| place.as_reg().map(Location::Reg).or_else(|| place.as_slot().map(Location::Slot));
        self.0.places(value).iter().filter_map(location)
    }
}

/// Shows where values are, block by block in the order of their numbers. The overlay must be one that [`check`] accepts.
pub fn watch(function: &Function, overlay: &Overlay, watcher: &mut impl Watcher) {
    let liveness = Liveness::new(function);
    let transfer = Transfer::new(function, overlay, &liveness);
    let mut state = State::new(function.values.len(), overlay.slots.len(), Direction::Held);
    let entries = solve::entries(&transfer, &mut state, overlay.slots.len());
    for block in function.blocks.keys() {
        state.load(&entries[block]);
        transfer.walk(&mut state, block, &mut Shown(watcher));
    }
}

/// A watcher, as a visitor of states.
struct Shown<'w, W>(&'w mut W);

impl<W: Watcher> Visitor for Shown<'_, W> {
    fn edit(&mut self, state: &State, point: Point, edit: &Edit) {
        self.0.edit(Whereabouts(state), &(point, *edit));
    }

    fn inst(&mut self, state: &State, point: Point, inst: Inst) {
        self.0.inst(Whereabouts(state), point.block, inst);
    }

    fn end(&mut self, state: &State, block: Block) {
        self.0.end(Whereabouts(state), block);
    }
}
