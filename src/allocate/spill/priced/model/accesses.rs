//! What instructions access: where their operands are before and behind, and what it costs if that is memory.

use super::{Builder, Home, Place};
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, FORBIDDEN, Reliance};
use crate::allocate::pressure::demand::{foldable_operands, is_first_use};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::plan::update::{changes_home, saved};
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, Function, Inst, Operand, Value};

impl Builder<'_> {
    pub(super) fn instruction(&mut self, block: Block, index: u32, inst: Inst) {
        let Problem { liveness, .. } = self.problem;
        // Nothing is refilled between terminators.
        let too_late = index > self.function.before_terminators(block).index;
        let frequency = self.function.blocks[block].frequency;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        // Nothing is to be decided about most instructions.
        let is_plain = operands.iter().all(|operand| self.is_plain(operand.value));
        let within_home = !is_plain && self.problem.copies_within_home(inst);
        for (k, operand) in operands.iter().enumerate() {
            if is_plain {
                let is_last = liveness.kills(first + k);
                self.model.places.behind[first + k] = if is_last { Place::MEMORY } else { Place::REGISTER };
            } else if operand.is_def() {
                self.stretches.define(block, operand.value);
                self.model.places.behind[first + k] = if liveness.kills(first + k) {
                    Place::MEMORY
                } else {
                    // What has been chosen to be in memory is stored there, whatever is decided.
                    let is_stored = self.chosen.is_in_memory(operand.value) && !within_home;
                    self.model.base += if is_stored { self.store(frequency) } else { 0 };
                    self.definition(block, inst, k)
                };
            } else if is_first_use(operands, k) {
                self.model.places.behind[first + k] =
                    if liveness.kills(first + k) { Place::MEMORY } else { self.segment_behind(block, inst, k) };
            }
        }
        if within_home {
            self.copy_within_home(inst, frequency);
        } else if !is_plain {
            // What has been chosen to be in memory is refilled in any case, but how often is not known yet.
            let is_wanted =
                |&k: &usize| !operands[k].is_def() && is_first_use(operands, k) && !self.chosen.spilled[operands[k].value];
            for value in (0..operands.len()).filter(is_wanted).map(|k| operands[k].value) {
                let place = self.place[value];
                if too_late {
                    self.model.in_memory(place, FORBIDDEN);
                } else {
                    self.want(value, place, Some(inst), frequency);
                }
            }
            self.cheapen_folds(inst, frequency);
            self.cheapen_update(inst, frequency);
        }
        if self.tight.insts[inst] > 0 {
            self.rows(block, inst);
        }
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() || is_first_use(operands, k) {
                let behind = self.model.places.behind[first + k];
                let before = if operand.is_def() { Place::MEMORY } else { self.place[operand.value] };
                self.change(operand.value, before, behind);
                self.place[operand.value] = behind;
            }
        }
    }

    /// The segment of a value behind an instruction that accesses it as its k-th operand.
    fn segment_behind(&mut self, block: Block, inst: Inst, k: usize) -> Place {
        let value = self.function.operands(inst)[k].value;
        let is_quiet = || self.quiet.is_to_next_use(block, inst, k) && self.is_in_register_at(inst, k);
        if self.is_open(value) && is_quiet() { Place::REGISTER } else { self.segment(value) }
    }

    /// Whether an instruction accesses this operand in a register, or could as well: not if it does nothing where it copies within a
    /// home, nor if it changes what is in memory, or reads it from there at less than a reload.
    fn is_in_register_at(&self, inst: Inst, k: usize) -> bool {
        let operands = self.function.operands(inst);
        let is_before = |k: usize| self.place[operands[k].value] == Place::REGISTER;
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

    /// The segment behind a definition by an instruction. A constant that is not wanted there is not computed. Neither is what is
    /// computed from another value, unless it is stored. (That it is computed for a store alone, is not counted.)
    fn definition(&mut self, block: Block, inst: Inst, k: usize) -> Place {
        let value = self.function.operands(inst)[k].value;
        if !self.is_open(value) || self.has_home(value) {
            return self.segment_behind(block, inst, k);
        }
        let place = self.segment(value);
        let again = self.problem.recompute(value);
        let frequency = self.function.blocks[block].frequency;
        let once = self.price(self.problem.cost_of_refill(again.unwrap_or_else(|| self.problem.refill(value)), frequency));
        self.model.in_register(place, once);
        self.model.base -= once;
        place
    }

    /// What a copy within a home costs: what is in memory is loaded if it is wanted in a register, and its copy is in its home.
    fn copy_within_home(&mut self, inst: Inst, frequency: f64) {
        let Function { insts, .. } = self.function;
        let [to, from] = [0, 1].map(|k| self.function.operands(inst)[k].value);
        let first = insts[inst].operands.start as usize;
        let before = self.place[from];
        let (wanted, load) = if self.problem.liveness.kills(first + 1) {
            (self.model.places.behind[first], self.price(self.problem.cost(cost::FOLDED_RELOAD, frequency)))
        } else {
            (self.model.places.behind[first + 1], self.price(self.problem.cost(cost::RELOAD, frequency)))
        };
        self.model.only_in(wanted, before, load);
        if self.chosen.spilled[to] {
            self.model.in_register(before, self.store(frequency));
        } else {
            self.copied.insert(inst, before);
        }
    }

    /// A value that has been in this place is wanted in a register at an instruction, or, if there is none, at a block's end. If it
    /// is in none, it is loaded from its home, or computed again if what it is computed from is in one.
    pub(super) fn want(&mut self, value: Value, place: Place, inst: Option<Inst>, frequency: f64) {
        if place == Place::REGISTER {
            return;
        }
        let problem = self.problem;
        let load = problem.refill(value);
        let cost = |refill: Refill| problem.units.price(problem.cost_of_refill(refill, frequency));
        match self.again(value, inst) {
            Some((again, Place::REGISTER)) => self.model.in_memory(place, cost(again)),
            Some((again, source)) if let Some(on) = source.decision() => {
                self.model.in_memory(place, cost(again));
                let saved = (cost(load) - cost(again)).max(0);
                let unloaded = self.load_or_rely(value, place, on, saved);
                let behind = inst.and_then(|inst| self.behind_fold(inst, value));
                let saved = self.saved_by_fold(frequency);
                behind.into_iter().for_each(|behind| self.cheapen(unloaded, behind, saved));
            }
            _ => {
                self.model.in_memory(place, cost(load));
                self.load_after_all(value, place);
            }
        }
    }

    /// How a value in memory gets into a register for an instruction: computed from another one if that may be in a register then.
    pub(super) fn refill(&self, value: Value) -> Refill {
        let may_be = |again: &Refill| matches!(*again, Refill::Recompute { from, .. } if self.place[from] != Place::MEMORY);
        self.problem.recompute(value).filter(may_be).unwrap_or_else(|| self.problem.refill(value))
    }

    /// How a value is computed again for an instruction, or, if there is none, for a block's end, and where its source is, if that
    /// may be in a register then and behind.
    fn again(&self, value: Value, inst: Option<Inst>) -> Option<(Refill, Place)> {
        let again = self.problem.recompute(value)?;
        let Refill::Recompute { from, .. } = again else { return None };
        Some((again, self.through(from, inst))).filter(|&(_, source)| source != Place::MEMORY)
    }

    /// Where a value is in a register before an instruction and behind it. What the instruction reads is if it stays in one.
    fn through(&self, value: Value, inst: Option<Inst>) -> Place {
        let read = inst.and_then(|inst| {
            let k = self.function.operands(inst).iter().position(|operand| !operand.is_def() && operand.value == value)?;
            Some(self.function.insts[inst].operands.start as usize + k)
        });
        read.map_or(self.place[value], |operand| self.model.places.behind(operand))
    }

    /// A value that is not in a register is loaded, or, which saves something, relies on the source that it is computed from: if
    /// it is not loaded, either it or that one is in a register. If it is loaded, it is in its home. Answers the decision that it
    /// is not loaded.
    fn load_or_rely(&mut self, value: Value, place: Place, on: Decision, saved: i64) -> Place {
        let unloaded = self.model.decisions.decide();
        self.model.decisions.charge(unloaded, false, saved);
        self.model.only_in(place, Place::open(unloaded), FORBIDDEN);
        let homeless = self.homeless(value);
        self.model.decisions.pair(homeless, unloaded, FORBIDDEN);
        self.model.decisions.rely(Reliance { one: unloaded, unless: place.decision(), on, saved });
        Place::open(unloaded)
    }

    /// A value that need not be in its home elsewhere is loaded here, if it is not in a register.
    fn load_after_all(&mut self, value: Value, place: Place) {
        if self.homes[value] == Home::WhereLoaded {
            let homeless = self.homeless(value);
            self.model.only_in(Place::open(homeless), place, FORBIDDEN);
        }
    }

    /// Where a value is behind an instruction that can read it from memory.
    fn behind_fold(&self, inst: Inst, value: Value) -> Option<Place> {
        let first = self.function.insts[inst].operands.start as usize;
        let reads = |&k: &usize| self.function.operands(inst)[k].value == value && !self.function.operands(inst)[k].is_def();
        let k = foldable_operands(self.function, inst, self.problem.policy.fold).find(reads)?;
        Some(self.model.places.behind[first + k])
    }

    /// An operand that is read from memory costs less than a reload, unless its value is wanted in a register behind. Of several
    /// that could be, one is, whichever; so where all are in memory, this is less than what they cost.
    fn cheapen_folds(&mut self, inst: Inst, frequency: f64) {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for k in foldable_operands(self.function, inst, self.problem.policy.fold) {
            let Operand { value, .. } = operands[k];
            let place = self.place[value];
            if operands[k].is_def() || place == Place::REGISTER || self.chosen.spilled[value] {
                continue;
            }
            let saved = match self.problem.refill(value) {
                Refill::Load if self.again(value, Some(inst)).is_none() => self.saved_by_fold(frequency),
                again if self.problem.read_in_place(inst, k).is_some() => {
                    let cost_of_refill = self.price(self.problem.cost_of_refill(again, frequency));
                    cost_of_refill - self.price(self.problem.cost(cost::READ_IN_PLACE, frequency))
                }
                _ => continue,
            };
            self.cheapen(place, self.model.places.behind[first + k], saved.max(0));
        }
    }

    /// What is overwritten in memory costs less than a load and a store, unless it is in a register before the instruction or behind.
    /// (Where another operand is read from memory, only one of both is.)
    fn cheapen_update(&mut self, inst: Inst, frequency: f64) {
        let Some([read, written]) = changes_home(self.problem, inst) else { return };
        let [before, behind] = [read, written].map(|k| self.function.operands(inst)[k].value);
        if !self.chosen.spilled[before] && !self.chosen.spilled[behind] {
            let first = self.function.insts[inst].operands.start as usize;
            let saved = self.price(saved(self.problem, frequency));
            self.cheapen(self.place[before], self.model.places.behind[first + written], saved);
        }
    }

    /// What a read from memory costs less than a load and the instruction.
    fn saved_by_fold(&self, frequency: f64) -> i64 {
        let cost = |added: cost::Added| self.price(self.problem.cost(added, frequency));
        cost(cost::RELOAD) - cost(cost::FOLDED_RELOAD)
    }

    /// What is paid where a place is not in a register costs less, unless there is a value in one behind.
    fn cheapen(&mut self, place: Place, behind: Place, saved: i64) {
        self.model.in_memory(place, -saved);
        self.model.only_in(behind, place, saved);
    }
}
