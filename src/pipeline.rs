//! Allocation as a list of phases.

use crate::analysis::{Dominators, GraphSizes, Interference, Liveness, Loops, Order, PinLiveness, graph_sizes};
use crate::assign::{Assignment, Evictable, Refusal};
use crate::cssa::{Coalescing, Conventional, ConversionCounts};
use crate::eliminate::EliminationCounts;
use crate::machine::{Function, Overlay, Value};
use crate::preset::{Elimination, Preset};
use crate::spill::{SpillCounts, Spilled, Spiller};
use crate::{assign, check, cssa, eliminate, meter, stats};
use cranelift_entity::SecondaryMap;
use std::time::{Duration, Instant};

/// What allocating one function came to, for the statistics.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Conversion to conventional SSA form.
    pub conversion: ConversionCounts,
    /// Interference graphs before spilling, if they were asked for.
    pub graphs: GraphSizes,
    /// Spilling.
    pub spill: SpillCounts,
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

/// Allocates registers for a function.
///
/// Where a call may return twice, memory of a value may be read when values that only live behind the first return have been
/// written; so no two share a slot there, but a φ and the copies that isolate it.
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
    let coalescing = if function.returns_twice { Coalescing::Nothing } else { preset.coalescing };
    let conventional = cssa::conventional(function, &order, &dominators, &interference, coalescing);
    clock.lap("cssa");
    let coloured = colour(&conventional, &order, &loops, preset, &mut clock).map_err(Failure::Unsupported)?;
    let Coloured { spilled, liveness, assignment } = coloured;
    let code = eliminate::eliminate(&spilled, &liveness, &assignment, preset.swap).map_err(Failure::Unsupported)?;
    let overlay = eliminate::overlay(function, &spilled, &assignment, &code, preset.swap);
    clock.lap("eliminate");
    if preset.check {
        meter::apart(|| check::check(function, &overlay)).map_err(|complaints| Failure::Rejected(listed(&complaints)))?;
        clock.lap(stats::CHECKER);
    }
    let report = Report {
        conversion: conventional.counts,
        graphs: if preset.graphs { meter::apart(|| sizes_before_spilling(&conventional)) } else { GraphSizes::default() },
        spill: spilled.counts,
        elimination: eliminate::count(&conventional, &spilled, &liveness, &assignment, &code),
        phases: clock.phases,
    };
    Ok((overlay, report))
}

fn sizes_before_spilling(conventional: &Conventional) -> GraphSizes {
    let function = &conventional.function;
    graph_sizes(function, &Liveness::new(function), &PinLiveness::new(function))
}

/// A function whose values are in registers or in memory.
struct Coloured {
    spilled: Spilled,
    /// Of the spilled function.
    liveness: Liveness,
    assignment: Assignment,
}

/// Spills and assigns, in turns where assignment finds more to spill.
fn colour(
    conventional: &Conventional,
    order: &Order,
    loops: &Loops,
    preset: &Preset,
    clock: &mut Clock,
) -> Result<Coloured, String> {
    let liveness = Liveness::new(&conventional.function);
    let spare = preset.elimination == Elimination::SpareRegister;
    let spiller = Spiller::new(conventional, order, loops, &liveness, preset.spill, spare);
    let count = conventional.function.values.len();
    let evictable = Evictable { weights: spiller.weights(), count, webs: &conventional.webs };
    let mut requested: SecondaryMap<Value, bool> = SecondaryMap::new();
    loop {
        let spilled = spiller.spill(&requested)?;
        clock.lap("spill");
        let liveness = Liveness::new(&spilled.function);
        let assignment = assign::assign(&spilled.function, order, &liveness, preset.assign, evictable);
        clock.lap("assign");
        match assignment {
            Ok(assignment) => return Ok(Coloured { spilled, liveness, assignment }),
            Err(Refusal::Evicted(values)) => values.into_iter().for_each(|value| requested[value] = true),
            Err(Refusal::Impossible(message)) => return Err(message),
        }
    }
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
