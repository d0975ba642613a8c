//! Counts of location transfer graphs, as in [PP09, Figure 10].
//!
//! Each edge into a block with φs is a graph, and has an edge for each φ. Where a value reaches a join in different places, it
//! has a mock φ, which is an edge as well [PP09, §6.2]. The paper does not say whether values that stay where they are have mock
//! φs, too. So the graphs are counted in three ways: those of the program's φs, those with mock φs of values that move, and
//! those with mock φs of all values that are live into the same blocks.

use super::EdgeCode;
use crate::allocate::assign::{Coloured, Colours};
use crate::allocate::spill::{Memory, MemoryRow, MemoryRows};
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::Liveness;
use crate::machine::{Bank, Block, BlockData, Function, Phi, RegSet, Value};
use cranelift_entity::SecondaryMap;
use serde::{Deserialize, Serialize};

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
    /// The four counts above, as if every value that arrives from some predecessors in one place, and from others in another, had
    /// a φ at the head of the block as well: a mock φ [PP09, §7].
    #[serde(default)]
    pub with_mock_phis: TransferGraphs,
    /// The four counts above, as if every value that is live into these blocks had a φ there, even if it arrives from all
    /// predecessors in the same place.
    #[serde(default)]
    pub with_all_mock_phis: TransferGraphs,
    /// Blocks with 2k - 1 φs, or more, of a bank with k registers: thirteen for seven. Whatever registers the φs have, spilling
    /// on demand would have to spill there, as the paper counts [PP09, §1].
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
    /// The values in memory at the heads of blocks.
    rows: SecondaryMap<Block, MemoryRows>,
}

impl Graphs {
    /// The φs of the conventional form, given which values are in memory.
    pub fn new(conventional: &Conventional, liveness: &Liveness, memory: &Memory) -> Self {
        let mut graphs = Graphs { graphs: 0, edges: 0, crowded: 0, rows: memory.rows.clone() };
        let is_noted = memory.rows.values().any(|rows| !rows.is_empty());
        for (block, data) in conventional.function.blocks.iter().filter(|(_, data)| has_rows(data)) {
            let defined = data.phis.iter().flat_map(|phi| &phi.args).filter(|arg| arg.is_some());
            graphs.graphs += if data.phis.is_empty() { 0 } else { data.preds.len() as u64 };
            graphs.edges += defined.count() as u64;
            graphs.crowded += u64::from(is_crowded(&conventional.function, &data.phis));
            if !is_noted {
                graphs.rows[block] = rows_for_life(&conventional.function, data, liveness.live_in(block), memory);
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
        !row.is_mock || self != Unit::Program
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
        for (to, data) in self.coloured.function.blocks.iter().filter(|(_, data)| has_rows(data)) {
            let MemoryRows { phis, staying, classes } = &self.graphs.rows[to];
            let in_registers = self.rows(to);
            let in_memory: Vec<&MemoryRow> = phis.iter().filter(|row| self.unit.counts(row)).collect();
            if in_registers.is_empty() && in_memory.is_empty() {
                continue;
            }
            let (staying, classes) = if self.unit == Unit::Live { (*staying, &classes[..]) } else { (0, &[][..]) };
            let through = if self.unit == Unit::Live { self.liveness.live_in(to).len() } else { 0 };
            for (column, &from) in data.preds.iter().enumerate() {
                let taken = in_registers.iter().filter(|phi| phi.args[column].is_some()).count();
                let loaded = self.memory.edge_refills[to].iter().filter(|refill| refill.from == from).count();
                let defined = in_memory.iter().filter(|row| row.from_memory[column].is_some()).count();
                let transferred = || in_memory.iter().filter(|row| row.from_memory[column] == Some(true)).map(|row| row.value);
                counts.graphs += 1;
                counts.edges += (taken + loaded + defined + staying + through) as u64;
                counts.memory_transfers += (transferred().count() + staying) as u64;
                counts.potential_spills += u64::from(self.is_full(from, transferred().chain(classes.iter().copied())));
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

    /// Whether all registers that one of these values could pass through are taken at a block's end.
    fn is_full(&self, pred: Block, mut values: impl Iterator<Item = Value>) -> bool {
        let Coloured { function, colours, .. } = self.coloured;
        let taken: RegSet = self.liveness.live_out(pred).iter().map(|&name| colours.of(name)).collect();
        values.any(|value| function.allowed(value).is_subset(taken))
    }
}

/// Whether edges into a block may be graphs.
fn has_rows(data: &BlockData) -> bool {
    data.preds.len() > 1 || !data.phis.is_empty()
}

/// The values in memory at the head of a block, if they are there for life.
fn rows_for_life(function: &Function, data: &BlockData, live_in: &[Value], memory: &Memory) -> MemoryRows {
    let in_memory = |value: Value| memory.slot_of[value].is_some();
    let phis = data.phis.iter().filter(|phi| in_memory(phi.def)).map(|phi| MemoryRow {
        value: phi.def,
        is_mock: false,
        from_memory: phi.args.iter().map(|arg| arg.expand().map(in_memory)).collect(),
    });
    let mut rows = MemoryRows { phis: phis.collect(), ..MemoryRows::default() };
    live_in.iter().filter(|&&value| in_memory(value)).for_each(|&value| rows.stay(function, value));
    rows
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
