//! The thresholds of spilling by prices, in one place.
//!
//! Nothing here affects correctness: with any values, plans fit and bounds are bounds. The values decide how near plans come
//! to bounds, and how long that takes. Thresholds of minimum cuts are in `cuts/tuning.rs`, since others make cuts, too.
//! Experiments are in `docs/experiments.md`, programs of the corpus in `docs/corpus.md`.

use crate::allocate::spill::config::Effort;

// Fewer decisions: store regions, and segments that go on into the next block.

/// The least frequency of a block, for each execution of an earlier block of the same region, in hot functions.
///
/// A store counts as if it stood in the coldest block of its region, so larger regions need fewer decisions, and loosen the
/// bound. 0.64 is just above the frequency of either arm of an even branch, and of the likelier arm where pointers are
/// compared (5 of 8, by LLVM's estimate). With 0.5, stores in such arms were half of the gap that certificates left open.
pub(super) const SIMILAR: f64 = 0.64;

/// [`SIMILAR`] in functions that are not [`HOT`], where stores are little of what a program spends. With 0.64, half of all
/// decisions of SQLite would be about these.
pub(super) const SIMILAR_IN_COOL: f64 = 0.2;

/// The mean number of executions of an instruction, for each call of its function, from which the function counts as hot.
/// Functions below it took two thirds of the time of spilling SQLite, for less than a quarter of the cost.
pub(super) const HOT: f64 = 3.0;

/// The number of registers, at most, that a block must have more than the worst point of a segment for the segment to go on
/// into it, if most executions go elsewhere ([`MOST_OF_EXECUTIONS`]). More ends more segments: more decisions, and cheaper
/// plans.
pub(super) const MOST_LEAD: usize = 2;

/// [`MOST_LEAD`] is lowered to this, divided by the number of the value's registers that calls preserve: two where calls
/// preserve two, one where they preserve four, none where they preserve six. There, hardly any value has to be in memory
/// that passes through blocks that are seldom executed.
pub(super) const LEAD: usize = 5;

/// The frequency of a block, for each execution of a block before it, from which most executions count as coming there. A
/// segment goes on into other blocks only with a lead. In hot functions, it also goes on into a loop that does not access
/// its value only from here on: otherwise it pays to give the value up for an inner loop, and to keep it beside.
pub(super) const MOST_OF_EXECUTIONS: f64 = 0.6;

/// The number of registers that a block may have fewer than the worst point of a segment that goes on into it, if the
/// segment has met excess pressure before. Not in [`FREQUENT`] blocks.
pub(super) const SLACK: i32 = 2;

/// The number of executions for each call of the function above which a block is frequent: more are in loops, where
/// [`SLACK`] costs a program of the corpus up to a tenth more instructions executed.
pub(super) const FREQUENT: f64 = 1.1;

/// The number of values live into blocks, for each instruction, above which all segments go on. Otherwise the work would
/// grow with blocks times values: 1,250 values live over 1,500 blocks took twice the time. Of the corpus's functions, one of
/// Perl's has the most, 41.
pub(super) const LIVE_IN_PER_INSTRUCTION: usize = 64;

/// The part of the savings of shrink wrapping that is not counted on, since LLVM's shrink wrapping does not always come as
/// far. 0 and 0.3 were tried.
pub(super) const WRAPPING_DOUBT: f64 = 0.15;

/// The number of decisions at the heads of blocks up to which no blocks of a function are grouped. With 300, allocation takes 1
/// to 3% more time, and shares are 0.2 to 0.4% lower.
pub(super) const SMALL: usize = 100;

/// The number of such decisions that larger functions may have beside those that grouping leaves.
pub(super) const HEAD_DECISIONS: usize = 50;

/// The number of further ones for each instruction, in blocks that are executed [`OFTEN`]. With a whole one, also in other
/// blocks, lz4's share falls by 3.8%, but its allocation takes 17% more time.
pub(super) const HEAD_DECISIONS_PER_INSTRUCTION: f64 = 0.1;

/// The number of executions for each call of the function from which a block may have those.
pub(super) const OFTEN: f64 = 10.0;

// Time: rounds of multipliers.

/// The limits of a stage of rounds.
pub(super) struct Rounds {
    /// The number of rounds when the stage ends, those of earlier stages included.
    pub(super) rounds: u32,
    /// The number of nodes that all cuts may have looked at when it ends, for each instruction of the function.
    pub(super) work: u64,
    /// The number of executions, for each instruction, that have to be open between labels and bound for the stage to be
    /// worth its time.
    pub(super) gap: f64,
}

const fn rounds(rounds: u32, work: u64, gap: f64) -> Rounds {
    Rounds { rounds, work, gap }
}

/// The stages of each effort: the more rounds, the smaller the gap, and the more time.
///
/// Gaps of more than 0.2 executions for each instruction are in few functions, with hot loops, and these hold nearly all
/// that is open in a program: with four registers, 166 of SQLite's 1,932 functions held 95% of it, and took 16% of the time
/// of spilling (when all had nine rounds). Over seven programs, the cost was 1.116 times its bound after six rounds, 1.106
/// after seven, 1.091 after eight, 1.080 after nine, 1.074 after ten, and 1.066 after twelve.
pub(super) fn stages(effort: Effort) -> &'static [Rounds] {
    match effort {
        Effort::Least => &[],
        Effort::Usual => const { &[rounds(7, 300, 0.0), rounds(24, 1_000, 0.2), rounds(80, 3_000, 2.0)] },
        Effort::More => const { &[rounds(24, 1_000, 0.0), rounds(80, 3_000, 2.0)] },
        Effort::Most => const { &[rounds(80, 10_000, 0.0)] },
    }
}

/// The number of rounds of a stage before labels are rounded: two thirds. Before, multipliers say too little, and a round
/// without rounding takes less time. Of nine rounds, three with labels brought the cost to 1.080 times the bound, two to
/// 1.096.
pub(super) fn rounds_unrounded(rounds: u32) -> u32 {
    rounds * 2 / 3
}

// Steps of multipliers.

/// The place of the optimum on the way from the bound to the best labels, as steps assume it: the best labels are far off at
/// first.
pub(super) const AIM: f64 = 0.7;

/// The longest step, in gaps between the bound and the best labels. Without this limit and [`LEAST_DIRECTION`], multipliers
/// overflowed in a random function. With them, the costs of seven programs are the same, and bounds 0.2% lower.
pub(super) const LONGEST_STEP: f64 = 2.0;

/// The weight of the latest violation in the direction of a multiplier. The rest is that of earlier rounds, which steadies
/// the direction.
pub(super) const LATEST_VIOLATION: f64 = 0.75;

/// A direction that is nearer to zero than this counts as zero. The length of a step divides by the sum of the directions'
/// squares, so it would have no limit if all of them were almost zero.
pub(super) const LEAST_DIRECTION: f64 = 0.05;

/// The part of the way that multipliers go back to their best values when the bound falls.
pub(super) const BACKTRACK: f64 = 0.3;

/// The factor of a multiplier's pace if it goes on in its direction, and its highest pace.
pub(super) const FASTER: f64 = 1.2;
pub(super) const FASTEST: f64 = 4.0;

/// The factor of a multiplier's pace if it turns round, and its lowest pace.
pub(super) const SLOWER: f64 = 0.6;
pub(super) const SLOWEST: f64 = 0.05;

/// The least multiplier that the scale of steps assumes, in executions for each execution of the constraint. Otherwise a
/// multiplier of zero could not rise.
pub(super) const LEAST_SCALE: f64 = 0.03;

/// The part of a loss that becomes the first multiplier of the constraint that caused it.
pub(super) const FIRST_MULTIPLIER: f64 = 0.75;

/// The part of an implication's savings that becomes its first multiplier, if its source found no register. It is less than
/// that of constraints, since several values may depend on one source: with 0.75, labels cost 1.37 times the bound, with
/// 0.25 1.30, in the mean over five programs and three lists of registers.
pub(super) const FIRST_MULTIPLIER_OF_IMPLICATION: f64 = 0.25;

// Rounding.

/// Rounded labels are improved if they cost less than one part in this many more than the best: only then are they likely to
/// become the best.
pub(super) const PROMISING: i64 = 20;

/// The number of cuts of one component in search of labels that fit. Each cut forbids nodes that fit one by one, but not
/// together. After the last one, the whole component goes to memory.
pub(super) const MOST_CUTS: u32 = 8;
