//! Computations, moved in their blocks: nearly always down.
//!
//! Instruction selection computes as early as it can. Two-address instructions go after the last use of the value that they
//! overwrite ([`overwrite`]), or its other readers in front of them ([`hoist`]). Then, where more values are live than there are registers, computations go to where their
//! values are needed ([`delay`]).
//!
//! Requires: SSA form.
//! Ensures: the same function. Movable instructions have moved in their blocks; those that read memory have passed none that
//! write it.
//! Relies on: SSA form. A value never changes, so its computation may stand anywhere between its operands and its first use.
//!
//! ```text
//! b1: preds=b0,b3 -> b3 b2                           b1: preds=b0,b3 -> b3 b2
//!   v1:w = phi b0:v0 b3:v2                             v1:w = phi b0:v0 b3:v2
//!   v2:w(reuse=1|none) = op v1 defs=flags movable      v3:w = op v1
//!   v3:w = op v1                                       op v1 v3 defs=flags
//!   op v1 v3 defs=flags                                v2:w(reuse=1|none) = op v1 movable
//!   op uses=flags terminator                           op uses=flags terminator
//! ```
//!
//! On the left v1 lives past v2, which takes a copy in each round of the loop. On the right v2 can overwrite v1. As flags
//! are live there, v2 is computed in a form that writes none (`testdata/functions/sink.txt`).

mod delay;
mod hoist;
mod overwrite;

use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, Function, Inst, InstFlags, InstKind, Operand, Pins, RegSet, Rewriter, Value};
use cranelift_entity::SecondaryMap;
use delay::Delayer;
use overwrite::Sinker;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The instructions that have moved ([`super::changes::Changes::moved`]).
type Moved = BTreeMap<Inst, bool>;

/// The kinds of instructions that may move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moves {
    /// Two-address instructions, to after the last use of the value that they overwrite.
    pub(super) overwrite: bool,
    /// Computations, to their first use, where registers are scarce.
    pub(super) delay: bool,
}

impl Moves {
    pub(super) fn any(self) -> bool {
        self.overwrite || self.delay
    }
}

/// Moves instructions; `None` if none moves.
pub(super) fn sink(function: &Function, liveness: &Liveness, moves: Moves) -> Option<(Function, Moved)> {
    let code = Code { function, liveness, pins: OnceCell::new(), arrivals: OnceCell::new() };
    let sinker = Sinker::new(&code);
    let mut delayer = moves.delay.then(|| Delayer::new(&code)).flatten();
    let mut sunk = Vec::new();
    let mut order = Reordered { insts: Vec::new(), moved: Moved::new() };
    for block in function.blocks.keys().filter(|&block| code.may_move(block)) {
        order.insts.clear();
        order.insts.extend(function.block_insts(block));
        if moves.overwrite {
            sinker.block(block, &mut order);
        }
        if let Some(delayer) = &mut delayer {
            delayer.block(block, &mut order);
        }
        if !order.moved.is_empty() {
            sunk.push((block, Reordered { insts: order.insts.clone(), moved: std::mem::take(&mut order.moved) }));
        }
    }
    (!sunk.is_empty()).then(|| rewritten(function, sunk))
}

/// A block's instructions in their new order, and those that have moved: whether each is in its form without flags.
struct Reordered {
    insts: Vec<Inst>,
    moved: Moved,
}

/// The function with some of its blocks in new orders, which come in the order of the blocks.
fn rewritten(function: &Function, sunk: Vec<(Block, Reordered)>) -> (Function, Moved) {
    let mut sunk = sunk.into_iter().peekable();
    let mut rewriter = Rewriter::new(function);
    let mut moved = Moved::new();
    for block in function.blocks.keys() {
        match sunk.next_if(|&(of, _)| of == block) {
            Some((_, order)) => {
                rewriter.begin(block);
                order.write(function, &mut rewriter, &mut moved);
                rewriter.end();
            }
            None => _ = rewriter.copy_block(block, |operand| *operand),
        }
    }
    (rewriter.new, moved)
}

impl Reordered {
    fn write(&self, function: &Function, rewriter: &mut Rewriter, moved: &mut Moved) {
        for &inst in &self.insts {
            let movable = Some(inst).filter(|&inst| function.insts[inst].is(InstFlags::MOVABLE));
            let Some(&flagless) = movable.and_then(|inst| self.moved.get(&inst)) else {
                rewriter.copy(inst, function.operands(inst));
                continue;
            };
            // In its form without flags, an instruction reads nothing from memory.
            let operand = |o: &Operand| Operand { foldable: o.foldable && !flagless, ..*o };
            let operands: Vec<Operand> = function.operands(inst).iter().map(operand).collect();
            let new = rewriter.copy(inst, &operands);
            if flagless {
                rewriter.new.insts[new].pins = Pins::NOTHING;
            }
            let origin = function.insts[inst].origin.expand().expect("nothing is inserted yet");
            moved.insert(origin, flagless);
        }
    }
}

/// The program, with the analyses that moving its instructions asks for.
struct Code<'a> {
    function: &'a Function,
    /// Liveness of the program as it was: where instructions have moved, values may die elsewhere.
    liveness: &'a Liveness,
    /// Made on demand: most functions have nothing to move.
    pins: OnceCell<PinLiveness>,
    /// For each value, the registers of the program that it is copied from, directly or as a φ's argument.
    arrivals: OnceCell<SecondaryMap<Value, RegSet>>,
}

impl Code<'_> {
    /// Whether a block has movable instructions, and control leaves it only at its end.
    fn may_move(&self, block: Block) -> bool {
        let leaves_inside = self.function.blocks[block].throws.is_some();
        !leaves_inside && self.function.block_insts(block).any(|inst| self.function.insts[inst].is(InstFlags::MOVABLE))
    }

    /// The definition of an instruction that may move.
    fn movable(&self, inst: Inst) -> Option<&Operand> {
        let mut defs = self.function.operands(inst).iter().filter(|operand| operand.is_def());
        let (Some(def), None) = (defs.next(), defs.next()) else { return None };
        let moves =
            self.function.insts[inst].is(InstFlags::MOVABLE) && self.writes_flags_only(inst) && !self.liveness.is_dead(def.value);
        moves.then_some(def)
    }

    /// Whether an instruction names no physical registers but flags that it writes.
    fn writes_flags_only(&self, inst: Inst) -> bool {
        let pins = self.function.pins(inst);
        let written = pins.defs | pins.early_defs | pins.clobbers;
        written.is_subset(self.function.file.status) && pins.uses.is_empty()
    }

    fn arrivals(&self) -> &SecondaryMap<Value, RegSet> {
        self.arrivals.get_or_init(|| arrivals(self.function))
    }

    fn pins(&self) -> &PinLiveness {
        self.pins.get_or_init(|| PinLiveness::new(self.function))
    }
}

/// For each value, the registers of the program that it is copied from ([`Code::arrivals`]).
fn arrivals(function: &Function) -> SecondaryMap<Value, RegSet> {
    let mut arrivals = SecondaryMap::with_capacity(function.values.len());
    for (inst, data) in &function.insts {
        if let InstKind::CopyFrom(reg) = data.kind {
            arrivals[function.operands(inst)[0].value] = RegSet::only(reg);
        }
    }
    for phi in function.blocks.values().flat_map(|block| &block.phis) {
        for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
            arrivals[phi.def] = arrivals[phi.def] | arrivals[arg];
        }
    }
    arrivals
}
