//! Two-address instructions, moved behind the last use of what they overwrite.
//!
//! Selected code computes `i + 1` as early as it can. If `i` is read behind, both are live at once, which takes a register more
//! and a copy, in every round of the loops that count. Behind the last use of `i`, the sum can overwrite it. Where flags are
//! live there, it has to be in a form that writes none. (LLVM's two-address pass does the same.)
//!
//! Requires: SSA form.
//! Ensures: the same function; an instruction has moved down in its block if that makes nothing live longer.

use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, Function, Inst, InstKind, Operand, Pins, Point, Rewriter, Value};
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
            if let Some(to) = self.destination(block, &order, index)
                && let Some(flagless) = self.form(block, &order, index, to, &moved)
            {
                moved.insert(order[index], flagless);
                order[index..=to].rotate_left(1);
            }
        }
        (!moved.is_empty()).then_some(Sunk { block, order, moved })
    }

    /// The index of the last use of what an instruction overwrites, if it can stand behind.
    fn destination(&self, block: Block, order: &[Inst], index: usize) -> Option<usize> {
        /// Further down nobody looks.
        const REACH: usize = 100;
        let inst = order[index];
        let operands = self.function.operands(inst);
        let mut defs = operands.iter().filter(|operand| operand.is_def());
        let (Some(def), None) = (defs.next(), defs.next()) else { return None };
        let overwritten = operands[usize::from(def.reuse?)].value;
        let lives_on = self.liveness.live_out(block).binary_search(&overwritten).is_ok();
        let stays = self.killed(inst, |_| true) || lives_on || self.liveness.is_dead(def.value);
        if stays || !self.function.insts[inst].movable || !self.writes_flags_only(inst) {
            return None;
        }
        for (to, &other) in order.iter().enumerate().skip(index + 1).take(REACH) {
            let read = |value: Value| self.function.operands(other).iter().any(|o| o.value == value && !o.is_def());
            if self.function.insts[other].terminator || read(def.value) {
                return None;
            }
            // A copy has what it copies live on.
            if read(overwritten) && self.function.insts[other].kind == InstKind::Copy {
                return None;
            }
            if self.killed(other, |value| value == overwritten) {
                return Some(to);
            }
            if self.killed(other, |value| operands.iter().any(|operand| operand.value == value)) {
                return None;
            }
        }
        None
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
    fn form(&self, block: Block, order: &[Inst], index: usize, to: usize, moved: &Moved) -> Option<bool> {
        let inst = order[index];
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
