//! The phases by name, and observers that watch them.

use crate::allocate::assign::Coloured;
use crate::allocate::cssa::Conventional;
use crate::allocate::spill::{Memory, Spilled};
use crate::machine::{Function, Overlay, Value};

/// A phase of allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Removes blocks on critical edges.
    Unsplit,
    /// Computes order, dominators and liveness, which several phases need. It changes nothing.
    Analysis,
    /// Has values read in place of their copies, and has values wait in excluded registers.
    Copies,
    /// Moves instructions down.
    Sink,
    /// Takes the program out of SSA form.
    Destruct,
    /// Makes SSA form conventional.
    Cssa,
    /// Chooses other forms of two-address instructions.
    Forms,
    /// Inserts loads and stores.
    Spill,
    /// Gives every name a register.
    Assign,
    /// Gives names other registers, so that fewer copies are left.
    Recolour,
    /// Turns φs into code on edges, and the result into an overlay.
    Eliminate,
    /// Does everything, by regalloc2.
    Regalloc2,
}

impl Phase {
    /// All phases, in the order in which an allocator runs those that it has.
    pub const ALL: [Phase; 12] = [
        Phase::Unsplit,
        Phase::Analysis,
        Phase::Copies,
        Phase::Sink,
        Phase::Destruct,
        Phase::Cssa,
        Phase::Forms,
        Phase::Spill,
        Phase::Assign,
        Phase::Recolour,
        Phase::Eliminate,
        Phase::Regalloc2,
    ];

    /// The phase's name in statistics and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Unsplit => "unsplit",
            Phase::Analysis => "analysis",
            Phase::Copies => "copies",
            Phase::Sink => "sink",
            Phase::Destruct => "destruct",
            Phase::Cssa => "cssa",
            Phase::Forms => "forms",
            Phase::Spill => "spill",
            Phase::Assign => "assign",
            Phase::Recolour => "recolour",
            Phase::Eliminate => "eliminate",
            Phase::Regalloc2 => "regalloc2",
        }
    }
}

/// The function after a phase.
#[derive(Clone, Copy)]
pub enum Stage<'a> {
    /// It has not been converted yet.
    Program(&'a Function),
    /// Its φ-related values form webs.
    Conventional(&'a Conventional),
    /// Its values are in registers or in memory.
    Spilled(&'a Spilled),
    /// Every name has a register.
    Coloured(&'a Coloured, &'a Memory),
    /// The imported function, and the answer.
    Allocated(&'a Function, &'a Overlay),
}

/// Watches an allocation. The observer `()` watches nothing, which costs nothing.
pub trait Observer {
    /// A phase has ended. A phase that runs several times ends several times.
    fn after(&mut self, phase: Phase, stage: Stage<'_>);

    /// Assignment has found no registers for these values. They are spilled now, so spilling and assignment run again.
    fn evicted(&mut self, values: &[Value]);

    /// All phases so far are undone, and begin again with the program as imported.
    fn undone(&mut self, reason: &str);
}

impl Observer for () {
    fn after(&mut self, _: Phase, _: Stage<'_>) {}
    fn evicted(&mut self, _: &[Value]) {}
    fn undone(&mut self, _: &str) {}
}
