//! Register allocation: [`pipeline`] is the list of phases, [`allocators`] which choices make which allocator.

pub mod allocators;
pub mod assign;
pub mod changes;
mod copies;
mod cost;
pub mod cssa;
mod cuts;
pub mod degraded;
pub mod destruct;
pub mod dump;
pub mod eliminate;
pub mod failure;
mod forms;
#[cfg(feature = "optimal")]
mod integer_program;
pub mod observe;
mod park;
pub mod pipeline;
mod pressure;
pub mod recolour;
pub mod regalloc2;
pub mod shrink_wrap;
mod sink;
pub mod spill;
mod ssa;

/// Whether this build can solve integer programs, as `Choice::Optimal` and `Recolouring::Optimal` want it.
pub const HAS_SOLVER: bool = cfg!(feature = "optimal");
