//! The allocators as lists of phases.

use crate::analysis::{Dominators, Interference, Liveness, Loops, Order};
use crate::eliminate::{EliminationCounts, SwapPolicy};
use crate::machine::{Function, Overlay};
use crate::{assign, check, cssa, eliminate, spill};
use std::time::{Duration, Instant};

/// What allocating one function came to, for the statistics.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Spilled values.
    pub spilled_values: u64,
    /// φ elimination, as in Figure 10 of the spill-free paper.
    pub elimination: EliminationCounts,
    /// Time of each phase in the order in which they ran.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Why a function could not be allocated.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// A construct that the allocator cannot handle (yet): LLVM's allocator may.
    #[error("{0}")]
    Unsupported(String),
    /// The allocation is wrong: a defect in chordal.
    #[error("the checker rejects the allocation: {0}")]
    Rejected(String),
}

/// How to allocate.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The allocator's name on the command line.
    pub name: &'static str,
    /// How cycles of registers are broken.
    pub swap: SwapPolicy,
    /// Check the result.
    pub check: bool,
}

/// The allocators that exist.
pub const ALLOCATORS: &[&str] = &["spill-free"];

/// Allocates registers for a function.
///
/// # Errors
/// If the function contains something that cannot be allocated, or if the checker rejects the result.
pub fn allocate(function: &Function, preset: &Preset) -> Result<(Overlay, Report), Failure> {
    let mut clock = Clock::default();
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let loops = Loops::new(function, &order, &dominators);
    let liveness = Liveness::new(function);
    clock.lap("analysis");
    let interference = Interference::new(function, &dominators, &liveness);
    let conventional = cssa::conventional(function, &order, &dominators, &interference);
    clock.lap("cssa");
    let liveness = Liveness::new(&conventional.function);
    let spilled = spill::spill(&conventional, &order, &loops, &liveness).map_err(Failure::Unsupported)?;
    clock.lap("spill");
    let liveness = Liveness::new(&spilled.function);
    let assignment = assign::assign(&spilled.function, &order, &liveness).map_err(Failure::Unsupported)?;
    clock.lap("assign");
    let code = eliminate::eliminate(&spilled, &liveness, &assignment, preset.swap).map_err(Failure::Unsupported)?;
    let overlay = eliminate::overlay(function, &spilled, &assignment, &code, preset.swap);
    clock.lap("eliminate");
    if preset.check {
        check::check(function, &overlay).map_err(|complaints| Failure::Rejected(listed(&complaints)))?;
        clock.lap("check");
    }
    let elimination = eliminate::count(&conventional, &spilled, &assignment);
    Ok((overlay, Report { spilled_values: spilled.count as u64, elimination, phases: clock.phases }))
}

/// The first few complaints, and how many more there are.
fn listed(complaints: &[check::Complaint]) -> String {
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = complaints.iter().take(SHOWN).map(ToString::to_string).collect();
    if complaints.len() > SHOWN {
        lines.push(format!("and {} more", complaints.len() - SHOWN));
    }
    lines.join("; ")
}

/// Measures phases.
struct Clock {
    last: Instant,
    phases: Vec<(&'static str, Duration)>,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { last: Instant::now(), phases: Vec::new() }
    }
}

impl Clock {
    /// The phase of this name ends now.
    fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases.push((name, now - self.last));
        self.last = now;
    }
}
