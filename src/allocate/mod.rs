//! Register allocation: from an imported function to an overlay that says where each of its operands is.
//!
//! [`pipeline`] runs the phases one after another; [`allocators`] names the choices that make each allocator. Each phase has
//! a folder or a file of its own, which begins with what it requires and ensures.
//!
//! Requires: a function in strict SSA form with two-address constraints and pinned registers, as [`crate::machine`]
//! describes it.
//! Ensures: an overlay that [`crate::check`] accepts. The function itself is not changed.
//! Relies on: values of an SSA program can be assigned registers without further spilling once no more of them are live
//! anywhere than there are registers [PP05, §4.4], \[Hack\]. So spilling comes before assignment, and φs are eliminated last
//! \[PP09\].
//!
//! ```text
//! b0: -> b1
//!   v0:w = op                  v0: a
//! b1: -> b2 b3
//!   v1:w = phi b0:v0 b3:v2     v1: a
//!   v2:w = op v1               v2: b
//!   op terminator
//! b2:
//!   op v1
//! b3: on-edge -> b1                      b3.0 move a b
//! ```
//!
//! v1 is still needed when v2 is defined, so the two are in different registers, and the φ takes a move on its edge
//! (`testdata/functions/lost_copy.txt`, by `spill-free`).

pub mod allocators;
pub mod assign;
pub mod changes;
mod copies;
mod cost;
pub mod cssa;
mod cuts;
mod debug;
pub mod degraded;
pub mod destruct;
pub mod dump;
pub mod eliminate;
pub mod eviction;
pub mod failure;
mod forms;
#[cfg(feature = "optimal")]
mod integer_program;
pub mod observe;
pub mod overhead;
mod park;
pub mod pipeline;
mod pressure;
pub mod recolour;
pub mod regalloc2;
mod register_slots;
pub mod shrink_wrap;
mod sink;
pub mod spill;
mod ssa;

/// Whether this build can solve integer programs, which `--spill optimal` and `Recolouring::Optimal` need.
pub const HAS_SOLVER: bool = cfg!(feature = "optimal");
