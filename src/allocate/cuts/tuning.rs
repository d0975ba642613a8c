//! Thresholds of minimum cuts, in one place. They trade time and memory: whatever they are, cuts are minimum cuts.

/// The number of pairs up to which [`super::reduce()`] tries to eliminate a decision. Decisions with more pairs are left as
/// they are.
pub(super) const MOST_PAIRS: usize = 8;

/// A long list grows by one part in this many. Doubled, it would take half as much memory again without use, and these lists
/// are the longest that there are.
pub(super) const GROWTH: usize = 4;

/// The least number of items by which a long list grows.
pub(super) const LEAST_GROWTH: usize = 256;
