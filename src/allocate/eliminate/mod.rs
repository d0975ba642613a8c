//! φ elimination after register assignment, and the result of allocation: an overlay of the imported function.
//!
//! The φs of a block are one parallel copy for each edge into it. Each becomes moves and swaps of registers, and then loads
//! of arguments in memory. In a frugal allocation a φ-web has at most one slot, so nothing is ever moved from memory to
//! memory, and no register has to be spilled for that [PP09, §3]. Allocations that are not frugal, those of its rivals, need
//! [`windmill`], or do as `brisk.rs`.
//!
//! Requires: a colour for each name. φs in memory need no code if their web has one slot (frugality); in other allocations,
//! [`Memory::memory_phis`] has those that do.
//! Ensures: code on each edge brings every φ argument to the φ's register. Registers are moved and swapped first, arguments
//! in memory loaded afterwards. In a frugal allocation nothing is stored.
//! Relies on: [PP09, §5] (ImplementSpartan) and [PP09, §6.1] (stores are hoisted to definitions).
//!
//! ```text
//! b0: -> b1 b2
//!   v0:w = op                      v0: a      b0.1 store s0 a
//!   v1:w = op
//!   op terminator
//! b1: -> b3
//!   op v1
//!   op clobbers=a,b,flags
//!   v2:w = op                      v2: a      b1.3 move b a, load a s0
//! b2: -> b3
//!   op v1                                     b2.1 load a s0
//! b3:
//!   v3:w = phi b1:v0 b2:v0         v3: a
//!   v4:w = phi b1:v2 b2:undef      v4: b
//! ```
//!
//! v0 is stored where it is defined. On the edge from b1, v2 leaves the register that v0 is then loaded into
//! (`testdata/functions/argument_in_memory.txt`).

mod brisk;
mod count;
mod graph;
mod hoist;
mod overlay;
mod sequence;
pub mod windmill;

pub use sequence::{RegisterStep, Surroundings, SwapPolicy, Transfer, sequentialise};

use crate::allocate::assign::Coloured;
use crate::allocate::failure::Defect;
use crate::allocate::spill::{EdgeRefill, EdgeSource, Memory};
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{
    Block, EdgePlace, Edit, Function, Location, Phi, Point, Reg, RegClass, RegSet, RegisterFile, Slot, SlotData,
};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use windmill::{LocationTransfer, Scratch};

pub use count::{EliminationCounts, Graphs, TransferGraphs};
pub use hoist::hoist;
pub use overlay::overlay;

/// When the code of an edge moves memory to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryTransfers {
    /// Whenever a register is free, between moves of registers.
    Woven,
    /// All at one point (Brisk).
    AtOnce,
}

/// The code of control-flow edges, by the block in which it stands.
pub struct EdgeCode {
    /// After the block's labels.
    pub head: SecondaryMap<Block, Vec<Edit>>,
    /// Before its terminators.
    pub tail: SecondaryMap<Block, Vec<Edit>>,
    /// All spill slots: those of the spilled values, and then the scratch slots of memory transfers.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Registers stored to make room for memory transfers.
    pub spills: u64,
}

/// Turns the φs into code on the edges.
///
/// # Errors
/// If an edge needs code but can take none: an earlier phase has a defect.
pub fn eliminate(
    memory: &Memory,
    coloured: &Coloured,
    liveness: &Liveness,
    pins: &PinLiveness,
    policy: SwapPolicy,
    transfers: MemoryTransfers,
) -> Result<EdgeCode, Defect> {
    let function = &coloured.function;
    let mut scratch = Scratch::new(memory.slots.clone(), function.values.values().map(|value| value.class));
    let mut code = EdgeCode { head: SecondaryMap::new(), tail: SecondaryMap::new(), slots: PrimaryMap::new(), spills: 0 };
    for (to, data) in &function.blocks {
        if data.phis.is_empty() && memory.memory_phis[to].is_empty() {
            continue;
        }
        let through: RegSet = liveness.live_in(to).iter().map(|&name| coloured.colours.of(name)).collect();
        for (column, &from) in data.preds.iter().enumerate() {
            let mut graph = edge(memory, coloured, from, to, column);
            let fixed = graph.registers.iter().filter(|t| t.from == t.to).map(|t| t.to).collect::<RegSet>();
            graph.registers.retain(|t| t.from != t.to);
            if graph.is_empty() {
                continue;
            }
            let (edits, point) = match function.edge_place(from, to) {
                EdgePlace::Head(point) => (&mut code.head[to], point),
                EdgePlace::Tail(point) => (&mut code.tail[from], point),
                EdgePlace::Nowhere => {
                    return Err(Defect::Impossible(format!("the edge from {from} to {to} needs code, but can take none")));
                }
            };
            let around = surroundings(coloured, pins, point, through | fixed, policy);
            if graph.memory.is_empty() {
                edits.extend(sequentialise(&graph.registers, &around).into_iter().map(Edit::from));
                edits.extend(graph.loads.iter().map(|load| load.edit()));
            } else {
                // Where the alternative is a spill, it costs less to save a callee-saved register that was not in use.
                let around = Surroundings { available: all_registers(function) - pins.at(function, point), ..around };
                let implemented = match transfers {
                    MemoryTransfers::Woven => windmill::implement(&graph.all(), &around, &mut scratch),
                    MemoryTransfers::AtOnce => brisk::implement(&graph.all(), &around, &mut scratch),
                };
                let implemented = implemented.map_err(|error| Defect::Impossible(error.to_string()))?;
                edits.extend(implemented.edits);
                code.spills += u64::from(implemented.spills);
            }
            edits.extend(graph.again);
        }
    }
    code.slots = scratch.into_slots();
    Ok(code)
}

/// The location transfer graph of an edge, by kinds of transfers.
struct EdgeGraph {
    registers: SmallVec<[Transfer; 8]>,
    /// From slots to other registers.
    loads: Vec<PhiLoad>,
    /// Rematerialisations into other registers.
    again: Vec<Edit>,
    /// From slot to slot.
    memory: Vec<LocationTransfer>,
}

/// The transfer of an argument in memory to the φ's register.
struct PhiLoad {
    to: Reg,
    from: Slot,
    class: RegClass,
}

impl PhiLoad {
    fn edit(&self) -> Edit {
        Edit::Load { to: self.to, from: self.from, class: self.class }
    }
}

impl EdgeGraph {
    fn is_empty(&self) -> bool {
        self.registers.is_empty() && self.loads.is_empty() && self.again.is_empty() && self.memory.is_empty()
    }

    /// The whole graph.
    fn all(&self) -> Vec<LocationTransfer> {
        let registers = self.registers.iter().map(|&Transfer { from, to, class }| LocationTransfer {
            from: Location::Reg(from),
            to: Location::Reg(to),
            class,
        });
        let loads = self.loads.iter().map(|&PhiLoad { to, from, class }| LocationTransfer {
            from: Location::Slot(from),
            to: Location::Reg(to),
            class,
        });
        registers.chain(loads).chain(self.memory.iter().copied()).collect()
    }
}

/// The graph of an edge. Pieces of split values come before the program's φs.
fn edge(memory: &Memory, coloured: &Coloured, from: Block, to: Block, column: usize) -> EdgeGraph {
    let Coloured { function, colours, .. } = coloured;
    let phis = &function.blocks[to].phis;
    let is_piece = |phi: &Phi| function.values[phi.def].of.is_some();
    let pieces = phis.iter().filter(|phi| is_piece(phi));
    let mut registers = SmallVec::new();
    for phi in pieces.chain(phis.iter().filter(|phi| !is_piece(phi))) {
        let Some(arg) = phi.args[column].expand() else { continue };
        let (from, to) = (colours.of(arg), colours.of(phi.def));
        let class = function.values[phi.def].class;
        let class = if is_piece(phi) {
            class
        } else {
            // A φ may join values of several classes.
            function.file.carrier_between(function.values[arg].class, class, RegSet::from_iter([from, to]))
        };
        registers.push(Transfer { from, to, class });
    }
    let (mut loads, mut again) = (Vec::new(), Vec::new());
    for &EdgeRefill { row, source, .. } in memory.edge_refills[to].iter().filter(|refill| refill.from == from) {
        let to = colours.of(phis[row].def);
        match source {
            EdgeSource::Slot { slot, class } => {
                loads.push(PhiLoad { to, from: slot, class: function.file.carrier(class, RegSet::only(to)) });
            }
            EdgeSource::Rematerialise(inst) => again.push(Edit::Rematerialise { to, inst, from: None }),
        }
    }
    EdgeGraph { registers, loads, again, memory: memory_transfers(memory, to, column).collect() }
}

/// The transfers to the slots of φs in memory from other slots.
fn memory_transfers(memory: &Memory, to: Block, column: usize) -> impl Iterator<Item = LocationTransfer> {
    memory.memory_phis[to].iter().filter_map(move |phi| {
        let from = phi.from[column].filter(|&from| from != phi.to)?;
        Some(LocationTransfer { from: Location::Slot(from), to: Location::Slot(phi.to), class: phi.class })
    })
}

/// All registers that values can be in.
fn all_registers(function: &Function) -> RegSet {
    function.file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs)
}

/// The registers and flags at a point, as far as the code of a graph may use them there.
fn surroundings<'a>(
    coloured: &'a Coloured,
    pins: &PinLiveness,
    point: Point,
    kept: RegSet,
    policy: SwapPolicy,
) -> Surroundings<'a> {
    let function = &coloured.function;
    let live = pins.at(function, point);
    let file: &RegisterFile = &function.file;
    let untouched = file.callee_saved - coloured.used;
    Surroundings {
        file,
        kept,
        available: all_registers(function) - live - untouched,
        status_live: live.intersects(file.status),
        policy,
    }
}

impl From<RegisterStep> for Edit {
    fn from(step: RegisterStep) -> Edit {
        match step {
            RegisterStep::Move { to, from, class } => Edit::Move { to, from, class },
            RegisterStep::Swap { a, b, class, kind } => Edit::Swap { a, b, class, kind },
        }
    }
}
