//! The phases one after the other, with everything that they leave behind.

use chordal::analysis::{Dominators, Interference, Liveness, Loops, Order};
use chordal::assign::{self, Assignment};
use chordal::cssa::{self, Conventional};
use chordal::eliminate::{self, SwapPolicy};
use chordal::machine::{Function, Overlay, print};
use chordal::spill::{self, Spilled};

pub struct Phases {
    pub spilled: Spilled,
    /// Of the spilled function.
    pub liveness: Liveness,
    pub assignment: Assignment,
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
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let imported_liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &imported_liveness);
    let (_, spilled) = spill(function);
    let fails = |message: String| -> String { panic!("{message}\n{}", print(&spilled.function)) };
    let liveness = Liveness::new(&spilled.function);
    let assignment = assign::assign(&spilled.function, &order, &liveness).map_err(fails).unwrap();
    let policy = SwapPolicy::Auto;
    let code = eliminate::eliminate(&spilled, &liveness, &assignment, policy).map_err(fails).unwrap();
    let overlay = eliminate::overlay(function, &interference, &spilled, &assignment, &code, policy);
    Phases { spilled, liveness, assignment, overlay }
}
