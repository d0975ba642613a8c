//! The allocators as rows of choices.

use super::{assign, spill};
use crate::allocate::cssa::Coalescing;
use crate::allocate::eliminate::SwapPolicy;
use assign::{Colouring, PinPolicy, Preference};
use spill::{Choice, LoadLowering};

/// How to allocate: a choice for each phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// The allocator's name on the command line.
    pub name: &'static str,
    /// Which copies of φ isolation are taken back.
    pub coalescing: Coalescing,
    pub spill: spill::Policy,
    pub assign: assign::Policy,
    /// How φs that move memory to memory are eliminated.
    pub elimination: Elimination,
    /// How cycles of registers are broken.
    pub swap: SwapPolicy,
}

/// How φs are eliminated after allocation: the three ways of `spill-free-ssa-elimination.txt`, section 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elimination {
    /// Without moving memory to memory: phi-related values share a slot
    SpillFree,
    /// Memory moves through a register of each bank that is kept free for it
    SpareRegister,
    /// Memory moves through a register that is free, or is spilled for it (Brisk)
    OnDemand,
}

/// Spilling as `ssa-register-allocator.txt` describes it.
const PLAIN: spill::Policy = spill::Policy {
    choice: Choice::Lightest,
    frugal: true,
    keep_loaded: true,
    fold: false,
    rematerialise: false,
    store_hoist: false,
    load_lower: LoadLowering::Off,
    memory_coalesce: false,
};

/// `ch-o1`: φ-lifting, colouring in dominance order, no heuristics.
const CH_O1: Preset = Preset {
    name: "ch-o1",
    coalescing: Coalescing::Nothing,
    spill: PLAIN,
    assign: assign::Policy { colouring: Colouring::Dominance, preference: Preference::None, pins: PinPolicy::Avoid },
    elimination: Elimination::SpillFree,
    swap: SwapPolicy::Xor,
};

/// `ch-o2`: with register coalescing.
const CH_O2: Preset =
    Preset { name: "ch-o2", assign: assign::Policy { preference: Preference::FixedPoints, ..CH_O1.assign }, ..CH_O1 };

/// `ch-o3`: with coalescing of φ-related values in memory.
const CH_O3: Preset = Preset { name: "ch-o3", coalescing: Coalescing::PhiMem, ..CH_O2 };

/// The allocator of `spill-free-ssa-elimination.txt` with its three optimisations.
const SPILL_FREE: Preset = Preset {
    name: "spill-free",
    coalescing: Coalescing::Budimlic,
    spill: spill::Policy {
        fold: true,
        rematerialise: true,
        store_hoist: true,
        load_lower: LoadLowering::Counted,
        memory_coalesce: true,
        ..PLAIN
    },
    assign: assign::Policy { colouring: Colouring::Dominance, preference: Preference::Frequency, pins: PinPolicy::Repair },
    elimination: Elimination::SpillFree,
    swap: SwapPolicy::Auto,
};

/// `local`: values are in registers within a block only.
const LOCAL: Preset = Preset {
    name: "local",
    coalescing: Coalescing::Budimlic,
    spill: spill::Policy { choice: Choice::AcrossBlocks, ..PLAIN },
    assign: assign::Policy { colouring: Colouring::Dominance, preference: Preference::FixedPoints, pins: PinPolicy::Repair },
    ..CH_O1
};

/// `simple`: every value is in memory.
const SIMPLE: Preset =
    Preset { name: "simple", spill: spill::Policy { choice: Choice::Everything, keep_loaded: false, ..PLAIN }, ..LOCAL };

/// `linear-scan`: out of SSA form by aggressive coalescing, then linear scan.
const LINEAR_SCAN: Preset = Preset {
    name: "linear-scan",
    coalescing: Coalescing::Aggressive,
    spill: spill::Policy { choice: Choice::Requested, keep_loaded: false, fold: true, memory_coalesce: true, ..PLAIN },
    assign: assign::Policy { colouring: Colouring::Linear, preference: Preference::Frequency, pins: PinPolicy::Avoid },
    swap: SwapPolicy::Auto,
    ..CH_O1
};

/// All allocators.
pub const PRESETS: &[Preset] = &[SPILL_FREE, CH_O1, CH_O2, CH_O3, LINEAR_SCAN, LOCAL, SIMPLE];

impl Default for Preset {
    fn default() -> Self {
        SPILL_FREE
    }
}

impl Preset {
    /// The allocator of this name.
    pub fn named(name: &str) -> Option<Preset> {
        PRESETS.iter().copied().find(|preset| preset.name == name)
    }
}
