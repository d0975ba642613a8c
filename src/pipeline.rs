//! The allocators as lists of phases.

use crate::machine::{Function, Overlay};
use std::time::Duration;

/// What allocating one function came to, for the statistics.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Spilled values.
    pub spilled_values: u64,
    /// φ elimination, as in Figure 10 of the spill-free paper.
    pub elimination: EliminationCounts,
    /// Time of each phase in the order in which they ran.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Location transfer graphs, counted as in Figure 10 of the spill-free paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EliminationCounts {
    /// Location transfer graphs: control-flow edges into blocks with φs.
    pub graphs: u64,
    /// Edges of all graphs: φ arguments.
    pub edges: u64,
    /// Edges from a memory location to a memory location (always the same one).
    pub memory_transfers: u64,
    /// Graphs with a memory transfer where all registers of a bank are taken.
    pub potential_spills: u64,
}

/// Why a function could not be allocated.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// A construct that the allocator cannot handle (yet): LLVM's allocator may.
    #[error("{0}")]
    Unsupported(String),
    /// The allocation is wrong: a defect in chordal.
    #[error("the checker rejects the allocation: {0}")]
    Rejected(String),
}

/// How to allocate.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The allocator's name on the command line.
    pub name: &'static str,
    /// Check the result.
    pub check: bool,
}

/// The allocators that exist.
pub const ALLOCATORS: &[&str] = &["spill-free"];

/// Allocates registers for a function.
///
/// # Errors
/// If the function contains something that cannot be allocated, or if the checker rejects the result.
pub fn allocate(function: &Function, preset: &Preset) -> Result<(Overlay, Report), Failure> {
    let _ = (function, preset);
    Err(Failure::Unsupported("not written yet".into()))
}
