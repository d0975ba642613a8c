//! chordal: SSA-based register allocation for LLVM bitcode.
pub mod machine;
