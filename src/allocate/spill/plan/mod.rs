//! What a spilling strategy decides: where values are in memory and where in registers.
//!
//! A plan is about the values of the function in conventional SSA form, and says nothing about names: a value is in a
//! register from its definition, or from a refill, to the last use that these reach. Memory is a second home and no
//! alternative: SSA values do not change, so what has been stored may be in a register and in its home at once.

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

use super::spilled::SpillCounts;
use crate::allocate::degraded::Degraded;
use crate::analysis::Untouched;
use crate::machine::{Block, Inst, Point, Value};
use cranelift_entity::EntitySet;
use std::iter;

/// Where a value gets into a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Site {
    /// Before the instruction at this point.
    At(Point),
    /// On an edge, into the registers of the φs that take the value there, and into its own, unless it is in memory all its
    /// life.
    Edge { from: Block, to: Block },
}

/// A value in a register is written to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Store {
    pub at: Point,
    pub value: Value,
    /// The value whose home is written: itself, or the φ in memory that takes it. (Frugal φs and what they take have one
    /// home.)
    pub home: Value,
}

/// One thing that a plan does at a point.
#[derive(Clone, Copy)]
pub enum Step {
    Store(Store),
    Refill(Value, Refill),
}

/// What is done at one point, in order. Stores stand before refills, so that what is stored last there need not stay; but
/// what is computed again there is stored behind that, or it would have to live up to there for its store alone.
pub fn steps<'a>(stores: &'a [Store], refills: &'a [(Site, Value, Refill)]) -> impl Iterator<Item = Step> + 'a {
    let computed = |&(_, value, refill): &(Site, Value, Refill)| (refill != Refill::Load).then_some(value);
    let is_computed = move |store: &&Store| refills.iter().any(|refill| computed(refill) == Some(store.value));
    let first = stores.iter().filter(move |store| !is_computed(store)).copied().map(Step::Store);
    let then = refills.iter().flat_map(move |it| {
        let behind = stores.iter().filter(move |store| computed(it) == Some(store.value));
        iter::once(Step::Refill(it.1, it.2)).chain(behind.copied().map(Step::Store))
    });
    first.chain(then)
}

/// All decisions of a spilling strategy.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By site; those on one edge by value, each once.
    pub refills: Vec<(Site, Value, Refill)>,
    /// In program order; [`steps`] says how those at one point and its refills follow each other.
    pub stores: Vec<Store>,
    /// Definitions of φs that take no code, since what they take is in their homes already or is stored there.
    pub memory_phis: EntitySet<Value>,
    /// Operands that their instructions access in memory themselves, in program order.
    pub folds: Vec<(Inst, usize)>,
    /// Where instructions change what is in memory, if plans count that: the loads before them and the stores behind are not
    /// executed ([`super::update`]).
    pub updates: Vec<Point>,
    /// Instructions that are not executed where they stand: what they define is rematerialised, or in its place already.
    pub dropped: EntitySet<Inst>,
    /// Values that are in memory all their lives, but for their refills.
    pub in_memory: EntitySet<Value>,
    /// Callee-saved registers that nothing may be in, and where: they keep what the caller left in them.
    pub untouched: Untouched,
    /// The memory of these, and of what is stored behind its definition for φs in memory.
    pub homes: Homes,
    /// What this comes to.
    pub counts: SpillCounts,
    /// Where it is made in another way than was asked for.
    pub degraded: Vec<Degraded>,
}

impl Plan {
    /// How a value is refilled on an edge, if it is.
    pub fn refill_on(&self, from: Block, to: Block, value: Value) -> Option<Refill> {
        let wanted = (Site::Edge { from, to }, value);
        let found = self.refills.binary_search_by_key(&wanted, |&(site, value, _)| (site, value));
        found.ok().map(|index| self.refills[index].2)
    }
}
