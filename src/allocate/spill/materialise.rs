//! Writing the loads and stores.

use super::slots::Plan;
use super::{MemoryPhi, Optimisations, Outlook, Policy, SpillCounts, Spilled, Spiller};
use crate::allocate::pressure::demand::{Demand, Residence, foldable_operands, folded_operand, is_first_use};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::limits::Limits;
use crate::allocate::pressure::live_set::LiveSet;
use crate::analysis::{Liveness, Occupancy, PinLiveness};
use crate::machine::{Block, Function, Inst, InstKind, Operand, Phi, Point, Rewriter, Role, Slot, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Rewrites a function so that the values that the plan gives slots are in registers only around their accesses.
pub(super) fn materialise(spiller: &Spiller, plan: Plan) -> Result<Spilled, String> {
    let Spiller { conventional, liveness, pins, limits, policy, outlook, .. } = spiller;
    let function = &conventional.function;
    let mut writer = Writer {
        function,
        liveness,
        limits,
        policy,
        outlook,
        plan: &plan,
        rewriter: Rewriter::new(function),
        next_use: if policy.keep_loaded { next_uses(function) } else { vec![NEVER; function.operands.len()] },
        live: LiveSet::new(function, limits),
        cached: Vec::new(),
        coalesced: 0,
    };
    for block in function.blocks.keys() {
        writer.block(block, pins)?;
    }
    let memory_phis = writer.phis();
    let values = function.values.keys().filter(|&v| writer.is_spilled(v)).count() as u64;
    let optimisations =
        Optimisations { hoisted_stores: plan.hoisted_stores, coalesced_copies: writer.coalesced, ..Optimisations::default() };
    let rewritten = writer.rewriter.new;
    let live = liveness.at_debug_uses(function);
    let debug_slots =
        function.debug_uses.iter().zip(live).map(|(debug, live)| plan.slot_of[debug.value].expand().filter(|_| live));
    let debug_slots = debug_slots.collect();
    let Plan { slots, slot_of, again, .. } = plan;
    Ok(Spilled {
        function: rewritten,
        slots,
        slot_of,
        again,
        memory_phis,
        debug_slots,
        counts: SpillCounts { values, optimisations },
    })
}

/// No later use in the block.
const NEVER: u32 = u32::MAX;

/// For each operand, the next instruction of its block that uses the value, or [`NEVER`].
fn next_uses(function: &Function) -> Vec<u32> {
    let mut next_use = vec![NEVER; function.operands.len()];
    // The nearest use behind the current instruction, if it is in the block that is being scanned.
    let mut nearest: SecondaryMap<Value, u32> = SecondaryMap::with_default(NEVER);
    for (block, data) in &function.blocks {
        for inst in function.block_insts(block).rev() {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            for (k, operand) in operands.iter().enumerate() {
                let next = nearest[operand.value];
                next_use[first + k] = if data.insts.contains(&next) { next } else { NEVER };
            }
            for operand in operands.iter().filter(|o| !o.is_def()) {
                nearest[operand.value] = inst.as_u32();
            }
        }
    }
    next_use
}

/// A spilled value that is in a register at the moment.
#[derive(Clone, Copy)]
struct Cached {
    value: Value,
    /// The value's name in the register.
    temporary: Value,
    /// The next instruction that uses it.
    next_use: u32,
    /// Whether it stays in the register past the current instruction.
    kept: bool,
}

struct Writer<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    limits: &'a Limits,
    policy: &'a Policy,
    outlook: &'a Outlook,
    plan: &'a Plan,
    rewriter: Rewriter<'a>,
    /// If loaded values are kept for them.
    next_use: Vec<u32>,
    /// Live values that are not spilled.
    live: LiveSet<'a>,
    /// All have a use in the rest of the block, beginning with the current instruction.
    cached: Vec<Cached>,
    /// Copies dropped because they go from a slot to the same slot.
    coalesced: u64,
}

impl Writer<'_> {
    fn is_spilled(&self, value: Value) -> bool {
        self.plan.slot_of[value].is_some() || self.plan.again[value].is_some()
    }

    /// Whether the instruction is executed where its value is used instead.
    fn is_dropped(&self, inst: Inst) -> bool {
        let again = |operand: &Operand| operand.is_def() && self.plan.again[operand.value].is_some();
        self.function.operands(inst).iter().any(again)
    }

    fn add_live(&mut self, value: Value) {
        if !self.is_spilled(value) {
            self.live.add(value);
        }
    }

    fn block(&mut self, block: Block, pins: &PinLiveness) -> Result<(), String> {
        self.rewriter.begin(block);
        self.cached.clear();
        self.live.clear();
        for &value in self.liveness.live_in(block) {
            self.add_live(value);
        }
        for phi in &self.function.blocks[block].phis {
            if !self.liveness.is_dead(phi.def) {
                self.add_live(phi.def);
            }
        }
        let tail = self.function.before_terminators(block).index as usize;
        let head = self.function.head(block).index as usize;
        for (index, inst) in self.function.block_insts(block).enumerate() {
            if index == head {
                self.store_hoisted_phis(block);
            }
            self.store_arguments(Point { block, index: index as u32 });
            if self.is_dropped(inst) || self.coalesce(inst) {
                continue;
            }
            let occupancy = pins.occupancy(self.function, block, inst);
            self.instruction(inst, &occupancy);
            let inserted = self.rewriter.new.insts.values().rev().nth(1).is_some_and(|i| i.origin.is_none());
            if index > tail && inserted {
                return Err(format!("a spilled value is loaded between the terminators of {block}"));
            }
        }
        if head == self.function.blocks[block].insts.len() {
            self.store_hoisted_phis(block);
        }
        self.store_arguments(Point { block, index: self.function.blocks[block].insts.len() as u32 });
        self.rewriter.end();
        Ok(())
    }

    /// Stores the φs in registers that are arguments of φs in memory.
    fn store_hoisted_phis(&mut self, block: Block) {
        for phi in &self.function.blocks[block].phis {
            self.store_hoisted(phi.def);
        }
    }

    /// Stores a value behind its definition if it is an argument of a φ in memory.
    fn store_hoisted(&mut self, value: Value) {
        if let Some(slot) = self.plan.hoisted[value].expand() {
            self.rewriter.insert(InstKind::Store(slot), &[Operand::using(value)]);
        }
    }

    /// Makes nothing of a copy from a slot to the same slot (`spill-free-ssa-elimination.txt`, section 6.3): the values are
    /// φ-related, so the source is dead behind it.
    fn coalesce(&mut self, inst: Inst) -> bool {
        let slot_of = |value: Value| self.plan.slot_of[value].expand();
        let [to, from] = *self.function.operands(inst) else { return false };
        let redundant = self.function.insts[inst].kind == InstKind::Copy
            && slot_of(to.value).is_some()
            && slot_of(to.value) == slot_of(from.value)
            && self.function.slot_for(to.value) == self.function.slot_for(from.value);
        if !self.policy.memory_coalesce || !redundant {
            return false;
        }
        self.cached.retain(|cached| cached.value != from.value);
        self.coalesced += 1;
        if self.function.insts[inst].origin.is_some() {
            let in_memory = |operand: Operand| Operand { slot: slot_of(operand.value).into(), ..operand };
            self.rewriter.copy(inst, &[in_memory(to), in_memory(from)]);
        }
        true
    }

    /// Stores the arguments that φs in memory take from registers at this point.
    fn store_arguments(&mut self, point: Point) {
        let stores = &self.plan.phi_stores;
        let first = stores.partition_point(|&(at, ..)| at < point);
        for &(_, value, slot) in stores[first..].iter().take_while(|&&(at, ..)| at == point) {
            self.rewriter.insert(InstKind::Store(slot), &[Operand::using(value)]);
        }
    }

    fn instruction(&mut self, inst: Inst, occupancy: &Occupancy) {
        let folded = self.make_fit(inst, occupancy);
        let mut operands = self.function.operands(inst).to_vec();
        for (k, operand) in operands.iter_mut().enumerate() {
            if Some(k) == folded {
                operand.slot = self.plan.slot_of[operand.value];
            } else if operand.role == Role::Use && self.is_spilled(operand.value) {
                operand.value = self.loaded(operand.value);
            }
        }
        let mut stores = Vec::new();
        let first = self.function.insts[inst].operands.start as usize;
        self.cached.retain(|cached| cached.kept);
        for (k, operand) in operands.iter_mut().enumerate() {
            let value = operand.value;
            if Some(k) == folded || !operand.is_def() || !self.is_spilled(value) {
                continue;
            }
            let temporary = self.rewriter.value(self.function.values[value].class);
            operand.value = temporary;
            if !self.liveness.kills(first + k) {
                stores.push((temporary, value));
            }
            let next_use = self.next_use[first + k];
            if next_use != NEVER {
                self.cached.push(Cached { value, temporary, next_use, kept: false });
            }
        }
        self.rewriter.copy(inst, &operands);
        for (temporary, value) in stores {
            let slot = self.plan.slot_of[value].expect("the value is spilled");
            self.rewriter.insert(InstKind::Store(slot), &[Operand::using(temporary)]);
        }
        for operand in operands.iter().filter(|operand| operand.is_def()) {
            self.store_hoisted(operand.value);
        }
        self.advance(inst);
    }

    /// The register that a spilled value is in; it is loaded if there is none.
    fn loaded(&mut self, value: Value) -> Value {
        let place = self.cached.iter().position(|c| c.value == value).expect("a value about to be used is entered");
        if self.cached[place].temporary == value {
            let temporary = self.rewriter.value(self.function.values[value].class);
            let kind = match self.plan.again[value].expand() {
                Some(inst) => InstKind::Rematerialise(inst),
                None => InstKind::Load(self.plan.slot_of[value].expect("the value is spilled")),
            };
            self.rewriter.insert(kind, &[Operand::defining(temporary)]);
            self.cached[place].temporary = temporary;
        }
        self.cached[place].temporary
    }

    /// Enters the values that the instruction needs, decides which spilled values stay in registers past it, and returns
    /// the operand that is folded.
    fn make_fit(&mut self, inst: Inst, occupancy: &Occupancy) -> Option<usize> {
        let function = self.function;
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
                // Named like the value itself: not loaded yet.
                None => self.cached.push(Cached { value: operand.value, temporary: operand.value, next_use, kept }),
            }
        }
        self.drop_excess(inst, occupancy)
    }

    /// An operand in memory whose value would be in a register for this instruction alone. (A copy takes it from there also if
    /// there are later uses: it does what a load would.)
    fn accessed_once(&self, inst: Inst) -> Option<usize> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let copy = self.function.insts[inst].kind.is_copy();
        folded_operand(self.function, inst, self.policy.fold, |k| {
            let Operand { value, role, .. } = operands[k];
            let not_loaded = |c: &Cached| c.value == value && c.temporary == value && (copy || !c.kept);
            let once = if role == Role::Use { self.cached.iter().any(not_loaded) } else { self.next_use[first + k] == NEVER };
            once && self.plan.slot_of[value].is_some()
        })
    }

    /// What is folded is in no register, now or later.
    fn fold(&mut self, inst: Inst, k: usize) -> Option<usize> {
        let value = self.function.operands(inst)[k].value;
        for cached in self.cached.iter_mut().filter(|c| c.value == value) {
            cached.kept = false;
        }
        Some(k)
    }

    /// Gives up cached values, those with the farthest uses first, until the instruction's demand is met. Returns the operand
    /// that is folded, which may be what it takes.
    fn drop_excess(&mut self, inst: Inst, occupancy: &Occupancy) -> Option<usize> {
        let function = self.function;
        let operands = function.operands(inst);
        let first = function.insts[inst].operands.start as usize;
        let plan = self.plan;
        let mut ways_out =
            foldable_operands(function, inst, self.policy.fold).filter(|&k| plan.slot_of[operands[k].value].is_some());
        let mut folded = None;
        if self.outlook.choice.is_none() {
            return self.accessed_once(inst).and_then(|k| self.fold(inst, k));
        }
        let mut spare = self.limits.spare();
        loop {
            folded = folded.or_else(|| self.accessed_once(inst)).and_then(|k| self.fold(inst, k));
            let kept = |value: Value| self.cached.iter().any(|c| c.value == value && c.kept);
            let residence = |k: usize| {
                let value = operands[k].value;
                match self.is_spilled(value) {
                    true if kept(value) => Residence::LivesOn,
                    true => Residence::Loaded,
                    false if self.liveness.kills(first + k) => Residence::Dies,
                    false => Residence::LivesOn,
                }
            };
            let demand = Demand::of(function, self.limits, inst, folded, residence);
            let mut through = *self.live.counts();
            for (count, dying) in through.iter_mut().zip(&demand.dying) {
                *count -= dying;
            }
            for cached in self.cached.iter().filter(|c| c.kept) {
                self.limits.count(&mut through, function.values[cached.value].class, 1);
            }
            let excess = demand.excess(self.limits, &through, occupancy, spare).or_else(|| {
                let kept = self.cached.iter().filter(|c| c.kept).map(|c| c.value);
                let live = self.live.values().iter().copied().chain(kept);
                feasible::misfit(function, self.limits, inst, occupancy, live, folded, residence)
            });
            let Some(excess) = excess else { return folded };
            let confined = |c: &&mut Cached| c.kept && self.limits.is_confined(function.values[c.value].class, excess.set);
            match self.cached.iter_mut().filter(confined).max_by_key(|c| (c.next_use, c.value)) {
                Some(farthest) => farthest.kept = false,
                None if spare > 0 => spare = 0,
                None => folded = Some(ways_out.next().expect("the chosen values make every instruction fit")),
            }
        }
    }

    /// Updates the live values to those behind the instruction.
    fn advance(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            if !operand.is_def() && self.liveness.kills(first + k) {
                self.live.remove(operand.value);
            } else if operand.is_def() && !self.liveness.kills(first + k) {
                self.add_live(operand.value);
            }
        }
    }

    /// Removes the φs in memory and names the slots of spilled arguments. Returns the removed φs that take an argument from
    /// another slot than their own.
    fn phis(&mut self) -> SecondaryMap<Block, Vec<MemoryPhi>> {
        let slot_of = &self.plan.slot_of;
        let mut memory_phis: SecondaryMap<Block, Vec<MemoryPhi>> = SecondaryMap::new();
        for (block, data) in &mut self.rewriter.new.blocks {
            for phi in &data.phis {
                if let Some(to) = slot_of[phi.def].expand() {
                    memory_phis[block].extend(memory_phi(self.function, slot_of, phi, to));
                }
            }
            data.phis.retain(|phi| slot_of[phi.def].is_none());
            for arg in data.phis.iter_mut().flat_map(|phi| &mut phi.args) {
                arg.slot = arg.value.expand().and_then(|value| slot_of[value].expand()).into();
            }
        }
        memory_phis
    }
}

/// A φ in memory, if it takes an argument from another slot than its own.
fn memory_phi(function: &Function, slot_of: &SecondaryMap<Value, PackedOption<Slot>>, phi: &Phi, to: Slot) -> Option<MemoryPhi> {
    let values: Vec<Option<Value>> = phi.args.iter().map(|arg| arg.value.expand()).collect();
    let from: Vec<Option<Slot>> = values.iter().map(|value| slot_of[(*value)?].expand()).collect();
    let class = values.iter().flatten().map(|&value| function.values[value].class);
    let class = class.fold(function.values[phi.def].class, |wide, class| function.file.wider(wide, class));
    from.iter().any(|from| from.is_some_and(|from| from != to)).then_some(MemoryPhi { to, class, from })
}
