//! The allocators as rows of choices.

use super::{assign, spill};
use crate::allocate::cssa::Coalescing;
use crate::allocate::destruct;
use crate::allocate::eliminate::{MemoryTransfers, SwapPolicy};
use crate::allocate::recolour::Recolouring;
use assign::{BlockOrder, PinPolicy, Preference};
use spill::strategies::{self, SpillStrategy};
use spill::{Downstream, Effort, LoadLowering};
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
    /// Whether values wait in registers excluded from allocation, where the program has put them or needs them.
    pub park: bool,
    /// Whether two-address instructions move past the other uses of the value that they overwrite.
    pub sink: bool,
    /// Whether computations move down to the first use of their result, where registers are scarce.
    pub delay: bool,
    /// Whether two-address instructions get other forms where that saves a copy.
    pub forms: bool,
    /// Whether copies avoid edges on which they would need a block of their own, and a jump, where that costs less.
    pub spare_jumps: bool,
    /// Whether slots become registers of another bank, where these are free.
    pub register_slots: bool,
    /// Whether each callee-saved register is saved for itself, where that costs less, and not by the prologue.
    pub separate_saves: bool,
    /// How values are given registers.
    pub assignment: AssignmentStrategy,
    /// How values are put into memory and taken from there.
    pub spill: spill::Policy,
    /// How cycles of registers are broken.
    pub swap: SwapPolicy,
}

/// How values are given registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignmentStrategy {
    /// In dominance order. Values have been spilled before, so that all others fit.
    DominanceOrder(DominanceOrder),
    /// By linear scan. A variable has one register, or is spilled because it finds none: nothing is spilled before, nothing
    /// moves, and φs need no code.
    LinearScan,
    /// By colouring the interference graph (iterated register coalescing). Otherwise as under linear scan.
    GraphColouring,
}

/// The choices that there are in dominance order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DominanceOrder {
    /// Which values are spilled.
    pub spilling: SpillStrategy,
    pub assign: assign::Policy,
    /// Whether copies are coalesced once all registers are chosen.
    pub recolouring: Recolouring,
    /// How φs between values in memory are eliminated.
    pub elimination: Elimination,
}

/// How copies between registers disappear, from colouring on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterCoalescing {
    /// By chance.
    Nothing,
    /// Colours are chosen with regard to copies.
    Preference,
    /// Colours are chosen such that as little as possible is moved at each point, whatever comes after it.
    Punctual,
    /// Once all colours are chosen, names are recoloured by optimisation units.
    Units,
    /// Once all colours are chosen, names are recoloured by chunks.
    Chunks,
    /// After [`Self::Chunks`], by exchanges of two registers.
    Exchanges,
    /// After [`Self::Exchanges`], by integer programming.
    Optimal,
}

impl DominanceOrder {
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

/// How φs are eliminated after allocation: the three ways of [PP09, §1], the last of them in two forms. All but the first move
/// memory to memory, so there each spilled value has a slot of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elimination {
    /// Without moving memory to memory: φ-related values share a slot.
    SpillFree,
    /// Memory moves through a register of each bank that is kept free for it.
    SpareRegister,
    /// Memory moves through a register that is free, or is spilled for it. Transfers are ordered such that one is free for
    /// long.
    OnDemand,
    /// Memory moves through a register that is free, or is spilled for it, at one point for each edge (Brisk).
    Brisk,
}

impl Elimination {
    /// Whether φ-related values share a slot, so that no memory is moved.
    pub fn is_frugal(self) -> bool {
        self == Elimination::SpillFree
    }

    /// When memory is moved, if it is.
    pub fn memory_transfers(self) -> MemoryTransfers {
        if self == Elimination::Brisk { MemoryTransfers::AtOnce } else { MemoryTransfers::Woven }
    }
}

impl AssignmentStrategy {
    /// The choices in dominance order, if registers are given in that.
    pub fn dominance_order(&self) -> Option<&DominanceOrder> {
        match self {
            AssignmentStrategy::DominanceOrder(order) => Some(order),
            AssignmentStrategy::LinearScan | AssignmentStrategy::GraphColouring => None,
        }
    }

    /// The choices in dominance order, if registers are given in that, to be changed.
    pub fn dominance_order_mut(&mut self) -> Option<&mut DominanceOrder> {
        match self {
            AssignmentStrategy::DominanceOrder(order) => Some(order),
            AssignmentStrategy::LinearScan | AssignmentStrategy::GraphColouring => None,
        }
    }

    /// How φs between values in memory are eliminated.
    pub fn elimination(&self) -> Elimination {
        self.dominance_order().map_or(Elimination::SpillFree, |order| order.elimination)
    }

    /// Which values are spilled before registers are given.
    pub fn spilling(&self) -> Option<SpillStrategy> {
        self.dominance_order().map(|order| order.spilling)
    }

    /// How copies disappear from colouring on. (Linear scan and graph colouring have ways of their own.)
    pub fn coalescing(&self) -> RegisterCoalescing {
        self.dominance_order().map_or(RegisterCoalescing::Preference, DominanceOrder::coalescing)
    }

    /// Whether, and how, copies are coalesced once all registers are chosen.
    pub fn recolouring(&self) -> Recolouring {
        self.dominance_order().map_or(Recolouring::Never, |order| order.recolouring)
    }

    /// In which order blocks get registers.
    pub fn block_order(&self) -> BlockOrder {
        self.dominance_order().map_or(BlockOrder::Frequency, |order| order.assign.order)
    }

    /// Whether values have other names from instructions on that overwrite them.
    pub fn split_ties(&self) -> bool {
        self.dominance_order().is_some_and(|order| order.assign.split_ties)
    }

    /// Whether arguments have other names from where they cannot stay in the register that they come in.
    pub fn split_arguments(&self) -> bool {
        self.dominance_order().is_some_and(|order| order.assign.split_arguments)
    }

    /// How values avoid registers that the program pins or clobbers.
    pub fn pins(&self) -> PinPolicy {
        self.dominance_order().map_or(PinPolicy::Avoid, |order| order.assign.pins)
    }

    /// Whether integer programs have to be solved.
    pub fn needs_solver(&self) -> bool {
        self.spilling() == Some(strategies::OPTIMAL) || self.recolouring() == Recolouring::Optimal
    }

    /// The choices that spilling has to know about.
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

/// Every choice at its plainest. An allocator is stated by how it differs from this, or from one that is stated before it.
pub const PLAIN: Preset = Preset {
    name: "plain",
    coalescing: Coalescing::Pairwise,
    merge_copies: false,
    park: false,
    sink: false,
    delay: false,
    forms: false,
    spare_jumps: false,
    register_slots: false,
    separate_saves: false,
    assignment: AssignmentStrategy::DominanceOrder(PLAIN_ORDER),
    spill: spill::Policy {
        keep_loaded: true,
        fold: false,
        read_in_place: false,
        rematerialise: false,
        store_hoist: false,
        load_lower: LoadLowering::Off,
        memory_coalesce: false,
        share_slots: true,
        weigh_size: false,
        effort: Effort::Usual,
        keep_prices: false,
        solver: Duration::from_secs(10),
    },
    swap: SwapPolicy::Auto,
};

const PLAIN_ORDER: DominanceOrder = DominanceOrder {
    spilling: strategies::WEIGHT,
    assign: assign::Policy {
        preference: Preference::None,
        order: BlockOrder::Frequency,
        pins: PinPolicy::Avoid,
        split_ties: false,
        split_arguments: false,
    },
    recolouring: Recolouring::Never,
    elimination: Elimination::SpillFree,
};

/// `ch-o1` \[PP05\]: φ-lifting, colouring in dominance order, no heuristics.
const CH_O1: Preset = Preset {
    name: "ch-o1",
    coalescing: Coalescing::Nothing,
    assignment: AssignmentStrategy::DominanceOrder(CH_O1_ORDER),
    swap: SwapPolicy::Xor,
    ..PLAIN
};

const CH_O1_ORDER: DominanceOrder =
    DominanceOrder { assign: assign::Policy { order: BlockOrder::DominatorTree, ..PLAIN_ORDER.assign }, ..PLAIN_ORDER };

/// `ch-o2` \[PP05\]: with register coalescing.
const CH_O2: Preset = Preset {
    name: "ch-o2",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder {
        assign: assign::Policy { preference: Preference::FixedPoints, ..CH_O1_ORDER.assign },
        ..CH_O1_ORDER
    }),
    ..CH_O1
};

/// `ch-o3` \[PP05\]: with coalescing of φ-related values in memory.
const CH_O3: Preset = Preset { name: "ch-o3", coalescing: Coalescing::PhiMem, ..CH_O2 };

/// `spill-free` \[PP09\]: with its three optimisations.
const SPILL_FREE: Preset = Preset {
    name: "spill-free",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder {
        assign: assign::Policy { preference: Preference::Frequency, pins: PinPolicy::Repair, ..PLAIN_ORDER.assign },
        ..PLAIN_ORDER
    }),
    spill: spill::Policy {
        fold: true,
        rematerialise: true,
        store_hoist: true,
        load_lower: LoadLowering::Counted,
        memory_coalesce: true,
        ..PLAIN.spill
    },
    ..PLAIN
};

/// `bin-packing` [PP09, §7]: with the three optimisations of [PP09, §6]. The text neither folds nor rematerialises.
const BIN_PACKING: Preset = Preset {
    name: "bin-packing",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder {
        spilling: strategies::SECOND_CHANCE,
        assign: assign::Policy {
            preference: Preference::FixedPoints,
            order: BlockOrder::DominatorTree,
            pins: PinPolicy::Repair,
            ..PLAIN_ORDER.assign
        },
        ..PLAIN_ORDER
    }),
    spill: spill::Policy { store_hoist: true, load_lower: LoadLowering::Counted, memory_coalesce: true, ..PLAIN.spill },
    ..PLAIN
};

/// The best that is known in dominance order.
const BEST: DominanceOrder = DominanceOrder {
    spilling: strategies::PRICED,
    assign: assign::Policy {
        preference: Preference::Frequency,
        order: BlockOrder::Frequency,
        pins: PinPolicy::Hold,
        split_ties: true,
        split_arguments: true,
    },
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
    register_slots: true,
    separate_saves: true,
    coalescing: Coalescing::ByPhi,
    assignment: AssignmentStrategy::DominanceOrder(BEST),
    spill: spill::Policy { read_in_place: true, weigh_size: true, ..SPILL_FREE.spill },
    ..SPILL_FREE
};

/// `optimal`: `tuned`, with integer programs in place of its heuristics, to see how good these are.
const OPTIMAL: Preset = Preset {
    name: "optimal",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder {
        spilling: strategies::OPTIMAL,
        recolouring: Recolouring::Optimal,
        ..BEST
    }),
    spill: spill::Policy { effort: Effort::More, ..TUNED.spill },
    ..TUNED
};

/// `hack` \[Hack\].
const HACK: Preset = Preset {
    name: "hack",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder {
        spilling: strategies::BELADY,
        assign: assign::Policy { order: BlockOrder::DominatorTree, pins: PinPolicy::Permute, ..PLAIN_ORDER.assign },
        recolouring: Recolouring::Units,
        ..PLAIN_ORDER
    }),
    ..PLAIN
};

/// Where values are in registers for a short time only.
const SHORT: DominanceOrder = DominanceOrder {
    spilling: strategies::ACROSS_BLOCKS,
    assign: assign::Policy { preference: Preference::FixedPoints, pins: PinPolicy::Repair, ..PLAIN_ORDER.assign },
    ..PLAIN_ORDER
};

/// `local` \[PP05\]: values are in registers within a block only.
const LOCAL: Preset =
    Preset { name: "local", assignment: AssignmentStrategy::DominanceOrder(SHORT), swap: SwapPolicy::Xor, ..PLAIN };

/// `simple` \[PP05\]: every value is in memory.
const SIMPLE: Preset = Preset {
    name: "simple",
    assignment: AssignmentStrategy::DominanceOrder(DominanceOrder { spilling: strategies::EVERYWHERE, ..SHORT }),
    spill: spill::Policy { keep_loaded: false, ..PLAIN.spill },
    ..LOCAL
};

/// `linear-scan`: out of SSA form by aggressive coalescing, then linear scan.
pub const LINEAR_SCAN: Preset = Preset {
    name: "linear-scan",
    coalescing: Coalescing::Aggressive,
    assignment: AssignmentStrategy::LinearScan,
    spill: spill::Policy { keep_loaded: false, fold: true, memory_coalesce: true, ..PLAIN.spill },
    ..PLAIN
};

/// `out-of-ssa`: out of SSA form by \[Bo09\], then linear scan.
const OUT_OF_SSA: Preset =
    Preset { name: "out-of-ssa", coalescing: Coalescing::Destruction(destruct::Policy::REFINED), ..LINEAR_SCAN };

/// `irc`: iterated register coalescing \[GA96\]. φs are isolated by copies, which it is to coalesce itself.
const IRC: Preset =
    Preset { name: "irc", coalescing: Coalescing::Nothing, assignment: AssignmentStrategy::GraphColouring, ..LINEAR_SCAN };

/// All allocators.
pub const PRESETS: &[Preset] =
    &[TUNED, SPILL_FREE, BIN_PACKING, CH_O1, CH_O2, CH_O3, HACK, OUT_OF_SSA, LINEAR_SCAN, IRC, LOCAL, SIMPLE, OPTIMAL];

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

    /// The allocator for the program as it is.
    pub fn unprepared(self) -> Preset {
        Preset { merge_copies: false, park: false, sink: false, delay: false, forms: false, ..self }
    }
}
