//! Splitting live ranges: a value is in registers in one part of its life, and in memory in another.
//!
//! - [`walk`]: block by block, which values are in registers at each instruction; where they do not fit, the one used farthest
//!   away leaves;
//! - [`guide`]: what the walk asks whoever knows more: which values enter a block in registers, and which stay;
//! - [`entry`]: the values in registers at the borders of blocks;
//! - [`uncontended`]: blocks in which nothing is to be decided, so that the walk passes them;
//! - [`edges`]: reloads where a block expects in a register what one of its predecessors has left in memory, and φs in memory;
//! - [`store_placement`]: stores, each where it is cheapest.

pub mod ascending;
mod edges;
mod entry;
pub mod guide;
mod store_placement;
mod uncontended;
pub mod walk;

use super::config::Entry;
use super::plan::Plan;
use super::problem::{Abilities, Problem};
use super::spill_set::SpillSet;
use super::spiller::Spiller;
use crate::allocate::failure::Unsupported;
use crate::analysis::NextUses;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;
use entry::Pressures;
use guide::{Nearest, Predecessors};
use walk::{Ahead, walk};

/// Belady's algorithm in each block: where not all values fit, the one used farthest away leaves its register.
pub struct Belady(pub Entry);

impl Spiller for Belady {
    fn abilities(&self) -> Abilities {
        Abilities { splits: true, decides_at_pads: false }
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let set = in_memory_anyway(problem, requested)?;
        let borders = NextUses::new(&problem.conventional.function, problem.order, problem.liveness, &problem.loops);
        let ahead = Ahead::new(problem, Some(borders));
        match self.0 {
            Entry::Nearest => walk(problem, &set, &ahead, &Nearest, &problem.pins),
            Entry::Predecessors => {
                let guide = Predecessors(Pressures::new(problem, &problem.loops));
                walk(problem, &set, &ahead, &guide, &problem.pins)
            }
        }
    }
}

/// The values that are in memory, or computed again, whatever is decided.
///
/// # Errors
/// If one of them cannot be in memory.
pub fn in_memory_anyway(problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<SpillSet, Unsupported> {
    let mut set = SpillSet::requested(problem, requested)?;
    set.add_crossing(problem)?;
    set.drop_constants_without_register(problem, |_, _| true);
    Ok(set)
}
