//! chordal: SSA-based register allocation for LLVM bitcode.
pub mod analysis;
pub mod check;
pub mod machine;
