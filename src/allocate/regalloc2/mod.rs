//! regalloc2, Cranelift's register allocator, as a rival: it allocates the same functions, and its answer goes through the
//! same checker, the same application and the same counting.
//!
//! Requires: an imported function.
//! Ensures: an overlay that is regalloc2's answer, or the reason why there is none.
//!
//! `program.rs` is the function as regalloc2 reads it, `build.rs` translates it; `registers.rs`, `constraints.rs` and
//! `homes.rs` say what becomes of register classes, operands, and of what regalloc2 has no word for. `answer.rs` translates
//! the answer, and `carried.rs` finds out what it leaves open: how wide a move is.

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

/// Which of regalloc2's two allocators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Backtracking over live ranges that are split and evicted (Ion).
    Backtracking,
    /// One pass, backwards, every value in memory between blocks (Fastalloc).
    Fast,
}

impl Algorithm {
    /// Both, with their names on the command line.
    pub const ALL: [(&'static str, Algorithm); 2] = [("regalloc2", Algorithm::Backtracking), ("regalloc2-fast", Algorithm::Fast)];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, algorithm)| algorithm)
    }
}

/// An allocation.
pub struct Allocated {
    pub overlay: Overlay,
    /// Values that are in memory somewhere.
    pub spilled: u64,
}

/// Has regalloc2 allocate a function.
///
/// # Errors
/// If the function contains what regalloc2 has no word for, or regalloc2 gives up.
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
