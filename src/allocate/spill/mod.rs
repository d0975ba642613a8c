//! Spilling: where values are in memory and where in registers.
//!
//! It takes three steps:
//!
//! - **Plan**: a [`Spiller`] decides about the values of the function. Its answer is a [`Plan`], and no code.
//! - **Verify**: in builds of tests, [`plan::verify`] computes from the plan alone whether everything fits and nothing is
//!   read where it is not.
//! - **Write**: [`plan::insert`] makes the loads, the stores and the names of a plan, and keeps SSA form. Then
//!   [`plan::update`] folds a load, a change and a store of one slot into a single instruction.
//!
//! To write a spiller, read [`Spiller`], [`Problem`] and [`PlanBuilder`], in this order, and `examples/my_spiller.rs`. There
//! are three kinds already, which [`strategies`] names: [`whole`] (a value is in memory all its life), [`splitting`] (for a
//! part of its life, by next uses) and [`priced`] (for a part of its life, by cost). Their options are in [`config`].
//!
//! All of them share some questions: which values are in memory whoever decides (`spill_set`, and `crossing` for edges
//! without code), which values can be computed again (`remat`), and which are cheap to spill (`weights`). The answer of the
//! whole phase is in [`spilled`].
//!
//! Requires: conventional SSA form.
//! Ensures: at every point, the values in registers fit, unless assignment spills on demand. That is, for every set of
//! registers that some class allows, no more values are confined to the set than it has registers that are neither pinned
//! nor clobbered there. If allocation is frugal [PP09, §3], the values of a φ-web that are in memory share a home, so φs
//! between them disappear and nothing moves from memory to memory.
//! Relies on: the interference graph of an SSA program is chordal, so values that fit at every point can be assigned
//! registers without further spilling [PP05, §4.4], [Hack, "A Foundation for Spilling"].
//!
//! With two registers, `spill-free` spills v1 for all its life, since it is accessed least often for the time that it lives
//! (`testdata/phases/spill/too_many.txt`):
//!
//! ```text
//! b0:                   b0:
//!   v0:w = op             v0:w = op
//!   v1:w = op             v1:w = op
//!                         store(s0) v1
//!   v2:w = op             v2:w = op
//!   op v2 v0              op v2 v0
//!   op v0                 op v0
//!   op v0                 op v0
//!                         v3:w(of=v1) = load(s0)
//!   op v1                 op v3
//! ```

pub mod config;
mod crossing;
pub mod plan;
mod priced;
pub mod problem;
mod refill;
mod remat;
mod spill_set;
pub mod spilled;
mod spiller;
mod splitting;
pub mod strategies;
mod weights;
mod whole;

pub use config::{Downstream, Effort, Entry, LoadLowering, Policy};
pub use plan::{Home, Homes, Plan, PlanBuilder, Price, Refill, Site, Store, verify};
pub use problem::{Abilities, Problem, Shortage};
pub use spill_set::SpillSet;
pub use spilled::{
    Certificate, EdgeRefill, EdgeSource, Fold, Memory, MemoryPhi, MemoryRow, MemoryRows, Optimisations, SpillCounts, Spilled,
};
pub use spiller::Spiller;

use crate::allocate::failure::{Defect, Failure, Unsupported};
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Spills: makes a plan, verifies it in builds of tests, and writes it. The requested values are in memory wherever they
/// live.
///
/// # Errors
/// If not everything can be made to fit; in builds of tests, also if the plan is wrong.
pub fn spill(
    problem: &Problem,
    spiller: &dyn Spiller,
    requested: &SecondaryMap<Value, bool>,
) -> Result<(Plan, Spilled), Failure> {
    let plan = self::plan(problem, spiller, requested)?;
    if cfg!(debug_assertions)
        && let Some(fault) = verify::verify(problem, &plan).first()
    {
        return Err(Defect::Impossible(fault.to_string()).into());
    }
    let spilled = write(problem, &plan);
    Ok((plan, spilled))
}

/// Makes a plan, and writes nothing.
///
/// # Errors
/// If an instruction alone needs more registers than there are, or code would have to stand between the terminators of a
/// block.
pub fn plan(problem: &Problem, spiller: &dyn Spiller, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
    let plan = spiller.plan(problem, requested)?;
    let function = &problem.conventional.function;
    match plan.stores.iter().find(|store| store.at > function.before_terminators(store.at.block)) {
        Some(store) => Err(Unsupported(format!("a terminator of {} defines a value that has to be in memory", store.at.block))),
        None => Ok(plan),
    }
}

/// Writes the function that a plan describes.
pub fn write(problem: &Problem, plan: &Plan) -> Spilled {
    let slots = plan::slots::assign(problem, plan);
    let spilled = plan::insert::insert(problem, plan, &slots);
    let slot = |value: Value| slots.of_value(plan, value);
    if problem.policy.fold { plan::update::update(spilled, slot, problem.policy.weigh_size) } else { spilled }
}
