//! chordal: SSA-based register allocation outside the compiler.
//!
//! The library reads LLVM bitcode, allocates the registers of each function, and emits x86 assembly or object code with
//! statistics. Its allocators know nothing of LLVM, so they also work on functions in a text form.
//!
//! # Where to begin
//!
//! - To compile a module: [`llvm::compile`].
//! - To allocate the registers of one function, and have the result checked: [`allocate::pipeline::allocate`]. The function
//!   may come from its text form ([`machine::parse`]). Which phases run, and how, is a row of choices
//!   ([`allocate::allocators`]).
//! - To add an allocator of your own: implement `Allocate`, which does everything, or `Spiller`, which chooses what is kept
//!   in memory and leaves the rest to the other phases.
//! - Small programs that do each of these are in `examples/`.
//!
//! # Modules
//!
//! - [`machine`] is the model: a function in SSA form, and the overlay of locations and edits that allocates it.
//! - [`analysis`] computes facts about functions: liveness, dominance, loops and so on.
//! - [`allocate`] has the phases of allocation, and the pipeline that runs them.
//! - [`check`] verifies that a function, read through its overlay, still computes what it did.
//! - [`llvm`] takes functions from LLVM and returns their allocations to it.
//! - [`measure`] counts, and compares allocators; [`paper`] compares their results with what papers claim.
//! - [`plugin`] is what a compiler or a linker of LLVM's loads.
//! - [`cli`] is the command line. [`folder`] and [`input`] find and read files, and [`output`] writes them.
// Links to private modules are for those who work on them: `cargo doc --document-private-items`.
#![allow(rustdoc::private_intra_doc_links)]

pub mod allocate;
pub mod analysis;
pub mod check;
pub mod cli;
pub mod explain;
pub mod folder;
pub mod input;
pub mod llvm;
pub mod machine;
pub mod measure;
pub mod output;
pub mod paper;
pub mod plugin;
