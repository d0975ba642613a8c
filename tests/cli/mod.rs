//! Tests of the command line from outside: what it writes, what it prints, and how it exits.

mod cc;
mod compare;
mod compile;
mod count;
mod diff;
mod dump;
mod folder;
mod llvm_tests;
mod messages;
mod odd;
mod outputs;
mod paper;
mod reading;
mod records;
mod regress;
mod remarks;
mod rust;
mod scripts;
mod sizes;
mod tables;
mod workflow;

pub use folder::{Folder, PROGRAM, PROGRAM_PRINTS};
