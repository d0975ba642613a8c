//! Counting location transfer graphs, as in Figure 10 of `spill-free-ssa-elimination.txt`.

use crate::assign::Assignment;
use crate::cssa::Conventional;
use crate::machine::{Block, Phi, RegSet};
use crate::spill::Spilled;

/// What φ elimination had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EliminationCounts {
    /// Location transfer graphs: control-flow edges into blocks with φs.
    pub graphs: u64,
    /// Edges of all graphs: defined φ arguments.
    pub edges: u64,
    /// Edges from a memory location to a memory location, which is always the same one.
    pub memory_transfers: u64,
    /// Graphs with a memory transfer whose sources take all registers of the transferred value's bank: moving the value
    /// through a register would have needed another spill.
    pub potential_spills: u64,
    /// Arguments in registers that are in the register of their φ's definition.
    pub fixed_points: u64,
    /// Registers stored to make room for memory transfers.
    pub spills: u64,
}

/// Counts the graphs of a function.
pub fn count(
    conventional: &Conventional,
    spilled: &Spilled,
    assignment: &Assignment,
    _code: &super::EdgeCode,
) -> EliminationCounts {
    let mut counts = EliminationCounts::default();
    for data in conventional.function.blocks.values().filter(|data| !data.phis.is_empty()) {
        for (column, &pred) in data.preds.iter().enumerate() {
            counts.graphs += 1;
            let defined = |phi: &&Phi| phi.args[column].value.is_some();
            counts.edges += data.phis.iter().filter(defined).count() as u64;
            let in_memory = |phi: &&Phi| {
                let arg = phi.args[column].value.expand();
                spilled.slot_of[phi.def].is_some() && arg.is_some_and(|arg| spilled.slot_of[arg].is_some())
            };
            let transfers: Vec<&Phi> = data.phis.iter().filter(in_memory).collect();
            counts.memory_transfers += transfers.len() as u64;
            counts.potential_spills += u64::from(transfers.iter().any(|phi| is_full(conventional, assignment, pred, phi)));
        }
    }
    counts
}

/// Whether at a block's end all registers that the φ's value could pass through are taken.
fn is_full(conventional: &Conventional, assignment: &Assignment, pred: Block, phi: &Phi) -> bool {
    let taken: RegSet = assignment.exit[pred].iter().copied().collect();
    conventional.function.allowed(phi.def).is_subset(taken)
}
