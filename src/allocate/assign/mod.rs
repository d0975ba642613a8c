//! Register assignment: a register for every operand that is in one.
//!
//! There are three ways. [`walk`] goes along the dominator tree and may move a value to another register. [`linear`] scans
//! the program in a line, and [`colouring`] colours an interference graph; both give a whole web one register for life, and
//! share [`variables`]. All of them answer with an [`Assignment`], which [`split_at_repairs`] turns into a colour for each
//! name.
//!
//! Requires: SSA form in which the values in registers fit everywhere ([`crate::allocate::spill`]). Ways that keep a value
//! in one register for life may ask for further values to be spilled.
//! Ensures: every operand in a register has one of its class. Values that are live together are in different registers, none
//! of which a pin occupies or a clobber destroys while the value lives on. Nothing is spilled here.
//! Relies on: in dominance order, the coloured neighbours of a value in the interference graph form a clique [Hack,
//! "Coloring Chordal Graphs"], so a register is free for it wherever the pressure fits. Pinned registers break that. So a
//! value may move to another register in front of an instruction, as in bin-packing [PP09, §7]. If predecessors of a block
//! then disagree where it is, code on the edges makes up for that (mock φs). Where edges can take no code, values move to
//! where they meet before they leave ([`crate::analysis::Bundles`]).
//!
//! ```text
//! b0: -> b1            b0: -> b1
//!   v0:w = op            v0:w = op                        a =
//! b1: -> b2 b3         b1: -> b2 b3
//!                        v2:w(of=v0) = phi b0:v0 b2:v1    a = b0:a b2:b
//!   op defs=b            op defs=b
//!   op uses=b            op uses=b
//!                        v1:w(of=v0) = parallel v2        b = a
//!   op defs=a            op defs=a
//!   op uses=a            op uses=a
//!   op terminator        op terminator
//! b2: -> b1            b2: -> b1
//!   op terminator        op terminator
//! b3:                  b3:
//!   op v0                op v1                            b
//! ```
//!
//! With the registers a and b, no register is free all through the loop. So the value moves from a to b between the two
//! pins, and a mock φ brings it back for the next round (`testdata/functions/mock_phi.txt`).

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

/// How registers are chosen by [`assign`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub preference: Preference,
    pub order: BlockOrder,
    pub pins: PinPolicy,
    /// Whether a value gets another name where a two-address instruction overwrites a copy of it and it lives on.
    /// One copy is needed in any case; with two names, recolouring can choose which of them stays in the register.
    pub split_ties: bool,
    /// Whether an argument gets another name where it cannot stay in the register in which it comes in, if that place is
    /// executed less often than the entry ([`arguments`]).
    pub split_arguments: bool,
}

/// In which order blocks get registers, and from where the values that are live into a block come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// In reverse postorder. Values stay where the most frequent predecessor that has been walked leaves them.
    Frequency,
    /// In preorder of the dominator tree, as [PP05, §4.4], [PP09, §7] and \[Hack\] have it. Values stay where the immediate
    /// dominator leaves them.
    DominatorTree,
}

/// Which register a value gets if several are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// The first of its class.
    None,
    /// The register of the value that it is a copy of, if that dies there. Otherwise, the register that makes most φ
    /// arguments fixed points (ComputePreference [PP05, §4.4]).
    FixedPoints,
    /// The register that saves most executions of moves, those from and to pins included, and of saves of callee-saved
    /// registers.
    Frequency,
    /// The register that saves most moves at this point, whatever comes later (punctual coalescing \[PP10\]).
    Punctual,
}

/// The values that may still be spilled: those of the program that are in registers, if their weight is finite. Where the
/// values of a web share a register, they are spilled together.
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

    /// Whether the name is one of a value in memory, which is in a register only around an access.
    fn is_temporary(&self, name: Value) -> bool {
        self.spilled.function.values[name].of.is_some() || self.spilled.memory.slot_of[name].is_some()
    }
}

/// Why there is no assignment.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// These values have to be spilled before it is tried again.
    #[error("{} values have to be spilled first", .0.len())]
    Evicted(Vec<Value>),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Assigns registers along the dominator tree; a value may move to another register.
///
/// # Errors
/// If values have to be spilled first, which happens where pins are avoided and at landing pads. If an instruction's
/// constraints cannot be met, which is a defect of spilling.
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
    let mut assignment = walk::walk(function, (order, dominators), liveness, &pins, &preferences, policy, evictable)?;
    if policy.split_arguments {
        arguments::split(function, order, dominators, liveness, &pins, &mut assignment);
    }
    Ok(assignment)
}

/// Assigns registers by linear scan: a whole web at a time, which keeps its register ([`linear`]). Pins are avoided, and
/// preferences are those of [`Preference::Frequency`], except that callee-saved registers do not count.
///
/// # Errors
/// If values have to be spilled first, or if an instruction needs more registers than there are.
pub fn scan(spilled: &Spilled, liveness: &Liveness, evictable: Evictable) -> Result<Assignment, Refusal> {
    let pins = PinLiveness::new(&spilled.function).keeping(&spilled.function, &spilled.untouched);
    linear::scan(spilled, liveness, &pins, &evictable)
}

/// Assigns registers by iterated register coalescing: a whole web at a time, which keeps its register ([`colouring`]). Pins
/// are avoided.
///
/// # Errors
/// If values have to be spilled first, or if an instruction needs more registers than there are.
pub fn colour_graph(spilled: &Spilled, liveness: &Liveness, evictable: Evictable) -> Result<Assignment, Refusal> {
    let pins = PinLiveness::new(&spilled.function).keeping(&spilled.function, &spilled.untouched);
    colouring::colour(spilled, liveness, &pins, &evictable)
}
