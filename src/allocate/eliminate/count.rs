//! Counting location transfer graphs, as in Figure 10 of `spill-free-ssa-elimination.txt`.

use super::EdgeCode;
use crate::allocate::assign::Coloured;
use crate::allocate::cssa::Conventional;
use crate::allocate::spill::Spilled;
use crate::analysis::Liveness;
use crate::machine::{Block, Phi, RegSet};
use serde::{Deserialize, Serialize};

/// What φ elimination had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EliminationCounts {
    /// Location transfer graphs: control-flow edges into blocks with φs.
    pub graphs: u64,
    /// Edges of all graphs: defined φ arguments.
    pub edges: u64,
    /// Edges from a memory location to a memory location; if allocation is frugal, it is always the same one.
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
    coloured: &Coloured,
    liveness: &Liveness,
    code: &EdgeCode,
) -> EliminationCounts {
    let mut counts = EliminationCounts { spills: code.spills, ..EliminationCounts::default() };
    for data in conventional.function.blocks.values().filter(|data| !data.phis.is_empty()) {
        for (column, &pred) in data.preds.iter().enumerate() {
            counts.graphs += 1;
            let defined = |phi: &&Phi| phi.args[column].is_some();
            counts.edges += data.phis.iter().filter(defined).count() as u64;
            let in_memory = |phi: &&Phi| {
                let arg = phi.args[column].expand();
                spilled.slot_of[phi.def].is_some() && arg.is_some_and(|arg| spilled.slot_of[arg].is_some())
            };
            let transfers: Vec<&Phi> = data.phis.iter().filter(in_memory).collect();
            counts.memory_transfers += transfers.len() as u64;
            counts.potential_spills += u64::from(transfers.iter().any(|phi| is_full(coloured, liveness, pred, phi)));
        }
    }
    counts.fixed_points = fixed_points(coloured);
    counts
}

/// The number of arguments of the program's φs whose register is the φ's.
fn fixed_points(Coloured { function, colours, .. }: &Coloured) -> u64 {
    let phis = function.blocks.values().flat_map(|data| &data.phis).filter(|phi| function.values[phi.def].of.is_none());
    let fixed = phis.map(|phi| {
        let args = phi.args.iter().filter_map(|arg| arg.expand());
        args.filter(|&arg| colours.of(arg) == colours.of(phi.def)).count() as u64
    });
    fixed.sum()
}

/// Whether at a block's end all registers that the φ's value could pass through are taken.
fn is_full(coloured: &Coloured, liveness: &Liveness, pred: Block, phi: &Phi) -> bool {
    let taken: RegSet = liveness.live_out(pred).iter().map(|&name| coloured.colours.of(name)).collect();
    coloured.function.allowed(phi.def).is_subset(taken)
}
