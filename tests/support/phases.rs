//! The phases up to spilling.

use chordal::allocate::allocators::Preset;
use chordal::allocate::cssa::{self, Coalescing, Conventional};
use chordal::allocate::spill::verify::verify;
use chordal::allocate::spill::{Problem, Spilled};
use chordal::analysis::{Dominators, Interference, Liveness, Order};
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

/// Converts and spills a function that can be allocated; the plan is verified.
pub fn spill(function: &Function) -> (Conventional, Spilled) {
    let preset = Preset::default();
    let conventional = convert(function, preset.coalescing);
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let liveness = Liveness::new(&conventional.function);
    let problem = Problem::new(&conventional, &order, &dominators, &liveness, preset.spill, preset.registers.downstream());
    let problem = problem.unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    let plan = problem.plan(&SecondaryMap::new()).unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    assert_eq!(verify(&problem, &plan), [], "{}", print(function));
    let spilled = problem.insert(&plan);
    (conventional, spilled)
}
