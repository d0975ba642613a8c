//! Counts of location transfer graphs, as in [PP09, Figure 10].

use super::EdgeCode;
use crate::allocate::assign::Coloured;
use crate::allocate::spill::Memory;
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::Liveness;
use crate::machine::{Bank, Block, Function, Phi, RegSet, Value};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The work of φ elimination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EliminationCounts {
    /// Location transfer graphs: control-flow edges into blocks with φs.
    pub graphs: u64,
    /// Edges of all graphs: defined φ arguments.
    pub edges: u64,
    /// Edges from one memory location to another. In a frugal allocation both are the same.
    pub memory_transfers: u64,
    /// Graphs with a memory transfer whose sources take all registers of the transferred value's bank. Moving the value
    /// through a register would have needed another spill.
    pub potential_spills: u64,
    /// Blocks with so many φs that moving memory to memory would have needed another spill under any assignment, by the paper's
    /// count: thirteen φs of one bank where that has seven registers, 2k - 1 of k [PP09, §1].
    #[serde(default)]
    pub crowded: u64,
    /// Arguments that are in the register of their φ's definition.
    pub fixed_points: u64,
    /// Registers stored to make room for memory transfers.
    pub spills: u64,
}

/// The graphs as they are before registers are assigned.
pub struct Graphs {
    counts: EliminationCounts,
    /// For each graph with memory transfers, the block that control comes from, and the φs.
    transfers: Vec<(Block, SmallVec<[Value; 2]>)>,
}

impl Graphs {
    /// The graphs of the conventional form, given which values are in memory.
    pub fn new(conventional: &Conventional, memory: &Memory) -> Self {
        let mut graphs = Graphs { counts: EliminationCounts::default(), transfers: Vec::new() };
        for data in conventional.function.blocks.values().filter(|data| !data.phis.is_empty()) {
            graphs.counts.crowded += u64::from(is_crowded(&conventional.function, &data.phis));
            for (column, &pred) in data.preds.iter().enumerate() {
                graphs.counts.graphs += 1;
                let defined = |phi: &&Phi| phi.args[column].is_some();
                graphs.counts.edges += data.phis.iter().filter(defined).count() as u64;
                let in_memory = |phi: &&Phi| {
                    let arg = phi.args[column].expand();
                    memory.slot_of[phi.def].is_some() && arg.is_some_and(|arg| memory.slot_of[arg].is_some())
                };
                let transfers: SmallVec<[Value; 2]> = data.phis.iter().filter(in_memory).map(|phi| phi.def).collect();
                if !transfers.is_empty() {
                    graphs.counts.memory_transfers += transfers.len() as u64;
                    graphs.transfers.push((pred, transfers));
                }
            }
        }
        graphs
    }

    /// Completes the counts with what assignment and elimination made of the graphs.
    pub fn count(&self, coloured: &Coloured, liveness: &Liveness, code: &EdgeCode) -> EliminationCounts {
        let fills =
            |(pred, phis): &&(Block, SmallVec<[Value; 2]>)| phis.iter().any(|&phi| is_full(coloured, liveness, *pred, phi));
        EliminationCounts {
            potential_spills: self.transfers.iter().filter(fills).count() as u64,
            fixed_points: fixed_points(coloured),
            spills: code.spills,
            ..self.counts
        }
    }
}

/// Whether a block has 2k - 1 φs, or more, of a bank with k registers.
fn is_crowded(function: &Function, phis: &[Phi]) -> bool {
    let file = &function.file;
    let of_bank = |bank: Bank| phis.iter().filter(|phi| file.classes[function.values[phi.def].class].bank == bank).count();
    file.banks.keys().any(|bank| of_bank(bank) > 0 && of_bank(bank) + 1 >= 2 * file.allocatable(bank).len())
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

/// Whether all registers that the φ's value could pass through are taken at a block's end.
fn is_full(coloured: &Coloured, liveness: &Liveness, pred: Block, phi: Value) -> bool {
    let taken: RegSet = liveness.live_out(pred).iter().map(|&name| coloured.colours.of(name)).collect();
    coloured.function.allowed(phi).is_subset(taken)
}
