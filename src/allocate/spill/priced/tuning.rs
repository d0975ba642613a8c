//! The thresholds of spilling by prices, in one place.
//!
//! Nothing here affects correctness: plans fit, and bounds are bounds, with any values. What changes is how near the two come, and
//! how long that takes. Those of minimum cuts are in [`crate::allocate::cuts`]' own `tuning.rs`, since others make cuts, too.
//! "The corpus" is the programs of `docs/corpus.md`; experiments are in `docs/experiments.md`.

use crate::allocate::spill::config::Effort;

// Fewer decisions: store regions, and segments that go on into the next block.

/// The least frequency of a block, for each execution of an earlier one, in the same region of blocks, in hot functions. A store
/// may stand anywhere in a region, so less frequent blocks would hide places where it is cheaper. Tuned just above the frequency of
/// either arm of an even branch (0.5) and of a comparison of pointers, which LLVM estimates to differ 5 times of 8: at 0.5, stores
/// in such arms were half of the gap that certificates left open.
pub(super) const SIMILAR: f64 = 0.64;

/// [`SIMILAR`] for functions that are not [`HOT`], where stores are little of what a program spends. With 0.64, half of all
/// decisions of SQLite would be about stores there.
pub(super) const SIMILAR_IN_COOL: f64 = 0.2;

/// The mean number of executions of an instruction, for each call of its function, from which the function counts as hot.
pub(super) const HOT: f64 = 3.0;

/// The number of registers that a block must have more than a segment's worst point, for the segment to go on into it, if most
/// executions go elsewhere ([`MOST_OF_EXECUTIONS`]): this many at most.
pub(super) const MOST_LEAD: usize = 2;

/// The lead of [`MOST_LEAD`] times the number of registers that calls preserve and the value can be in: a lead of two where
/// there are two of these, of one where there are four. Where there are six, hardly any value has to leave that passes through
/// blocks that are seldom executed.
pub(super) const LEAD: usize = 5;

/// The frequency of a block, for each execution of a block before it, from which most executions count as coming there. A higher
/// value cuts segments more often: more decisions, and sometimes a cheaper plan. Into a loop of a hot function that does not
/// access the value, a segment goes on only from here on: otherwise it pays to give the value up for an inner loop and keep it
/// beside.
pub(super) const MOST_OF_EXECUTIONS: f64 = 0.6;

/// The number of registers by which excess pressure may be higher in a block that a segment goes on into, if the segment has passed
/// excess pressure already. Not in [`FREQUENT`] blocks.
pub(super) const SLACK: i32 = 2;

/// The number of executions, for each call of the function, above which a block counts as frequent. Above 1, it is in a loop, where
/// slack costs a program of the corpus up to a tenth more instructions executed.
pub(super) const FREQUENT: f64 = 1.1;

/// The number of values live into blocks, for each instruction, above which all segments go on: with more, the work would grow with
/// blocks times values. (1,250 values live over 1,500 blocks took twice the time.) Of the corpus's functions, one of Perl's has
/// most: 41.
pub(super) const LIVE_IN_PER_INSTRUCTION: usize = 64;

/// The part of what shrink wrapping could save that is not counted on, since LLVM's shrink wrapping does not always come as far.
/// 0 and 0.3 were tried.
pub(super) const WRAPPING_DOUBT: f64 = 0.15;

// Time: rounds of multipliers.

/// The rounds of one stage, in numbers for each instruction of the function.
pub(super) struct Rounds {
    /// The total number of rounds when the stage ends.
    pub(super) rounds: u32,
    /// The total number of nodes that cuts may look at by then, for each instruction.
    pub(super) work: u64,
    /// The number of executions, for each instruction, that must be open between plan and bound for the stage to be worth its time.
    pub(super) gap: f64,
}

const fn rounds(rounds: u32, work: u64, gap: f64) -> Rounds {
    Rounds { rounds, work, gap }
}

/// The stages of each effort. Gaps of more than 0.2 executions for each instruction are in few functions, with hot loops, and these
/// hold nearly all that is open in a program: with four registers, 166 of SQLite's 1,932 functions had 95% of it, and took 16% of
/// the time of spilling (when all functions had nine rounds). Over seven programs, the spill cost was 1.116 times its bound after six rounds,
/// 1.106 after seven, 1.091 after eight, 1.080 after nine, 1.074 after ten and 1.066 after twelve.
pub(super) fn stages(effort: Effort) -> &'static [Rounds] {
    match effort {
        Effort::Least => &[],
        Effort::Usual => const { &[rounds(7, 300, 0.0), rounds(24, 1_000, 0.2), rounds(80, 3_000, 2.0)] },
        Effort::More => const { &[rounds(24, 1_000, 0.0), rounds(80, 3_000, 2.0)] },
        Effort::Most => const { &[rounds(80, 10_000, 0.0)] },
    }
}

/// The number of rounds of a stage before labels are rounded in each: two thirds. Earlier, multipliers say too little, and a round
/// without rounding is cheaper. (Nine rounds with labels made in the last three, against the last two: 1.080 and 1.096 times the bound.)
pub(super) fn rounds_unrounded(rounds: u32) -> u32 {
    rounds * 2 / 3
}

// Steps of multipliers.

/// Where a step takes the optimum to be, on the way from the bound to the best labels, which are far off at first.
pub(super) const AIM: f64 = 0.7;

/// The most that a step makes up for, in gaps between the bound and the best labels. Without a limit of steps (this
/// one and [`LEAST_DIRECTION`]), multipliers overflowed in a random function; with it, the costs of seven programs are the same, and
/// bounds 0.2% lower.
pub(super) const LONGEST_STEP: f64 = 2.0;

/// The weight of the latest violation in the direction of a multiplier; the rest is that of earlier rounds.
pub(super) const LATEST_VIOLATION: f64 = 0.75;

/// A direction nearer to zero than this counts as none. Step lengths divide by the sum of the directions' squares, so that they
/// would be without limit if all directions were almost zero.
pub(super) const LEAST_DIRECTION: f64 = 0.05;

/// The part of the way that multipliers go back to their best when the bound falls.
pub(super) const BACKTRACK: f64 = 0.3;

/// The factor of a multiplier's pace when it keeps its direction, and its greatest pace.
pub(super) const FASTER: f64 = 1.2;
pub(super) const FASTEST: f64 = 4.0;

/// The factor of a multiplier's pace when it turns, and its least pace.
pub(super) const SLOWER: f64 = 0.6;
pub(super) const SLOWEST: f64 = 0.05;

/// The least multiplier, in executions for each execution of its constraint, that the scale of steps assumes: one of zero could not
/// rise.
pub(super) const LEAST_SCALE: f64 = 0.03;

/// The part of the loss of the dearest component kept out by a constraint that becomes its first multiplier.
pub(super) const FIRST_MULTIPLIER: f64 = 0.75;

/// The part of what an implication saves that becomes its first multiplier, if it is violated at first. Less than for constraints,
/// since several values may depend on one source: with 0.75, labels cost 1.37 times the bound, with 0.25 1.30 (five programs,
/// three lists of registers).
pub(super) const FIRST_MULTIPLIER_OF_IMPLICATION: f64 = 0.25;

// Rounding.

/// Rounded labels that cost at most this part of the best labels' cost more are improved: they may become the best.
pub(super) const PROMISING: i64 = 20;

/// The number of cuts of one component in search of labels that fit, before all of it goes to memory. Each forbids decisions that
/// fit by themselves, but not together.
pub(super) const MOST_CUTS: u32 = 8;
