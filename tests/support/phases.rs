//! The phases up to spilling.

use chordal::allocate::allocators::Preset;
use chordal::allocate::cssa::{self, Coalescing, Conventional};
use chordal::allocate::spill::{Spilled, Spiller};
use chordal::analysis::{Dominators, Interference, Liveness, Loops, Order};
use chordal::machine::{Function, print};
use cranelift_entity::SecondaryMap;

/// Converts a function to conventional SSA form.
pub fn convert(function: &Function, coalescing: Coalescing) -> Conventional {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    cssa::conventional(function, &order, &dominators, &interference, coalescing)
}

/// Converts and spills a function that can be allocated.
pub fn spill(function: &Function) -> (Conventional, Spilled) {
    let preset = Preset::default();
    let conventional = convert(function, preset.coalescing);
    let order = Order::new(function);
    let loops = Loops::new(function, &order, &Dominators::new(function, &order));
    let liveness = Liveness::new(&conventional.function);
    let spiller = Spiller::new(&conventional, &order, &loops, &liveness, preset.spill, preset.registers.outlook());
    let spilled = spiller.and_then(|spiller| spiller.spill(&SecondaryMap::new()));
    let spilled = spilled.unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    (conventional, spilled)
}
