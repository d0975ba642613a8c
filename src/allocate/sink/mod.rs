//! Computations, moved down in their blocks.
//!
//! Selected code computes as early as it can. Two-address instructions go behind the last use of what they overwrite
//! ([`overwrite`]); then, where more values are live than there are registers, what is computed goes to where it is wanted
//! ([`delay`]).
//!
//! Requires: SSA form.
//! Ensures: the same function; movable instructions have moved down in their blocks, what reads memory past nothing that writes it.

mod delay;
mod overwrite;

use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, Function, Inst, InstFlags, InstKind, Operand, Pins, RegSet, Rewriter, Value};
use cranelift_entity::SecondaryMap;
use delay::Delayer;
use overwrite::Sinker;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// [`super::changes::Changes::moved`].
type Moved = BTreeMap<Inst, bool>;

/// What may move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moves {
    /// Two-address instructions, behind the last use of what they overwrite.
    pub(super) overwrite: bool,
    /// What is computed, to its first use, where registers are scarce.
    pub(super) delay: bool,
}

impl Moves {
    pub(super) fn any(self) -> bool {
        self.overwrite || self.delay
    }
}

/// Moves instructions down; `None` if there is none to move.
pub(super) fn sink(function: &Function, liveness: &Liveness, moves: Moves) -> Option<(Function, Moved)> {
    let code = Code { function, liveness, pins: OnceCell::new(), arrivals: OnceCell::new() };
    let sinker = Sinker::new(&code);
    let mut delayer = moves.delay.then(|| Delayer::new(&code)).flatten();
    let mut sunk = Vec::new();
    let mut order = Order { insts: Vec::new(), moved: Moved::new() };
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
            sunk.push((block, Order { insts: order.insts.clone(), moved: std::mem::take(&mut order.moved) }));
        }
    }
    (!sunk.is_empty()).then(|| rewritten(function, sunk))
}

/// A block's instructions in their new order, and which of them have moved.
struct Order {
    insts: Vec<Inst>,
    moved: Moved,
}

/// The function with some of its blocks in new orders. These are in the order of blocks.
fn rewritten(function: &Function, sunk: Vec<(Block, Order)>) -> (Function, Moved) {
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

impl Order {
    fn write(&self, function: &Function, rewriter: &mut Rewriter, moved: &mut Moved) {
        for &inst in &self.insts {
            let movable = Some(inst).filter(|&inst| function.insts[inst].is(InstFlags::MOVABLE));
            let Some(&flagless) = movable.and_then(|inst| self.moved.get(&inst)) else {
                rewriter.copy(inst, function.operands(inst));
                continue;
            };
            // A form without flags reads nothing from memory.
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

/// The program, and what there is to know of it for moving its instructions.
struct Code<'a> {
    function: &'a Function,
    /// Of the program as it stands: where instructions have moved, values may die elsewhere.
    liveness: &'a Liveness,
    /// Most functions have nothing to move, and nobody asks for it.
    pins: OnceCell<PinLiveness>,
    /// By value: the registers of the program that it is copied from, by itself or, at a φ, by an argument.
    arrivals: OnceCell<SecondaryMap<Value, RegSet>>,
}

impl Code<'_> {
    /// Whether there is anything to move in a block, and control does not leave it in the middle.
    fn may_move(&self, block: Block) -> bool {
        let leaves_inside = || self.function.blocks[block].throws.is_some() || self.function.jump(block).is_some();
        self.function.block_insts(block).any(|inst| self.function.insts[inst].is(InstFlags::MOVABLE)) && !leaves_inside()
    }

    /// What an instruction that may move defines.
    fn movable(&self, inst: Inst) -> Option<&Operand> {
        let mut defs = self.function.operands(inst).iter().filter(|operand| operand.is_def());
        let (Some(def), None) = (defs.next(), defs.next()) else { return None };
        let moves =
            self.function.insts[inst].is(InstFlags::MOVABLE) && self.writes_flags_only(inst) && !self.liveness.is_dead(def.value);
        moves.then_some(def)
    }

    /// Whether there is no other physical register that an instruction names.
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

/// [`Code::arrivals`].
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
