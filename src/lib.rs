//! chordal: SSA-based register allocation for LLVM bitcode.
pub mod analysis;
pub mod cli;
pub mod llvm;
pub mod machine;
pub mod pipeline;
pub mod stats;
