//! Spilling whole live ranges: a value is in memory all its life, or in registers all its life.
//!
//! - [`choose`]: which values, so that all others fit;
//! - [`load_lowering`]: φs that are better in memory because their arguments are;
//! - [`store_hoisting`]: where the arguments of φs in memory are stored;
//! - [`reloads`]: a store after each definition, reloads before uses, and how long each reload lasts.

mod choose;
mod load_lowering;
mod reloads;
mod store_hoisting;

use super::problem::{Abilities, Problem};
use super::spill_set::SpillSet;
use super::spiller::Spiller;
use crate::allocate::failure::Unsupported;
use crate::allocate::spill::plan::Plan;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Which live ranges are spilled, beside those that are requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Where too many values are live, those of least weight [PP05, §4.4].
    Lightest,
    /// Those that are live from one block to another; then, within blocks, the lightest.
    AcrossBlocks,
    /// All.
    Everything,
}

impl Spiller for Which {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let mut set = SpillSet::requested(problem, requested)?;
        set.add_crossing(problem)?;
        plan_for(problem, choose::choose(problem, *self, set)?)
    }
}

/// Spills the values that assignment asks for, and no others.
pub struct OnRequest;

impl Spiller for OnRequest {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let mut set = SpillSet::requested(problem, requested)?;
        set.drop_constants_without_register(problem, |set, value| set.spilled[value]);
        plan_for(problem, set)
    }
}

fn plan_for(problem: &Problem, mut set: SpillSet) -> Result<Plan, Unsupported> {
    let lowered = load_lowering::lower(problem, &mut set.spilled);
    let mut plan = reloads::plan(problem, &set)?;
    plan.counts.optimisations.lowered_values = lowered.values;
    plan.counts.optimisations.lowered_loads = lowered.loads;
    Ok(plan)
}
