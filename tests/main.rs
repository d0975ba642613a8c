//! All integration tests in one program, since each further program would link the library and LLVM again.

mod architecture;
mod cli;
mod coverage;
mod debugging;
mod documents;
mod examples;
mod explain;
mod fuzz;
mod greedy;
mod interpreter;
mod invariants;
mod join_sets;
mod large;
mod meter;
mod mutations;
#[cfg(feature = "optimal")]
mod optimal;
mod papers;
mod phases;
mod plugin;
mod programs;
mod random_functions;
mod regalloc2;
mod second_opinion;
mod stock;
mod support;
mod yardstick;
