//! Register assignment in dominance order; for linear scan, see [`linear`].
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

mod linear;
mod preferences;
mod walk;

use crate::allocate::cssa::Web;
use crate::allocate::failure::Failure;
use crate::analysis::{Liveness, Order, PinLiveness};
use crate::machine::{Block, Function, Inst, Reg, RegClass, RegSet, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// One register's content goes to another, at the same time as other transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub from: Reg,
    pub to: Reg,
    /// Wide enough for the content.
    pub class: RegClass,
}

/// Transfers that happen together just before an instruction.
pub struct Repair {
    pub before: Inst,
    pub transfers: Vec<Transfer>,
    /// The registers of values that stay where they are.
    pub kept: RegSet,
}

/// A register for everything that is in one.
pub struct Assignment {
    /// Indexed like [`Function::operands`]; `None` for folded operands.
    pub operands: Vec<Option<Reg>>,
    /// In program order.
    pub repairs: Vec<Repair>,
    /// In program order, loads into registers that have the slot's content already.
    pub redundant: Vec<Inst>,
    /// Of each block, the registers of its live-in values, parallel to [`Liveness::live_in`].
    pub entry: SecondaryMap<Block, Vec<Reg>>,
    /// Of each block, the registers of its live-out values, parallel to [`Liveness::live_out`]. For an edge to a landing
    /// pad, see `at_throw`.
    pub exit: SecondaryMap<Block, Vec<Reg>>,
    /// Of a block with landing pads, the values that live on past its [`throws`](crate::machine::BlockData::throws), sorted.
    pub at_throw: SecondaryMap<Block, Vec<(Value, Reg)>>,
    /// Of each φ's definition, its register at the head of the block.
    pub phi_register: SecondaryMap<Value, PackedOption<PackedReg>>,
    /// All registers in use anywhere.
    pub used: RegSet,
    /// One a debug use: the value's register then, if it is in one.
    pub debug: Vec<Option<Reg>>,
}

/// A register as a packable entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackedReg(u32);
cranelift_entity::entity_impl!(PackedReg);

impl From<Reg> for PackedReg {
    fn from(reg: Reg) -> Self {
        PackedReg::from_u32(reg.index() as u32)
    }
}

impl PackedReg {
    /// The register.
    pub fn reg(self) -> Reg {
        Reg::new(self.as_u32() as usize)
    }
}

impl Assignment {
    /// Nothing assigned yet.
    fn empty(function: &Function) -> Self {
        Assignment {
            operands: vec![None; function.operands.len()],
            repairs: Vec::new(),
            redundant: Vec::new(),
            entry: SecondaryMap::with_capacity(function.blocks.len()),
            exit: SecondaryMap::with_capacity(function.blocks.len()),
            at_throw: SecondaryMap::new(),
            phi_register: SecondaryMap::with_capacity(function.values.len()),
            used: RegSet::EMPTY,
            debug: vec![None; function.debug_uses.len()],
        }
    }

    /// Where a value is when control leaves `from` for `to`.
    ///
    /// # Panics
    /// If the value is not live there.
    pub fn on_exit(&self, function: &Function, liveness: &Liveness, from: Block, to: Block, value: Value) -> Reg {
        if function.blocks[to].landing_pad {
            let values = &self.at_throw[from];
            let place = values.binary_search_by_key(&value, |&(v, _)| v).expect("the value lives on past the call");
            return values[place].1;
        }
        let place = liveness.live_out(from).binary_search(&value).expect("the value is live on the edge");
        self.exit[from][place]
    }
}

/// How registers are chosen in dominance order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub preference: Preference,
    pub pins: PinPolicy,
}

impl Policy {
    /// Whether values change registers where they have to.
    pub fn moves(&self) -> bool {
        self.pins == PinPolicy::Repair
    }
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
}

/// What happens to values where the program pins or clobbers registers.
///
/// Avoiding them is `ssa-register-allocator.txt`, "Handling Pre-colored Virtual Registers".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PinPolicy {
    /// Values are kept off registers that are occupied anywhere in their live range, or spilled.
    Avoid,
    /// Values move to other registers where they are in the way.
    Repair,
}

/// Values that may still be spilled, with their weights: the first `count` ones, if their weight is not infinite. Those of one
/// web are spilled together where they share a register.
#[derive(Clone, Copy)]
pub struct Evictable<'a> {
    pub weights: &'a SecondaryMap<Value, f64>,
    pub count: usize,
    pub webs: &'a SecondaryMap<Value, PackedOption<Web>>,
}

impl Evictable<'_> {
    fn weight(&self, value: Value) -> Option<f64> {
        (!self.is_temporary(value)).then(|| self.weights[value]).filter(|weight| weight.is_finite())
    }

    /// Whether the value is in a register because it was spilled.
    fn is_temporary(&self, value: Value) -> bool {
        value.index() >= self.count
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
    function: &Function,
    order: &Order,
    liveness: &Liveness,
    policy: Policy,
    evictable: Evictable,
) -> Result<Assignment, Refusal> {
    let pins = PinLiveness::new(function);
    let preferences = preferences::Preferences::new(function, liveness, &pins, policy.preference);
    walk::walk(function, order, liveness, &pins, &preferences, policy, evictable)
}

/// Assigns registers along a linear order of the program, a whole web at a time, which keeps its register ([`linear`]). Pins
/// are avoided, and preferences are those of [`Preference::Frequency`], callee-saved registers apart.
///
/// # Errors
/// If values have to be spilled first, or if an instruction needs more registers than there are.
pub fn scan(function: &Function, liveness: &Liveness, evictable: Evictable) -> Result<Assignment, Refusal> {
    linear::scan(function, liveness, &PinLiveness::new(function), &evictable)
}
