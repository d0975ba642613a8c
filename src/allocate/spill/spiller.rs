//! The interface of spilling: the trait that each strategy implements.

use super::plan::Plan;
use super::problem::{Abilities, Problem};
use crate::allocate::failure::Unsupported;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Decides where values are in memory and where in registers.
///
/// A spiller looks at a [`Problem`], a function in conventional SSA form, and makes a [`Plan`], usually with a
/// [`PlanBuilder`](super::PlanBuilder). It writes no code: names, slots and SSA form are the business of
/// [`super::plan::insert`]. In builds of tests every plan is verified ([`super::plan::verify`]), so a wrong spiller fails in
/// its first test, with a value and a point. `examples/my_spiller.rs` is a small one.
pub trait Spiller: Sync {
    /// The kinds of plans that it makes.
    fn abilities(&self) -> Abilities;

    /// Makes a plan. The requested values have to be in memory from their definitions on, because assignment has found no
    /// registers for them; reloads may last within a block. Each time that assignment asks again, there are more of them.
    ///
    /// Where values cross edges at which no code can stand, they have to be in memory or to meet in registers: begin with
    /// [`SpillSet::anyway`](super::SpillSet::anyway), which decides that.
    ///
    /// # Errors
    /// If there is no plan, because an instruction alone needs more registers than there are.
    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported>;
}
