//! φ elimination after register assignment, and the answer: an overlay of the imported function.
//!
//! Requires: an assignment of a function whose φs are all in registers (those in memory need no code, by frugality).
//! Ensures: code on each edge brings every value and φ argument to where the edge's target expects it. Registers are moved
//! and swapped among each other; arguments in memory are loaded into their registers afterwards. Nothing is stored.
//! Relies on: `spill-free-ssa-elimination.txt`, section 5 (ImplementSpartan) and 6.1 (stores are hoisted to definitions).

mod count;
mod overlay;
mod sequence;

pub use sequence::{RegisterStep, Surroundings, SwapPolicy, sequentialise};

use crate::analysis::{Liveness, PinLiveness};
use crate::assign::{Assignment, Transfer};
use crate::machine::{Block, EdgePlace, Edit, Function, Point, RegSet, RegisterFile};
use crate::preset::Preset;
use crate::spill::Spilled;
use cranelift_entity::SecondaryMap;

pub use count::{EliminationCounts, count};
pub use overlay::overlay;

/// The code of control-flow edges, by the block that it stands in.
#[derive(Default)]
pub struct EdgeCode {
    /// Behind the block's labels.
    pub head: SecondaryMap<Block, Vec<Edit>>,
    /// Before its terminators.
    pub tail: SecondaryMap<Block, Vec<Edit>>,
}

/// Turns the differences between blocks' exits and entries, and the φs, into code on the edges.
///
/// # Errors
/// If an edge where no code can stand needs some: a defect of the spilling phase.
pub fn eliminate(
    spilled: &mut Spilled,
    liveness: &Liveness,
    assignment: &Assignment,
    preset: &Preset,
) -> Result<EdgeCode, String> {
    let policy = preset.swap;
    let function = &spilled.function;
    let pins = PinLiveness::new(function);
    let mut code = EdgeCode::default();
    for (to, data) in &function.blocks {
        for (column, &from) in data.preds.iter().enumerate() {
            let place = function.edge_place(from, to);
            let (graph, loads) = edge(function, liveness, assignment, from, to, column);
            let moved: Vec<Transfer> = graph.iter().copied().filter(|t| t.from != t.to).collect();
            if moved.is_empty() && loads.is_empty() {
                continue;
            }
            let (edits, point) = match place {
                EdgePlace::Head(point) => (&mut code.head[to], point),
                EdgePlace::Tail(point) => (&mut code.tail[from], point),
                EdgePlace::Nowhere => return Err(format!("the edge from {from} to {to} needs code, but can take none")),
            };
            let kept = graph.iter().filter(|t| t.from == t.to).map(|t| t.to).collect();
            let around = surroundings(function, &pins, assignment, point, kept, policy);
            edits.extend(sequentialise(&moved, &around).into_iter().map(Edit::from));
            edits.extend(loads);
        }
    }
    Ok(code)
}

/// The location transfer graph of an edge among registers, and the loads into further ones.
fn edge(
    function: &Function,
    liveness: &Liveness,
    assignment: &Assignment,
    from: Block,
    to: Block,
    column: usize,
) -> (Vec<Transfer>, Vec<Edit>) {
    let data = &function.blocks[to];
    let mut graph = Vec::with_capacity(liveness.live_in(to).len() + data.phis.len());
    let mut loads = Vec::new();
    for (&value, &reg) in liveness.live_in(to).iter().zip(&assignment.entry[to]) {
        let class = function.values[value].class;
        graph.push(Transfer { from: assignment.on_exit(function, liveness, from, to, value), to: reg, class });
    }
    for phi in &data.phis {
        let reg = assignment.phi_register[phi.def].expand().expect("the φ was assigned a register").reg();
        let Some(value) = phi.args[column].value.expand() else { continue };
        // A φ may join values of several classes.
        let class = function.file.wider(function.values[phi.def].class, function.values[value].class);
        match phi.args[column].slot.expand() {
            Some(slot) => loads.push(Edit::Load { to: reg, from: slot, class }),
            None => {
                let source = assignment.on_exit(function, liveness, from, to, value);
                let class = function.file.carrier(class, RegSet::from_iter([source, reg]));
                graph.push(Transfer { from: source, to: reg, class });
            }
        }
    }
    (graph, loads)
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
    let all = file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs);
    let untouched = file.callee_saved - assignment.used;
    Surroundings { file, kept, available: all - live - untouched, status_live: live.intersects(file.status), policy }
}

impl From<RegisterStep> for Edit {
    fn from(step: RegisterStep) -> Edit {
        match step {
            RegisterStep::Move { to, from, class } => Edit::Move { to, from, class },
            RegisterStep::Swap { a, b, class, kind } => Edit::Swap { a, b, class, kind },
        }
    }
}
