//! Counts of location transfer graphs, as in [PP09, Figure 10].
//!
//! Each edge into a block with φs is a graph, and has an edge for each φ. Where a value reaches a join in different places, it
//! has a mock φ, which is an edge as well [PP09, §6.2]. The paper does not say whether values that stay where they are have mock
//! φs, too. So the graphs are counted in three ways: those of the program's φs, those with mock φs of values that move, and
//! those with mock φs of all values that are live into the same blocks.

use super::EdgeCode;
use crate::allocate::assign::{Coloured, Colours};
use crate::allocate::spill::{Memory, MemoryRow};
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::Liveness;
use crate::machine::{Bank, Block, BlockData, Function, Phi, RegSet, Value};
use cranelift_entity::SecondaryMap;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

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
    /// The same, with mock φs of values that reach a block in different places.
    #[serde(default)]
    pub with_mock_phis: TransferGraphs,
    /// The same, with mock φs of all values that are live into these blocks.
    #[serde(default)]
    pub with_all_mock_phis: TransferGraphs,
    /// Blocks with so many φs that moving memory to memory would have needed another spill under any assignment, by the paper's
    /// count: thirteen φs of one bank where that has seven registers, 2k - 1 of k [PP09, §1].
    #[serde(default)]
    pub crowded: u64,
    /// Arguments that are in the register of their φ's definition.
    pub fixed_points: u64,
    /// Registers stored to make room for memory transfers.
    pub spills: u64,
}

/// Location transfer graphs with mock φs, counted as [`EliminationCounts`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferGraphs {
    pub graphs: u64,
    pub edges: u64,
    pub memory_transfers: u64,
    pub potential_spills: u64,
}

/// The φs as they are before registers are assigned.
pub struct Graphs {
    /// Those of the program, without mock φs.
    graphs: u64,
    edges: u64,
    crowded: u64,
    /// The φs in memory.
    rows: SecondaryMap<Block, Vec<MemoryRow>>,
}

impl Graphs {
    /// The φs of the conventional form, given which values are in memory.
    pub fn new(conventional: &Conventional, liveness: &Liveness, memory: &Memory) -> Self {
        let mut graphs = Graphs { graphs: 0, edges: 0, crowded: 0, rows: memory.rows.clone() };
        let is_noted = memory.rows.values().any(|rows| !rows.is_empty());
        for (block, data) in conventional.function.blocks.iter().filter(|(_, data)| data.preds.len() > 1) {
            let defined = data.phis.iter().flat_map(|phi| &phi.args).filter(|arg| arg.is_some());
            graphs.graphs += if data.phis.is_empty() { 0 } else { data.preds.len() as u64 };
            graphs.edges += defined.count() as u64;
            graphs.crowded += u64::from(is_crowded(&conventional.function, &data.phis));
            if !is_noted {
                graphs.rows[block] = rows_for_life(data, liveness.live_in(block), memory);
            }
        }
        graphs
    }

    /// Completes the counts with what assignment and elimination made of the graphs.
    pub fn count(&self, coloured: &Coloured, memory: &Memory, liveness: &Liveness, code: &EdgeCode) -> EliminationCounts {
        let [of_program, with_mock_phis, with_all_mock_phis] =
            Unit::ALL.map(|unit| Counting { graphs: self, coloured, memory, liveness, unit }.count());
        EliminationCounts {
            graphs: self.graphs,
            edges: self.edges,
            memory_transfers: of_program.memory_transfers,
            potential_spills: of_program.potential_spills,
            with_mock_phis,
            with_all_mock_phis,
            crowded: self.crowded,
            fixed_points: fixed_points(coloured),
            spills: code.spills,
        }
    }
}

/// Which φs are edges of the graphs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Program,
    Moving,
    Live,
}

impl Unit {
    const ALL: [Unit; 3] = [Unit::Program, Unit::Moving, Unit::Live];

    fn counts(self, row: &MemoryRow) -> bool {
        !row.is_mock || self == Unit::Live || self == Unit::Moving && row.moves()
    }
}

/// The counts in one unit.
struct Counting<'a> {
    graphs: &'a Graphs,
    coloured: &'a Coloured,
    memory: &'a Memory,
    liveness: &'a Liveness,
    unit: Unit,
}

impl Counting<'_> {
    fn count(&self) -> TransferGraphs {
        let mut counts = TransferGraphs::default();
        for (to, data) in self.coloured.function.blocks.iter().filter(|(_, data)| data.preds.len() > 1) {
            let rows = self.rows(to);
            let in_memory = || self.graphs.rows[to].iter().filter(|row| self.unit.counts(row));
            let staying = if self.unit == Unit::Live { self.liveness.live_in(to).len() } else { 0 };
            let is_needed = !rows.is_empty() || in_memory().any(|row| !row.is_mock || row.moves());
            for (column, &from) in data.preds.iter().enumerate().filter(|_| is_needed) {
                let in_registers = rows.iter().filter(|phi| phi.args[column].is_some()).count() + staying;
                let loaded = self.memory.edge_refills[to].iter().filter(|refill| refill.from == from).count();
                let defined = in_memory().filter(|row| row.from_memory[column].is_some()).count();
                let transferred = || in_memory().filter(|row| row.from_memory[column] == Some(true));
                counts.graphs += 1;
                counts.edges += (in_registers + loaded + defined) as u64;
                counts.memory_transfers += transferred().count() as u64;
                counts.potential_spills += u64::from(transferred().any(|row| self.is_full(from, row.value)));
            }
        }
        counts
    }

    /// The φs in registers that are counted.
    fn rows(&self, to: Block) -> Vec<&Phi> {
        let Coloured { function, colours, .. } = self.coloured;
        let phis = &function.blocks[to].phis;
        let mut moves: Vec<bool> = phis.iter().map(|phi| is_moved(phi, colours)).collect();
        self.memory.edge_refills[to].iter().for_each(|refill| moves[refill.row] = true);
        let counts = |phi: &Phi, moves: bool| match self.unit {
            Unit::Program => is_of_program(phi, function),
            Unit::Moving => is_of_program(phi, function) || moves,
            Unit::Live => true,
        };
        phis.iter().zip(moves).filter(|&(phi, moves)| counts(phi, moves)).map(|(phi, _)| phi).collect()
    }

    /// Whether all registers that the φ's value could pass through are taken at a block's end.
    fn is_full(&self, pred: Block, phi: Value) -> bool {
        let Coloured { function, colours, .. } = self.coloured;
        let taken: RegSet = self.liveness.live_out(pred).iter().map(|&name| colours.of(name)).collect();
        function.allowed(phi).is_subset(taken)
    }
}

/// The φs in memory of a block, mock φs of all values that are live into it included, if values are in memory for life.
fn rows_for_life(data: &BlockData, live_in: &[Value], memory: &Memory) -> Vec<MemoryRow> {
    let in_memory = |value: Value| memory.slot_of[value].is_some();
    let phis = data.phis.iter().filter(|phi| in_memory(phi.def)).map(|phi| MemoryRow {
        value: phi.def,
        is_mock: false,
        from_memory: phi.args.iter().map(|arg| arg.expand().map(in_memory)).collect(),
    });
    let live = live_in.iter().filter(|&&value| in_memory(value));
    let mocks = live.map(|&value| MemoryRow { value, is_mock: true, from_memory: smallvec![Some(true); data.preds.len()] });
    phis.chain(mocks).collect()
}

/// Whether a φ is the program's own, and no mock φ.
fn is_of_program(phi: &Phi, function: &Function) -> bool {
    function.values[phi.def].of.is_none()
}

/// Whether some argument is in another register than the φ.
fn is_moved(phi: &Phi, colours: &Colours) -> bool {
    phi.args.iter().filter_map(|arg| arg.expand()).any(|arg| colours.of(arg) != colours.of(phi.def))
}

/// Whether a block has 2k - 1 φs, or more, of a bank with k registers.
fn is_crowded(function: &Function, phis: &[Phi]) -> bool {
    let file = &function.file;
    let of_bank = |bank: Bank| phis.iter().filter(|phi| file.classes[function.values[phi.def].class].bank == bank).count();
    file.banks.keys().any(|bank| of_bank(bank) > 0 && of_bank(bank) + 1 >= 2 * file.allocatable(bank).len())
}

/// The number of arguments of the program's φs whose register is the φ's.
fn fixed_points(Coloured { function, colours, .. }: &Coloured) -> u64 {
    let phis = function.blocks.values().flat_map(|data| &data.phis).filter(|phi| is_of_program(phi, function));
    let fixed = phis.map(|phi| {
        let args = phi.args.iter().filter_map(|arg| arg.expand());
        args.filter(|&arg| colours.of(arg) == colours.of(phi.def)).count() as u64
    });
    fixed.sum()
}
