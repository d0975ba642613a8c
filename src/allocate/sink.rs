//! Two-address instructions, moved behind the last use of what they overwrite.
//!
//! Selected code computes `i + 1` as early as it can. If `i` is read behind, both are live at once, which takes a register more
//! and a copy, in every round of the loops that count. Behind the last use of `i`, the sum can overwrite it. Where flags are
//! live there, it has to be in a form that writes none. (LLVM's two-address pass does the same.) What reads the sum before that
//! moves with it, as LLVM's scheduler might have it.
//!
//! Requires: SSA form.
//! Ensures: the same function; instructions have moved down in their blocks if nowhere on the way more values are live for that.

use crate::allocate::pressure::demand::is_first_use;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Bank, Block, Function, Inst, InstKind, Operand, Pins, Point, Rewriter, Value};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// [`super::changes::Changes::moved`].
pub(super) type Moved = BTreeMap<Inst, bool>;

/// Moves instructions down; `None` if there is none to move.
pub(super) fn sink(function: &Function, liveness: &Liveness) -> Option<(Function, Moved)> {
    let sinker = Sinker { function, liveness, pins: OnceCell::new() };
    let sunk: Vec<Sunk> = function.blocks.keys().filter_map(|block| sinker.block(block)).collect();
    if sunk.is_empty() {
        return None;
    }
    let mut sunk = sunk.into_iter().peekable();
    let mut rewriter = Rewriter::new(function);
    let mut moved = Moved::new();
    for block in function.blocks.keys() {
        rewriter.begin(block);
        match sunk.next_if(|sunk| sunk.block == block) {
            Some(sunk) => sunk.write(function, &mut rewriter, &mut moved),
            None => function.block_insts(block).for_each(|inst| _ = rewriter.copy(inst, function.operands(inst))),
        }
        rewriter.end();
    }
    Some((rewriter.new, moved))
}

/// A block of which instructions have moved.
struct Sunk {
    block: Block,
    /// All, in their new order.
    order: Vec<Inst>,
    moved: Moved,
}

impl Sunk {
    fn write(&self, function: &Function, rewriter: &mut Rewriter, moved: &mut Moved) {
        for &inst in &self.order {
            let Some(&flagless) = self.moved.get(&inst) else {
                rewriter.copy(inst, function.operands(inst));
                continue;
            };
            // A form without flags reads nothing from memory.
            let operand = |o: &Operand| Operand { foldable: o.foldable && !flagless, ..*o };
            let operands: Vec<Operand> = function.operands(inst).iter().map(operand).collect();
            let new = rewriter.copy(inst, &operands);
            if flagless {
                rewriter.new.insts[new].pins = Pins::from_u32(0);
            }
            let origin = function.insts[inst].origin.expand().expect("nothing is inserted yet");
            moved.insert(origin, flagless);
        }
    }
}

struct Sinker<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    /// Most functions have nothing to move, and nobody asks for it.
    pins: OnceCell<PinLiveness>,
}

impl Sinker<'_> {
    /// A block's instructions in their new order, if some of them move.
    fn block(&self, block: Block) -> Option<Sunk> {
        let leaves_inside = || self.function.blocks[block].throws.is_some() || self.function.jump(block).is_some();
        if !self.function.block_insts(block).any(|inst| self.function.insts[inst].movable) || leaves_inside() {
            return None;
        }
        let mut order: Vec<Inst> = self.function.block_insts(block).collect();
        let mut moved = Moved::new();
        for index in (0..order.len()).rev() {
            let Some((group, to)) = self.destination(block, &order, index) else { continue };
            let forms = group.iter().map(|&inst| Some((inst, self.form(block, &order, inst, to, &moved)?)));
            let Some(forms) = forms.collect::<Option<Vec<_>>>() else { continue };
            moved.extend(forms);
            order[index..=to].sort_by_key(|inst| group.contains(inst));
        }
        (!moved.is_empty()).then_some(Sunk { block, order, moved })
    }

    /// The index of the last use of what an instruction overwrites, if it can stand behind; and what has to go there, too, since
    /// it reads what others of them define.
    fn destination(&self, block: Block, order: &[Inst], index: usize) -> Option<(Vec<Inst>, usize)> {
        /// Further down nobody looks.
        const REACH: usize = 100;
        let inst = order[index];
        let def = self.movable(inst)?;
        let operands = self.function.operands(inst);
        let overwritten = operands[usize::from(def.reuse?)].value;
        let lives_on = self.liveness.live_out(block).binary_search(&overwritten).is_ok();
        // Of two that it could overwrite, there may be one that dies.
        let has_choice = def.reuse_instead.is_some() || def.reuse_none;
        if lives_on || self.killed(inst, |value| has_choice || value == overwritten) {
            return None;
        }
        let mut group =
            Group { sinker: self, overwritten, bank: self.bank(def.value), insts: Vec::new(), live: Vec::new(), kept: 0 };
        group.add(inst, def)?;
        for (to, &other) in order.iter().enumerate().skip(index + 1).take(REACH) {
            let reads = |value: Value| self.function.operands(other).iter().any(|o| o.value == value && !o.is_def());
            if self.function.insts[other].terminator || reads(overwritten) && self.wants(other, overwritten) {
                return None;
            }
            let follows = group.defs().any(reads);
            match self.killed(other, |value| value == overwritten) {
                true if follows => return None,
                true => return Some((group.insts, to)),
                false if follows => group.add(other, self.movable(other)?)?,
                false if self.killed(other, |value| group.reads(value)) => return None,
                false => {}
            }
        }
        None
    }

    /// Whether nothing is gained behind an instruction that reads a value: it defines a copy of it, or the value is all that it can
    /// overwrite without a copy.
    fn wants(&self, inst: Inst, value: Value) -> bool {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let is_free = |of: &u8| self.liveness.kills(first + usize::from(*of));
        let is_value = |of: u8| operands[usize::from(of)].value == value;
        let overwrites = |def: &Operand| {
            let mut free = [def.reuse, def.reuse_instead].into_iter().flatten().filter(is_free).map(is_value).peekable();
            !def.reuse_none && free.peek().is_some() && free.all(|is_value| is_value)
        };
        self.function.insts[inst].kind == InstKind::Copy || operands.iter().any(overwrites)
    }

    /// What an instruction that may move defines.
    fn movable(&self, inst: Inst) -> Option<&Operand> {
        let mut defs = self.function.operands(inst).iter().filter(|operand| operand.is_def());
        let (Some(def), None) = (defs.next(), defs.next()) else { return None };
        let moves = self.function.insts[inst].movable && self.writes_flags_only(inst) && !self.liveness.is_dead(def.value);
        moves.then_some(def)
    }

    fn bank(&self, value: Value) -> Bank {
        let Function { values, file, .. } = self.function;
        file.classes[values[value].class].bank
    }

    /// Whether there is no other physical register that an instruction names.
    fn writes_flags_only(&self, inst: Inst) -> bool {
        let pins = self.function.pins(inst);
        let written = pins.defs | pins.early_defs | pins.clobbers;
        written.is_subset(self.function.file.status) && pins.uses.is_empty()
    }

    /// Whether one of these values dies at an instruction.
    fn killed(&self, inst: Inst, wanted: impl Fn(Value) -> bool) -> bool {
        let first = self.function.insts[inst].operands.start as usize;
        let mut operands = self.function.operands(inst).iter().enumerate();
        operands.any(|(k, o)| !o.is_def() && wanted(o.value) && self.liveness.kills(first + k))
    }

    /// Whether an instruction must not write flags behind another one; `None` if it has no form that does not.
    fn form(&self, block: Block, order: &[Inst], inst: Inst, to: usize, moved: &Moved) -> Option<bool> {
        // Those that have moved write flags that nobody wants.
        let next = order[to + 1..].iter().find(|other| !moved.contains_key(other));
        let end = Point { block, index: order.len() as u32 };
        let pins = self.pins.get_or_init(|| PinLiveness::new(self.function));
        let live = next.map_or_else(|| pins.at(self.function, end), |&next| pins.before(next));
        let written = self.function.pins(inst).defs;
        let loose = self.function.operands(inst).iter().any(|operand| operand.reuse_none);
        match written.intersects(live) {
            false => Some(false),
            true => loose.then_some(true),
        }
    }
}

/// Instructions that move together: one, and what is computed from what it defines on the way.
struct Group<'a> {
    sinker: &'a Sinker<'a>,
    /// It is live all the way, wherever the group stands.
    overwritten: Value,
    /// Of what the group defines.
    bank: Bank,
    insts: Vec<Inst>,
    /// What it has defined and others are still to read: that is live later if it moves.
    live: Vec<Value>,
    /// How many values it has read last that are not its own: they live longer if it moves.
    kept: usize,
}

impl Group<'_> {
    /// `None` if more would be live on the way then, or what the first overwrites is read behind it.
    fn add(&mut self, inst: Inst, def: &Operand) -> Option<()> {
        const MOST: usize = 16;
        let Sinker { function, liveness, .. } = self.sinker;
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

    /// What the group defines, read last in it or not: where instructions have moved, liveness may be wrong about that.
    fn defs(&self) -> impl Iterator<Item = Value> {
        let operands = self.insts.iter().flat_map(|&inst| self.sinker.function.operands(inst));
        operands.filter(|operand| operand.is_def()).map(|operand| operand.value)
    }

    fn reads(&self, value: Value) -> bool {
        let function = self.sinker.function;
        let operands = self.insts.iter().flat_map(|&inst| function.operands(inst));
        operands.filter(|operand| !operand.is_def()).any(|operand| operand.value == value)
    }
}
