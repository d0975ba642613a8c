//! Analyses of a function: facts about it that phases ask for.
//!
//! An analysis is computed once, from a [`Function`](crate::machine::Function) or, where only edges matter, from a
//! [`Graph`]. It is never updated: a phase that changes the function computes it again, and owns the result.
//!
//! Requires: a valid function, all of whose blocks are reachable from the entry; strict SSA form (each definition dominates
//! its uses) where values are concerned.
//! Ensures: see each module. Nothing here changes a function or knows of allocators.
//! Relies on: published algorithms, cited in each module.
//!
//! For example, of the function in the left column, some analyses say:
//!
//! ```text
//! b0: live=a -> b1                         Dominators: b0 is the immediate dominator of b1, and b1 of b2
//!   v0:w = copy-from(a)                    PinLiveness: `a` is live before this copy
//!   v1:w = op rematerialisable             Liveness: v0 and v1 are live out of b0
//! b1: freq=8 -> b1 b2                      Loops: b1 is the header of a loop of depth 1; Liveness: v0 is live in
//!   v2:w = phi b0:v1 b1:v3
//!   v3:w(reuse=1) = op v2 v0 defs=flags    Liveness: v2 dies here; NextUses: v0 is 0 instructions away from the head
//!   op uses=flags terminator               PinLiveness: `flags` is live before it
//! b2:                                      Liveness: v0 and v3 are live out of b1, v3 alone is live into b2
//!   copy-to(a) v3
//!   op uses=a terminator
//! ```

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
