//! Allocations compute what the functions compute: both are executed. (`mutations.rs` compares the interpreter with the
//! checker; the two share no code.)

use crate::support::interpret::compare;
use crate::support::presets::variants;
use crate::support::random::{random_function, shapes};
use chordal::allocate::allocators::Preset;
use chordal::allocate::pipeline::{Allocate as _, Strategy};
use chordal::machine::{Function, Overlay, print};

/// The most blocks on a path.
const STEPS: usize = 60;

fn allocated(function: &Function, preset: Preset) -> Overlay {
    Strategy::from(preset).allocate(function).unwrap_or_else(|failure| panic!("{failure}\n{}", print(function))).0
}

#[test]
fn allocations_compute_what_the_functions_compute() {
    let variants = variants();
    let (mut compared, mut edits) = (0, 0);
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..200 {
            let function = random_function(seed, shape);
            let overlay = allocated(&function, variants[seed as usize % variants.len()]);
            for path in 0..8 {
                match compare(&function, &overlay, path, STEPS) {
                    Ok(run) => (compared, edits) = (compared + run.compared, edits + run.edits),
                    Err(found) => panic!("shape {number}, seed {seed}, path {path}: {found}\n{}", print(&function)),
                }
            }
        }
    }
    assert!(compared > 200_000 && edits > 100_000, "{compared} reads were compared, {edits} edits executed");
}
