//! Plans in which a value is in memory all its life: it is stored after its definition and refilled for its uses.
//!
//! Which values these are has been decided. It remains to be decided how long each refill lasts: it serves later uses in its
//! block for as long as registers are free, and the value with the farthest next use leaves its register first. A value that
//! would be loaded for one instruction alone is folded into it where that is possible.

use super::store_hoisting::{ArgumentStores, argument_stores};
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::{Demand, LastUse, first_reuse, foldable_operands, folded_operand, is_first_use};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::plan::builder::phis;
use crate::allocate::spill::plan::homes::{Home, Homes};
use crate::allocate::spill::plan::{Plan, Refill, Site, Store};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::spilled::SpillCounts;
use crate::analysis::{NEVER, Occupancy, Untouched, next_uses_in_blocks};
use crate::machine::{Block, Function, Inst, InstFlags, InstKind, Point, Role, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Plans refills, stores and folds for the values that have been chosen to be in memory.
///
/// # Errors
/// If a value would have to be loaded between the terminators of a block.
pub(in crate::allocate::spill) fn plan(problem: &Problem, set: &SpillSet) -> Result<Plan, Unsupported> {
    let Problem { conventional, limits, policy, downstream, .. } = problem;
    let function = &conventional.function;
    let mut in_memory = EntitySet::with_capacity(function.values.len());
    for value in function.values.keys().filter(|&value| set.is_in_memory(value)) {
        in_memory.insert(value);
    }
    let mut homes = Homes::new(conventional, &in_memory, downstream.frugal);
    let mut arguments = argument_stores(problem, &in_memory, policy.store_hoist && downstream.frugal);
    for (value, phi) in arguments.hoisted.iter() {
        phi.iter().for_each(|&phi| homes.share(value, phi));
    }
    arguments.at_ends.sort_by_key(|&(point, value, phi)| (point, value, homes.of(phi)));
    let mut planner = Planner {
        problem,
        set,
        arguments: &arguments,
        next_use: if policy.keep_loaded { next_uses_in_blocks(function) } else { vec![NEVER; function.operands.len()] },
        live: LiveSet::new(function, limits),
        cached: Vec::new(),
        plan: Plan {
            refills: Vec::new(),
            stores: Vec::new(),
            memory_phis: EntitySet::new(),
            folds: Vec::new(),
            updates: Vec::new(),
            dropped: EntitySet::new(),
            in_memory,
            untouched: Untouched::default(),
            homes,
            memory_rows: SecondaryMap::new(),
            counts: SpillCounts::default(),
            degraded: Vec::new(),
            prices: Vec::new(),
        },
    };
    for block in function.blocks.keys() {
        planner.block(block)?;
    }
    let mut plan = planner.plan;
    let (memory_phis, on_edges) = phis(function, &plan.in_memory);
    plan.memory_phis = memory_phis;
    plan.refills.extend(on_edges);
    plan.counts.optimisations.hoisted_stores = arguments.saved;
    plan.counts.values = function.values.keys().filter(|&value| set.spilled[value]).count() as u64;
    Ok(plan)
}

/// A value in memory that is in a register at the moment, or about to be.
#[derive(Clone, Copy)]
struct Cached {
    value: Value,
    /// Whether it is in the register by now.
    filled: bool,
    /// The next instruction that uses it.
    next_use: u32,
    /// Whether it stays in the register past the current instruction.
    kept: bool,
}

struct Planner<'a> {
    problem: &'a Problem<'a>,
    set: &'a SpillSet,
    arguments: &'a ArgumentStores,
    next_use: Vec<u32>,
    /// Live values that are not in memory.
    live: LiveSet<'a>,
    /// Values in memory that are in registers. Each is used in the rest of the block, the current instruction included.
    cached: Vec<Cached>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn function(&self) -> &'a Function {
        &self.problem.conventional.function
    }

    fn is_spilled(&self, value: Value) -> bool {
        self.set.spilled[value]
    }

    fn block(&mut self, block: Block) -> Result<(), Unsupported> {
        let function = self.function();
        let liveness = self.problem.liveness;
        self.cached.clear();
        self.live.clear();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
        for value in liveness.live_in(block).iter().copied().chain(phis) {
            self.add_live(value);
        }
        let head = function.head(block);
        let tail = function.before_terminators(block);
        for (index, inst) in function.block_insts(block).enumerate() {
            let point = Point { block, index: index as u32 };
            if point == head {
                self.store_hoisted_phis(head);
            }
            self.store_arguments(point);
            let refills = self.plan.refills.len();
            if !self.is_dropped(inst) && !self.coalesce(inst) {
                self.instruction(point, inst);
            }
            if point > tail && self.plan.refills.len() > refills {
                return Err(Unsupported(format!("a spilled value is loaded between the terminators of {block}")));
            }
        }
        let end = Point { block, index: function.blocks[block].insts.len() as u32 };
        if head == end {
            self.store_hoisted_phis(head);
        }
        self.store_arguments(end);
        Ok(())
    }

    fn add_live(&mut self, value: Value) {
        if !self.is_spilled(value) {
            self.live.add(value);
        }
    }

    /// Drops an instruction whose value is rematerialised where it is used.
    fn is_dropped(&mut self, inst: Inst) -> bool {
        let dropped = self.set.drops(self.function().operands(inst));
        if dropped {
            self.plan.dropped.insert(inst);
        }
        dropped
    }

    /// Stores the φs in registers that are arguments of φs in memory.
    fn store_hoisted_phis(&mut self, head: Point) {
        for phi in &self.function().blocks[head.block].phis {
            self.store_hoisted(head, phi.def);
        }
    }

    /// Stores a value after its definition, if it is an argument of a φ in memory.
    fn store_hoisted(&mut self, at: Point, value: Value) {
        if let Some(home) = self.arguments.hoisted[value] {
            self.plan.stores.push(Store { at, value, home });
        }
    }

    /// Stores the arguments in registers that φs in memory take at this point.
    fn store_arguments(&mut self, at: Point) {
        let stores = &self.arguments.at_ends;
        let first = stores.partition_point(|&(point, ..)| point < at);
        let here = stores[first..].iter().take_while(|&&(point, ..)| point == at);
        self.plan.stores.extend(here.map(|&(_, value, home)| Store { at, value, home }));
    }

    /// Drops a copy from a home to the same home [PP09, §6.3]. The two values are φ-related, so the source is dead after the
    /// copy. If the home has another width than the values, x87 registers have another form in it, which a copy cannot
    /// access itself.
    fn coalesce(&mut self, inst: Inst) -> bool {
        let function = self.function();
        let [to, from] = *function.operands(inst) else { return false };
        let home = |value: Value| self.plan.homes.of(value).filter(|_| self.plan.in_memory.contains(value));
        let class = function.values[to.value].class;
        let in_own_form = |home: Home| function.file.memory_form(class, self.plan.homes.sizes[home].size) == class;
        let redundant = function.insts[inst].kind == InstKind::Copy
            && home(to.value).is_some_and(in_own_form)
            && home(to.value) == home(from.value)
            && function.slot_for(to.value) == function.slot_for(from.value);
        if !self.problem.policy.memory_coalesce || !redundant {
            return false;
        }
        self.cached.retain(|cached| cached.value != from.value);
        self.plan.counts.optimisations.coalesced_copies += 1;
        if function.insts[inst].origin.is_some() {
            self.plan.folds.extend([(inst, 0), (inst, 1)]);
        } else {
            self.plan.dropped.insert(inst);
        }
        true
    }

    fn instruction(&mut self, at: Point, inst: Inst) {
        let function = self.function();
        let operands = function.operands(inst);
        if !self.cached.is_empty() || operands.iter().any(|operand| self.is_spilled(operand.value)) {
            self.accesses(at, inst);
        }
        let after = Point { index: at.index + 1, ..at };
        for operand in operands.iter().filter(|operand| operand.is_def()) {
            self.store_hoisted(after, operand.value);
        }
        self.live.advance(self.problem.liveness, inst, |value| !self.set.spilled[value]);
    }

    /// Plans the refills, folds and stores of an instruction.
    fn accesses(&mut self, at: Point, inst: Inst) {
        let function = self.function();
        let folded = self.make_fit(at.block, inst);
        let operands = function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            if Some(k) != folded && operand.role == Role::Use && self.is_spilled(operand.value) {
                self.refill(at, operand.value);
            }
        }
        self.plan.folds.extend(folded.map(|k| (inst, k)));
        self.cached.retain(|cached| cached.kept);
        let first = function.insts[inst].operands.start as usize;
        for (k, operand) in operands.iter().enumerate() {
            let value = operand.value;
            if Some(k) == folded || !operand.is_def() || !self.is_spilled(value) {
                continue;
            }
            if !self.problem.liveness.kills(first + k) {
                self.plan.stores.push(Store { at: Point { index: at.index + 1, ..at }, value, home: value });
            }
            let next_use = self.next_use[first + k];
            if next_use != NEVER {
                self.cached.push(Cached { value, filled: true, next_use, kept: false });
            }
        }
    }

    /// Gets a value in memory into a register, unless it is in one.
    fn refill(&mut self, at: Point, value: Value) {
        let cached = self.cached.iter_mut().find(|c| c.value == value).expect("a value about to be used is entered");
        if !cached.filled {
            cached.filled = true;
            let refill = match self.problem.constants[value].expand() {
                Some(inst) if self.set.rematerialised[value] => Refill::Rematerialise(inst),
                _ => Refill::Load,
            };
            self.plan.refills.push((Site::At(at), value, refill));
        }
    }

    /// Enters the values that the instruction reads, decides which values in memory stay in registers past it, and returns
    /// the operand that is folded.
    fn make_fit(&mut self, block: Block, inst: Inst) -> Option<usize> {
        let function = self.function();
        let operands = function.operands(inst);
        let first = function.insts[inst].operands.start as usize;
        for cached in &mut self.cached {
            cached.kept = true;
        }
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() || !self.is_spilled(operand.value) || !is_first_use(operands, k) {
                continue;
            }
            let next_use = self.next_use[first + k];
            let kept = next_use != NEVER;
            match self.cached.iter_mut().find(|c| c.value == operand.value) {
                Some(cached) => (cached.next_use, cached.kept) = (next_use, kept),
                None => self.cached.push(Cached { value: operand.value, filled: false, next_use, kept }),
            }
        }
        if self.problem.downstream.evicts {
            return self.accessed_once(inst).and_then(|k| self.fold(inst, k));
        }
        self.drop_excess(inst, &self.problem.pins.occupancy(function, block, inst))
    }

    /// An operand in memory whose value would be in a register for this instruction alone. A copy is folded even if there
    /// are later uses, because it does the work of a load; where only its place is recorded, a value's home is as good.
    fn accessed_once(&self, inst: Inst) -> Option<usize> {
        let function = self.function();
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        let at_home = function.insts[inst].kind.is_copy() || function.insts[inst].is(InstFlags::RECORDED);
        folded_operand(function, inst, self.problem.policy.fold, |k| {
            let operand = operands[k];
            let not_filled = |c: &Cached| c.value == operand.value && !c.filled && (at_home || !c.kept);
            let once = if operand.is_def() { self.next_use[first + k] == NEVER } else { self.cached.iter().any(not_filled) };
            once && self.plan.in_memory.contains(operand.value)
        })
    }

    /// Folds an operand, whose value is then in no register, now or later.
    fn fold(&mut self, inst: Inst, k: usize) -> Option<usize> {
        let value = self.function().operands(inst)[k].value;
        for cached in self.cached.iter_mut().filter(|c| c.value == value) {
            cached.kept = false;
        }
        Some(k)
    }

    /// Gives up values in registers, those with the farthest next use first, until the instruction has the registers it
    /// needs. Returns the operand that is folded, which may be the last way out.
    fn drop_excess(&mut self, inst: Inst, occupancy: &Occupancy) -> Option<usize> {
        let Problem { liveness, limits, policy, .. } = self.problem;
        let function = self.function();
        let operands = function.operands(inst);
        let first = function.insts[inst].operands.start as usize;
        let mut ways_out: Vec<usize> =
            foldable_operands(function, inst, policy.fold).filter(|&k| self.plan.in_memory.contains(operands[k].value)).collect();
        ways_out.reverse();
        let foldable = ways_out.clone();
        // What the instruction reads is in a register then, kept or not, unless it is accessed in memory; but the register of
        // what is overwritten is the definition's too.
        let is_needed_while_reading = |cached: &Cached, folded: Option<usize>| {
            let is_read = operands.iter().any(|operand| operand.value == cached.value && !operand.is_def());
            let can_be_in_memory =
                !cached.filled && folded.is_none() && foldable.iter().any(|&k| operands[k].value == cached.value);
            is_read && first_reuse(operands, cached.value).is_none() && !can_be_in_memory
        };
        let mut folded = None;
        let mut spare = limits.spare();
        loop {
            folded = folded.or_else(|| self.accessed_once(inst)).and_then(|k| self.fold(inst, k));
            let kept = |value: Value| self.cached.iter().any(|c| c.value == value && c.kept);
            let last_use = |k: usize| {
                let value = operands[k].value;
                match self.is_spilled(value) {
                    true if kept(value) => LastUse::No,
                    true => LastUse::OfRefill,
                    false if liveness.kills(first + k) => LastUse::OfValue,
                    false => LastUse::No,
                }
            };
            let demand = Demand::of(function, limits, inst, folded, last_use);
            let mut through = self.live.counts_without(&demand.dying);
            for cached in self.cached.iter().filter(|c| c.kept) {
                limits.count(&mut through, function.values[cached.value].class, 1);
            }
            let while_reading = demand.excess_while_reading(limits, &through, occupancy, spare);
            let excess = while_reading.or_else(|| demand.excess(limits, &through, occupancy, spare)).or_else(|| {
                let kept = self.cached.iter().filter(|c| c.kept).map(|c| c.value);
                let live = self.live.values().iter().copied().chain(kept).map(|value| (value, None));
                feasible::misfit(function, limits, inst, occupancy, live, folded, last_use)
            });
            let Some(excess) = excess else { return folded };
            let candidate = |c: &&mut Cached| {
                let confined = limits.is_confined(function.values[c.value].class, excess.set);
                c.kept && confined && !(excess.while_reading && is_needed_while_reading(c, folded))
            };
            match self.cached.iter_mut().filter(candidate).max_by_key(|c| (c.next_use, c.value)) {
                Some(farthest) => farthest.kept = false,
                None if spare > 0 => spare = 0,
                None => folded = Some(ways_out.pop().expect("the chosen values make every instruction fit")),
            }
        }
    }
}
