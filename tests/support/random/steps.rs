//! Random instructions, each of which can be allocated by itself.

use super::fill::Filler;
use chordal::machine::{Bank, InstKind, Operand, PinSets, Reg, RegClass, RegSet, Role, SwapSupport, Value};
use fastrand::Rng;

/// An instruction without a number.
pub struct Draft {
    pub kind: InstKind,
    pub operands: Vec<Operand>,
    pub pins: PinSets,
    pub terminator: bool,
    pub label: bool,
    pub rematerialisable: bool,
    pub throws: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Draft {
            kind: InstKind::Op,
            operands: Vec::new(),
            pins: PinSets::default(),
            terminator: false,
            label: false,
            rematerialisable: false,
            throws: false,
        }
    }
}

/// A definition to be.
#[derive(Clone, Copy)]
struct Wish {
    class: RegClass,
    early: bool,
    /// The index of a use.
    reuse: Option<usize>,
}

impl Filler<'_> {
    /// Adds an instruction or a few that belong together.
    pub fn step(&mut self) {
        let intervals = self.live - self.function.file.status;
        match self.rng.u8(..24) {
            0..=1 => self.copy(),
            2..=4 => self.constant(),
            5..=6 if self.shape.pins => self.compare(),
            7..=8 if self.shape.pins => self.begin_interval(),
            9..=11 if !self.live.is_empty() => {
                let reg = any(self.rng, self.live);
                self.end_interval(reg);
            }
            12 if !intervals.is_empty() => self.modify(intervals),
            13 if self.shape.pins => self.destroy(),
            14 if self.shape.calls => drop(self.call(false)),
            15..=16 if self.shape.debug_uses => {
                let value = self.rng.choice(&self.pool).copied();
                self.debug.extend(value.map(|value| (self.drafts.len(), value)));
            }
            _ => self.plain(),
        }
    }

    fn plain(&mut self) {
        let mut pins = PinSets::default();
        let flags = self.function.file.status;
        if self.shape.pins && !self.live.intersects(flags) && self.rng.bool() {
            pins.defs = flags;
        }
        let (uses, defs) = (self.rng.usize(..4), self.rng.usize(..3));
        self.op(pins, uses, defs);
    }

    fn copy(&mut self) {
        let Some(source) = self.recent(None) else { return };
        let class = self.class_like(source);
        let operands = vec![operand(self.define(class), Role::Def), operand(source, Role::Use)];
        self.drafts.push(Draft { kind: InstKind::Copy, operands, ..Draft::default() });
    }

    fn constant(&mut self) {
        let class = self.class();
        let operands = vec![operand(self.define(class), Role::Def)];
        self.drafts.push(Draft { operands, rematerialisable: true, ..Draft::default() });
    }

    /// Makes flags live.
    pub fn compare(&mut self) {
        let flags = self.function.file.status;
        self.end_intervals(self.live & flags);
        self.op(PinSets { defs: flags, ..PinSets::default() }, 2, 0);
        self.live |= flags;
    }

    /// Makes an allocatable register live, if it may be.
    fn begin_interval(&mut self) {
        let candidates = self.registers(&["a b c d s t x0 x1 x2 x3"]);
        let Some(reg) = self.rng.choice(candidates.iter().collect::<Vec<_>>()).filter(|&reg| self.may_pin(reg)) else { return };
        let bank = self.function.file.bank(reg);
        match self.recent(bank) {
            Some(value) if self.rng.bool() => self.copy_to(reg, value),
            _ => {
                self.op(PinSets { defs: RegSet::only(reg), ..PinSets::default() }, 1, 1);
            }
        }
        self.live.insert(reg);
    }

    /// Reads a live register; it is dead then.
    fn end_interval(&mut self, reg: Reg) {
        match self.function.file.bank(reg) {
            Some(bank) if self.rng.bool() => self.copy_from(reg, bank),
            _ => {
                let (uses, defs) = (self.rng.usize(..2), self.rng.usize(..2));
                self.op(PinSets { uses: RegSet::only(reg), ..PinSets::default() }, uses, defs);
            }
        }
        self.live.remove(reg);
    }

    pub fn end_intervals(&mut self, regs: RegSet) {
        regs.iter().for_each(|reg| self.end_interval(reg));
    }

    /// Reads and writes a live register.
    fn modify(&mut self, intervals: RegSet) {
        let reg = RegSet::only(any(self.rng, intervals));
        self.op(PinSets { uses: reg, defs: reg, ..PinSets::default() }, 1, 1);
    }

    /// Overwrites registers that nobody asked for.
    fn destroy(&mut self) {
        let regs = self.registers(&["a d", "c", "s", "x0 x1"]) - self.live;
        if regs.iter().all(|reg| self.may_pin(reg)) && (regs | self.live).len() <= 3 {
            let early = self.rng.bool();
            let (early_defs, clobbers) = if early { (regs, RegSet::EMPTY) } else { (RegSet::EMPTY, regs) };
            self.op(PinSets { early_defs, clobbers, ..PinSets::default() }, 2, 1);
        }
    }

    /// A call with its arguments and results; answers what is defined before it.
    pub fn call(&mut self, throws: bool) -> Vec<Value> {
        let file = self.function.file.clone();
        let all: RegSet = (0..file.regs.len()).map(Reg::new).collect();
        let clobbers = all - file.callee_saved;
        self.end_intervals(self.live & clobbers);
        let (mut arguments, mut results) = (RegSet::EMPTY, RegSet::EMPTY);
        if self.shape.pins {
            arguments = self.arguments(&["", "a", "a b", "x0 c", "s", "a s"]);
            let wanted = self.registers(&["", "a", "a d", "x0"]);
            let fits = wanted.iter().all(|reg| arguments.contains(reg) || self.may_pin(reg));
            if fits && (self.live | wanted).len() <= 3 {
                results = wanted;
            }
        }
        let before = self.pool.clone();
        let (uses, defs) = (usize::from(self.rng.u8(..4) == 0), usize::from(self.rng.u8(..4) == 0));
        self.op(PinSets { uses: arguments, defs: results, clobbers, ..PinSets::default() }, uses, defs).throws = throws;
        self.live = (self.live - arguments) | results;
        for reg in results.iter() {
            match self.rng.u8(..4) {
                // Not wanted.
                0 => self.live.remove(reg),
                // Read some time later.
                1 => {}
                _ => self.end_interval(reg),
            }
        }
        before
    }

    /// Puts values into some of these registers, as far as they may be pinned and there are values.
    fn arguments(&mut self, choices: &[&str]) -> RegSet {
        let mut arguments = RegSet::EMPTY;
        for reg in self.registers(choices).iter() {
            let bank = self.function.file.bank(reg);
            if let (true, Some(value)) = (self.may_pin(reg), self.recent(bank)) {
                self.copy_to(reg, value);
                arguments.insert(reg);
                self.live.insert(reg);
                if self.rng.u8(..3) == 0 {
                    self.plain();
                }
            }
        }
        arguments
    }

    /// Leaves the function, often with a value.
    pub fn return_value(&mut self) {
        let uses = if self.shape.pins { self.arguments(&["", "a", "x0"]) } else { RegSet::EMPTY };
        self.drafts.push(Draft { pins: PinSets { uses, ..PinSets::default() }, terminator: true, ..Draft::default() });
    }

    fn copy_to(&mut self, reg: Reg, value: Value) {
        let pins = PinSets { defs: RegSet::only(reg), ..PinSets::default() };
        self.drafts.push(Draft {
            kind: InstKind::CopyTo(reg),
            operands: vec![operand(value, Role::Use)],
            pins,
            ..Draft::default()
        });
    }

    fn copy_from(&mut self, reg: Reg, bank: Bank) {
        let pins = PinSets { uses: RegSet::only(reg), ..PinSets::default() };
        let class =
            self.shape.classes(&self.function.file).into_iter().find(|&class| self.function.file.classes[class].bank == bank);
        let def = self.define(class.expect("only registers of the shape's banks are pinned"));
        self.drafts.push(Draft {
            kind: InstKind::CopyFrom(reg),
            operands: vec![operand(def, Role::Def)],
            pins,
            ..Draft::default()
        });
    }

    /// An instruction with up to so many uses and definitions: as many as its registers suffice for.
    pub fn op(&mut self, pins: PinSets, max_uses: usize, max_defs: usize) -> &mut Draft {
        let occupied = self.live | pins.uses | pins.defs | pins.early_defs;
        let mut uses: Vec<Value> = Vec::new();
        for _ in 0..max_uses {
            let again = uses.last().copied().filter(|_| self.rng.u8(..6) == 0);
            uses.extend(again.or_else(|| self.recent(None)));
            if !self.fits(&uses, &[], occupied) {
                uses.pop();
            }
        }
        let mut defs: Vec<Wish> = Vec::new();
        for _ in 0..max_defs {
            let wish = self.wish(&uses, &defs, pins.clobbers.is_empty());
            defs.push(wish);
            if !self.fits(&uses, &defs, occupied) {
                defs.pop();
            }
        }
        let operands = self.operands(&uses, &defs);
        self.drafts.push(Draft { operands, pins, ..Draft::default() });
        self.drafts.last_mut().expect("one was pushed")
    }

    /// Definitions come first, or last.
    fn operands(&mut self, uses: &[Value], defs: &[Wish]) -> Vec<Operand> {
        let defs_first = self.rng.u8(..6) != 0;
        let offset = if defs_first { defs.len() } else { 0 };
        let mut operands: Vec<Operand> = uses.iter().map(|&value| operand(value, Role::Use)).collect();
        for wish in defs {
            let role = if wish.early { Role::EarlyDef } else { Role::Def };
            let reuse = wish.reuse.map(|index| (index + offset) as u8);
            operands.push(Operand { reuse, ..operand(self.define(wish.class), role) });
        }
        for (index, operand) in operands.iter_mut().take(uses.len()).enumerate() {
            operand.foldable = defs.iter().all(|d| d.reuse != Some(index)) && self.rng.u8(..3) == 0;
        }
        if defs_first {
            operands.rotate_left(uses.len());
        }
        operands
    }

    /// A definition that may reuse a use which no other one does.
    fn wish(&mut self, uses: &[Value], defs: &[Wish], may_be_early: bool) -> Wish {
        let taken = |value: Value| defs.iter().filter_map(|d| d.reuse).any(|index| uses[index] == value);
        let free: Vec<usize> = (0..uses.len()).filter(|&index| !taken(uses[index])).collect();
        match self.rng.choice(free) {
            Some(index) if self.rng.u8(..3) == 0 => {
                let class = self.class_like(uses[index]);
                Wish { class, early: false, reuse: Some(index) }
            }
            _ => Wish { class: self.class(), early: may_be_early && self.rng.u8(..6) == 0, reuse: None },
        }
    }

    /// Whether the operands find registers beside the occupied ones, before and behind the instruction.
    fn fits(&self, uses: &[Value], defs: &[Wish], occupied: RegSet) -> bool {
        let regs = |class: RegClass| self.function.file.classes[class].regs;
        let mut read: Vec<(Value, RegSet)> = Vec::new();
        for (index, &value) in uses.iter().enumerate() {
            let tied = defs.iter().find(|d| d.reuse == Some(index));
            let set = self.function.allowed(value) & tied.map_or(RegSet::from_bits(u128::MAX), |d| regs(d.class));
            match read.iter_mut().find(|(other, _)| *other == value) {
                Some((_, other)) => *other = *other & set,
                None => read.push((value, set)),
            }
        }
        let three_of_a_bank =
            read.iter().any(|&(a, _)| read.iter().filter(|&&(b, _)| self.bank_of(a) == self.bank_of(b)).count() > 2);
        let written = defs.iter().map(|d| {
            let source = d.reuse.map_or(RegSet::from_bits(u128::MAX), |index| self.function.allowed(uses[index]));
            regs(d.class) & source
        });
        let early = defs.iter().filter(|d| d.early).map(|d| regs(d.class));
        let before: Vec<RegSet> = read.iter().map(|&(_, set)| set).chain(early).collect();
        !three_of_a_bank && self.matches(&before, occupied) && self.matches(&written.collect::<Vec<_>>(), occupied)
    }

    /// Hall's condition; the classes of a bank are nested.
    fn matches(&self, wanted: &[RegSet], occupied: RegSet) -> bool {
        let file = &self.function.file;
        file.classes.values().all(|class| {
            let spare = usize::from(file.banks[class.bank].swap == SwapSupport::Never);
            let demand = wanted.iter().filter(|set| set.is_subset(class.regs)).count();
            demand == 0 || demand + spare <= (class.regs - occupied).len()
        })
    }

    /// Half of every bank and of every class stays free of pins.
    fn may_pin(&self, reg: Reg) -> bool {
        let pinned = self.live | RegSet::only(reg);
        let mut classes = self.function.file.classes.values();
        !self.live.contains(reg) && classes.all(|class| (pinned & class.regs).len() <= class.regs.len() / 2)
    }

    fn bank_of(&self, value: Value) -> Bank {
        self.function.file.classes[self.function.values[value].class].bank
    }

    /// The value's class, or sometimes another one of the bank that the shape has.
    fn class_like(&mut self, value: Value) -> RegClass {
        let other = self.class();
        let fits = self.function.file.classes[other].bank == self.bank_of(value) && self.rng.u8(..3) == 0;
        if fits { other } else { self.function.values[value].class }
    }

    /// One of these choices.
    fn registers(&mut self, choices: &[&str]) -> RegSet {
        self.shape.registers(&self.function.file, choices[self.rng.usize(..choices.len())])
    }

    /// A value of the bank, if one is given, the later ones more often.
    fn recent(&mut self, bank: Option<Bank>) -> Option<Value> {
        let fits = |value: &Value| bank.is_none_or(|bank| self.bank_of(*value) == bank);
        let values: Vec<Value> = self.pool.iter().rev().copied().filter(fits).collect();
        let count = values.len();
        (count > 0).then(|| values[self.rng.usize(..count).min(self.rng.usize(..count))])
    }
}

fn operand(value: Value, role: Role) -> Operand {
    Operand { role, ..Operand::using(value) }
}

fn any(rng: &mut Rng, set: RegSet) -> Reg {
    rng.choice(set.iter().collect::<Vec<_>>()).expect("the set is not empty")
}
