//! The result of spilling: a function whose values in registers fit, and where the others are.

use crate::allocate::degraded::Degraded;
use crate::analysis::Untouched;
use crate::machine::{Block, Function, Inst, RegClass, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use serde::{Deserialize, Serialize};

/// A function whose values in registers fit. All its operands are in registers.
pub struct Spilled {
    pub function: Function,
    /// By instruction, operands that the imported function has and this one has not: they are accessed in memory.
    pub folds: Vec<Fold>,
    pub memory: Memory,
    /// Callee-saved registers that nothing may be in, and where.
    pub untouched: Untouched,
    /// What spilling came to.
    pub counts: SpillCounts,
    /// Where it was done in another way than was asked for.
    pub degraded: Vec<Degraded>,
}

/// What the function says nothing about: values that are elsewhere than in registers.
pub struct Memory {
    pub slots: PrimaryMap<Slot, SlotData>,
    /// The instruction that loads what is in a slot, of those that are none of the frame.
    pub given: SecondaryMap<Slot, PackedOption<Inst>>,
    /// Of each value that is in memory all its life.
    pub slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// What φs of a block take from elsewhere than registers, in the order of the φs.
    pub edge_refills: SecondaryMap<Block, Vec<EdgeRefill>>,
    /// φs of each block that move memory to memory; without frugality only.
    pub memory_phis: SecondaryMap<Block, Vec<MemoryPhi>>,
    /// One a debug use: where it finds its value, if that is in memory and live.
    pub debug_slots: Vec<Option<Slot>>,
}

/// An operand that its instruction accesses in memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    pub inst: Inst,
    /// Its index among the operands of the imported instruction.
    pub operand: usize,
    pub slot: Slot,
    /// It is a definition.
    pub writes: bool,
}

/// An argument of a φ in a register that is in none itself: it gets there on its edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeRefill {
    /// The φ, by its index in its block.
    pub row: usize,
    pub from: Block,
    pub source: EdgeSource,
}

/// Where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeSource {
    /// Memory; the class is wide enough for φ and argument.
    Slot { slot: Slot, class: RegClass },
    /// This instruction of the imported function, which is executed again.
    Rematerialise(Inst),
}

impl Spilled {
    /// A function that is as it was: nothing is in memory.
    pub fn nothing(function: Function) -> Self {
        let memory = Memory {
            slots: PrimaryMap::new(),
            given: SecondaryMap::new(),
            slot_of: SecondaryMap::new(),
            edge_refills: SecondaryMap::new(),
            memory_phis: SecondaryMap::new(),
            debug_slots: vec![None; function.debug_uses.len()],
        };
        Spilled {
            function,
            folds: Vec::new(),
            memory,
            untouched: Untouched::default(),
            counts: SpillCounts::default(),
            degraded: Vec::new(),
        }
    }

    /// The operands of an instruction that are in memory.
    pub fn folds(&self, inst: Inst) -> &[Fold] {
        Fold::of(&self.folds, inst)
    }
}

impl Fold {
    /// The folded operands of an instruction, among those of a function in the order of their instructions.
    pub fn of(folds: &[Fold], inst: Inst) -> &[Fold] {
        let first = folds.partition_point(|fold| fold.inst < inst);
        let count = folds[first..].iter().take_while(|fold| fold.inst == inst).count();
        &folds[first..first + count]
    }
}

/// A φ in memory whose arguments are not all in its own slot.
#[derive(Clone, Debug)]
pub struct MemoryPhi {
    pub to: Slot,
    /// As wide as what is moved.
    pub class: RegClass,
    /// The slot of each argument, in the order of the predecessors; `None` for those that are stored from registers, or
    /// undefined.
    pub from: Vec<Option<Slot>>,
}

/// What a plan costs, and what any costs at least that lets the same values cross edges without code and folds the same
/// operands, in executions at the weights of [`crate::allocate::cost`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    pub cost: f64,
    pub bound: f64,
}

/// What spilling came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpillCounts {
    /// Spilled values.
    pub values: u64,
    /// How good that is, if it is known.
    pub certificate: Option<Certificate>,
    pub optimisations: Optimisations,
}

/// What the optimisations of `spill-free-ssa-elimination.txt` removed (its Figure 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimisations {
    /// Store hoisting: stores of φ arguments at the ends of blocks that are not there.
    pub hoisted_stores: u64,
    /// Load lowering: φs put into memory.
    pub lowered_values: u64,
    /// Load lowering: loads at the ends of blocks that are not there. The loads before uses that stand for them are not taken
    /// off.
    pub lowered_loads: u64,
    /// Memory coalescing: copies from a slot to the same slot that are not there, each of them a load and a store.
    pub coalesced_copies: u64,
}
