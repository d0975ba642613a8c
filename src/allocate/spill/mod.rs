//! Spilling: where values are in memory and where in registers, in three steps.
//!
//! - **Plan**: a [`Spiller`] decides about the values of the function ([`Plan`]).
//! - **Verify**: pressure, reachability of refills and validity of homes are computed again from the plan alone
//!   ([`plan::verify`]), in builds of tests.
//! - **Write**: one writer makes the loads, the stores and the names, and keeps SSA form ([`plan::insert`]). Then values that are
//!   loaded, changed and stored are changed in memory ([`plan::update`]).
//!
//! Spillers are in [`whole`] (a value is in memory all its life), [`splitting`] (for a part of it, by next uses) and [`priced`]
//! (likewise, by cost); [`strategies`] names them. They see the function through [`problem`], and the choices of [`config`].
//!
//! Requires: conventional SSA form.
//! Ensures: at every point, the values in registers fit: for every set of registers that some class allows, the values
//! restricted to it are no more than its registers that are not occupied by pins or destroyed by clobbers. Values in memory of
//! one φ-web share a home (frugality), and φs between them have disappeared: no φ is left that would move memory to memory.
//! Relies on: the interference graph of an SSA program is chordal, so that assignment succeeds without spilling where the
//! values fit [PP05, §4.4], [Hack, "A Foundation for Spilling"].
//!
//! With two registers, where `v1` is used last, `--spill belady` makes of
//!
//! ```text
//! b0:                      b0:
//!   v1:w = op                v1:w = op
//!   v2:w = op                store s0 v1
//!   v3:w = op v2             v2:w = op
//!   op v2 v3                 v3:w = op v2
//!   op v1                    op v2 v3
//!                            v4:w = load s0
//!                            op v4
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

pub use config::{Choice, Downstream, Effort, Entry, LoadLowering, Policy};
pub use plan::{Home, Homes, Plan, PlanBuilder, Refill, Site, Store, verify};
pub use problem::{Abilities, Problem, Shortage};
pub use spilled::{Certificate, EdgeRefill, EdgeSource, Fold, Memory, MemoryPhi, Optimisations, SpillCounts, Spilled};
pub use spiller::Spiller;

use crate::allocate::failure::{Defect, Failure, Unsupported};
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Spills: plans and writes. The requested values are in memory wherever they live.
///
/// # Errors
/// If there is no way to have everything fit; in builds of tests, if the plan is none.
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

/// Decides, without writing anything.
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
