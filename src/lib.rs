//! chordal: SSA-based register allocation for LLVM bitcode.
//!
//! [`machine`] is the model, [`analysis`] what is computed about it, [`allocate`] the allocators, phase by phase, and
//! [`check`] who looks at what they did. [`llvm`] brings functions from bitcode and carries allocations back. [`measure`]
//! counts and compares; [`paper`] does so for the papers' claims; [`cli`] is the command line, [`input`] how files are
//! read, and [`output`] how they are written.
pub mod allocate;
pub mod analysis;
pub mod check;
pub mod cli;
pub mod input;
pub mod llvm;
pub mod machine;
pub mod measure;
pub mod output;
pub mod paper;
