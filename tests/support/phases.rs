//! Runs the phases up to spilling.

use super::presets::spill_free;
use chordal::allocate::allocators::{AssignmentStrategy, DominanceOrder, Preset};
use chordal::allocate::assign::{Evictable, Refusal, assign, split_at_repairs};
use chordal::allocate::changes::Changes;
use chordal::allocate::cssa::{self, Coalescing, Conventional};
use chordal::allocate::eliminate;
use chordal::allocate::failure::{Defect, Failure};
use chordal::allocate::spill::strategies::{SpillStrategy, spiller_within_reach};
use chordal::allocate::spill::verify::verify;
use chordal::allocate::spill::{Plan, Problem, Spilled, plan, write};
use chordal::analysis::{Dominators, Interference, Liveness, Order, PinLiveness};
use chordal::machine::{Function, Overlay, print};
use cranelift_entity::SecondaryMap;

/// Converts a function to conventional SSA form.
pub fn convert(function: &Function, coalescing: Coalescing) -> Conventional {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    if coalescing == Coalescing::Value {
        return cssa::by_value(function, &order, &dominators).expect("there is no strong interference");
    }
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    cssa::conventional(function, &order, &dominators, &interference, coalescing, false)
}

/// Converts a function as allocators do whose spilling splits live ranges.
pub fn convert_to_split(function: &Function, coalescing: Coalescing) -> Conventional {
    let order = Order::new(function);
    cssa::rejoin(convert(function, coalescing), &Dominators::new(function, &order))
}

/// Converts a function that can be allocated, and shows the plan for its spills.
pub fn with_plan<T>(function: &Function, look: impl FnOnce(&Problem, &Plan) -> T) -> (Conventional, T) {
    with_plan_of(spill_free(), function, look)
}

/// As [`with_plan`], with any allocator.
pub fn with_plan_of<T>(preset: Preset, function: &Function, look: impl FnOnce(&Problem, &Plan) -> T) -> (Conventional, T) {
    let rejoins = matches!(preset.coalescing, Coalescing::ByPhi | Coalescing::Pairwise);
    let rejoins = rejoins && preset.assignment.spilling().is_some_and(SpillStrategy::splits);
    let how = preset.coalescing;
    let conventional = if rejoins { convert_to_split(function, how) } else { convert(function, how) };
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let liveness = Liveness::new(&conventional.function);
    let (strategy, effort) = (preset.assignment.spilling(), preset.spill.effort);
    let (spiller, _) = spiller_within_reach(strategy, effort, &conventional.function, &liveness);
    let (policy, downstream) = (preset.spill, preset.assignment.downstream());
    let problem = Problem::new(&conventional, &order, &dominators, &liveness, policy, downstream, spiller.abilities());
    let problem = problem.unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    let plan = plan(&problem, &*spiller, &SecondaryMap::new()).unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
    let looked = look(&problem, &plan);
    (conventional, looked)
}

/// Converts and spills a function that can be allocated; the plan is verified.
pub fn spill(function: &Function) -> (Conventional, Spilled) {
    spill_as(spill_free(), function)
}

/// As [`spill`], with any allocator.
pub fn spill_as(preset: Preset, function: &Function) -> (Conventional, Spilled) {
    with_plan_of(preset, function, |problem, plan| {
        assert_eq!(verify(problem, plan), [], "{}", print(function));
        write(problem, plan)
    })
}

/// The result of the phases after spilling for a plan.
pub fn as_planned(function: &Function, problem: &Problem, plan: &Plan) -> Result<Overlay, Failure> {
    let preset = spill_free();
    let AssignmentStrategy::DominanceOrder(DominanceOrder { assign: policy, .. }) = preset.assignment else {
        panic!("it is SSA-based")
    };
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let spilled = write(problem, plan);
    let liveness = Liveness::new(&spilled.function);
    let evictable = Evictable { weight: &|_| 0.0, webs: &SecondaryMap::new(), spilled: &spilled };
    let assignment = match assign(&spilled, &order, &dominators, &liveness, policy, evictable) {
        Ok(assignment) => assignment,
        Err(Refusal::Failed(failure)) => return Err(failure),
        // Values that cross to landing pads may be in the way.
        Err(Refusal::Evicted(values)) => return Err(Defect::Impossible(format!("no registers for {values:?}")).into()),
    };
    let coloured = split_at_repairs(&spilled, &order, &dominators, &liveness, assignment);
    let liveness = Liveness::new(&coloured.function);
    let pins = PinLiveness::new(&coloured.function);
    let code = eliminate::eliminate(
        &spilled.memory,
        &coloured,
        &liveness,
        &pins,
        preset.swap,
        preset.assignment.elimination().memory_transfers(),
    )?;
    Ok(eliminate::overlay((function, &Changes::default()), &spilled.memory, &coloured, &liveness, &pins, &code, preset.swap))
}
