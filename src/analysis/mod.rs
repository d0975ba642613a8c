//! Analyses of a function: each is computed once, never updated, and owned by whoever asked for it.

mod bundles;
mod contested;
mod dominators;
mod frontiers;
pub(crate) mod grouped;
mod interference;
mod liveness;
mod loops;
mod order;
mod pins;

#[cfg(test)]
pub(crate) mod testing;

pub use bundles::{Bundle, Bundles, Meeting};
pub use contested::{GraphSizes, contested, graph_sizes};
pub use dominators::Dominators;
pub use frontiers::Frontiers;
pub use interference::{DefPoint, Interference, Partition};
pub use liveness::Liveness;
pub use loops::Loops;
pub use order::Order;
pub use pins::{Occupancy, PinLiveness};
