//! Random instructions, each of which can be allocated by itself.

use super::fill::{Filler, reserved};
use chordal::machine::{Bank, InstFlags, InstKind, Operand, PinSets, Reg, RegClass, RegSet, Role, SwapSupport, Value};
use fastrand::Rng;

/// An instruction without a number.
pub struct Draft {
    pub kind: InstKind,
    pub operands: Vec<Operand>,
    pub pins: PinSets,
    pub flags: InstFlags,
    pub throws: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Draft { kind: InstKind::Op, operands: Vec::new(), pins: PinSets::default(), flags: InstFlags::empty(), throws: false }
    }
}

/// A definition to be made.
#[derive(Clone, Copy)]
struct Wish {
    class: RegClass,
    early: bool,
    /// The index of the use that it overwrites.
    reuse: Option<usize>,
}

impl Filler<'_> {
    /// Adds an instruction, or a few that belong together.
    pub fn step(&mut self) {
        match self.rng.u8(..26) {
            0..=1 => self.copy(),
            2..=3 => self.constant(),
            4 => self.address(),
            5..=6 if self.shape.pins => self.compare(),
            7..=8 if self.shape.pins => self.begin_interval(),
            9..=11 if !self.live.is_empty() => {
                let reg = any(self.rng, self.live);
                self.end_interval(reg);
            }
            12 if !self.live.is_empty() => self.modify(),
            13 if self.shape.pins => self.destroy(),
            14 if self.shape.calls => drop(self.call(false)),
            15..=16 if self.shape.debug_uses => {
                let value = self.rng.choice(&self.pool).copied();
                self.debug.extend(value.map(|value| (self.drafts.len(), value)));
            }
            17 if self.shape.pins => self.divide(),
            _ => self.plain(),
        }
    }

    fn plain(&mut self) {
        let mut pins = PinSets::default();
        let flags = self.function.file.status;
        if self.shape.pins && !self.live.intersects(flags) && self.rng.bool() {
            pins.defs = flags;
        }
        let (uses, defs) = ([0, 1, 1, 2, 2, 3, 3, 4][self.rng.usize(..8)], [0, 0, 1, 1, 1, 2, 2, 3][self.rng.usize(..8)]);
        self.op(pins, uses, defs).flags.insert(InstFlags::MOVABLE);
    }

    fn copy(&mut self) {
        let Some(source) = self.recent(None) else { return };
        let class = self.class_like(source);
        let copy = self.define(class);
        let size = |value: Value| self.function.file.classes[self.function.values[value].class].slot_size;
        // Copies that rely on what is above their sources would ask for more than the φs here keep, which mix widths.
        let widens = if size(copy) > size(source) { InstFlags::WIDENS } else { InstFlags::empty() };
        let operands = vec![operand(copy, Role::Def), operand(source, Role::Use)];
        self.drafts.push(Draft { kind: InstKind::Copy, operands, flags: InstFlags::MOVABLE | widens, ..Draft::default() });
    }

    fn constant(&mut self) {
        let class = self.class();
        let operands = vec![operand(self.define(class), Role::Def)];
        self.drafts.push(Draft { operands, flags: InstFlags::REMATERIALISABLE, ..Draft::default() });
    }

    /// Adds an instruction that computes from one value and can be recomputed: sometimes two-address code, which has a
    /// three-address form.
    fn address(&mut self) {
        let Some(base) = self.recent(None) else { return };
        let class = self.class();
        let mut pins = PinSets::default();
        let mut operands = vec![operand(self.define(class), Role::Def), operand(base, Role::Use)];
        if self.function.file.classes[class].bank == self.bank_of(base) && self.rng.bool() {
            (operands[0].reuse, operands[0].reuse_none) = (Some(1), true);
            let flags = self.function.file.status;
            if self.shape.pins && !self.live.intersects(flags) {
                pins.defs = flags;
            }
        }
        self.drafts.push(Draft { operands, pins, flags: InstFlags::RECOMPUTABLE | InstFlags::MOVABLE, ..Draft::default() });
    }

    /// Adds an instruction that makes flags live.
    pub fn compare(&mut self) {
        let flags = self.function.file.status;
        self.end_intervals(self.live & flags);
        self.op(PinSets { defs: flags, ..PinSets::default() }, 2, 0);
        self.live |= flags;
    }

    /// Makes an allocatable register live, if it may be pinned.
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

    /// Adds the last read of a live register.
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

    /// Adds an instruction that puts something new into registers.
    pub fn begin_intervals(&mut self, regs: RegSet) {
        for reg in regs.iter() {
            self.op(PinSets { defs: RegSet::only(reg), ..PinSets::default() }, 1, 0);
            self.live.insert(reg);
        }
    }

    /// Adds an instruction that reads and writes a live register, or flags.
    fn modify(&mut self) {
        let reg = RegSet::only(any(self.rng, self.live));
        self.op(PinSets { uses: reg, defs: reg, ..PinSets::default() }, 1, 1);
    }

    /// Adds an instruction that reads and writes two registers, which then hold results.
    fn divide(&mut self) {
        let regs = self.arguments(&["a d", "a d", "c s"]);
        let flags = self.function.file.status - self.live;
        self.op(PinSets { uses: regs, defs: regs | flags, ..PinSets::default() }, 1, 0);
    }

    /// Adds inline assembly that jumps, in place of other terminators. It may write registers.
    pub fn jump(&mut self) {
        let flags = if self.shape.pins { self.function.file.status - self.live } else { RegSet::EMPTY };
        let regs = self.registers(&["a d", "c", "s", "x0 x1"]) - self.live;
        let fits = regs.iter().all(|reg| self.may_pin(reg)) && (regs | self.live).len() <= 3;
        let defs = if fits && self.rng.bool() { regs } else { RegSet::EMPTY };
        let pins = PinSets { uses: self.live, defs, ..PinSets::default() };
        let pins = [PinSets { clobbers: flags, ..pins }, PinSets { early_defs: flags, ..pins }][self.rng.usize(..2)];
        let (uses, defs) = (self.rng.usize(..3), self.rng.usize(..3));
        self.op(pins, uses, defs).flags.insert(InstFlags::TERMINATOR);
    }

    /// Adds an instruction that clobbers registers.
    fn destroy(&mut self) {
        let regs = self.registers(&["a d", "c", "s", "x0 x1"]) - self.live;
        if regs.iter().all(|reg| self.may_pin(reg)) && (regs | self.live).len() <= 3 {
            let early = self.rng.bool();
            let (early_defs, clobbers) = if early { (regs, RegSet::EMPTY) } else { (RegSet::EMPTY, regs) };
            self.op(PinSets { early_defs, clobbers, ..PinSets::default() }, 2, 1);
        }
    }

    /// Adds a call with its arguments and results; returns the values defined before it.
    pub fn call(&mut self, throws: bool) -> Vec<Value> {
        let file = self.function.file.clone();
        let all: RegSet = (0..file.regs.len()).map(Reg::new).collect();
        let reserved = reserved(&file);
        let clobbers = all - file.callee_saved - reserved;
        self.end_intervals(self.live & clobbers);
        let (mut arguments, mut results) = (RegSet::EMPTY, RegSet::EMPTY);
        if self.shape.pins {
            arguments = self.arguments(&["", "a", "a b", "x0 c", "s", "a s", "a b s x0 x1"]);
            let wanted = self.registers(&["", "a", "a d", "x0", "a d x0"]);
            let fits = wanted.iter().all(|reg| arguments.contains(reg) || self.may_pin(reg));
            if fits && (self.live | wanted).len() <= 3 {
                results = wanted;
            }
        }
        let before = self.pool.clone();
        let (uses, defs) = (usize::from(self.rng.u8(..4) == 0), usize::from(self.rng.u8(..4) == 0));
        let pins = PinSets { uses: arguments | reserved, defs: results | reserved, clobbers, ..PinSets::default() };
        self.op(pins, uses, defs).throws = throws;
        self.live = (self.live - arguments) | results;
        for reg in results.iter() {
            match self.rng.u8(..4) {
                // Nobody reads the result.
                0 => self.live.remove(reg),
                // The result is read some time later.
                1 => {}
                _ => self.end_interval(reg),
            }
        }
        before
    }

    /// Puts values into some of these registers, as far as these may be pinned and there are values.
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

    /// Adds a return, often with a value, sometimes as a tail call.
    pub fn return_value(&mut self) {
        let uses = if self.shape.pins { self.arguments(&["", "a", "x0", "a b s x0"]) } else { RegSet::EMPTY };
        let file = &self.function.file;
        let all: RegSet = (0..file.regs.len()).map(Reg::new).collect();
        let is_call = self.shape.calls && self.rng.u8(..6) == 0;
        let clobbers = if is_call { all - file.callee_saved - reserved(file) } else { RegSet::EMPTY };
        self.op(PinSets { uses, clobbers, ..PinSets::default() }, usize::from(is_call), 0).flags.insert(InstFlags::TERMINATOR);
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
        let mut classes = self.shape.classes(&self.function.file);
        classes.retain(|&class| self.function.file.classes[class].bank == bank);
        let class = classes[self.rng.usize(..classes.len())];
        let def = self.define(class);
        self.drafts.push(Draft {
            kind: InstKind::CopyFrom(reg),
            operands: vec![operand(def, Role::Def)],
            pins,
            ..Draft::default()
        });
    }

    /// Adds an instruction with at most this many uses and definitions: as many as there are registers for.
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

    /// The operands, definitions first or last.
    fn operands(&mut self, uses: &[Value], defs: &[Wish]) -> Vec<Operand> {
        let defs_first = self.rng.u8(..6) != 0;
        let offset = if defs_first { defs.len() } else { 0 };
        let mut operands: Vec<Operand> = uses.iter().map(|&value| operand(value, Role::Use)).collect();
        for wish in defs {
            let role = if wish.early { Role::EarlyDef } else { Role::Def };
            let reuse = wish.reuse.map(|index| (index + offset) as u8);
            let value = self.define(wish.class);
            let foldable = reuse.is_some() && !wish.early && value.as_u32().is_multiple_of(2);
            operands.push(Operand { reuse, foldable, ..operand(value, role) });
        }
        for (index, operand) in operands.iter_mut().take(uses.len()).enumerate() {
            operand.foldable = defs.iter().all(|d| d.reuse != Some(index)) && self.rng.u8(..3) == 0;
        }
        if defs_first {
            operands.rotate_left(uses.len());
        }
        operands
    }

    /// A random definition, which may reuse a use that no other one reuses.
    fn wish(&mut self, uses: &[Value], defs: &[Wish], may_be_early: bool) -> Wish {
        let taken = |value: Value| defs.iter().filter_map(|d| d.reuse).any(|index| uses[index] == value);
        let free: Vec<usize> = (0..uses.len()).filter(|&index| !taken(uses[index])).collect();
        match self.rng.choice(free) {
            Some(index) if self.rng.u8(..3) == 0 => {
                let class = self.class_like(uses[index]);
                let is_alone = uses.iter().filter(|&&value| value == uses[index]).count() == 1;
                Wish { class, early: may_be_early && is_alone && self.rng.u8(..6) == 0, reuse: Some(index) }
            }
            _ => Wish { class: self.class(), early: may_be_early && self.rng.u8(..6) == 0, reuse: None },
        }
    }

    /// Whether the operands find registers besides the occupied ones, before and after the instruction.
    fn fits(&self, uses: &[Value], defs: &[Wish], occupied: RegSet) -> bool {
        let regs = |class: RegClass| self.function.file.classes[class].regs;
        let mut wanted: Vec<Wanted> = Vec::new();
        for (index, &value) in uses.iter().enumerate() {
            let tied = defs.iter().find(|d| d.reuse == Some(index));
            let set = self.function.allowed(value) & tied.map_or(RegSet::ALL, |d| regs(d.class));
            match wanted.iter_mut().find(|other| other.value == Some(value)) {
                Some(other) => *other = Wanted { set: other.set & set, behind: other.behind || tied.is_some(), ..*other },
                None => wanted.push(Wanted { value: Some(value), set, before: true, behind: tied.is_some() }),
            }
        }
        let free = defs.iter().filter(|d| d.reuse.is_none());
        wanted.extend(free.map(|d| Wanted { value: None, set: regs(d.class), before: d.early, behind: true }));
        let file = &self.function.file;
        let spare = file.banks.iter().filter(|(_, bank)| bank.swap == SwapSupport::Never).map(|(bank, _)| file.allocatable(bank));
        wanted.extend(spare.map(|set| Wanted { value: None, set, before: true, behind: true }));
        find_registers(&wanted, occupied, occupied)
    }

    /// Whether a register may be pinned: half of every bank and of every class stays free of pins.
    fn may_pin(&self, reg: Reg) -> bool {
        let pinned = self.live | RegSet::only(reg);
        let mut classes = self.function.file.classes.values();
        !self.live.contains(reg) && classes.all(|class| (pinned & class.regs).len() <= class.regs.len() / 2)
    }

    fn bank_of(&self, value: Value) -> Bank {
        self.function.file.classes[self.function.values[value].class].bank
    }

    /// The value's class, or sometimes another class of its bank that the shape has.
    fn class_like(&mut self, value: Value) -> RegClass {
        let other = self.class();
        let fits = self.function.file.classes[other].bank == self.bank_of(value) && self.rng.u8(..3) == 0;
        if fits { other } else { self.function.values[value].class }
    }

    /// The registers of one of these choices.
    fn registers(&mut self, choices: &[&str]) -> RegSet {
        self.shape.registers(&self.function.file, choices[self.rng.usize(..choices.len())])
    }

    /// A random value, of the bank if one is given, more often a recent one.
    fn recent(&mut self, bank: Option<Bank>) -> Option<Value> {
        let fits = |value: &Value| bank.is_none_or(|bank| self.bank_of(*value) == bank);
        let values: Vec<Value> = self.pool.iter().rev().copied().filter(fits).collect();
        let count = values.len();
        (count > 0).then(|| values[self.rng.usize(..count).min(self.rng.usize(..count))])
    }
}

/// A register that an instruction needs.
struct Wanted {
    value: Option<Value>,
    set: RegSet,
    /// Needed while the instruction reads.
    before: bool,
    /// Needed after the instruction has written.
    behind: bool,
}

/// Whether every need finds a register, by trial.
fn find_registers(wanted: &[Wanted], before: RegSet, behind: RegSet) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return true };
    let taken = |is_taken: bool, set: RegSet| if is_taken { set } else { RegSet::EMPTY };
    (first.set - taken(first.before, before) - taken(first.behind, behind)).iter().any(|reg| {
        let reg = RegSet::only(reg);
        find_registers(rest, before | taken(first.before, reg), behind | taken(first.behind, reg))
    })
}

fn operand(value: Value, role: Role) -> Operand {
    Operand { role, ..Operand::using(value) }
}

fn any(rng: &mut Rng, set: RegSet) -> Reg {
    rng.choice(set.iter().collect::<Vec<_>>()).expect("the set is not empty")
}
