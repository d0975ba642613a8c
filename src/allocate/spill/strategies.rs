//! Which spiller a strategy's name stands for: a new one is a file, and a line here.

use super::config::{Choice, Effort};
use super::priced::Priced;
use super::spiller::Spiller;
use super::splitting::Belady;
use super::weights::cross_more_than;
use super::whole::{OnRequest, Which};
use crate::allocate::degraded::Degraded;
use crate::analysis::Liveness;
use crate::machine::Function;

/// The spiller of a strategy. `None` is for assignment that spills on demand.
pub fn spiller(choice: Option<Choice>, effort: Effort) -> Box<dyn Spiller> {
    match choice {
        None => Box::new(OnRequest),
        Some(Choice::Lightest) => Box::new(Which::Lightest),
        Some(Choice::AcrossBlocks) => Box::new(Which::AcrossBlocks),
        Some(Choice::Everything) => Box::new(Which::Everything),
        Some(Choice::Farthest(entry)) => Box::new(Belady(entry)),
        Some(Choice::Priced) => Box::new(Priced { effort, exact: false }),
        Some(Choice::Optimal) => Box::new(Priced { effort, exact: true }),
    }
}

/// How many instructions and edges all live ranges may cross, for each instruction that there is, before prices are out of reach.
const CROWDED: u64 = 512;

/// The spiller of a strategy for one function, and whether it is another one than its name says.
///
/// Prices are about each value in each segment of the program. Where thousands of values live long, the number of decisions is a
/// product of both, and nearly all values are in memory nearly everywhere, whoever decides. There whole live ranges are spilled,
/// by weight, in time and memory that grow with the function alone.
pub fn spiller_within_reach(
    choice: Option<Choice>,
    effort: Effort,
    function: &Function,
    liveness: &Liveness,
) -> (Box<dyn Spiller>, Option<Degraded>) {
    let decides_by_price = choice == Some(Choice::Priced) && !matches!(effort, Effort::More | Effort::Most);
    if decides_by_price && cross_more_than(CROWDED * function.insts.len() as u64, function, liveness) {
        let reason = "by weight, not by prices: too many values are live for too long";
        return (Box::new(Which::Lightest), Some(Degraded::new("spill", reason)));
    }
    (spiller(choice, effort), None)
}
