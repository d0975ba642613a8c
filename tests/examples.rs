//! The programs of `examples/` on all fixtures: they allocate what they do not refuse with a reason, and rightly.

use crate::support::fixture::all;
use crate::support::interpret::compare;
use chordal::allocate::allocators::Preset;
use chordal::allocate::failure::Failure;
use chordal::allocate::pipeline::{Allocate, WithSpiller, check};

#[allow(dead_code, reason = "its main function is for the command line")]
#[path = "../examples/my_allocator.rs"]
mod my_allocator;
#[allow(dead_code, reason = "its main function is for the command line")]
#[path = "../examples/my_spiller.rs"]
mod my_spiller;

/// How many fixtures an allocator can allocate; all of these allocations are right.
fn allocated(allocator: &dyn Allocate) -> (usize, usize) {
    let functions = all();
    let mut count = 0;
    for function in &functions {
        match allocator.allocate(function) {
            Ok((overlay, _)) => {
                check(function, &overlay).unwrap_or_else(|defect| panic!("{}: {defect}", function.name));
                compare(function, &overlay, 1, 1000).unwrap_or_else(|difference| panic!("{}: {difference}", function.name));
                count += 1;
            }
            Err(Failure::Unsupported(reason)) => assert!(!reason.0.is_empty(), "{}", function.name),
            Err(Failure::Defect(defect)) => panic!("{}: {defect}", function.name),
        }
    }
    (count, functions.len())
}

#[test]
fn the_spiller_of_the_example_is_right() {
    let preset = Preset::named("spill-free").expect("it exists");
    let (count, all) = allocated(&WithSpiller { preset, spiller: &my_spiller::Farthest });
    assert!(count * 10 >= all * 9, "{count} of {all}");
}

#[test]
fn the_allocator_of_the_example_is_right() {
    let (count, all) = allocated(&my_allocator::InMemory);
    assert!(count * 4 >= all * 3, "{count} of {all}");
}
