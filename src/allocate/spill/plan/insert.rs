//! Writing a plan: its loads and stores, and the names that they bring.
//!
//! Requires: a plan in which [`super::verify`] finds no fault.
//! Ensures: SSA form. Every refill defines a new name of its value, and each use reads the name that reaches it. Where
//! several names reach a use, φs join them ([`crate::allocate::ssa`]). All operands that are left are in registers; folded
//! ones are listed apart.

use super::slots::Slots;
use super::{Plan, Refill, Site, Step, Store, steps};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spilled::{EdgeRefill, EdgeSource, Fold, Memory, MemoryPhi, Spilled};
use crate::allocate::ssa::{Join, Pieces, repair};
use crate::analysis::grouped::of_each;
use crate::machine::{
    Block, Function, Inserted, Inst, InstFlags, InstKind, Operand, OperandSet, Phi, Point, RegClass, Rewriter, Slot, Value,
};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;

/// Rewrites a function as the plan says, with these slots for its homes.
pub(in crate::allocate::spill) fn insert(problem: &Problem, plan: &Plan, slots: &Slots) -> Spilled {
    let function = &problem.conventional.function;
    let mut writer = Writer::new(problem, plan, slots);
    for block in function.blocks.keys() {
        writer.block(block);
    }
    let (mut edge_refills, memory_phis) = writer.phis();
    let Writer { rewriter, pieces, folds, .. } = writer;
    let mut rewritten = rewriter.new;
    let joins = repair(&mut rewritten, problem.order, problem.dominators, &pieces);
    refill_on_edges(&rewritten, plan, slots, &joins, &mut edge_refills);
    let mut slot_of = of_each(function.values.len());
    for value in plan.in_memory.iter() {
        slot_of[value] = slots.of(plan, value).into();
    }
    let debug_slots = debug_slots(problem, &slot_of);
    let memory = Memory {
        slots: slots.slots.clone(),
        given: slots.given.clone(),
        slot_of,
        edge_refills,
        memory_phis,
        rows: plan.memory_rows.clone(),
        debug_slots,
    };
    Spilled {
        function: rewritten,
        folds,
        memory,
        untouched: plan.untouched.clone(),
        counts: plan.counts,
        degraded: plan.degraded.clone(),
    }
}

/// Has the φs that join the pieces of a value take it from its home, or rematerialised, on the edges where it is refilled.
fn refill_on_edges(
    function: &Function,
    plan: &Plan,
    slots: &Slots,
    joins: &[Join],
    edge_refills: &mut SecondaryMap<Block, Vec<EdgeRefill>>,
) {
    for &Join { block: to, row, base, name } in joins {
        for &from in &function.blocks[to].preds {
            if let Some(refill) = plan.refill_on(from, to, base) {
                let source = slots.source(plan, base, refill, function.values[name].class);
                edge_refills[to].push(EdgeRefill { row, from, source });
            }
        }
    }
}

impl Slots {
    /// The slot of a value that has a home.
    pub(in crate::allocate::spill) fn of(&self, plan: &Plan, value: Value) -> Slot {
        self.of_value(plan, value).expect("what is stored or loaded has a home")
    }

    /// The source of a value that is refilled on an edge.
    fn source(&self, plan: &Plan, value: Value, refill: Refill, class: RegClass) -> EdgeSource {
        match refill {
            Refill::Load => EdgeSource::Slot { slot: self.of(plan, value), class },
            Refill::Rematerialise(inst) => EdgeSource::Rematerialise(inst),
            Refill::Recompute { .. } => unreachable!("only within blocks"),
        }
    }
}

struct Writer<'a> {
    problem: &'a Problem<'a>,
    function: &'a Function,
    plan: &'a Plan,
    slots: &'a Slots,
    rewriter: Rewriter<'a>,
    /// The values that get more than one name.
    split: EntitySet<Value>,
    /// The latest name of each of them in the block that is being written.
    name: SecondaryMap<Value, PackedOption<Value>>,
    /// The values that `name` has an entry for.
    named: Vec<Value>,
    pieces: Pieces,
    folds: Vec<Fold>,
    /// The first entries of the plan's lists that have not been written yet.
    next_refill: usize,
    next_store: usize,
    next_fold: usize,
}

impl<'a> Writer<'a> {
    fn new(problem: &'a Problem, plan: &'a Plan, slots: &'a Slots) -> Self {
        let function = &problem.conventional.function;
        let mut split = EntitySet::with_capacity(function.values.len());
        let mut pieces = Pieces::new(function);
        for &(site, value, _) in &plan.refills {
            match site {
                Site::At(_) => split.insert(value),
                // After the edge it is in memory again.
                Site::Edge { .. } if plan.in_memory.contains(value) => continue,
                Site::Edge { from, to } => {
                    pieces.refilled_on_edge(value, from, to);
                    split.insert(value)
                }
            };
        }
        Writer {
            problem,
            function,
            plan,
            slots,
            rewriter: Rewriter::new(function),
            split,
            name: of_each(function.values.len()),
            named: Vec::new(),
            pieces,
            folds: Vec::new(),
            next_refill: 0,
            next_store: 0,
            next_fold: 0,
        }
    }

    fn block(&mut self, block: Block) {
        for value in self.named.drain(..) {
            self.name[value] = None.into();
        }
        if self.leaves(block) {
            return self.copy(block);
        }
        self.rewriter.begin(block);
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let point = Point { block, index: index as u32 };
            self.steps(point);
            if self.plan.dropped.contains(inst) {
                self.rewriter.leave_out(inst);
            } else {
                self.instruction(inst);
            }
        }
        let end = Point { block, index: self.function.blocks[block].insts.len() as u32 };
        self.steps(end);
        self.rewriter.end();
    }

    /// Whether the plan changes nothing in a block, which is the next one to be written.
    fn leaves(&self, block: Block) -> bool {
        let Plan { stores, refills, folds, dropped, .. } = self.plan;
        let is_here = |site: Site| matches!(site, Site::At(point) if point.block == block);
        stores.get(self.next_store).is_none_or(|store| store.at.block != block)
            && refills.get(self.next_refill).is_none_or(|&(site, ..)| !is_here(site))
            && folds.get(self.next_fold).is_none_or(|&(inst, _)| inst.as_u32() >= self.function.blocks[block].insts.end)
            && !self.function.block_insts(block).any(|inst| dropped.contains(inst))
    }

    /// Writes a block that the plan does not change.
    fn copy(&mut self, block: Block) {
        let Writer { rewriter, split, name, named, pieces, .. } = self;
        rewriter.copy_block(block, |&operand| {
            let Operand { value, .. } = operand;
            if split.contains(value) && name[value].is_none() {
                if operand.is_def() {
                    name[value] = value.into();
                    named.push(value);
                } else {
                    pieces.reaches_from_outside(value);
                }
            }
            Operand { reuse_instead: OperandSet::EMPTY, reuse_none: false, ..operand }
        });
    }

    /// Writes the stores and refills at a point.
    fn steps(&mut self, point: Point) {
        let stores = self.plan.stores[self.next_store..].iter().take_while(|store| store.at == point).count();
        let refills = self.plan.refills[self.next_refill..].iter().take_while(|it| it.0 == Site::At(point)).count();
        let stores = self.next_store..self.next_store + stores;
        let refills = self.next_refill..self.next_refill + refills;
        (self.next_store, self.next_refill) = (stores.end, refills.end);
        for step in steps(&self.plan.stores[stores], &self.plan.refills[refills]) {
            match step {
                Step::Store(store) => self.store(store),
                Step::Refill(value, refill) => self.refill(value, refill),
            }
        }
    }

    fn store(&mut self, store: Store) {
        let slot = self.slots.of(self.plan, store.home);
        if let Some(inst) = self.problem.storable(store.value) {
            self.rewriter.insert(InstKind::Inserted(Inserted::StoreConstant(slot, inst)), &[]);
        } else {
            let name = self.name_of(store.value);
            self.rewriter.insert(InstKind::Inserted(Inserted::Store(slot)), &[Operand::using(name)]);
        }
    }

    fn refill(&mut self, value: Value, refill: Refill) {
        let (kind, read) = match refill {
            Refill::Load => (Inserted::Load(self.slots.of(self.plan, value)), None),
            Refill::Rematerialise(inst) => (Inserted::Rematerialise(inst), None),
            Refill::Recompute { inst, from } => (Inserted::Rematerialise(inst), Some(Operand::using(self.name_of(from)))),
        };
        let name = self.rewriter.name(value);
        let operands: SmallVec<[Operand; 2]> = [Operand::defining(name)].into_iter().chain(read).collect();
        self.rewriter.insert(InstKind::Inserted(kind), &operands);
        self.pieces.add(name, value);
        self.set_name(value, name);
    }

    fn set_name(&mut self, value: Value, name: Value) {
        self.name[value] = name.into();
        self.named.push(value);
    }

    /// The name of a value at the current point. If it has none in this block yet, a name from before the block reaches the
    /// point.
    fn name_of(&mut self, value: Value) -> Value {
        if !self.split.contains(value) {
            return value;
        }
        self.name[value].expand().unwrap_or_else(|| {
            self.pieces.reaches_from_outside(value);
            value
        })
    }

    fn instruction(&mut self, inst: Inst) {
        let function = self.function;
        let first_fold = self.next_fold;
        while self.plan.folds.get(self.next_fold).is_some_and(|&(folded, _)| folded == inst) {
            self.next_fold += 1;
        }
        let folds = &self.plan.folds[first_fold..self.next_fold];
        let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
        for (k, &operand) in function.operands(inst).iter().enumerate() {
            if folds.iter().any(|&(_, folded)| folded == k) {
                continue;
            }
            let value = if operand.is_def() { operand.value } else { self.name_of(operand.value) };
            let reuse = reuse_without(operand, |k| folds.iter().any(|&(_, folded)| folded == k));
            operands.push(Operand { value, reuse, reuse_instead: OperandSet::EMPTY, reuse_none: false, ..operand });
        }
        for operand in operands.iter().filter(|operand| operand.is_def()) {
            if self.split.contains(operand.value) {
                self.set_name(operand.value, operand.value);
            }
        }
        let new = self.rewriter.copy(inst, &operands);
        if !folds.is_empty() {
            // A copy from or to memory no longer copies between registers, and it cannot be executed again from there.
            let data = &mut self.rewriter.new.insts[new];
            data.kind = InstKind::Op;
            data.flags.remove(InstFlags::RECOMPUTABLE);
        }
        for &(_, k) in folds {
            let operand = function.operands(inst)[k];
            let slot = self.slots.accessed(self.problem, self.plan, inst, k);
            self.folds.push(Fold { inst: new, operand: k, slot, writes: operand.is_def() });
        }
    }

    /// Removes the φs in memory, and the arguments in memory of all others. Returns these arguments, and the removed φs that
    /// take an argument from a slot other than their own.
    fn phis(&mut self) -> (SecondaryMap<Block, Vec<EdgeRefill>>, SecondaryMap<Block, Vec<MemoryPhi>>) {
        let mut edge_refills: SecondaryMap<Block, Vec<EdgeRefill>> = SecondaryMap::new();
        let mut memory_phis: SecondaryMap<Block, Vec<MemoryPhi>> = SecondaryMap::new();
        for (block, data) in &self.function.blocks {
            for phi in data.phis.iter().filter(|phi| self.plan.memory_phis.contains(phi.def)) {
                memory_phis[block].extend(self.memory_phi(phi));
            }
        }
        for phis in self.rewriter.new.blocks.values_mut().map(|data| &mut data.phis) {
            phis.retain(|phi| !self.plan.memory_phis.contains(phi.def));
        }
        let any_on_edges = self.next_refill < self.plan.refills.len();
        for (to, data) in self.rewriter.new.blocks.iter_mut().filter(|_| any_on_edges) {
            for (row, phi) in data.phis.iter_mut().enumerate() {
                for (arg, &from) in phi.args.iter_mut().zip(&data.preds) {
                    let Some(value) = arg.expand() else { continue };
                    if let Some(refill) = self.plan.refill_on(from, to, value) {
                        *arg = None.into();
                        let classes = [phi.def, value].map(|value| self.function.values[value].class);
                        let class = self.function.file.wider(classes[0], classes[1]);
                        let source = self.slots.source(self.plan, value, refill, class);
                        edge_refills[to].push(EdgeRefill { row, from, source });
                    }
                }
            }
        }
        for phi in self.rewriter.new.blocks.values().flat_map(|data| &data.phis) {
            let args = phi.args.iter().filter_map(|arg| arg.expand());
            args.filter(|&arg| self.split.contains(arg)).for_each(|arg| self.pieces.reaches_from_outside(arg));
        }
        (edge_refills, memory_phis)
    }

    /// A φ in memory, if it takes an argument from a slot other than its own.
    fn memory_phi(&self, phi: &Phi) -> Option<MemoryPhi> {
        let function = self.function;
        let slot = |value: Value| self.plan.in_memory.contains(value).then(|| self.slots.of(self.plan, value));
        let to = self.slots.of(self.plan, phi.def);
        let from: Vec<Option<Slot>> = phi.args.iter().map(|arg| slot(arg.expand()?)).collect();
        let classes = phi.args.iter().filter_map(|arg| Some(function.values[arg.expand()?].class));
        let class = classes.fold(function.values[phi.def].class, |wide, class| function.file.wider(wide, class));
        from.iter().any(|from| from.is_some_and(|from| from != to)).then_some(MemoryPhi { to, class, from })
    }
}

/// The operand that an operand reuses, once those operands of its instruction that leave are gone.
pub(in crate::allocate::spill) fn reuse_without(operand: Operand, leaves: impl Fn(usize) -> bool) -> Option<u8> {
    operand.reuse.map(|reused| (0..reused).filter(|&k| !leaves(usize::from(k))).count() as u8)
}

/// The slots in which debug uses find their values, if these are in memory and live.
fn debug_slots(problem: &Problem, slot_of: &SecondaryMap<Value, PackedOption<Slot>>) -> Vec<Option<Slot>> {
    let function = &problem.conventional.function;
    let live = problem.liveness.at_debug_uses(function);
    function.debug_uses.iter().zip(live).map(|(debug, live)| slot_of[debug.value].expand().filter(|_| live)).collect()
}
