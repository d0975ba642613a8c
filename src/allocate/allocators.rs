//! The allocators as rows of choices.

use super::{assign, spill};
use crate::allocate::cssa::Coalescing;
use crate::allocate::destruct;
use crate::allocate::eliminate::SwapPolicy;
use crate::allocate::recolour::Recolouring;
use assign::{PinPolicy, Preference};
use spill::{Choice, Downstream, Effort, Entry, LoadLowering};
use std::time::Duration;

/// How to allocate: choices that do not depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// The allocator's name on the command line.
    pub name: &'static str,
    /// Which copies of φ isolation are taken back.
    pub coalescing: Coalescing,
    /// Whether values are read in place of their copies.
    pub merge_copies: bool,
    /// Whether values wait in registers that are excluded, where the program has put them or wants them.
    pub park: bool,
    /// Whether two-address instructions move behind the last use of what they overwrite.
    pub sink: bool,
    /// Whether what is computed moves down to its first use, where registers are scarce.
    pub delay: bool,
    /// Whether two-address instructions get other forms where that saves a copy.
    pub forms: bool,
    /// Whether copies avoid edges that get a block of their own, and a jump, for them, where that costs less.
    pub spare_jumps: bool,
    /// Whether callee-saved registers are saved each for itself, where that costs less, and not by the prologue.
    pub separate_saves: bool,
    /// How values are given registers.
    pub registers: Registers,
    /// How values are put into memory and taken from there.
    pub spill: spill::Policy,
    /// How cycles of registers are broken.
    pub swap: SwapPolicy,
}

/// How values are given registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registers {
    /// In dominance order, when values have been spilled so that all others fit.
    Dominance(Dominance),
    /// By linear scan. A variable has one register, or is spilled because it finds none: nothing is spilled before, nothing
    /// moves, and φs need no code.
    LinearScan,
    /// By colouring the interference graph (iterated register coalescing). Otherwise as under linear scan.
    GraphColouring,
}

/// The choices that there are in dominance order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dominance {
    /// Which values are spilled.
    pub choice: Choice,
    pub assign: assign::Policy,
    /// Whether copies are coalesced when all registers are chosen.
    pub recolouring: Recolouring,
    /// How φs between values in memory are eliminated.
    pub elimination: Elimination,
}

/// What makes copies between registers come to nothing, from colouring on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterCoalescing {
    /// Nothing but chance.
    Nothing,
    /// Colours are chosen with regard to copies.
    Preference,
    /// Colours are chosen such that as little as possible is moved at each point, whatever comes after it.
    Punctual,
    /// Once all are chosen, names are recoloured by optimisation units.
    Units,
    /// Once all are chosen, names are recoloured by chunks.
    Chunks,
    /// The same, and then by exchanges of two registers.
    Exchanges,
    /// The same, and then by integer programming.
    Optimal,
}

impl Dominance {
    pub fn coalescing(&self) -> RegisterCoalescing {
        match (self.recolouring, self.assign.preference) {
            (Recolouring::Units, _) => RegisterCoalescing::Units,
            (Recolouring::Chunks, _) => RegisterCoalescing::Chunks,
            (Recolouring::Exchanges, _) => RegisterCoalescing::Exchanges,
            (Recolouring::Optimal, _) => RegisterCoalescing::Optimal,
            (Recolouring::Never, Preference::None) => RegisterCoalescing::Nothing,
            (Recolouring::Never, Preference::Punctual) => RegisterCoalescing::Punctual,
            (Recolouring::Never, Preference::FixedPoints | Preference::Frequency) => RegisterCoalescing::Preference,
        }
    }

    /// Has copies coalesced in a way. Whether colours are chosen with regard to copies before they are recoloured stays as it
    /// is.
    pub fn coalesce(&mut self, how: RegisterCoalescing) {
        self.recolouring = match how {
            RegisterCoalescing::Units => Recolouring::Units,
            RegisterCoalescing::Chunks => Recolouring::Chunks,
            RegisterCoalescing::Exchanges => Recolouring::Exchanges,
            RegisterCoalescing::Optimal => Recolouring::Optimal,
            RegisterCoalescing::Nothing | RegisterCoalescing::Preference | RegisterCoalescing::Punctual => Recolouring::Never,
        };
        self.assign.preference = match (how, self.assign.preference) {
            (RegisterCoalescing::Nothing, _) => Preference::None,
            (RegisterCoalescing::Punctual, _) => Preference::Punctual,
            (RegisterCoalescing::Preference, Preference::None) => Preference::Frequency,
            (_, chosen) => chosen,
        };
    }
}

/// How φs are eliminated after allocation: the three ways of `spill-free-ssa-elimination.txt`, section 1. The latter two have
/// memory to move, so there each spilled value has a slot of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elimination {
    /// Without moving memory to memory: φ-related values share a slot.
    SpillFree,
    /// Memory moves through a register of each bank that is kept free for it.
    SpareRegister,
    /// Memory moves through a register that is free, or is spilled for it (Brisk).
    OnDemand,
}

impl Elimination {
    /// Whether φ-related values share a slot, so that no memory is moved.
    pub fn is_frugal(self) -> bool {
        self == Elimination::SpillFree
    }
}

impl Registers {
    /// How φs between values in memory are eliminated.
    pub fn elimination(&self) -> Elimination {
        match self {
            Registers::Dominance(dominance) => dominance.elimination,
            Registers::LinearScan | Registers::GraphColouring => Elimination::SpillFree,
        }
    }

    /// Which values are spilled before registers are given.
    pub fn spilling(&self) -> Option<Choice> {
        match self {
            Registers::Dominance(dominance) => Some(dominance.choice),
            Registers::LinearScan | Registers::GraphColouring => None,
        }
    }

    /// What makes copies come to nothing from colouring on. (Linear scan and graph colouring have ways of their own.)
    pub fn coalescing(&self) -> RegisterCoalescing {
        match self {
            Registers::Dominance(dominance) => dominance.coalescing(),
            Registers::LinearScan | Registers::GraphColouring => RegisterCoalescing::Preference,
        }
    }

    /// Whether, and how, copies are coalesced when all registers are chosen.
    pub fn recolouring(&self) -> Recolouring {
        match self {
            Registers::Dominance(dominance) => dominance.recolouring,
            Registers::LinearScan | Registers::GraphColouring => Recolouring::Never,
        }
    }

    /// Whether values have other names behind instructions that overwrite them.
    pub fn split_ties(&self) -> bool {
        matches!(self, Registers::Dominance(Dominance { assign: assign::Policy { split_ties: true, .. }, .. }))
    }

    /// Whether arguments have other names from where they cannot stay where they come in.
    pub fn split_arguments(&self) -> bool {
        matches!(self, Registers::Dominance(Dominance { assign: assign::Policy { split_arguments: true, .. }, .. }))
    }

    /// What happens to values where the program pins or clobbers registers.
    pub fn pins(&self) -> PinPolicy {
        match self {
            Registers::Dominance(dominance) => dominance.assign.pins,
            Registers::LinearScan | Registers::GraphColouring => PinPolicy::Avoid,
        }
    }

    /// Whether integer programs have to be solved.
    pub fn want_solver(&self) -> bool {
        self.spilling() == Some(Choice::Optimal) || self.recolouring() == Recolouring::Optimal
    }

    /// What spilling has to know about them.
    pub fn downstream(&self) -> Downstream {
        let elimination = self.elimination();
        Downstream {
            evicts: self.spilling().is_none(),
            frugal: elimination.is_frugal(),
            spare: elimination == Elimination::SpareRegister,
            pins: self.pins(),
        }
    }
}

/// Spilling as `ssa-register-allocator.txt` describes it.
const PLAIN: spill::Policy = spill::Policy {
    keep_loaded: true,
    fold: false,
    read_in_place: false,
    rematerialise: false,
    store_hoist: false,
    load_lower: LoadLowering::Off,
    memory_coalesce: false,
    weigh_size: false,
    effort: Effort::Usual,
    solver: Duration::from_secs(10),
};

/// `ch-o1`: φ-lifting, colouring in dominance order, no heuristics.
const CH_O1: Preset = Preset {
    name: "ch-o1",
    coalescing: Coalescing::Nothing,
    merge_copies: false,
    park: false,
    sink: false,
    delay: false,
    forms: false,
    spare_jumps: false,
    separate_saves: false,
    registers: Registers::Dominance(Dominance {
        choice: Choice::Lightest,
        assign: assign::Policy {
            preference: Preference::None,
            pins: PinPolicy::Avoid,
            split_ties: false,
            split_arguments: false,
        },
        recolouring: Recolouring::Never,
        elimination: Elimination::SpillFree,
    }),
    spill: PLAIN,
    swap: SwapPolicy::Xor,
};

/// `ch-o2`: with register coalescing.
const CH_O2: Preset = Preset {
    name: "ch-o2",
    registers: Registers::Dominance(Dominance {
        choice: Choice::Lightest,
        assign: assign::Policy {
            preference: Preference::FixedPoints,
            pins: PinPolicy::Avoid,
            split_ties: false,
            split_arguments: false,
        },
        recolouring: Recolouring::Never,
        elimination: Elimination::SpillFree,
    }),
    ..CH_O1
};

/// `ch-o3`: with coalescing of φ-related values in memory.
const CH_O3: Preset = Preset { name: "ch-o3", coalescing: Coalescing::PhiMem, ..CH_O2 };

/// The allocator of `spill-free-ssa-elimination.txt` with its three optimisations.
const SPILL_FREE: Preset = Preset {
    name: "spill-free",
    coalescing: Coalescing::Pairwise,
    merge_copies: false,
    park: false,
    sink: false,
    delay: false,
    forms: false,
    spare_jumps: false,
    separate_saves: false,
    registers: Registers::Dominance(Dominance {
        choice: Choice::Lightest,
        assign: assign::Policy {
            preference: Preference::Frequency,
            pins: PinPolicy::Repair,
            split_ties: false,
            split_arguments: false,
        },
        recolouring: Recolouring::Never,
        elimination: Elimination::SpillFree,
    }),
    spill: spill::Policy {
        fold: true,
        rematerialise: true,
        store_hoist: true,
        load_lower: LoadLowering::Counted,
        memory_coalesce: true,
        ..PLAIN
    },
    swap: SwapPolicy::Auto,
};

/// What is known to be best.
const BEST: Dominance = Dominance {
    choice: Choice::Priced,
    assign: assign::Policy { preference: Preference::Frequency, pins: PinPolicy::Hold, split_ties: true, split_arguments: true },
    recolouring: Recolouring::Exchanges,
    elimination: Elimination::SpillFree,
};

/// `tuned`: the best that is known.
const TUNED: Preset = Preset {
    name: "tuned",
    merge_copies: true,
    park: true,
    sink: true,
    delay: true,
    forms: true,
    spare_jumps: true,
    separate_saves: true,
    registers: Registers::Dominance(BEST),
    spill: spill::Policy { read_in_place: true, weigh_size: true, ..SPILL_FREE.spill },
    ..SPILL_FREE
};

/// `optimal`: `tuned`, with integer programs where that has heuristics, to see how good they are.
const OPTIMAL: Preset = Preset {
    name: "optimal",
    registers: Registers::Dominance(Dominance { choice: Choice::Optimal, recolouring: Recolouring::Optimal, ..BEST }),
    spill: spill::Policy { effort: Effort::More, ..TUNED.spill },
    ..TUNED
};

/// `hack`: the allocator of `ssa-allocation-lecture.txt`.
const HACK: Preset = Preset {
    name: "hack",
    coalescing: Coalescing::Pairwise,
    merge_copies: false,
    park: false,
    sink: false,
    delay: false,
    forms: false,
    spare_jumps: false,
    separate_saves: false,
    registers: Registers::Dominance(Dominance {
        choice: Choice::Farthest(Entry::Nearest),
        assign: assign::Policy {
            preference: Preference::None,
            pins: PinPolicy::Permute,
            split_ties: false,
            split_arguments: false,
        },
        recolouring: Recolouring::Chunks,
        elimination: Elimination::SpillFree,
    }),
    spill: PLAIN,
    swap: SwapPolicy::Auto,
};

/// Where values are in registers for a short time only.
const SHORT: Dominance = Dominance {
    choice: Choice::AcrossBlocks,
    assign: assign::Policy {
        preference: Preference::FixedPoints,
        pins: PinPolicy::Repair,
        split_ties: false,
        split_arguments: false,
    },
    recolouring: Recolouring::Never,
    elimination: Elimination::SpillFree,
};

/// `local`: values are in registers within a block only.
const LOCAL: Preset = Preset { name: "local", coalescing: Coalescing::Pairwise, registers: Registers::Dominance(SHORT), ..CH_O1 };

/// `simple`: every value is in memory.
const SIMPLE: Preset = Preset {
    name: "simple",
    registers: Registers::Dominance(Dominance { choice: Choice::Everything, ..SHORT }),
    spill: spill::Policy { keep_loaded: false, ..PLAIN },
    ..LOCAL
};

/// `linear-scan`: out of SSA form by aggressive coalescing, then linear scan.
const LINEAR_SCAN: Preset = Preset {
    name: "linear-scan",
    coalescing: Coalescing::Aggressive,
    merge_copies: false,
    park: false,
    sink: false,
    delay: false,
    forms: false,
    spare_jumps: false,
    separate_saves: false,
    registers: Registers::LinearScan,
    spill: spill::Policy { keep_loaded: false, fold: true, memory_coalesce: true, ..PLAIN },
    swap: SwapPolicy::Auto,
};

/// `out-of-ssa`: out of SSA form by `ssa-destruction-for-machine-code.txt`, then linear scan.
const OUT_OF_SSA: Preset =
    Preset { name: "out-of-ssa", coalescing: Coalescing::Destruction(destruct::Policy::REFINED), ..LINEAR_SCAN };

/// `irc`: iterated register coalescing (George and Appel). φs are isolated by copies, which it is to coalesce itself.
const IRC: Preset = Preset { name: "irc", coalescing: Coalescing::Nothing, registers: Registers::GraphColouring, ..LINEAR_SCAN };

/// All allocators.
pub const PRESETS: &[Preset] =
    &[TUNED, SPILL_FREE, CH_O1, CH_O2, CH_O3, HACK, OUT_OF_SSA, LINEAR_SCAN, IRC, LOCAL, SIMPLE, OPTIMAL];

impl Default for Preset {
    fn default() -> Self {
        TUNED
    }
}

impl Preset {
    /// The allocator of this name.
    pub fn named(name: &str) -> Option<Preset> {
        PRESETS.iter().copied().find(|preset| preset.name == name)
    }

    /// Whether the program is changed before values are spilled and given registers.
    pub fn prepares(&self) -> bool {
        self.merge_copies || self.park || self.sink || self.delay || self.forms
    }

    /// The same, but for the program as it is.
    pub fn unprepared(self) -> Preset {
        Preset { merge_copies: false, park: false, sink: false, delay: false, forms: false, ..self }
    }
}
