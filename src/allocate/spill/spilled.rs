//! The result of spilling: a function whose values in registers fit, and the places of all other values.

use crate::allocate::degraded::Degraded;
use crate::analysis::Untouched;
use crate::machine::{Block, Function, Inst, RegClass, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A function whose values in registers fit. All its operands are in registers.
pub struct Spilled {
    pub function: Function,
    /// The operands of the imported function that this one lacks, because their instructions access them in memory. Sorted
    /// by instruction.
    pub folds: Vec<Fold>,
    pub memory: Memory,
    /// Where callee-saved registers have to stay untouched.
    pub untouched: Untouched,
    pub counts: SpillCounts,
    /// The respects in which less was done than the options ask for.
    pub degraded: Vec<Degraded>,
}

/// Values that are elsewhere than in registers, about which the function itself says nothing.
pub struct Memory {
    pub slots: PrimaryMap<Slot, SlotData>,
    /// For each slot outside the frame, the imported instruction that loads its content.
    pub given: SecondaryMap<Slot, PackedOption<Inst>>,
    /// The slot of each value that is in memory all its life.
    pub slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// For each block, the arguments that its φs take from elsewhere than registers, in the order of the φs.
    pub edge_refills: SecondaryMap<Block, Vec<EdgeRefill>>,
    /// For each block, its φs that move memory to memory. There are none in frugal allocations.
    pub memory_phis: SecondaryMap<Block, Vec<MemoryPhi>>,
    /// For each block, the values in memory at its head, if values move between registers and memory within their lives, and
    /// the spiller has noted them. They are for the statistics.
    pub rows: SecondaryMap<Block, MemoryRows>,
    /// For each debug use, the slot of its value, if that is live and in memory.
    pub debug_slots: Vec<Option<Slot>>,
}

/// An operand that its instruction accesses in memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    pub inst: Inst,
    /// Its index among the operands of the imported instruction.
    pub operand: usize,
    pub slot: Slot,
    /// Whether it is a definition.
    pub writes: bool,
}

/// An argument that is in no register although its φ is in one. It is brought there on its edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeRefill {
    /// The φ, by its index in its block.
    pub row: usize,
    pub from: Block,
    pub source: EdgeSource,
}

/// Where an argument that is in no register comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeSource {
    /// Memory. The class is wide enough for both φ and argument.
    Slot { slot: Slot, class: RegClass },
    /// An instruction of the imported function, which is executed again.
    Rematerialise(Inst),
}

impl Spilled {
    /// A function of which nothing is spilled.
    pub fn nothing(function: Function) -> Self {
        let memory = Memory {
            slots: PrimaryMap::new(),
            given: SecondaryMap::new(),
            slot_of: SecondaryMap::new(),
            edge_refills: SecondaryMap::new(),
            memory_phis: SecondaryMap::new(),
            rows: SecondaryMap::new(),
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

    /// The operands of an instruction that it accesses in memory.
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
    /// A class as wide as the values that are moved.
    pub class: RegClass,
    /// The slot of each argument, in the order of the predecessors; `None` for arguments that are undefined or stored from
    /// registers.
    pub from: Vec<Option<Slot>>,
}

/// The values in memory at a block's head, as edges of the location transfer graphs of the edges into the block [PP09, §6.2].
#[derive(Clone, Debug, Default)]
pub struct MemoryRows {
    /// φs of the program, and mock φs of values that come from a register somewhere.
    pub phis: Vec<MemoryRow>,
    /// How many other values are in memory there, wherever control comes from.
    pub staying: usize,
    /// One of these for each class.
    pub classes: Vec<Value>,
}

/// A φ in memory.
#[derive(Clone, Debug)]
pub struct MemoryRow {
    pub value: Value,
    /// Whether the program has no such φ: a value that is live into the block is one of itself.
    pub is_mock: bool,
    /// For each predecessor, whether the value comes from memory; `None` if it is undefined there.
    pub from_memory: SmallVec<[Option<bool>; 4]>,
}

impl MemoryRows {
    /// Notes a value that is in memory wherever control comes from.
    pub fn stay(&mut self, function: &Function, value: Value) {
        let class = |value: Value| function.values[value].class;
        self.staying += 1;
        if self.classes.iter().all(|&other| class(other) != class(value)) {
            self.classes.push(value);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.phis.is_empty() && self.staying == 0
    }
}

/// The cost of a plan, and a lower bound on the cost of any plan of the model: one that has the same operands
/// read from memory if they are there, and the same values cross edges without code where that is decided beforehand. In
/// executions, at the weights of [`crate::allocate::cost`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    pub cost: f64,
    pub bound: f64,
    /// Whether the bound is one of all these plans. Otherwise it is one of plans that decide about some blocks together, and
    /// another plan may cost less.
    pub bounds_all: bool,
}

/// How much was spilled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpillCounts {
    /// The number of spilled values.
    pub values: u64,
    /// How good the plan is, if that is known.
    pub certificate: Option<Certificate>,
    pub optimisations: Optimisations,
}

/// How much the optimisations of [PP09, §6] removed (its Figure 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimisations {
    /// Store hoisting: the stores of φ arguments at the ends of blocks that are saved.
    pub hoisted_stores: u64,
    /// Load lowering: the φs that are put into memory.
    pub lowered_values: u64,
    /// Load lowering: the loads at the ends of blocks that are saved. The loads before uses that replace them are not
    /// subtracted.
    pub lowered_loads: u64,
    /// Memory coalescing: the copies from a slot to the same slot that are saved, each of them a load and a store.
    pub coalesced_copies: u64,
}
