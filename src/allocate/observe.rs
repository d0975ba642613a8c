//! Phases by name, and how to watch them at work.

use crate::allocate::assign::Coloured;
use crate::allocate::cssa::Conventional;
use crate::allocate::spill::{Memory, Spilled};
use crate::machine::{Function, Overlay, Value};

/// A phase of allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Blocks on critical edges are taken away.
    Unsplit,
    /// Order, dominators, liveness: whatever several phases ask for. It changes nothing.
    Analysis,
    /// Values are read in place of their copies, or wait in registers that are excluded.
    Copies,
    /// Instructions move down.
    Sink,
    /// The program leaves SSA form.
    Destruct,
    /// SSA form becomes conventional.
    Cssa,
    /// Two-address instructions get other forms.
    Forms,
    /// Loads and stores are inserted.
    Spill,
    /// Every name gets a register.
    Assign,
    /// Names get other registers, so that fewer copies are left.
    Recolour,
    /// φs become code on edges, and all of it an overlay.
    Eliminate,
    /// Everything, by regalloc2.
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

/// The function as a phase leaves it.
#[derive(Clone, Copy)]
pub enum Stage<'a> {
    /// Not converted yet.
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

/// Watches an allocation. The observer `()` looks away, which costs nothing.
pub trait Observer {
    /// A phase that the allocator runs has ended. One that runs several times ends several times.
    fn after(&mut self, phase: Phase, stage: Stage<'_>);

    /// Assignment has found no registers for these values. They are spilled now, so spilling and assignment run again.
    fn evicted(&mut self, values: &[Value]);

    /// Every phase so far is undone, and they begin again with the program as it was imported.
    fn undone(&mut self, reason: &str);
}

impl Observer for () {
    fn after(&mut self, _: Phase, _: Stage<'_>) {}
    fn evicted(&mut self, _: &[Value]) {}
    fn undone(&mut self, _: &str) {}
}
