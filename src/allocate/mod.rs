//! Register allocation: [`pipeline`] is the list of phases, [`allocators`] which choices make which allocator.

pub mod allocators;
pub mod assign;
mod copies;
mod cost;
pub mod cssa;
pub mod eliminate;
pub mod failure;
mod forms;
pub mod pipeline;
mod pressure;
pub mod recolour;
pub mod regalloc2;
mod sink;
pub mod spill;
mod ssa;
