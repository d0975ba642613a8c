//! All ways to spill, by name.
//!
//! To add a spiller, write it in a file of its own, and add a row to [`ALL`]. `--spill NAME`, `chordal list`, the tests' variants
//! and the table of options in `docs/allocators.md` are made from it.

use super::config::{Effort, Entry};
use super::priced::{Priced, Thoroughness};
use super::spiller::Spiller;
use super::splitting::Belady;
use super::splitting::bin_packing::BinPacking;
use super::weights::cross_more_than;
use super::whole::{OnRequest, Which};
use crate::allocate::degraded::Degraded;
use crate::analysis::Liveness;
use crate::machine::Function;
use std::fmt;

/// A way to spill.
#[derive(Clone, Copy)]
pub struct SpillStrategy {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help: the values that it spills.
    pub about: &'static str,
    make: fn(Effort) -> Box<dyn Spiller>,
}

pub const WEIGHT: SpillStrategy = SpillStrategy {
    name: "weight",
    about: "The lightest where too many are live, for all their lives",
    make: |_| Box::new(Which::Lightest),
};

pub const WEIGHT_DYNAMIC: SpillStrategy = SpillStrategy {
    name: "weight-dynamic",
    about: "As weight; a phi is the lighter the more of its arguments are in memory already",
    make: |_| Box::new(Which::LightestByNow),
};

pub const BELADY: SpillStrategy = SpillStrategy {
    name: "belady",
    about: "Those used farthest away, block by block; the lecture's",
    make: |_| Box::new(Belady(Entry::Nearest)),
};

pub const MIN: SpillStrategy = SpillStrategy {
    name: "min",
    about: "Those used farthest away; loops keep what they use in registers (Braun and Hack)",
    make: |_| Box::new(Belady(Entry::Predecessors)),
};

pub const SECOND_CHANCE: SpillStrategy = SpillStrategy {
    name: "second-chance",
    about: "Those used farthest away; blocks begin as their immediate dominators end (bin-packing)",
    make: |_| Box::new(BinPacking),
};

pub const PRICED: SpillStrategy = SpillStrategy {
    name: "priced",
    about: "Those that cost least, where they cost least: registers have prices, and live ranges are cut where it is cheapest",
    make: |effort| Box::new(Priced(Thoroughness { effort, exact: false })),
};

/// Not in every build ([`crate::allocate::HAS_SOLVER`]).
pub const OPTIMAL: SpillStrategy = SpillStrategy {
    name: "optimal",
    about: "Those that cost least, where they cost least, by integer programming (not in every build)",
    make: |effort| Box::new(Priced(Thoroughness { effort, exact: true })),
};

pub const ACROSS_BLOCKS: SpillStrategy = SpillStrategy {
    name: "across-blocks",
    about: "Those that are live from one block to another",
    make: |_| Box::new(Which::AcrossBlocks),
};

pub const EVERYWHERE: SpillStrategy = SpillStrategy { name: "everywhere", about: "All", make: |_| Box::new(Which::Everything) };

/// All of them.
pub const ALL: [SpillStrategy; 9] =
    [WEIGHT, WEIGHT_DYNAMIC, BELADY, MIN, SECOND_CHANCE, PRICED, OPTIMAL, ACROSS_BLOCKS, EVERYWHERE];

impl SpillStrategy {
    /// The spiller, which looks for something better for as long as the effort says.
    pub fn spiller(self, effort: Effort) -> Box<dyn Spiller> {
        (self.make)(effort)
    }

    /// Whether a value may be in a register in one part of its life, and in memory in another.
    pub fn splits(self) -> bool {
        self.spiller(Effort::Least).abilities().splits
    }

    /// Whether registers have prices, so that it matters how long better ones are looked for.
    pub fn has_prices(self) -> bool {
        [PRICED, OPTIMAL].contains(&self)
    }
}

impl PartialEq for SpillStrategy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SpillStrategy {}

impl fmt::Debug for SpillStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How many instructions and edges all live ranges may cross, for each instruction that there is, before prices are out of reach.
const CROWDED: u64 = 512;

/// The spiller of a strategy for one function, and whether it is another one than the strategy names. Without a strategy, it spills
/// only what assignment asks for.
///
/// Prices are about each value in each segment of the program. Where thousands of values live long, the number of decisions is a
/// product of both, and nearly all values are in memory nearly everywhere, whoever decides. There, whole live ranges are spilled
/// by weight, in time and memory that grow with the function alone.
pub fn spiller_within_reach(
    strategy: Option<SpillStrategy>,
    effort: Effort,
    function: &Function,
    liveness: &Liveness,
) -> (Box<dyn Spiller>, Option<Degraded>) {
    let Some(strategy) = strategy else { return (Box::new(OnRequest), None) };
    let is_limited = strategy == PRICED && !Thoroughness { effort, exact: false }.considers_all();
    if is_limited && cross_more_than(CROWDED * function.insts.len() as u64, function, liveness) {
        let reason = "by weight, not by prices: too many values are live for too long";
        return (WEIGHT.spiller(effort), Some(Degraded::new("spill", reason)));
    }
    (strategy.spiller(effort), None)
}
