//! Splitting live ranges: a value is in registers in one part of its life, and in memory in another.
//!
//! - [`walk`](mod@walk): block by block, which values are in registers at each instruction. Where they do not fit, the one whose next
//!   use is farthest away leaves;
//! - [`guide`]: the questions that the walk asks: which values enter a block in registers, and which stay after an
//!   instruction;
//! - [`bin_packing`]: the spiller that takes a block's head as the immediate dominator leaves it;
//! - [`entry`]: the values in registers at the borders of blocks;
//! - [`uncontended`]: blocks in which nothing is to be decided, which the walk passes;
//! - [`edges`]: reloads on edges, where a block expects a value in a register that a predecessor leaves in memory; φs in
//!   memory;
//! - [`store_placement`]: stores, each where it is cheapest.
//!
//! The walk also serves the spillers of [`super::priced`], which decide about every value beforehand and answer its
//! questions.
//!
//! Requires: conventional SSA form.
//! Ensures: a plan in which all values fit, and stores are where they cost least.
//! Relies on: [Hack, "Spilling with Belady's Algorithm"]; \[BH09\] for the values at the heads of blocks.
//!
//! `testdata/phases/spill/cold_stores.belady.txt`, where the calls in b1 and b2 destroy both registers. The value is stored
//! in those two blocks, which are seldom executed, and not after its definition:
//!
//! ```text
//! b0: -> b1 b2 b3           b0: -> b1 b2 b3
//!   v0:w = op                 v0:w = op
//!   op v0 terminator          op v0 terminator
//! b1: freq=0.01             b1: freq=0.01
//!                             store(s0) v0
//!   op clobbers=a,b           op clobbers=a,b
//!                             v1:w(of=v0) = load(s0)
//!   op v0                     op v1
//! b2: freq=0.01             b2: freq=0.01
//!                             store(s0) v0
//!   op clobbers=a,b           op clobbers=a,b
//!                             v2:w(of=v0) = load(s0)
//!   op v0                     op v2
//! b3: freq=0.98             b3: freq=0.98
//! ```

pub mod ascending;
pub mod bin_packing;
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
use crate::analysis::Loops;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;
use entry::Pressures;
use guide::{Nearest, Predecessors};
use walk::{Ahead, walk};

/// Belady's algorithm in each block: where not all values fit, the one whose next use is farthest away leaves its register.
pub struct Belady(pub Entry);

impl Spiller for Belady {
    fn abilities(&self) -> Abilities {
        Abilities { splits: true, ..Abilities::default() }
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let set = in_memory_anyway(problem, requested)?;
        let ahead = |loops: Option<&Loops>| Ahead::new(problem, Some(problem.next_uses(loops)));
        match self.0 {
            Entry::Nearest => walk(problem, &set, &ahead(None), &Nearest, &problem.pins),
            Entry::Predecessors => {
                let guide = Predecessors(Pressures::new(problem, &problem.loops));
                walk(problem, &set, &ahead(Some(&problem.loops)), &guide, &problem.pins)
            }
        }
    }
}

/// The values that are in memory, or rematerialised, whatever the spiller decides.
///
/// # Errors
/// If one of them cannot be in memory.
pub fn in_memory_anyway(problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<SpillSet, Unsupported> {
    let mut set = SpillSet::anyway(problem, requested)?;
    set.drop_constants_without_register(problem, |_, _| true);
    Ok(set)
}
