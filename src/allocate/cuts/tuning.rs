//! Thresholds of minimum cuts, in one place. They change how much time and memory cuts take; [`MOST_PAIRS`] alone can also change
//! which of several equally cheap labellings is found.

/// The number of pairs up to which [`super::reduce`] tries to eliminate a decision. A decision with more pairs hardly ever depends
/// on no more than two others, so that looking at further pairs would only take time.
pub(super) const MOST_PAIRS: usize = 8;

/// A long list grows by one part in this many. Doubling would take half as much memory again that is never used: these lists are
/// the largest that spilling makes.
pub(super) const GROWTH: usize = 4;

/// The least number of items by which a list grows, so that short ones are not copied again and again.
pub(super) const LEAST_GROWTH: usize = 256;
