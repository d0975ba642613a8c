//! The phases up to spilling.

use chordal::analysis::{Dominators, Interference, Liveness, Loops, Order};
use chordal::cssa::{self, Conventional};
use chordal::machine::{Function, print};
use chordal::spill::{self, Spilled};

/// Runs them on a function that can be allocated.
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
