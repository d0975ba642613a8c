//! Two-address instructions, moved to after the last use of the value that they overwrite.
//!
//! Instruction selection computes `i + 1` as early as it can. If `i` is read later, both are live at once; in every loop
//! that counts, this takes one more register and a copy in each round. After the last use of `i`, the sum can overwrite it.
//! Where flags are live there, it has to be computed in a form that writes none. (LLVM's two-address pass does this as
//! well.) Instructions that read the sum before that point move with it, as LLVM's scheduler might have it.
//!
//! Ensures: instructions have moved down in their blocks only if this makes no more values live anywhere on the way.

use super::{Code, Moved, Reordered};
use crate::allocate::pressure::demand::is_first_use;
use crate::machine::{Bank, Block, Function, Inst, InstFlags, InstKind, Operand, Point, Value};

/// How many instructions further down the last use may be.
pub(super) const REACH: usize = 100;

/// Moves two-address instructions.
pub(super) struct Sinker<'a> {
    code: &'a Code<'a>,
}

impl<'a> Sinker<'a> {
    pub(super) fn new(code: &'a Code<'a>) -> Self {
        Sinker { code }
    }

    /// Moves two-address instructions in a block's order.
    pub(super) fn block(&self, block: Block, Reordered { insts: order, moved }: &mut Reordered) {
        for index in (0..order.len()).rev() {
            let _ = self.sink(block, order, index, moved).or_else(|| self.hoist(block, order, index, moved));
        }
    }

    /// Moves the instruction at an index down, if it can overwrite a value then.
    fn sink(&self, block: Block, order: &mut [Inst], index: usize, moved: &mut Moved) -> Option<()> {
        let (group, to) = self.destination(block, order, index)?;
        let forms = group.iter().map(|&inst| Some((inst, self.form(block, order, inst, to + 1, moved)?)));
        moved.extend(forms.collect::<Option<Vec<_>>>()?);
        order[index..=to].sort_by_key(|inst| group.contains(inst));
        Some(())
    }

    /// Moves the other readers of a value up, in front of the instruction at an index, if it can overwrite the value then.
    fn hoist(&self, block: Block, order: &mut [Inst], index: usize, moved: &mut Moved) -> Option<()> {
        let (readers, to) = self.readers(block, order, index)?;
        let forms = readers.iter().map(|&inst| Some((inst, self.form(block, order, inst, index, moved)?)));
        moved.extend(forms.collect::<Option<Vec<_>>>()?);
        order[index..=to].sort_by_key(|inst| !readers.contains(inst));
        Some(())
    }

    /// The index of the last use of the value that an instruction overwrites, if the instruction can stand after it. Also
    /// the group that moves there: the instruction, and those that read what others of the group define.
    fn destination(&self, block: Block, order: &[Inst], index: usize) -> Option<(Vec<Inst>, usize)> {
        let inst = order[index];
        let def = self.movable(inst)?;
        let overwritten = self.overwritten(block, inst, def)?;
        let mut group =
            Group { sinker: self, overwritten, bank: self.bank(def.value), insts: Vec::new(), live: Vec::new(), kept: 0 };
        group.add(inst, def)?;
        for (to, &other) in order.iter().enumerate().skip(index + 1).take(REACH) {
            let reads = |value: Value| self.code.function.operands(other).iter().any(|o| o.value == value && !o.is_def());
            if self.code.function.insts[other].is(InstFlags::TERMINATOR) || reads(overwritten) && self.wants(other, overwritten) {
                return None;
            }
            let follows = group.defs().any(reads);
            match self.killed(other, |value| value == overwritten) {
                true if follows || self.returns(other, overwritten) || self.is_recorded(other) => return None,
                true => return Some((group.insts, to)),
                false if follows => group.add(other, self.movable(other)?)?,
                false if self.killed(other, |value| group.reads(value)) => return None,
                false => {}
            }
        }
        None
    }

    /// The value that a two-address instruction overwrites, if the value is read again later in the block, and nowhere else.
    /// Until then it is needed, so overwriting it takes a copy.
    pub(super) fn overwritten(&self, block: Block, inst: Inst, def: &Operand) -> Option<Value> {
        let overwritten = self.operands(inst)[usize::from(def.reuse?)].value;
        let lives_on = self.code.liveness.live_out(block).binary_search(&overwritten).is_ok();
        // If it could overwrite either of two values, one of them may die.
        let has_choice = !def.reuse_instead.is_empty() || def.reuse_none;
        (!lives_on && !self.killed(inst, |value| has_choice || value == overwritten)).then_some(overwritten)
    }

    /// Whether an instruction destroys registers, as calls do. What is computed before has to be kept somewhere else.
    pub(super) fn destroys(&self, inst: Inst) -> bool {
        let Function { file, .. } = self.code.function;
        !self.code.function.pins(inst).clobbers.is_subset(file.status)
    }

    pub(super) fn operands(&self, inst: Inst) -> &[Operand] {
        self.code.function.operands(inst)
    }

    /// The definition of an instruction that may move here. Those that read memory may not: with sums of values in memory
    /// moved, more was spilled.
    pub(super) fn movable(&self, inst: Inst) -> Option<&Operand> {
        self.code.movable(inst).filter(|_| !self.code.function.insts[inst].is(InstFlags::READS))
    }

    /// Whether nothing is gained after an instruction that reads a value: the instruction copies it, or can overwrite
    /// nothing else without a copy.
    pub(super) fn wants(&self, inst: Inst, value: Value) -> bool {
        let first = self.code.function.insts[inst].operands.start as usize;
        let operands = self.code.function.operands(inst);
        let is_free = |of: &u8| self.code.liveness.kills(first + usize::from(*of));
        let is_value = |of: u8| operands[usize::from(of)].value == value;
        let overwrites = |def: &Operand| {
            let mut free = def.overwritable().filter(is_free).map(is_value).peekable();
            !def.reuse_none && free.peek().is_some() && free.all(|is_value| is_value)
        };
        self.code.function.insts[inst].kind == InstKind::Copy || operands.iter().any(overwrites)
    }

    /// Whether what an instruction reads has to stay where it is until the next one has told so.
    fn is_recorded(&self, inst: Inst) -> bool {
        self.code.function.insts[inst].is(InstFlags::RECORDED)
    }

    /// Whether an instruction copies a value, which it reads last, to the register that the value came in. As long as the
    /// value may stay in that register, neither copy is an instruction. (For example, an exchange in memory may leave there
    /// what the next try takes.) With an instruction that overwrites it later, the value would have to leave.
    fn returns(&self, inst: Inst, value: Value) -> bool {
        matches!(self.code.function.insts[inst].kind, InstKind::CopyTo(reg) if self.code.arrivals()[value].contains(reg))
    }

    pub(super) fn bank(&self, value: Value) -> Bank {
        let Function { values, file, .. } = self.code.function;
        file.classes[values[value].class].bank
    }

    /// Whether an instruction reads one of these values last.
    pub(super) fn killed(&self, inst: Inst, wanted: impl Fn(Value) -> bool) -> bool {
        let first = self.code.function.insts[inst].operands.start as usize;
        let mut operands = self.code.function.operands(inst).iter().enumerate();
        operands.any(|(k, o)| !o.is_def() && wanted(o.value) && self.code.liveness.kills(first + k))
    }

    /// Whether an instruction must not write flags at an index; `None` if it must not and has no form that does not.
    fn form(&self, block: Block, order: &[Inst], inst: Inst, at: usize, moved: &Moved) -> Option<bool> {
        // Instructions that have moved write flags that nothing reads.
        let next = order[at..].iter().find(|other| !moved.contains_key(other));
        let end = Point { block, index: order.len() as u32 };
        let pins = self.code.pins();
        let live = next.map_or_else(|| pins.at(self.code.function, end), |&next| pins.before(next));
        let written = self.code.function.pins(inst).defs;
        let loose = self.code.function.operands(inst).iter().any(|operand| operand.reuse_none);
        match written.intersects(live) {
            false => Some(false),
            true => loose.then_some(true),
        }
    }
}

/// Instructions that move together: one, and those on the way that are computed from it.
struct Group<'a> {
    sinker: &'a Sinker<'a>,
    /// The value that the first one overwrites. It is live all the way, wherever the group stands.
    overwritten: Value,
    /// The bank of all values that the group defines.
    bank: Bank,
    insts: Vec<Inst>,
    /// Values that the group has defined and that are still to be read: if it moves, they become live later.
    live: Vec<Value>,
    /// How many other values the group has read last: if it moves, they live longer.
    kept: usize,
}

impl Group<'_> {
    /// Adds an instruction; `None` if more values would be live on the way then, or if it reads the value that the first one
    /// overwrites.
    fn add(&mut self, inst: Inst, def: &Operand) -> Option<()> {
        const MOST: usize = 16;
        let Code { function, liveness, .. } = self.sinker.code;
        let (first, operands) = (function.insts[inst].operands.start as usize, function.operands(inst));
        let overwrites = self.insts.is_empty();
        let mut fits = self.insts.len() < MOST && self.sinker.bank(def.value) == self.bank;
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| !operand.is_def() && is_first_use(operands, k)) {
            fits &= overwrites || operand.value != self.overwritten;
            if let Some(own) = self.live.iter().position(|&value| value == operand.value) {
                if liveness.kills(first + k) {
                    self.live.swap_remove(own);
                }
            } else if liveness.kills(first + k) {
                self.kept += 1;
                fits &= self.sinker.bank(operand.value) == self.bank;
            }
        }
        self.insts.push(inst);
        self.live.push(def.value);
        (fits && self.kept <= self.live.len()).then_some(())
    }

    /// All values that the group defines, whether or not they are read last in it: liveness may be wrong about that where
    /// instructions have moved.
    fn defs(&self) -> impl Iterator<Item = Value> {
        let operands = self.insts.iter().flat_map(|&inst| self.sinker.code.function.operands(inst));
        operands.filter(|operand| operand.is_def()).map(|operand| operand.value)
    }

    fn reads(&self, value: Value) -> bool {
        let function = self.sinker.code.function;
        let operands = self.insts.iter().flat_map(|&inst| function.operands(inst));
        operands.filter(|operand| !operand.is_def()).any(|operand| operand.value == value)
    }
}
