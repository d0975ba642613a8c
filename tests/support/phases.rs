//! The phases up to spilling.

use chordal::analysis::{Dominators, Interference, Liveness, Loops, Order};
use chordal::cssa::{self, Conventional};
use chordal::machine::{Function, print};
use chordal::preset::Preset;
use chordal::spill::{Spilled, Spiller};
use cranelift_entity::SecondaryMap;

/// Runs them on a function that can be allocated.
pub fn spill(function: &Function) -> (Conventional, Spilled) {
    let preset = Preset::default();
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let loops = Loops::new(function, &order, &dominators);
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    let conventional = cssa::conventional(function, &order, &dominators, &interference, preset.coalescing);
    let liveness = Liveness::new(&conventional.function);
    let spiller = Spiller::new(&conventional, &order, &loops, &liveness, preset.spill, false);
    let spilled = spiller.spill(&SecondaryMap::new());
    let spilled = spilled.unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    (conventional, spilled)
}
