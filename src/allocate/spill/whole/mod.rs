//! Spilling whole live ranges: a value is in memory all its life, or in registers all its life.
//!
//! Two passes are needed: a value that is spilled last, in the last block, is reloaded in the first one as well.
//!
//! - [`choose`]: which values are spilled, so that all others fit;
//! - [`load_lowering`]: φs that are better in memory because their arguments are there;
//! - [`store_hoisting`]: where arguments of φs in memory are stored;
//! - [`reloads`]: a store after each definition, reloads before uses, and how long each reload lasts.
//!
//! Requires: conventional SSA form.
//! Ensures: a plan in which all values fit, unless assignment spills on demand. Every value in memory is written to its home
//! where it is defined; a φ, where its arguments are defined or taken.
//! Relies on: SSA values do not change, so one store serves all reloads; φ-related values do not interfere, so φs in memory
//! take no code [PP09, §3].
//!
//! `testdata/phases/spill/phi_in_memory.txt`, where v3 lives across a call that destroys both registers:
//!
//! ```text
//! b0: -> b1 b2                    b0: -> b1 b2
//!   v0:w = op                       v0:w = op
//!   op v0 terminator                op v0 terminator
//! b1: -> b3                       b1: -> b3
//!   v1:w = op v0                    v1:w = op v0
//!                                   store(s0) v1
//! b2: -> b3                       b2: -> b3
//!   v2:w = op v0                    v2:w = op v0
//!                                   store(s0) v2
//! b3:                             b3:
//!   v3:w = phi b1:v1 b2:v2          op clobbers=a,b,flags
//!   op clobbers=a,b,flags           v4:w(of=v3) = load(s0)
//!   op v3                           op v4
//! ```

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

/// The live ranges that are spilled, besides those that assignment asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Those of least weight, where too many values are live [PP05, §4.4].
    Lightest,
    /// As [`Self::Lightest`], but a φ is the lighter the more of its arguments are spilled already.
    LightestByNow,
    /// All live ranges that cross blocks; then, where too many values are live within a block, the lightest.
    AcrossBlocks,
    /// All.
    Everything,
}

impl Spiller for Which {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        plan_for(problem, choose::choose(problem, *self, SpillSet::anyway(problem, requested)?)?)
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
