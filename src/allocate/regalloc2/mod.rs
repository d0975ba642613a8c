//! regalloc2, Cranelift's register allocator, as a rival. It allocates the functions that our phases get; its answer passes
//! the checker that theirs pass, and is applied and counted as theirs are.
//!
//! `program.rs` is the function as regalloc2 reads it, and `build.rs` translates it. `registers.rs`, `constraints.rs` and
//! `homes.rs` say what becomes of register classes, of operands, and of everything that regalloc2 has no word for.
//! `answer.rs` translates the answer. `carried.rs` finds what the answer leaves open: how wide a move is.
//!
//! Requires: an imported function.
//! Ensures: an overlay that is regalloc2's answer, or the reason why there is none.
//! Relies on: regalloc2's own requirements, which `program.rs` lists.
//!
//! ```text
//! b0:                             block 0
//!   v0:w = op                       inst 0: def v0 Reg
//!   v1:w(reuse=1) = op v0           inst 1: def v1 Reuse(1), use v0 Reg
//!   v2:w(reuse=1) = op v1           inst 2: def v2 Reuse(1), use v1 Reg
//!   op v1 v2                        inst 3: use v1 Reg, use v2 Reg
//!                                   inst 4: the end of the block; it returns
//! ```
//!
//! Here v2 overwrites the register of v1, which lives on (`testdata/functions/two_address.txt`). So regalloc2's answer has a
//! move of v1, which becomes an edit of the overlay.

mod answer;
mod build;
mod carried;
mod constraints;
mod homes;
mod program;
mod registers;

use crate::allocate::failure::Unsupported;
use crate::analysis::{Liveness, Order, PinLiveness};
use crate::machine::{Function, Overlay};
use answer::{Answer, answer};
use build::Context;
use homes::Homes;
use program::Program;
use regalloc2::{MachineEnv, Output, RegallocOptions};
use registers::Registers;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One of regalloc2's two allocators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Backtracking over live ranges that are split and evicted (Ion).
    Backtracking,
    /// One pass backwards, with every value in memory between blocks (Fastalloc).
    Fast,
}

impl Algorithm {
    /// Both algorithms, with their names on the command line.
    pub const ALL: [(&'static str, Algorithm); 2] = [("regalloc2", Algorithm::Backtracking), ("regalloc2-fast", Algorithm::Fast)];

    /// The algorithm of this name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, algorithm)| algorithm)
    }
}

/// regalloc2's allocation of a function.
pub struct Allocated {
    pub overlay: Overlay,
    /// The number of values that are in memory somewhere.
    pub spilled: u64,
}

/// Has regalloc2 allocate a function.
///
/// # Errors
/// If the function contains something that regalloc2 has no word for, or if regalloc2 gives up.
pub fn allocate(function: &Function, algorithm: Algorithm) -> Result<Allocated, Unsupported> {
    let (order, liveness, pins) = (Order::new(function), Liveness::new(function), PinLiveness::new(function));
    // The fast allocator knows no limits.
    let registers = Registers::new(function, algorithm == Algorithm::Backtracking)?;
    let homes = Homes::new(function, &liveness, &pins, &registers);
    let context = Context { function, order: &order, liveness: &liveness, pins: &pins, registers: &registers, homes: &homes };
    let program = Program::new(context)?;
    let algorithm = match algorithm {
        Algorithm::Backtracking => regalloc2::Algorithm::Ion,
        Algorithm::Fast => regalloc2::Algorithm::Fastalloc,
    };
    let options = RegallocOptions { verbose_log: false, validate_ssa: cfg!(debug_assertions), algorithm };
    let output = run(&program, &registers.environment(function), &options)?;
    let Answer { overlay, spilled } = answer(function, &order, &registers, &program, &output)?;
    Ok(Allocated { overlay, spilled })
}

/// Runs regalloc2, which panics where it meets what it cannot allocate.
fn run(program: &Program, environment: &MachineEnv, options: &RegallocOptions) -> Result<Output, Unsupported> {
    match catch_unwind(AssertUnwindSafe(|| regalloc2::run(program, environment, options))) {
        Ok(result) => result.map_err(|error| Unsupported(format!("regalloc2 gives up: {error}"))),
        Err(cause) => {
            let message = cause.downcast_ref::<String>().map(String::as_str).or(cause.downcast_ref::<&str>().copied());
            Err(Unsupported(format!("regalloc2 panics: {}", message.unwrap_or("no message"))))
        }
    }
}
