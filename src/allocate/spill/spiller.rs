//! The way into spilling: what whoever decides has to provide.

use super::plan::Plan;
use super::problem::{Abilities, Problem};
use crate::allocate::failure::Unsupported;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Decides where values are in memory and where in registers.
///
/// A spiller sees the function in conventional SSA form, and makes a [`Plan`], usually with a [`PlanBuilder`](super::PlanBuilder).
/// It writes no code: names, slots and SSA form are the writer's business. In builds of tests every plan is verified
/// ([`super::plan::verify`]). `examples/my_spiller.rs` is a small one.
pub trait Spiller: Sync {
    /// Which kinds of plans it makes.
    fn abilities(&self) -> Abilities;

    /// Decides. The requested values have to be in memory wherever they live: assignment has found no registers for them. In
    /// each round there are more of them.
    ///
    /// # Errors
    /// If there is no way, since an instruction alone needs more registers than there are.
    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported>;
}
