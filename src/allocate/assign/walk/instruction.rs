//! The registers of what an instruction defines: beside what is there, or, where something is in the way, with all of it anew.

use super::Walk;
use crate::allocate::assign::{Repair, Split};
use crate::allocate::failure::{Defect, Failure, Unsupported};
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::analysis::{Held, Occupancy};
use crate::machine::{Block, Inst, Reg, RegSet, Role, Value};

impl Walk<'_> {
    /// Gives the instruction's definitions registers if nothing else has to move; says whether that was possible.
    pub(super) fn simple(&mut self, block: Block, inst: Inst, occupancy: &Occupancy) -> bool {
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
        // Those first that have fewer choices.
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
            let parted = self.parted(block, dying, &copies);
            copies.extend(parted);
        }
        if !copies.is_empty() {
            self.result.repairs.push(Repair { before: inst, splits: copies });
        }
        true
    }

    /// New names for what lives on in its block where a copy of it is overwritten. They stay where the values are.
    fn parted(&self, block: Block, dying: RegSet, copies: &[Split]) -> Vec<Split> {
        let mut parted: Vec<Split> = Vec::new();
        for &Split { value, .. } in copies {
            let to = self.at(value);
            let lives_on = !dying.contains(to) && self.liveness.live_out(block).binary_search(&value).is_err();
            if lives_on && parted.iter().all(|split| split.value != value) {
                parted.push(Split { value, to, operand: None });
            }
        }
        parted
    }

    /// The registers of the values that die at the instruction.
    fn dying(&self, inst: Inst) -> RegSet {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst).iter().enumerate();
        operands
            .filter(|&(k, o)| !o.is_def() && self.liveness.kills(first + k))
            .filter(|(_, o)| self.owner[self.at(o.value).index()] == Some(o.value))
            .map(|(_, o)| self.at(o.value))
            .collect()
    }

    /// Whether a value may take over a register: if pins are avoided, one that it can keep all its life.
    fn is_lasting(&self, value: Value, reg: Reg) -> bool {
        self.policy.pins.moves() || self.evicted[value] || !self.preferences.contested(value).contains(reg)
    }

    /// The dying value whose register a definition takes over: it has to be the first definition to reuse it.
    fn chained(&self, inst: Inst, def: usize) -> Option<Value> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        let source = operands[reused].value;
        let reuses = |o: &crate::machine::Operand| o.reuse.is_some_and(|u| operands[usize::from(u)].value == source);
        let dies = self.liveness.kills(first + reused) && !self.evicted[source];
        (dies && operands.iter().position(reuses) == Some(def)).then_some(source)
    }

    /// Registers that a definition may have together with the use it reuses.
    fn spannable(&self, inst: Inst, def: usize) -> RegSet {
        let operands = self.function.operands(inst);
        let own = self.function.allowed(operands[def].value);
        operands[def].reuse.map_or(own, |reused| own & self.function.allowed(operands[usize::from(reused)].value))
    }

    /// The split that brings a value that lives on into the register of the definition that overwrites it.
    fn reuse_copy(&self, inst: Inst, def: usize, to: Reg) -> Option<Split> {
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        Some(Split { value: operands[reused].value, to, operand: Some(reused) })
    }

    /// Notes where the instruction reads its uses: where they are, or, overwritten, where the definition is.
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

    /// Finds new registers for everything at an instruction whose pins or classes are in the way of the values' present
    /// ones. What stays where it is gets a new name only if asked to.
    pub(super) fn repair(&mut self, block: Block, inst: Inst, occupancy: &Occupancy, rename: bool) -> Result<(), Failure> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let spanning = occupancy.before | occupancy.after;
        let dying = self.dying(inst);
        let index = inst.as_u32() - self.function.blocks[block].insts.start;
        let early: Vec<(Value, Reg)> = self.early(inst, index as usize).collect();
        let mut values = Vec::new();
        let mut wants = Vec::new();
        // What cannot move, and where it could if control had not left for where it is wanted.
        let mut held_back = Vec::new();
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
            if self.departed.contains(&value) {
                held_back.push((wants.len(), want.domain));
                want.domain = want.domain & RegSet::only(reg);
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
            held_back.into_iter().for_each(|(at, domain)| wants[at].domain |= domain);
            without_registers(block, index, fit(&wants).is_some())
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

    /// Has what crosses to landing pads from here be spilled: it meets where it is in the way of what a class confines. (How many
    /// values cross has been seen to, but not in which of the registers; those of classes are nested, nearly always.)
    fn evict_crossing_pads(&mut self, live: &[Value]) {
        let Some(bundle) = self.leaving.filter(|&bundle| self.bundles.meeting(bundle).at_pads) else { return };
        let crossing: Vec<Value> = live.iter().copied().filter(|&value| self.place(bundle, value).is_some()).collect();
        crossing.into_iter().for_each(|value| self.evicted[self.function.original(value)] = true);
    }

    /// Moves the live values to their new registers.
    fn relocate(&mut self, values: &[Value], registers: &[Reg]) {
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        for (&value, &reg) in values.iter().zip(registers) {
            self.put(value, reg);
        }
    }
}

/// Why there are no registers for the values at an instruction: unless there were some if what is live where inline assembly has
/// jumped to could move, spilling has left too many.
fn without_registers(block: Block, index: u32, movable: bool) -> Failure {
    if movable {
        return Unsupported(format!("a value would have to move behind the inline assembly that jumps in {block}")).into();
    }
    Defect::Impossible(format!("no registers for the values at instruction {index} of {block}")).into()
}
