//! The spillers by name. A new one is a file of its own, and a line here.

use super::config::{Choice, Effort};
use super::priced::{Priced, Thoroughness};
use super::spiller::Spiller;
use super::splitting::Belady;
use super::weights::cross_more_than;
use super::whole::{OnRequest, Which};
use crate::allocate::degraded::Degraded;
use crate::analysis::Liveness;
use crate::machine::Function;

/// The spiller of a strategy. `None` is for allocators whose assignment spills on demand.
pub fn spiller(choice: Option<Choice>, effort: Effort) -> Box<dyn Spiller> {
    match choice {
        None => Box::new(OnRequest),
        Some(Choice::Lightest) => Box::new(Which::Lightest),
        Some(Choice::AcrossBlocks) => Box::new(Which::AcrossBlocks),
        Some(Choice::Everything) => Box::new(Which::Everything),
        Some(Choice::Farthest(entry)) => Box::new(Belady(entry)),
        Some(Choice::Priced) => Box::new(Priced(Thoroughness { effort, exact: false })),
        Some(Choice::Optimal) => Box::new(Priced(Thoroughness { effort, exact: true })),
    }
}

/// The live ranges of a function are too long for prices if all of them together cross more instructions and edges than
/// this, for each instruction of the function.
const CROWDED: u64 = 512;

/// The spiller of a strategy for one function, and a notice if it is not the one that the strategy is named for.
///
/// Prices are about every value on every segment of its live range. Where thousands of values are live for long, that is a
/// number of decisions proportional to the product of both, although nearly all values are in memory nearly everywhere
/// whoever decides. There, whole live ranges are spilled, by weight. That takes time and memory proportional to the
/// function.
pub fn spiller_within_reach(
    choice: Option<Choice>,
    effort: Effort,
    function: &Function,
    liveness: &Liveness,
) -> (Box<dyn Spiller>, Option<Degraded>) {
    let decides_by_price = choice == Some(Choice::Priced) && !Thoroughness { effort, exact: false }.considers_all();
    if decides_by_price && cross_more_than(CROWDED * function.insts.len() as u64, function, liveness) {
        let reason = "by weight, not by prices: too many values are live for too long";
        return (Box::new(Which::Lightest), Some(Degraded::new("spill", reason)));
    }
    (spiller(choice, effort), None)
}
