//! Making a plan decision by decision.
//!
//! A spiller says which values are in memory and where they are reloaded. The rest follows and is added here: their stores,
//! the φs in memory, the stores of values in registers that such φs take, and the reloads of values in memory that φs in
//! registers take.

use super::{Homes, Plan, Refill, Site, Store};
use crate::allocate::failure::Unsupported;
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spilled::SpillCounts;
use crate::analysis::Untouched;
use crate::machine::{Block, Function, Inst, Point, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::BTreeSet;

/// A plan in the making, in which nothing is in memory yet.
///
/// Decisions may come in any order, except that reloads at one point are written in the order of their calls. None of them
/// fails: [`finish`](Self::finish) finds out what cannot be written, and [`verify`](super::verify), in builds of tests, what
/// would be wrong.
///
/// A [`Point`] is before the instruction of its index in its block, or at the block's end if there is no such instruction.
///
/// ```text
/// let mut plan = PlanBuilder::new(problem);
/// plan.in_memory(v);        // stored after its definition
/// plan.reload(at, v);       // in a register from here to the last use before the next reload
/// plan.finish()
/// ```
pub struct PlanBuilder<'p> {
    problem: &'p Problem<'p>,
    in_memory: EntitySet<Value>,
    refills: Vec<(Site, Value, Refill)>,
    stores: Vec<Store>,
    folds: Vec<(Inst, usize)>,
    /// Values in memory that are in registers at the ends of blocks, too.
    resident: BTreeSet<(Block, Value)>,
    /// The first value that was said to be in memory although it cannot be.
    stuck: Option<Value>,
}

impl<'p> PlanBuilder<'p> {
    pub fn new(problem: &'p Problem) -> Self {
        PlanBuilder {
            problem,
            in_memory: EntitySet::with_capacity(problem.conventional.function.values.len()),
            refills: Vec::new(),
            stores: Vec::new(),
            folds: Vec::new(),
            resident: BTreeSet::new(),
            stuck: None,
        }
    }

    /// Has a value be in memory from its definition on.
    ///
    /// Each use reads the latest definition or reload on the way to it, and the value is in a register from there to the
    /// use. So a value leaves its register only if its next use has a reload on every path.
    ///
    /// A constant that can be rematerialised takes no memory, and is not stored. If a value cannot be in memory
    /// ([`Problem::can_be_in_memory`]), [`finish`](Self::finish) fails.
    pub fn in_memory(&mut self, value: Value) {
        if !self.problem.can_be_in_memory(value) {
            self.stuck.get_or_insert(value);
        }
        self.in_memory.insert(value);
    }

    /// Gets a value into a register again, before the instruction at a point: loads the value, or rematerialises it if it is
    /// a constant. Nothing can stand between terminators: what one of them reads is reloaded before the first
    /// ([`Function::before_terminators`]). A value that is reloaded twice at one point is loaded twice.
    pub fn reload(&mut self, at: Point, value: Value) {
        self.refills.push((Site::At(at), value, self.problem.refill(value)));
    }

    /// Reloads a value on an edge that can take code, for the φs that take it there and for later uses.
    pub fn reload_on(&mut self, from: Block, to: Block, value: Value) {
        self.refills.push((Site::Edge { from, to }, value, self.problem.refill(value)));
    }

    /// Says that a value in memory is in a register at the end of a block, too, so that φs in registers can take it from there.
    /// Otherwise they reload it on their edges.
    pub fn resident_at_end(&mut self, block: Block, value: Value) {
        self.resident.insert((block, value));
    }

    /// Stores a value to its home, at a point where it is in a register. This is only for values that are in memory for a
    /// part of their lives, since the others are stored after their definitions.
    pub fn store(&mut self, at: Point, value: Value) {
        self.stores.push(Store { at, value, home: value });
    }

    /// Has an instruction access the value of its k-th operand in memory itself. The operand must be
    /// [foldable](crate::machine::Operand::foldable), and the only one of its instruction to be folded. The value must be in
    /// its home there.
    pub fn fold(&mut self, inst: Inst, k: usize) {
        self.folds.push((inst, k));
    }

    /// The plan, with everything that follows from the decisions.
    ///
    /// # Errors
    /// If a value was said to be in memory that cannot be, or a reload stands between the terminators of a block.
    pub fn finish(mut self) -> Result<Plan, Unsupported> {
        let Problem { conventional, downstream, .. } = self.problem;
        let function = &conventional.function;
        if let Some(value) = self.stuck {
            return Err(Unsupported(format!(
                "no store can stand after the definition of {value}, which would have to be in memory"
            )));
        }
        if let Some(at) = self.refills.iter().find_map(|&(site, ..)| between_terminators(function, site)) {
            return Err(Unsupported(format!("a spilled value is loaded between the terminators of {}", at.block)));
        }
        let values = self.in_memory.iter().count() as u64;
        let constants: Vec<Value> = self.in_memory.iter().filter(|&it| self.problem.refill(it) != Refill::Load).collect();
        constants.into_iter().for_each(|value| _ = self.in_memory.remove(value));
        self.folds.sort_unstable();
        self.store_after_definitions();
        self.stores.extend(stored_arguments(function, &self.in_memory).map(|(at, value, home)| Store { at, value, home }));
        self.stores.sort_by_key(|store| (store.at, store.value));
        self.stores.dedup();
        let (memory_phis, on_edges) = phis(function, &self.in_memory);
        let is_resident =
            |site: Site, value: Value| matches!(site, Site::Edge { from, .. } if self.resident.contains(&(from, value)));
        self.refills.extend(on_edges.into_iter().filter(|&(site, value, _)| !is_resident(site, value)));
        // Those at one point stay in order; of those on one edge, each is there once.
        self.refills.sort_by_key(|&(site, value, _)| (site, Some(value).filter(|_| matches!(site, Site::Edge { .. }))));
        self.refills.dedup_by(|a, b| a == b && matches!(a.0, Site::Edge { .. }));
        let mut at_home = self.in_memory.clone();
        at_home.extend(self.stores.iter().filter(|store| store.home == store.value).map(|store| store.value));
        Ok(Plan {
            refills: self.refills,
            stores: self.stores,
            memory_phis,
            folds: self.folds,
            updates: Vec::new(),
            dropped: EntitySet::new(),
            homes: Homes::new(conventional, &at_home, downstream.frugal),
            in_memory: self.in_memory,
            untouched: Untouched::default(),
            memory_rows: SecondaryMap::new(),
            counts: SpillCounts { values, ..SpillCounts::default() },
            degraded: Vec::new(),
            prices: Vec::new(),
        })
    }

    /// Stores the values in memory after their definitions, except for those that their instructions write to memory
    /// themselves and those that nothing reads.
    fn store_after_definitions(&mut self) {
        let function = &self.problem.conventional.function;
        for block in function.blocks.keys() {
            for (index, inst) in function.block_insts(block).enumerate() {
                let at = Point { block, index: index as u32 + 1 };
                for (k, operand) in function.operands(inst).iter().enumerate() {
                    let is_stored = operand.is_def()
                        && self.in_memory.contains(operand.value)
                        && !self.problem.liveness.is_dead(operand.value)
                        && self.folds.binary_search(&(inst, k)).is_err();
                    if is_stored {
                        self.store(at, operand.value);
                    }
                }
            }
        }
    }
}

fn between_terminators(function: &Function, site: Site) -> Option<Point> {
    match site {
        Site::At(at) if at > function.before_terminators(at.block) => Some(at),
        Site::At(_) | Site::Edge { .. } => None,
    }
}

/// The arguments in registers of φs in memory, each as (point of the store, argument, φ).
pub(in crate::allocate::spill) fn stored_arguments<'a>(
    function: &'a Function,
    in_memory: &'a EntitySet<Value>,
) -> impl Iterator<Item = (Point, Value, Value)> + 'a {
    let phis = function.blocks.iter().flat_map(|(block, data)| data.phis.iter().map(move |phi| (block, data, phi)));
    let stored = phis.filter(|(.., phi)| in_memory.contains(phi.def)).flat_map(move |(block, data, phi)| {
        let args = phi.args.iter().zip(&data.preds);
        args.filter_map(move |(arg, &pred)| Some((function.departure(pred, block), arg.expand()?, phi.def)))
    });
    stored.filter(|&(_, value, _)| !in_memory.contains(value))
}

/// The φs in memory; and the refills of arguments in memory on the edges to other φs, sorted by edge and value.
pub(in crate::allocate::spill) fn phis(
    function: &Function,
    in_memory: &EntitySet<Value>,
) -> (EntitySet<Value>, Vec<(Site, Value, Refill)>) {
    let (mut memory_phis, mut on_edges) = (EntitySet::new(), Vec::new());
    for (to, data) in &function.blocks {
        for phi in &data.phis {
            if in_memory.contains(phi.def) {
                memory_phis.insert(phi.def);
                continue;
            }
            for (arg, &from) in phi.args.iter().zip(&data.preds) {
                let Some(value) = arg.expand().filter(|&value| in_memory.contains(value)) else { continue };
                on_edges.push((Site::Edge { from, to }, value, Refill::Load));
            }
        }
    }
    on_edges.sort_unstable_by_key(|&(site, value, _)| (site, value));
    on_edges.dedup();
    (memory_phis, on_edges)
}
