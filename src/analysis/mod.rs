//! Analyses of a function: each is computed once, never updated, and owned by whoever asked for it.

mod bundles;
mod contested;
mod dominators;
mod frontiers;
mod graph;
pub(crate) mod grouped;
mod interference;
mod join_sets;
mod live_sets;
mod liveness;
mod loops;
mod next_use;
mod order;
mod partition;
mod pins;
mod reach;

#[cfg(test)]
pub(crate) mod testing;

pub use bundles::{Bundle, Bundles, Meeting};
pub use contested::{GraphSizes, contested, endangered, graph_sizes};
pub use dominators::Dominators;
pub use frontiers::Frontiers;
pub use graph::Graph;
pub use interference::{DefPoint, Interference};
pub use join_sets::{DjGraph, JoinSet, JoinSets, Reuse, Worklist};
pub use liveness::Liveness;
pub use loops::Loops;
pub use next_use::{FirstUses, LEAVING, NEVER, NextUses, next_uses_in_blocks};
pub use order::Order;
pub use partition::Partition;
pub use pins::{Held, Occupancy, PinLiveness, Untouched};
pub use reach::Reach;
