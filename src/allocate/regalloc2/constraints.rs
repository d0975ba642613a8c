//! The constraint of each operand, in regalloc2's terms.
//!
//! | operand | regalloc2 |
//! |---|---|
//! | use | early; late if the instruction writes a tied definition early |
//! | definition, early definition | late, early |
//! | tied definition | `Reuse`; where its class or the use's leaves registers out, both name one that both have |
//! | foldable use | `Any`, for one of an instruction's, if its class leaves no register out |
//! | copy within a bank | `Reuse` |
//! | copy to and from a physical register | that register; if the value's class has not got it, `Any` |
//! | class that is its whole bank, or has its lowest numbers | `Reg`, `Limit` |
//! | other class | a register of it: the one named before for the value, if that is free |
//!
//! (Tied operands have no limits: regalloc2 moves the use to where it has put the definition, whatever constraint the use
//! has.)

use super::registers::{Demand, Registers};
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::is_overwritten;
use crate::machine::{Function, Inst, InstKind, Operand, Reg, RegSet, Role, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use regalloc2::{OperandConstraint, OperandPos};

/// How an operand is handed over to regalloc2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) constraint: OperandConstraint,
    pub(super) pos: OperandPos,
}

/// The registers that are taken at an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// While operands are read.
    pub(super) early: RegSet,
    /// When definitions are written.
    pub(super) late: RegSet,
    /// In between: a definition may be there, a value that lives on may not.
    pub(super) clobbered: RegSet,
}

/// When an operand is in its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Span {
    /// While operands are read.
    Reading,
    /// When definitions are written.
    Writing,
    /// Throughout the instruction.
    Both,
}

/// Finds constraints, and remembers which registers have been named for values.
pub(super) struct Constraints<'a> {
    function: &'a Function,
    registers: &'a Registers,
    named: SecondaryMap<Value, Option<Reg>>,
}

impl<'a> Constraints<'a> {
    pub(super) fn new(function: &'a Function, registers: &'a Registers) -> Self {
        Constraints { function, registers, named: SecondaryMap::new() }
    }

    /// The constraints of an instruction's operands. `present` says which of them are handed over, and with which index
    /// among the operands of regalloc2's instruction. An instruction that throws is the `last` of a block for regalloc2;
    /// there the fast allocator needs definitions in named registers.
    ///
    /// # Errors
    /// If a register has to be named and none is free.
    pub(super) fn of_instruction(
        &mut self,
        inst: Inst,
        present: &[Option<usize>],
        last: bool,
        taken: &mut Taken,
    ) -> Result<Vec<Option<Wish>>, Unsupported> {
        match self.function.insts[inst].kind {
            InstKind::CopyTo(reg) => Ok(vec![present[0].map(|_| self.of_copy_to(inst, reg, taken)).transpose()?]),
            InstKind::CopyFrom(_) => Ok(vec![Some(self.of_copy_from(inst, taken)?)]),
            _ => self.of_operation(inst, present, last, taken),
        }
    }

    /// The register in which a copy finds its value, if the value may stay there.
    pub(super) fn arrival(&self, inst: Inst) -> Option<Reg> {
        match self.function.insts[inst].kind {
            InstKind::CopyFrom(reg) => self.has(&self.function.operands(inst)[0], reg).then_some(reg),
            _ => None,
        }
    }

    /// The operand that may be accessed in memory, if there is one. If values have another form in memory for each width,
    /// only loads and stores access their slot.
    pub(super) fn foldable(&self, inst: Inst) -> Option<usize> {
        let operands = self.function.operands(inst);
        match self.function.insts[inst].kind {
            InstKind::Copy => operands.iter().position(|o| !o.is_def() && self.function.has_one_form(o.value)),
            InstKind::CopyTo(reg) => {
                let bank = self.function.file.bank(reg);
                let value = &operands[0];
                (self.function.has_one_form(value.value) && bank == Some(self.bank(value))).then_some(0)
            }
            // If a value is read twice, one operand might be in memory and the other in a register, and there is no such
            // instruction.
            _ => (0..operands.len()).find(|&k| {
                let o = &operands[k];
                let reads = operands.iter().filter(|other| !other.is_def() && other.value == o.value).count();
                o.foldable && !is_overwritten(operands, k) && reads == 1 && self.function.has_one_form(o.value)
            }),
        }
    }

    /// Of a value that is moved to or from its home.
    pub(super) fn of_transfer(&mut self, value: Value, taken: &mut Taken) -> Result<OperandConstraint, Unsupported> {
        self.constraint(value, taken, Span::Both)
    }

    fn bank(&self, operand: &Operand) -> crate::machine::Bank {
        self.function.file.classes[self.function.values[operand.value].class].bank
    }

    /// Whether the operand's class contains all registers that values of its bank can be in.
    fn is_whole(&self, operand: &Operand) -> bool {
        self.registers.demand(self.function.allowed(operand.value)) == Demand::Constraint(OperandConstraint::Reg)
    }

    fn has(&self, operand: &Operand, reg: Reg) -> bool {
        self.function.allowed(operand.value).contains(reg)
    }

    fn of_copy_to(&mut self, inst: Inst, reg: Reg, taken: &mut Taken) -> Result<Wish, Unsupported> {
        let operand = self.function.operands(inst)[0];
        let constraint = match self.registers.preg(reg) {
            Some(preg) if self.has(&operand, reg) && !taken.early.contains(reg) => OperandConstraint::FixedReg(preg),
            _ if self.foldable(inst).is_some() && self.is_whole(&operand) => OperandConstraint::Any,
            _ => self.constraint(operand.value, taken, Span::Reading)?,
        };
        Ok(Wish { constraint, pos: OperandPos::Early })
    }

    fn of_copy_from(&mut self, inst: Inst, taken: &mut Taken) -> Result<Wish, Unsupported> {
        let operand = self.function.operands(inst)[0];
        if let Some(preg) = self.arrival(inst).and_then(|reg| self.registers.preg(reg)) {
            return Ok(Wish { constraint: OperandConstraint::FixedReg(preg), pos: OperandPos::Early });
        }
        self.definition(&operand, false, taken)
    }

    fn of_operation(
        &mut self,
        inst: Inst,
        present: &[Option<usize>],
        last: bool,
        taken: &mut Taken,
    ) -> Result<Vec<Option<Wish>>, Unsupported> {
        let operands = self.function.operands(inst);
        let is_copy = self.function.insts[inst].kind == InstKind::Copy;
        let foldable = if is_copy { None } else { self.foldable(inst) };
        let written_early = operands.iter().any(|o| o.role == Role::EarlyDef && o.reuse.is_some());
        // Where a definition is tied, regalloc2 keeps it apart from the other uses as if they were late.
        let ties = operands.iter().any(|o| o.reuse.is_some());
        if operands.iter().filter(|o| o.reuse.is_some()).count() > 1 && reads_what_it_overwrites(operands) {
            return Err(Unsupported(
                "regalloc2 mistakes values where two definitions are tied and what one overwrites is read again".into(),
            ));
        }
        let span = if ties { Span::Both } else { Span::Reading };
        let mut wishes: Vec<Option<Wish>> = vec![None; operands.len()];
        let (uses, defs): (Vec<usize>, Vec<usize>) = (0..operands.len()).partition(|&k| !operands[k].is_def());
        for k in uses.into_iter().filter(|&k| present[k].is_some()) {
            let tied = operands.iter().position(|o| o.reuse.map(usize::from) == Some(k));
            let late = written_early && tied.is_none();
            let constraint = match tied {
                _ if foldable == Some(k) && self.is_whole(&operands[k]) => OperandConstraint::Any,
                Some(def) => self.tied(&operands[k], &operands[def], last, taken)?,
                None => self.constraint(operands[k].value, taken, span)?,
            };
            wishes[k] = Some(Wish { constraint, pos: if late { OperandPos::Late } else { OperandPos::Early } });
        }
        for k in defs {
            let partner = operands[k].reuse.map(usize::from).or_else(|| self.copied(inst, k));
            let use_of = partner.and_then(|partner| Some((present[partner]?, wishes[partner]?)));
            wishes[k] = Some(match use_of {
                Some((at, of_use)) => self.overwriting(&operands[k], at, of_use, is_copy, taken)?,
                None => self.definition(&operands[k], last, taken)?,
            });
        }
        Ok(wishes)
    }

    /// The use that a definition copies, if the instruction is a copy.
    fn copied(&self, inst: Inst, def: usize) -> Option<usize> {
        (self.function.insts[inst].kind == InstKind::Copy).then(|| 1 - def)
    }

    /// A use whose register is that of a definition, too.
    fn tied(&mut self, usage: &Operand, def: &Operand, last: bool, taken: &mut Taken) -> Result<OperandConstraint, Unsupported> {
        if !last && self.is_whole(usage) && self.is_whole(def) {
            return Ok(OperandConstraint::Reg);
        }
        let both = self.function.allowed(usage.value) & self.function.allowed(def.value);
        let named = self.name(usage.value, both, taken, Span::Both)?;
        self.named[def.value] = self.named[usage.value];
        Ok(named)
    }

    /// A definition that overwrites a use, or copies it.
    fn overwriting(
        &mut self,
        def: &Operand,
        at: usize,
        of_use: Wish,
        is_copy: bool,
        taken: &mut Taken,
    ) -> Result<Wish, Unsupported> {
        match of_use.constraint {
            OperandConstraint::Reg if self.is_whole(def) => Ok(Wish { constraint: reuse(at)?, pos: OperandPos::Late }),
            _ if is_copy => self.definition(def, false, taken),
            named => Ok(Wish { constraint: named, pos: OperandPos::Late }),
        }
    }

    /// A definition in a register of its own. If all that it could have are clobbered, regalloc2 would find none.
    fn definition(&mut self, def: &Operand, named: bool, taken: &mut Taken) -> Result<Wish, Unsupported> {
        let allowed = self.function.allowed(def.value);
        let (pos, span) = match def.role {
            Role::EarlyDef => (OperandPos::Early, Span::Both),
            _ => (OperandPos::Late, Span::Writing),
        };
        let constraint = if named || (allowed - taken.late - taken.clobbered).is_empty() {
            self.name(def.value, allowed, taken, span)?
        } else {
            self.constraint(def.value, taken, span)?
        };
        Ok(Wish { constraint, pos })
    }

    /// Any register of the value's class.
    fn constraint(&mut self, value: Value, taken: &mut Taken, span: Span) -> Result<OperandConstraint, Unsupported> {
        let set = self.function.allowed(value);
        match self.registers.demand(set) {
            Demand::Constraint(constraint) => Ok(constraint),
            Demand::One => self.name(value, set, taken, span),
        }
    }

    /// One register of the set.
    fn name(&mut self, value: Value, set: RegSet, taken: &mut Taken, span: Span) -> Result<OperandConstraint, Unsupported> {
        let before = self.named[value];
        let free = match span {
            Span::Reading => set - taken.early,
            Span::Writing => set - taken.late,
            Span::Both => set - taken.early - taken.late - taken.clobbered,
        };
        let quiet = free - taken.clobbered;
        let choice = if quiet.is_empty() { free } else { quiet };
        let spread = || choice.iter().nth(value.index() % choice.len().max(1));
        let Some(reg) = before.filter(|&reg| free.contains(reg)).or_else(spread) else {
            let class = &self.function.file.classes[self.function.values[value].class].name;
            return Err(Unsupported(format!(
                "regalloc2 has no word for class {class}, and all of its registers are taken at an instruction"
            )));
        };
        self.named[value] = Some(reg);
        if span != Span::Writing {
            taken.early.insert(reg);
        }
        if span != Span::Reading {
            taken.late.insert(reg);
        }
        let preg = self.registers.preg(reg).expect("a class of the function has numbered registers");
        Ok(OperandConstraint::FixedReg(preg))
    }
}

/// Whether the value of a tied use has another use.
fn reads_what_it_overwrites(operands: &[Operand]) -> bool {
    let reads = |value: Value| operands.iter().filter(|o| !o.is_def() && o.value == value).count();
    operands.iter().filter_map(|o| o.reuse).any(|reuse| reads(operands[usize::from(reuse)].value) > 1)
}

/// The constraint to be where the operand with this number is.
fn reuse(at: usize) -> Result<OperandConstraint, Unsupported> {
    const MOST: usize = 31;
    match at {
        0..=MOST => Ok(OperandConstraint::Reuse(at)),
        _ => Err(Unsupported(format!("regalloc2 cannot tie to operand {at} of an instruction"))),
    }
}
