//! The choices that there are in spilling, and what later phases want of it.

use crate::allocate::pressure::pin_policy::PinPolicy;
use std::time::Duration;

/// How to spill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// A loaded value serves later uses in its block while there is room; without, every use loads.
    pub keep_loaded: bool,
    /// Instructions read spilled operands from memory themselves where they can; without, only copies do.
    pub fold: bool,
    /// Likewise what is in memory from the beginning, if live ranges are split ([`InstData::given`]).
    pub read_in_place: bool,
    /// Constants and addresses are computed again instead of being stored and loaded.
    pub rematerialise: bool,
    /// A φ's argument that is stored is stored once behind its definition, not at the end of each block that it is taken
    /// from (`spill-free-ssa-elimination.txt`, section 6.1).
    pub store_hoist: bool,
    /// Section 6.2.
    pub load_lower: LoadLowering,
    /// A copy from a slot to the same slot is dropped (section 6.3).
    pub memory_coalesce: bool,
    /// Instructions cost a little however seldom they are executed ([`cost::weigh_size`] has said so in frequencies), and however
    /// little they do.
    pub weigh_size: bool,
    /// How long [`Choice::Priced`] looks for something better, and how good what [`Choice::Optimal`] begins with is.
    pub effort: Effort,
    /// How long integer programs of one function may take to solve, in each phase.
    pub solver: Duration,
}

/// How long to look for something better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    Least,
    Usual,
    More,
    Most,
}

/// What the phases behind spilling do and want, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Downstream {
    /// Assignment spills on demand: where a value finds no register, it asks for it to be in memory, and everything starts again.
    /// So nothing has to fit beforehand, and all other values have one register for life, also across edges that can take no
    /// code.
    pub evicts: bool,
    /// The values of a φ-web share a slot. Without, every value has its own, and φ elimination moves memory to memory.
    pub frugal: bool,
    /// φ elimination wants one register of each bank to stay free wherever no single instruction needs all of them.
    pub spare: bool,
    /// What assignment does about registers of the program. If it moves values, it moves them to where they meet, so that they
    /// can cross edges without code in registers.
    pub pins: PinPolicy,
}

/// Which values are spilled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Where too many are live, those of least weight.
    Lightest,
    /// Those that are live from one block to another; then, within blocks, as above.
    AcrossBlocks,
    /// All.
    Everything,
    /// Those that are used farthest away, for as long as they are.
    Farthest(Entry),
    /// Those that cost least, where they cost least, as nearly as can be found out quickly.
    Priced,
    /// Those that cost least, by integer programming. Not in every build ([`crate::allocate::HAS_SOLVER`]).
    Optimal,
}

impl Choice {
    /// Whether a value may be in a register in one part of its life, and in memory in another.
    pub fn splits(self) -> bool {
        matches!(self, Choice::Farthest(_) | Choice::Priced | Choice::Optimal)
    }
}

/// How Belady's algorithm decides which values are in registers at the heads of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Those used next, wherever they come from [Hack, "Spilling with Belady's Algorithm"].
    Nearest,
    /// Those in registers at the ends of the predecessors, first of all of them, then of some; at the head of a loop, those used in
    /// it, and those live through it as far as the loop leaves room [BH09, §4.2].
    Predecessors,
}

/// When a φ's definition in a register is put into memory because its arguments are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadLowering {
    /// Never.
    Off,
    /// If its arguments' loads are more than its uses.
    Counted,
    /// If the loads and stores that it saves are executed more often than those that it costs.
    Weighted,
}
