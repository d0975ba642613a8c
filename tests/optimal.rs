//! Allocation by integer programming: nothing better is found by other means.

use crate::support::random::{Shape, random_function, shapes};
use chordal::allocate::allocators::{AssignmentStrategy, Preset, RegisterCoalescing};
use chordal::allocate::pipeline::{Report, allocate};
use chordal::allocate::spill::strategies::{OPTIMAL, PRICED, SpillStrategy};
use chordal::allocate::spill::{Certificate, Effort};
use chordal::machine::{Function, print};

/// The report of `tuned` with another way of spilling and coalescing.
fn report(function: &Function, strategy: SpillStrategy, effort: Effort, coalescing: RegisterCoalescing) -> Option<Report> {
    let mut preset = Preset::named("tuned").expect("it exists");
    preset.spill.effort = effort;
    let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else { panic!("it is SSA-based") };
    dominance.spilling = strategy;
    dominance.coalesce(coalescing);
    allocate(function, preset).ok().map(|(_, report)| report)
}

fn certificate(report: &Report) -> Certificate {
    report.spill.certificate.expect("prices say what things cost")
}

/// Whether one cost is at most another, up to rounding.
fn at_most(cost: f64, other: f64) -> bool {
    cost <= other + 1e-3 * (1.0 + other.abs())
}

#[test]
fn nothing_is_better_than_the_optimum() {
    let (mut spilled_better, mut spilled_worse, mut coalesced_better) = (0, 0, 0);
    for (number, shape) in shapes().into_iter().enumerate() {
        // Prices also count values that only dead φs need. A plan may cost less than that, and then its bound is lowered to
        // its cost.
        let shape = Shape { dead_phis: false, ..shape };
        for seed in 0..8 {
            let function = random_function(seed, &shape);
            let spilled = |strategy, effort| report(&function, strategy, effort, RegisterCoalescing::Chunks);
            let Some(best) = spilled(OPTIMAL, Effort::Usual) else { continue };
            let known = spilled(PRICED, Effort::Usual).expect("the same can be allocated");
            let thorough = spilled(PRICED, Effort::More).expect("the same can be allocated");
            let place = format!("shape {number}, seed {seed}\n{}", print(&function));
            let [best, known_spilling, thorough] = [&best, &known, &thorough].map(certificate);
            // A bound of the usual effort is for plans that decide about some blocks together, which the optimum need not
            // do.
            assert!(at_most(thorough.bound, best.bound), "{} {} {place}", thorough.bound, best.bound);
            // A finished plan may fold other operands than those assumed, and so cost less; or it may not fit, and so cost
            // more.
            spilled_better += usize::from(!at_most(known_spilling.cost, best.cost));
            spilled_worse += usize::from(!at_most(best.cost, known_spilling.cost));
            let coalesced = report(&function, PRICED, Effort::Usual, RegisterCoalescing::Optimal);
            let coalesced = coalesced.expect("the same can be allocated");
            let (best, known) = (coalesced.recolouring, known.recolouring);
            let bound = best.bound.expect("a program tells its bound");
            assert!(at_most(best.cost_after, known.cost_after), "{best:?} {known:?} {place}");
            assert!(at_most(bound, best.cost_after) && at_most(best.cost_after, bound), "{bound} {} {place}", best.cost_after);
            coalesced_better += usize::from(!at_most(known.cost_after, best.cost_after));
        }
    }
    assert!(spilled_better > 2 * spilled_worse, "{spilled_better} are better, {spilled_worse} are worse");
    assert!(coalesced_better > 5, "{coalesced_better} are better");
}
