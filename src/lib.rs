//! chordal: SSA-based register allocation for LLVM bitcode.
pub mod analysis;
pub mod assign;
pub mod baseline;
pub mod check;
pub mod cli;
pub mod cssa;
pub mod eliminate;
pub mod llvm;
pub mod machine;
pub mod pipeline;
pub mod preset;
pub mod spill;
pub mod stats;
