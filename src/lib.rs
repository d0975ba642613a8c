//! chordal: SSA-based register allocation for LLVM bitcode.
pub mod analysis;
pub mod assign;
pub mod check;
pub mod cli;
pub mod compare;
pub mod count;
pub mod cssa;
pub mod diff;
pub mod eliminate;
pub mod llvm;
pub mod machine;
pub mod meter;
pub mod pipeline;
pub mod preset;
pub mod report;
pub mod spill;
pub mod stats;
