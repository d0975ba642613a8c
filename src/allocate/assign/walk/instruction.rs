//! The registers of an instruction's definitions, and the moves of values that are in their way.
//!
//! Mostly, definitions find free registers ([`DominanceWalk::simple`]). Otherwise, all live values and the definitions are
//! matched with registers anew ([`DominanceWalk::repair`]); values that have to move do so in a parallel copy before the
//! instruction.

use super::DominanceWalk;
use crate::allocate::assign::{Repair, Split};
use crate::allocate::failure::{Defect, Failure};
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::analysis::{Held, Occupancy};
use crate::machine::{Block, Inst, Reg, RegSet, Role, Value};

impl DominanceWalk<'_> {
    /// Gives the definitions registers if nothing else has to move for that, and says whether that was possible.
    pub(super) fn simple(&mut self, inst: Inst, occupancy: &Occupancy) -> bool {
        let dying = self.dying(inst);
        if (self.taken - dying - self.held(inst)).intersects(occupancy.before | occupancy.after | occupancy.clobbers)
            || (dying - self.held(inst)).intersects(occupancy.before)
        {
            return false;
        }
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let mut spanning = RegSet::EMPTY;
        let mut after = RegSet::EMPTY;
        let mut copies = Vec::new();
        // Definitions that need their registers while operands are read have fewer choices, and come first.
        for role in [Span::Both, Span::After] {
            for (k, operand) in operands.iter().enumerate() {
                let both = operand.reuse.is_some() || operand.role == Role::EarlyDef;
                if !operand.is_def() || both != (role == Span::Both) {
                    continue;
                }
                let allowed = self.function.allowed(operand.value) - occupancy.after - spanning - after;
                let source = self.chained(inst, k).map(|source| self.at(source));
                let reg = if !both {
                    let choices = self.choices(operand.value, allowed, dying, false);
                    self.best(operand.value, choices)
                } else if let Some(reg) = source.filter(|&reg| self.is_lasting(operand.value, reg)) {
                    Some(reg).filter(|&reg| allowed.contains(reg))
                } else {
                    let allowed = self.spannable(inst, k) & (allowed - occupancy.before);
                    let choices = self.choices(operand.value, allowed, dying, true);
                    self.best(operand.value, choices)
                };
                let Some(reg) = reg else { return false };
                if both {
                    spanning.insert(reg)
                } else {
                    after.insert(reg)
                }
                self.result.operands[first + k] = Some(reg);
                if both && source != Some(reg) {
                    copies.extend(self.reuse_copy(inst, k, reg));
                }
            }
        }
        self.record_uses(inst);
        if self.policy.split_ties {
            let parted = self.parted(dying, &copies);
            copies.extend(parted);
        }
        if !copies.is_empty() {
            self.result.repairs.push(Repair { before: inst, splits: copies });
        }
        true
    }

    /// New names, in their present registers, for values of which a copy is overwritten and that live on. The definition can then
    /// take over the value's register, and the value move to another: in a loop, one to which a φ would move it anyway.
    fn parted(&self, dying: RegSet, copies: &[Split]) -> Vec<Split> {
        let mut parted: Vec<Split> = Vec::new();
        for &Split { value, .. } in copies {
            let to = self.at(value);
            let lives_on = !dying.contains(to);
            if lives_on && parted.iter().all(|split| split.value != value) {
                parted.push(Split { value, to, operand: None });
            }
        }
        parted
    }

    /// The registers of the values that die at an instruction.
    fn dying(&self, inst: Inst) -> RegSet {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst).iter().enumerate();
        operands
            .filter(|&(k, o)| !o.is_def() && self.liveness.kills(first + k))
            .filter(|(_, o)| self.owner[self.at(o.value).index()] == Some(o.value))
            .map(|(_, o)| self.at(o.value))
            .collect()
    }

    /// Whether a value may take over a register. If pins are avoided, it must be able to keep it all its life.
    fn is_lasting(&self, value: Value, reg: Reg) -> bool {
        self.policy.pins.moves() || self.evicted[value] || !self.preferences.contested(value).contains(reg)
    }

    /// The dying value whose register a definition takes over, if it is the first definition that reuses it.
    fn chained(&self, inst: Inst, def: usize) -> Option<Value> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        let source = operands[reused].value;
        let reuses = |o: &crate::machine::Operand| o.reuse.is_some_and(|u| operands[usize::from(u)].value == source);
        let dies = self.liveness.kills(first + reused) && !self.evicted[source];
        (dies && operands.iter().position(reuses) == Some(def)).then_some(source)
    }

    /// The registers that both a definition and the use that it reuses may have.
    fn spannable(&self, inst: Inst, def: usize) -> RegSet {
        let operands = self.function.operands(inst);
        let own = self.function.allowed(operands[def].value);
        operands[def].reuse.map_or(own, |reused| own & self.function.allowed(operands[usize::from(reused)].value))
    }

    /// The split that copies a value that lives on to the register of the definition that overwrites the copy.
    fn reuse_copy(&self, inst: Inst, def: usize, to: Reg) -> Option<Split> {
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        Some(Split { value: operands[reused].value, to, operand: Some(reused) })
    }

    /// Notes the registers in which the instruction reads its uses: those of the values, or those of the definitions that
    /// overwrite them.
    fn record_uses(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            if !operand.is_def() {
                self.result.operands[first + k] = Some(self.at(operand.value));
            }
        }
        for (k, operand) in operands.iter().enumerate() {
            if let Some(reused) = operand.reuse {
                self.result.operands[first + usize::from(reused)] = self.result.operands[first + k];
            }
        }
    }

    /// Finds new registers for all live values and definitions at an instruction, because its pins or classes are in the way
    /// of the present ones. Values that stay where they are get new names only with `rename`.
    pub(super) fn repair(&mut self, block: Block, inst: Inst, occupancy: &Occupancy, rename: bool) -> Result<(), Failure> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let spanning = occupancy.before | occupancy.after;
        let dying = self.dying(inst);
        let index = inst.as_u32() - self.function.blocks[block].insts.start;
        let early: Vec<(Value, Reg)> = self.early(inst, index as usize).collect();
        let mut values = Vec::new();
        let mut wants = Vec::new();
        for reg in self.taken.iter() {
            let value = self.owner[reg.index()].expect("a taken register has an owner");
            let holder = self.holder(inst, value, reg);
            let mut want = if dying.contains(reg) {
                let holder = holder.filter(|it| it.before).map_or(RegSet::EMPTY, |it| RegSet::only(it.reg));
                self.want(value, Span::Before, occupancy.before - holder, Some(reg))
            } else {
                let holder = holder.map_or(RegSet::EMPTY, |it| RegSet::only(it.reg));
                let occupied = (spanning | occupancy.clobbers) - holder;
                self.want(value, Span::Both, occupied, Some(reg))
            };
            let is_needed = |it: &Held| !it.before && self.holding.contains(inst);
            if let Some(it) = holder.filter(|it| is_needed(it) || self.stays_held(inst, value)) {
                want.domain = RegSet::only(it.reg);
            }
            if let Some(&(_, place)) = early.iter().find(|&&(moving, _)| moving == value) {
                want.current = Some(place);
            }
            if let Some(place) = self.leaving.and_then(|bundle| self.place(bundle, value)) {
                want.domain = want.domain & RegSet::only(place);
            }
            values.push(value);
            wants.push(want);
        }
        let live = values.len();
        let mut defs = Vec::new();
        for (k, operand) in operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
            if let Some(source) = self.chained(inst, k) {
                let index = values.iter().position(|&v| v == source).expect("a dying value is live");
                let domain = self.spannable(inst, k) - spanning;
                wants[index] =
                    Want { span: Span::Both, domain, current: wants[index].current, order: self.ranked(source, domain).into() };
                defs.push((k, index));
                continue;
            }
            let span = if operand.reuse.is_some() || operand.role == Role::EarlyDef { Span::Both } else { Span::After };
            let mut want = self.want(operand.value, span, if span == Span::Both { spanning } else { occupancy.after }, None);
            want.domain = want.domain & self.spannable(inst, k);
            defs.push((k, wants.len()));
            wants.push(want);
        }
        let registers = fit(&wants).ok_or_else(|| {
            self.evict_crossing_pads(&values);
            Defect::Impossible(format!("no registers for the values at instruction {index} of {block}"))
        })?;
        let mut splits = Vec::new();
        for &(k, index) in &defs {
            self.result.operands[first + k] = Some(registers[index]);
            if index >= live {
                splits.extend(self.reuse_copy(inst, k, registers[index]));
            }
        }
        let moved = values.iter().zip(&registers).filter(|&(&value, &to)| rename || self.at(value) != to);
        splits.extend(moved.map(|(&value, &to)| Split { value, to, operand: None }));
        self.relocate(&values, &registers);
        self.record_uses(inst);
        if !splits.is_empty() {
            self.result.repairs.push(Repair { before: inst, splits });
        }
        Ok(())
    }

    /// Evicts the values that cross to landing pads from here. They meet in registers that are needed by values of smaller
    /// classes.
    ///
    /// Spilling has limited the number of values that cross, but not in which registers they do. That would be enough if
    /// classes were always nested, as they nearly always are.
    fn evict_crossing_pads(&mut self, live: &[Value]) {
        let Some(bundle) = self.leaving.filter(|&bundle| self.bundles.meeting(bundle).at_pads) else { return };
        let crossing: Vec<Value> = live.iter().copied().filter(|&value| self.place(bundle, value).is_some()).collect();
        crossing.into_iter().for_each(|value| self.evicted[self.function.original(value)] = true);
    }

    /// Puts the live values into their new registers.
    fn relocate(&mut self, values: &[Value], registers: &[Reg]) {
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        for (&value, &reg) in values.iter().zip(registers) {
            self.put(value, reg);
        }
    }
}
