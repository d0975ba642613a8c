//! φ elimination after register assignment, and the answer: an overlay of the imported function.
//!
//! Requires: an assignment. φs in memory need no code if their web has one slot (frugality); those of an allocation that is
//! not frugal are in [`Spilled::memory_phis`].
//! Ensures: code on each edge brings every value and φ argument to where the edge's target expects it. Registers are moved
//! and swapped among each other; arguments in memory are loaded into their registers afterwards. Of a frugal allocation,
//! nothing is stored. Otherwise memory is moved to memory too ([`windmill`]).
//! Relies on: `spill-free-ssa-elimination.txt`, section 5 (ImplementSpartan) and 6.1 (stores are hoisted to definitions).

mod count;
mod graph;
mod overlay;
mod sequence;
pub mod windmill;

pub use sequence::{RegisterStep, Surroundings, SwapPolicy, sequentialise};

use crate::allocate::assign::{Assignment, Transfer};
use crate::allocate::failure::Defect;
use crate::allocate::spill::Spilled;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, EdgePlace, Edit, Function, Location, Point, Reg, RegClass, RegSet, RegisterFile, Slot, SlotData};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use windmill::{LocationTransfer, Scratch};

pub use count::{EliminationCounts, count};
pub use overlay::overlay;

/// The code of control-flow edges, by the block that it stands in.
pub struct EdgeCode {
    /// Behind the block's labels.
    pub head: SecondaryMap<Block, Vec<Edit>>,
    /// Before its terminators.
    pub tail: SecondaryMap<Block, Vec<Edit>>,
    /// All spill slots: those of the spilled values, and behind them what memory transfers need besides.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Registers stored to make room for memory transfers.
    pub spills: u64,
}

/// Turns the differences between blocks' exits and entries, and the φs, into code on the edges.
///
/// # Errors
/// If an edge where no code can stand needs some: a defect of the spilling phase.
pub fn eliminate(
    spilled: &Spilled,
    liveness: &Liveness,
    assignment: &Assignment,
    policy: SwapPolicy,
) -> Result<EdgeCode, Defect> {
    let function = &spilled.function;
    let pins = PinLiveness::new(function);
    let mut scratch = Scratch::new(spilled.slots.clone(), function.values.values().map(|value| value.class));
    let mut code = EdgeCode { head: SecondaryMap::new(), tail: SecondaryMap::new(), slots: PrimaryMap::new(), spills: 0 };
    for (to, data) in &function.blocks {
        for (column, &from) in data.preds.iter().enumerate() {
            let place = function.edge_place(from, to);
            let mut graph = edge(function, liveness, assignment, from, to, column);
            graph.memory.extend(memory_transfers(spilled, to, column));
            let kept = graph.registers.iter().filter(|t| t.from == t.to).map(|t| t.to).collect();
            graph.registers.retain(|t| t.from != t.to);
            if graph.registers.is_empty() && graph.loads.is_empty() && graph.memory.is_empty() {
                continue;
            }
            let (edits, point) = match place {
                EdgePlace::Head(point) => (&mut code.head[to], point),
                EdgePlace::Tail(point) => (&mut code.tail[from], point),
                EdgePlace::Nowhere => {
                    return Err(Defect::Impossible(format!("the edge from {from} to {to} needs code, but can take none")));
                }
            };
            let around = surroundings(function, &pins, assignment, point, kept, policy);
            if graph.memory.is_empty() {
                edits.extend(sequentialise(&graph.registers, &around).into_iter().map(Edit::from));
                edits.extend(graph.loads.iter().map(|load| load.edit()));
            } else {
                // Saving a callee-saved register that was not in use costs less than spilling one here.
                let around = Surroundings { available: all_registers(function) - pins.at(function, point), ..around };
                let implemented = windmill::implement(&graph.all(), &around, &mut scratch).map_err(Defect::Impossible)?;
                edits.extend(implemented.edits);
                code.spills += u64::from(implemented.spills);
            }
        }
    }
    code.slots = scratch.into_slots();
    Ok(code)
}

/// The location transfer graph of an edge, in parts.
struct EdgeGraph {
    registers: Vec<Transfer>,
    /// Into further registers.
    loads: Vec<PhiLoad>,
    /// Between different slots.
    memory: Vec<LocationTransfer>,
}

/// A φ's argument in memory goes to the φ's register.
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

/// The part of an edge's graph that does not go from memory to memory.
fn edge(function: &Function, liveness: &Liveness, assignment: &Assignment, from: Block, to: Block, column: usize) -> EdgeGraph {
    let data = &function.blocks[to];
    let mut registers = Vec::with_capacity(liveness.live_in(to).len() + data.phis.len());
    let mut loads = Vec::new();
    for (&value, &reg) in liveness.live_in(to).iter().zip(&assignment.entry[to]) {
        let class = function.values[value].class;
        registers.push(Transfer { from: assignment.on_exit(function, liveness, from, to, value), to: reg, class });
    }
    for phi in &data.phis {
        let to_reg = assignment.phi_register[phi.def].expand().expect("the φ was assigned a register").reg();
        let Some(value) = phi.args[column].value.expand() else { continue };
        // A φ may join values of several classes.
        let class = function.file.wider(function.values[phi.def].class, function.values[value].class);
        match phi.args[column].slot.expand() {
            Some(slot) => loads.push(PhiLoad { to: to_reg, from: slot, class }),
            None => {
                let source = assignment.on_exit(function, liveness, from, to, value);
                let class = function.file.carrier(class, RegSet::from_iter([source, to_reg]));
                registers.push(Transfer { from: source, to: to_reg, class });
            }
        }
    }
    EdgeGraph { registers, loads, memory: Vec::new() }
}

/// What φs in memory take from other slots than their own.
fn memory_transfers(spilled: &Spilled, to: Block, column: usize) -> impl Iterator<Item = LocationTransfer> {
    spilled.memory_phis[to].iter().filter_map(move |phi| {
        let from = phi.from[column].filter(|&from| from != phi.to)?;
        Some(LocationTransfer { from: Location::Slot(from), to: Location::Slot(phi.to), class: phi.class })
    })
}

/// Everything that values can live in.
fn all_registers(function: &Function) -> RegSet {
    function.file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs)
}

/// What may be used at a point to implement a graph there.
pub(crate) fn surroundings<'a>(
    function: &'a Function,
    pins: &PinLiveness,
    assignment: &Assignment,
    point: Point,
    kept: RegSet,
    policy: SwapPolicy,
) -> Surroundings<'a> {
    let live = pins.at(function, point);
    let file: &RegisterFile = &function.file;
    let untouched = file.callee_saved - assignment.used;
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
