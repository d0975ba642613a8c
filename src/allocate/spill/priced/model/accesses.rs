//! The accesses of instructions: the residences of their operands before and after, and the cost of those that are memory.

use super::{Builder, Residence, Stored};
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, FORBIDDEN, Implication};
use crate::allocate::pressure::demand::{foldable_operands, is_first_use};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::plan::update::{changes_home, saved};
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Function, Inst, Operand, Value};

impl Builder<'_> {
    pub(super) fn instruction(&mut self, block: Block, index: u32, inst: Inst) {
        let frequency = self.function.blocks[block].frequency;
        // There is nothing to decide about most instructions.
        let is_unaffected = self.function.operands(inst).iter().all(|operand| self.is_unaffected(operand.value));
        let within_home = !is_unaffected && self.problem.copies_within_home(inst);
        match is_unaffected {
            true => self.stay_in_registers(inst),
            false => self.begin_segments(block, inst, within_home),
        }
        if within_home {
            self.copy_within_home(inst, frequency);
        } else if !is_unaffected {
            self.need_operands(block, index, inst);
            self.discount_folds(inst, frequency);
            self.discount_update(inst, frequency);
        }
        if self.pressure.insts[inst] > 0 {
            self.constrain_instruction(block, inst);
        }
        self.pass(inst);
    }

    /// Operands about which there is nothing to decide stay in registers as long as they live.
    fn stay_in_registers(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for operand in first..first + self.function.operands(inst).len() {
            let is_last = self.problem.liveness.kills(operand);
            self.model.residences.after[operand] = if is_last { Residence::MEMORY } else { Residence::REGISTER };
        }
    }

    /// Begins the segments of an instruction's operands after it.
    fn begin_segments(&mut self, block: Block, inst: Inst, within_home: bool) {
        let Problem { liveness, .. } = self.problem;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() {
                self.store_regions.define(block, operand.value);
                self.model.residences.after[first + k] = if liveness.kills(first + k) {
                    Residence::MEMORY
                } else {
                    // A value that has been chosen to be in memory is stored after its definition, whatever is decided.
                    let is_stored = self.chosen.is_in_memory(operand.value) && !within_home;
                    let frequency = self.function.blocks[block].frequency;
                    self.model.base += if is_stored { self.cost_of_store(frequency) } else { 0 };
                    self.definition(block, inst, k)
                };
            } else if is_first_use(operands, k) {
                self.model.residences.after[first + k] =
                    if liveness.kills(first + k) { Residence::MEMORY } else { self.segment_after(block, inst, k) };
            }
        }
    }

    /// States what it costs if the values that an instruction reads are in memory before it.
    fn need_operands(&mut self, block: Block, index: u32, inst: Inst) {
        // Nothing can be refilled between terminators.
        let too_late = index > self.function.before_terminators(block).index;
        let operands = self.function.operands(inst);
        // Values that have been chosen to be in memory are refilled in any case; how often is not known yet.
        let is_needed =
            |&k: &usize| !operands[k].is_def() && is_first_use(operands, k) && !self.chosen.spilled[operands[k].value];
        for value in (0..operands.len()).filter(is_needed).map(|k| operands[k].value) {
            let residence = self.residence[value];
            if too_late {
                self.model.in_memory(residence, FORBIDDEN);
            } else {
                self.need_in_register(value, residence, Some(inst), self.function.blocks[block].frequency);
            }
        }
    }

    /// Operands have their residences after an instruction from here on.
    fn pass(&mut self, inst: Inst) {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() || is_first_use(operands, k) {
                let after = self.model.residences.after[first + k];
                let before = if operand.is_def() { Residence::MEMORY } else { self.residence[operand.value] };
                self.change(operand.value, before, after);
                self.residence[operand.value] = after;
            }
        }
    }

    /// The segment of a value after an instruction that accesses it as its k-th operand.
    fn segment_after(&mut self, block: Block, inst: Inst, k: usize) -> Residence {
        let value = self.function.operands(inst)[k].value;
        let is_uncontended = || self.uncontended.is_to_next_use(block, inst, k) && self.is_in_register_at(inst, k);
        if self.is_open(value) && is_uncontended() { Residence::REGISTER } else { self.segment(value) }
    }

    /// Whether an instruction accesses this operand in a register, or might as well. It does not if it changes its value in
    /// memory, if it reads it there for less than a reload, or if it is a copy within a home, which then does nothing.
    fn is_in_register_at(&self, inst: Inst, k: usize) -> bool {
        let operands = self.function.operands(inst);
        let is_before = |k: usize| self.residence[operands[k].value] == Residence::REGISTER;
        if self.problem.copies_within_home(inst) {
            return is_before(1);
        }
        if operands[k].is_def() {
            let changes = changes_home(self.problem, inst).filter(|&[_, written]| written == k);
            return changes.is_none_or(|[read, _]| is_before(read));
        }
        let may_read = || foldable_operands(self.function, inst, self.problem.policy.fold).any(|read| read == k);
        is_before(k) || !may_read()
    }

    /// The segment after a definition. A constant that is in no register after it is not computed there; nor is a value that
    /// can be recomputed, unless it is stored. (Computing it for a store alone is not charged.)
    fn definition(&mut self, block: Block, inst: Inst, k: usize) -> Residence {
        let value = self.function.operands(inst)[k].value;
        if !self.is_open(value) || self.has_home(value) {
            return self.segment_after(block, inst, k);
        }
        let residence = self.segment(value);
        let recompute = self.problem.recompute(value);
        let frequency = self.function.blocks[block].frequency;
        let once = self.cost(self.problem.cost_of_refill(recompute.unwrap_or_else(|| self.problem.refill(value)), frequency));
        self.model.in_register(residence, once);
        self.model.base -= once;
        residence
    }

    /// The cost of a copy within a home: a load, if its source is in memory and needed in a register. The copy of a source
    /// in memory is in its home already.
    fn copy_within_home(&mut self, inst: Inst, frequency: f64) {
        let Function { insts, .. } = self.function;
        let [to, from] = [0, 1].map(|k| self.function.operands(inst)[k].value);
        let first = insts[inst].operands.start as usize;
        let before = self.residence[from];
        let (needed, load) = if self.problem.liveness.kills(first + 1) {
            (self.model.residences.after[first], self.cost(self.problem.cost(cost::FOLDED_RELOAD, frequency)))
        } else {
            (self.model.residences.after[first + 1], self.cost(self.problem.cost(cost::RELOAD, frequency)))
        };
        self.model.only_in(needed, before, load);
        if self.chosen.spilled[to] {
            self.model.in_register(before, self.cost_of_store(frequency));
        } else {
            self.copied.insert(inst, before);
        }
    }

    /// A value with this residence is needed in a register by an instruction, or, without one, at the end of the block. If
    /// it is in none, it is loaded from its home, or recomputed if its source is in a register.
    pub(super) fn need_in_register(&mut self, value: Value, residence: Residence, inst: Option<Inst>, frequency: f64) {
        if residence == Residence::REGISTER {
            return;
        }
        let problem = self.problem;
        let load = problem.refill(value);
        let cost = |refill: Refill| problem.units.cost(problem.cost_of_refill(refill, frequency));
        match self.recomputation(value, inst) {
            Some((recompute, Residence::REGISTER)) => self.model.in_memory(residence, cost(recompute)),
            Some((recompute, source)) if let Some(source) = source.decision() => {
                self.model.in_memory(residence, cost(recompute));
                let saved = (cost(load) - cost(recompute)).max(0);
                let unloaded = self.load_or_imply(value, residence, source, saved);
                let after = inst.and_then(|inst| self.after_fold(inst, value));
                let saved = inst.map_or(0, |inst| self.saved_by_fold(inst, frequency));
                after.into_iter().for_each(|after| self.discount(unloaded, after, saved));
            }
            _ => {
                self.model.in_memory(residence, cost(load));
                self.need_home_to_load(value, residence);
            }
        }
    }

    /// The refill of a value for an instruction: recomputation, if its source may be in a register.
    pub(super) fn refill(&self, value: Value) -> Refill {
        let may_be = |recompute: &Refill| match *recompute {
            Refill::Recompute { from, .. } => self.residence[from] != Residence::MEMORY,
            _ => false,
        };
        self.problem.recompute(value).filter(may_be).unwrap_or_else(|| self.problem.refill(value))
    }

    /// How a value is recomputed for an instruction, or, without one, at the end of the block; and the residence of its
    /// source, if that may be in a register before and after.
    fn recomputation(&self, value: Value, inst: Option<Inst>) -> Option<(Refill, Residence)> {
        let recompute = self.problem.recompute(value)?;
        let Refill::Recompute { from, .. } = recompute else { return None };
        Some((recompute, self.residence_across(from, inst))).filter(|&(_, source)| source != Residence::MEMORY)
    }

    /// The residence of a value across an instruction. One that the instruction reads counts if it stays in its register.
    fn residence_across(&self, value: Value, inst: Option<Inst>) -> Residence {
        let read = inst.and_then(|inst| {
            let k = self.function.operands(inst).iter().position(|operand| !operand.is_def() && operand.value == value)?;
            Some(self.function.insts[inst].operands.start as usize + k)
        });
        read.map_or(self.residence[value], |operand| self.model.residences.after(operand))
    }

    /// A value that is in no register is loaded, or, which saves something, recomputed from a source in a register. States a
    /// new decision, "not loaded", which implies that the value or its source is in a register. At 0, the value's home has
    /// been written. Answers the decision.
    fn load_or_imply(&mut self, value: Value, residence: Residence, source: Decision, saved: i64) -> Residence {
        let unloaded = self.model.decisions.decide();
        self.model.decisions.charge(unloaded, false, saved);
        self.model.only_in(residence, Residence::decided_by(unloaded), FORBIDDEN);
        let unwritten = self.unwritten(value);
        self.model.decisions.pair(unwritten, unloaded, FORBIDDEN);
        self.model.decisions.imply(Implication { premise: unloaded, unless: residence.decision(), conclusion: source, saved });
        Residence::decided_by(unloaded)
    }

    /// A value that need not be in its home elsewhere is loaded here, unless it is in a register.
    fn need_home_to_load(&mut self, value: Value, residence: Residence) {
        if self.stored[value] == Stored::WhereLoaded {
            let unwritten = self.unwritten(value);
            self.model.only_in(Residence::decided_by(unwritten), residence, FORBIDDEN);
        }
    }

    /// The residence of a value after an instruction that could read it from memory.
    fn after_fold(&self, inst: Inst, value: Value) -> Option<Residence> {
        let first = self.function.insts[inst].operands.start as usize;
        let reads = |&k: &usize| self.function.operands(inst)[k].value == value && !self.function.operands(inst)[k].is_def();
        let k = foldable_operands(self.function, inst, self.problem.policy.fold).find(reads)?;
        Some(self.model.residences.after[first + k])
    }

    /// An operand that is read from memory costs less than a reload, unless its value is needed in a register afterwards. Of
    /// several such operands, only one is read from memory, so where all are in memory, the labelling costs less than its
    /// plan.
    fn discount_folds(&mut self, inst: Inst, frequency: f64) {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for k in foldable_operands(self.function, inst, self.problem.policy.fold) {
            let Operand { value, .. } = operands[k];
            let residence = self.residence[value];
            if operands[k].is_def() || residence == Residence::REGISTER || self.chosen.spilled[value] {
                continue;
            }
            let saved = match self.problem.refill(value) {
                Refill::Load if self.recomputation(value, Some(inst)).is_none() => self.saved_by_fold(inst, frequency),
                recompute if self.problem.read_in_place(inst, k).is_some() => {
                    let cost_of_refill = self.cost(self.problem.cost_of_refill(recompute, frequency));
                    cost_of_refill - self.cost(self.problem.cost(cost::READ_IN_PLACE, frequency))
                }
                _ => continue,
            };
            self.discount(residence, self.model.residences.after[first + k], saved.max(0));
        }
    }

    /// A value that is changed in memory costs less than a load and a store, unless it is in a register before or after.
    /// (Where another operand could be read from memory, only one of the two is in memory.)
    fn discount_update(&mut self, inst: Inst, frequency: f64) {
        let Some([read, written]) = changes_home(self.problem, inst) else { return };
        let [before, after] = [read, written].map(|k| self.function.operands(inst)[k].value);
        if !self.chosen.spilled[before] && !self.chosen.spilled[after] {
            let first = self.function.insts[inst].operands.start as usize;
            let saved = self.cost(saved(self.problem, frequency));
            self.discount(self.residence[before], self.model.residences.after[first + written], saved);
        }
    }

    /// The difference between a reload and a read from memory.
    fn saved_by_fold(&self, inst: Inst, frequency: f64) -> i64 {
        self.cost(self.problem.cost(cost::RELOAD, frequency)) - self.cost(self.problem.cost_of_fold(inst, frequency))
    }

    /// Lowers the cost of a segment in memory, unless the segment after it is in a register.
    fn discount(&mut self, residence: Residence, after: Residence, saved: i64) {
        self.model.in_memory(residence, -saved);
        self.model.only_in(after, residence, saved);
    }
}
