//! Plans: what a spiller decides, and what is made of it.
//!
//! A plan is about the values of the function in conventional SSA form. It says nothing about names: a value is in a
//! register from its definition, or from a refill, to the last use that this definition or refill reaches. Memory is a
//! second home and no alternative: an SSA value does not change, so after a store it may be in a register and in its home at
//! once.
//!
//! - [`builder`]: making a plan decision by decision;
//! - `cost`, [`verify`]: what a plan costs, and whether it is right;
//! - [`homes`], [`slots`]: the memory of values, and its place in the frame;
//! - [`insert`], [`update`]: writing a plan.
//!
//! Requires: conventional SSA form.
//! Ensures: [`insert`] writes a function in SSA form whose values in registers fit, if [`verify`] finds no fault in the
//! plan.
//! Relies on: the values of a φ-web do not interfere, so they can share a home [PP09, §3].
//!
//! `testdata/phases/spill/argument_in_memory.txt`, where v0 is in memory across a call, and the φ that takes it is in a
//! register:
//!
//! ```text
//! b0: -> b1 b2                                            b0: -> b1 b2
//!   v0:w = op                                               v0:w = op
//!                               store v0 at b0.1            store(s0) v0
//!   v1:w = op                                               v1:w = op
//!   op terminator                                           op terminator
//! ...                                                     ...
//! b3:                           refill v0, b1 to b3       b3:
//!   v3:w = phi b1:v0 b2:v0      refill v0, b2 to b3         v3:w = phi b1:undef b2:undef  ; b1:s0 b2:s0
//! ```

pub mod builder;
mod cost;
pub mod homes;
pub mod insert;
pub mod slots;
pub mod update;
pub mod verify;

pub use super::refill::Refill;
pub use builder::PlanBuilder;
pub use homes::{Home, Homes};

use super::spilled::{MemoryRows, SpillCounts};
use crate::allocate::degraded::Degraded;
use crate::analysis::Untouched;
use crate::machine::{Block, Inst, Point, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::iter;

/// Where a value gets into a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Site {
    /// Before the instruction at this point.
    At(Point),
    /// On an edge, into the registers of the φs that take the value there. It also gets into a register of its own, unless
    /// it is in memory all its life.
    Edge { from: Block, to: Block },
}

/// A store of a value that is in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Store {
    pub at: Point,
    pub value: Value,
    /// The value whose home is written: the value itself, or a φ in memory that takes it. (Frugality gives both one home.)
    pub home: Value,
}

/// One thing that a plan does at a point.
#[derive(Clone, Copy)]
pub enum Step {
    Store(Store),
    Refill(Value, Refill),
}

/// The stores and refills at one point, in order.
///
/// Stores stand before refills, so that a value that is stored here for the last time can leave its register to a refill.
/// But a value that is rematerialised or recomputed here is stored after that. Otherwise it would have to live up to here
/// for its store alone.
pub fn steps<'a>(stores: &'a [Store], refills: &'a [(Site, Value, Refill)]) -> impl Iterator<Item = Step> + 'a {
    let computed = |&(_, value, refill): &(Site, Value, Refill)| (refill != Refill::Load).then_some(value);
    let is_computed = move |store: &&Store| refills.iter().any(|refill| computed(refill) == Some(store.value));
    let first = stores.iter().filter(move |store| !is_computed(store)).copied().map(Step::Store);
    let then = refills.iter().flat_map(move |it| {
        let after = stores.iter().filter(move |store| computed(it) == Some(store.value));
        iter::once(Step::Refill(it.1, it.2)).chain(after.copied().map(Step::Store))
    });
    first.chain(then)
}

/// All decisions of a spiller.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sorted by site; those on one edge also by value, each value once.
    pub refills: Vec<(Site, Value, Refill)>,
    /// Sorted by point; [`steps`] says in which order those at one point stand, among each other and its refills.
    pub stores: Vec<Store>,
    /// Definitions of φs in memory. Such a φ takes no code, since its arguments are in its home already or are stored there.
    pub memory_phis: EntitySet<Value>,
    /// Operands that their instructions access in memory themselves, in program order.
    pub folds: Vec<(Inst, usize)>,
    /// The instructions that will change their slots in memory, for the plan's cost. The loads before them and the stores
    /// after them are not executed then ([`update`]). Not every spiller lists them.
    pub updates: Vec<Point>,
    /// Instructions that are not executed where they stand: the values that they define are rematerialised or recomputed, or
    /// are in their homes already.
    pub dropped: EntitySet<Inst>,
    /// Values that are in memory all their lives; their refills and definitions are in registers for a while.
    pub in_memory: EntitySet<Value>,
    /// The callee-saved registers that no value may be in, and where. They keep the content that the caller left in them.
    pub untouched: Untouched,
    /// The memory of the values that are stored or loaded.
    pub homes: Homes,
    /// For each block, the values in memory at its head; for the statistics. Not every spiller lists them.
    pub memory_rows: SecondaryMap<Block, MemoryRows>,
    /// Counts for the statistics.
    pub counts: SpillCounts,
    /// The respects in which the spiller did less than it was asked for.
    pub degraded: Vec<Degraded>,
    /// What a register is worth, where it is worth anything, if the spiller decides by prices and was asked to keep them.
    pub prices: Vec<Price>,
}

/// The price of a register at one place, which every value that is in one there pays.
#[derive(Clone, Debug)]
pub struct Price {
    /// In the imported function: the instruction at which registers are short, or before which, or the block's end.
    pub at: Point,
    /// The registers that values compete for there.
    pub registers: RegSet,
    /// In executions, at the weights of [`crate::allocate::cost`].
    pub price: f64,
}

impl Plan {
    /// How a value is refilled on an edge, if it is.
    pub fn refill_on(&self, from: Block, to: Block, value: Value) -> Option<Refill> {
        let key = (Site::Edge { from, to }, value);
        let found = self.refills.binary_search_by_key(&key, |&(site, value, _)| (site, value));
        found.ok().map(|index| self.refills[index].2)
    }
}
