//! Analyses of a function: each is computed once, never updated, and owned by whoever asked for it.

mod dominators;
mod grouped;
mod liveness;
mod loops;
mod order;

#[cfg(test)]
pub(crate) mod testing;

pub use dominators::Dominators;
pub use liveness::Liveness;
pub use loops::Loops;
pub use order::Order;
