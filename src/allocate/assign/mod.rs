//! Register assignment in dominance order; for linear scan, see [`linear`], for graph colouring, [`colouring`].
//!
//! Requires: SSA form in which the values in registers fit everywhere (see [`crate::allocate::spill`]).
//! Ensures: every operand in a register has one of its class; values that are live together are in different registers,
//! none of them occupied by a pin or destroyed by a clobber while the value lives on. It spills nothing.
//! Relies on: in dominance order a value's interfering neighbours that are already coloured form a clique
//! (`ssa-allocation-lecture.txt`, "Coloring Chordal Graphs"), so that a free register is left whenever the pressure fits.
//! Pinned registers break that; there a value may move to another register (bin-packing, `spill-free-ssa-elimination.txt`,
//! section 6.2), and where a join then disagrees with its predecessors, code on the edges makes up for it (mock φs). Where an
//! edge can take no code, values move before it is left to where they meet
//! ([`crate::analysis::Bundles`]).

mod arguments;
mod assignment;
mod colouring;
mod holding;
mod linear;
mod preferences;
mod split;
mod variables;
mod walk;

pub use crate::allocate::pressure::pin_policy::PinPolicy;
pub use assignment::{Assignment, Repair, Split};
pub use split::{Coloured, Colours, split_at_repairs};

use crate::allocate::failure::Failure;
use crate::allocate::spill::Spilled;
use crate::allocate::ssa::conventional::Web;
use crate::analysis::{Dominators, Liveness, Order, PinLiveness};
use crate::machine::Value;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// How registers are chosen in dominance order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub preference: Preference,
    pub pins: PinPolicy,
    /// Whether a value that a two-address instruction overwrites, and that is read again in its block, has another name from
    /// there on. One copy is left in any case; with two names, recolouring chooses which of them stays in the register.
    pub split_ties: bool,
    /// Whether an argument has another name from where it cannot stay in the register that it comes in, if that is executed less
    /// often than the entry ([`arguments`]).
    pub split_arguments: bool,
}

/// Which register a value gets if there are several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// The first of its class.
    None,
    /// That of what it is a copy of, if that dies there; else the one that makes most φ arguments fixed points
    /// (ComputePreference of `ssa-register-allocator.txt`, section 4.4).
    FixedPoints,
    /// The one that saves most executions of moves, pins and callee-saved registers included.
    Frequency,
    /// The one that saves most moves at this point, whatever comes after it: punctual coalescing (Pereira and Palsberg,
    /// "Punctual Coalescing", CC 2010).
    Punctual,
}

/// Values that may still be spilled: those of the program that are in registers, if their weight is not infinite. Those of one
/// web are spilled together where they share a register.
#[derive(Clone, Copy)]
pub struct Evictable<'a> {
    pub weight: &'a dyn Fn(Value) -> f64,
    pub webs: &'a SecondaryMap<Value, PackedOption<Web>>,
    pub spilled: &'a Spilled,
}

impl Evictable<'_> {
    fn weight(&self, name: Value) -> Option<f64> {
        (!self.is_temporary(name)).then(|| (self.weight)(name)).filter(|weight| weight.is_finite())
    }

    fn web(&self, name: Value) -> Option<Web> {
        self.webs[name].expand().filter(|_| !self.is_temporary(name))
    }

    /// Whether the name is that of a value in memory, which is in a register around an access.
    fn is_temporary(&self, name: Value) -> bool {
        self.spilled.function.values[name].of.is_some() || self.spilled.memory.slot_of[name].is_some()
    }
}

/// Why there is no assignment.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// These values have to be spilled first.
    #[error("{} values have to be spilled first", .0.len())]
    Evicted(Vec<Value>),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Assigns registers along the dominator tree; a value may move to another register.
///
/// # Errors
/// If values have to be spilled first (where pins are avoided only), or if an instruction's constraints cannot be met: unless
/// nobody has promised that they can (inline assembly that jumps), that is a defect of the spilling phase.
pub fn assign(
    spilled: &Spilled,
    order: &Order,
    dominators: &Dominators,
    liveness: &Liveness,
    policy: Policy,
    evictable: Evictable,
) -> Result<Assignment, Refusal> {
    let function = &spilled.function;
    let pins = policy.pins.occupied(function, liveness, &spilled.untouched);
    let preferences = preferences::Preferences::new(function, liveness, &pins, policy.preference);
    let mut assignment = walk::walk(function, order, liveness, &pins, &preferences, policy, evictable)?;
    if policy.split_arguments {
        arguments::part(function, order, dominators, liveness, &pins, &mut assignment);
    }
    Ok(assignment)
}

/// Assigns registers along a linear order of the program, a whole web at a time, which keeps its register ([`linear`]). Pins
/// are avoided, and preferences are those of [`Preference::Frequency`], callee-saved registers apart.
///
/// # Errors
/// If values have to be spilled first, or if an instruction needs more registers than there are.
pub fn scan(spilled: &Spilled, liveness: &Liveness, evictable: Evictable) -> Result<Assignment, Refusal> {
    let pins = PinLiveness::new(&spilled.function).keeping(&spilled.function, &spilled.untouched);
    linear::scan(spilled, liveness, &pins, &evictable)
}

/// Assigns registers by iterated register coalescing, a whole web at a time, which keeps its register ([`colouring`]). Pins are
/// avoided.
///
/// # Errors
/// If values have to be spilled first, or if an instruction needs more registers than there are.
pub fn colour_graph(spilled: &Spilled, liveness: &Liveness, evictable: Evictable) -> Result<Assignment, Refusal> {
    let pins = PinLiveness::new(&spilled.function).keeping(&spilled.function, &spilled.untouched);
    colouring::colour(spilled, liveness, &pins, &evictable)
}
