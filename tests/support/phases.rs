//! The phases one after the other, with everything that they leave behind.

use chordal::analysis::{Dominators, Interference, Liveness, Loops, Order};
use chordal::assign::{self, Assignment};
use chordal::cssa::{self, Conventional};
use chordal::eliminate::SwapPolicy;
use chordal::machine::{Function, Overlay, print};
use chordal::pipeline::{Preset, allocate};
use chordal::spill::{self, Spilled};

pub struct Phases {
    pub spilled: Spilled,
    /// Of the spilled function.
    pub liveness: Liveness,
    pub assignment: Assignment,
    /// What the whole pipeline answers.
    pub overlay: Overlay,
}

/// The phases up to spilling, on a function that can be allocated.
pub fn spill(function: &Function) -> (Conventional, Spilled) {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let loops = Loops::new(function, &order, &dominators);
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    let conventional = cssa::conventional(function, &order, &dominators, &interference);
    let liveness = Liveness::new(&conventional.function);
    let spilled = spill::spill(&conventional, &order, &loops, &liveness);
    let spilled = spilled.unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    (conventional, spilled)
}

/// All phases.
pub fn run(function: &Function) -> Phases {
    let (_, spilled) = spill(function);
    let liveness = Liveness::new(&spilled.function);
    let assignment = assign::assign(&spilled.function, &Order::new(function), &liveness);
    let assignment = assignment.unwrap_or_else(|message| panic!("{message}\n{}", print(&spilled.function)));
    let preset = Preset { name: "spill-free", swap: SwapPolicy::Auto, check: false };
    let (overlay, _) = allocate(function, &preset).unwrap_or_else(|failure| panic!("{failure}\n{}", print(function)));
    Phases { spilled, liveness, assignment, overlay }
}
