//! What a spilling strategy decides: where values are in memory and where in registers.
//!
//! A plan is about the values of the function in conventional SSA form, and says nothing about names: a value is in a
//! register from its definition, or from a refill, to the last use that these reach. Memory is a second home and no
//! alternative: SSA values do not change, so what has been stored may be in a register and in its home at once.

use super::homes::Homes;
use super::update::saved;
use super::{Problem, SpillCounts};
use crate::allocate::cost::{self, Added};
use crate::allocate::degraded::Degraded;
use crate::analysis::{Liveness, Untouched};
use crate::machine::{Block, Function, Inst, Phi, Point, Value};
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

/// How a value gets into a register again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refill {
    /// From its home.
    Load,
    /// By this instruction of the imported function, which is executed again.
    Rematerialise(Inst),
    /// Likewise, of a recomputable instruction that reads this value, which is in a register there. Only within blocks.
    Recompute { inst: Inst, from: Value },
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
pub(super) enum Step {
    Store(Store),
    Refill(Value, Refill),
}

/// What is done at one point, in order. Stores stand before refills, so that what is stored last there need not stay; but
/// what is computed again there is stored behind that, or it would have to live up to there for its store alone.
pub(super) fn steps<'a>(stores: &'a [Store], refills: &'a [(Site, Value, Refill)]) -> impl Iterator<Item = Step> + 'a {
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
    /// What its loads, stores and repeated constants cost, in executions at the weights of [`cost`]: those that are not
    /// executed any more where they stand are taken off.
    pub fn cost(&self, problem: &Problem) -> f64 {
        let Problem { conventional, liveness, .. } = problem;
        let function = &conventional.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        let refills = self.refills.iter().map(|&(site, value, refill)| match site {
            Site::At(point) => problem.cost_of_refill(refill, frequency(point.block)),
            Site::Edge { from, to } => {
                let times = self.times(function, liveness, (from, to), value);
                times * problem.cost_on_edge(refill, from, to)
            }
        });
        let stores = self.stores.iter().map(|store| problem.cost(cost::STORE, frequency(store.at.block)));
        let by_block = function.blocks.iter().map(|(block, data)| {
            let folds = &self.folds[self.folds.partition_point(|(inst, _)| inst.as_u32() < data.insts.start)..];
            let folds = folds.iter().take_while(|(inst, _)| inst.as_u32() < data.insts.end);
            let accesses = folds.map(|&(inst, k)| match function.operands(inst)[k].is_def() {
                true => cost::STORE,
                false if problem.read_in_place(inst, k).is_some() => cost::READ_IN_PLACE,
                false => cost::FOLDED_RELOAD,
            });
            let dropped = function.block_insts(block).filter(|&inst| self.dropped.contains(inst));
            let constants = dropped.map(|inst| &function.insts[inst]).filter(|data| data.is_repeatable());
            let cost = |added: Added| problem.cost(added, data.frequency);
            accesses.map(cost).sum::<f64>() - constants.map(cost::rematerialisation).map(cost).sum::<f64>()
        });
        let updates = self.updates.iter().map(|at| saved(problem, frequency(at.block)));
        refills.sum::<f64>() + stores.sum::<f64>() + by_block.sum::<f64>() - updates.sum::<f64>()
    }

    /// Into how many registers a value is refilled on an edge: of each φ that takes it, and its own.
    fn times(&self, function: &Function, liveness: &Liveness, (from, to): (Block, Block), value: Value) -> f64 {
        let column = function.column(from, to);
        let takes = |phi: &&Phi| phi.args[column] == value.into() && !self.memory_phis.contains(phi.def);
        let stays = liveness.live_in(to).binary_search(&value).is_ok() && !self.in_memory.contains(value);
        (function.blocks[to].phis.iter().filter(takes).count() + usize::from(stays)) as f64
    }

    /// How a value is refilled on an edge, if it is.
    pub fn refill_on(&self, from: Block, to: Block, value: Value) -> Option<Refill> {
        let wanted = (Site::Edge { from, to }, value);
        let found = self.refills.binary_search_by_key(&wanted, |&(site, value, _)| (site, value));
        found.ok().map(|index| self.refills[index].2)
    }
}
