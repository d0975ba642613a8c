//! Values and φs that live in memory because regalloc2 cannot keep them in registers.
//!
//! regalloc2 puts code on any edge, and shares its spill slots. Where an edge can take no code, the values that are live
//! across it get a slot of their own, a *home*. They are stored after their definitions and loaded before each use, so that
//! regalloc2 sees nothing that would have to move on that edge. The φs at its target get a *cell*, which all predecessors
//! write before they leave and which the target's head reads. Where calls may return twice, values that are live across
//! calls have homes, since a shared slot might have been overwritten when a call returns again.

use super::registers::Registers;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, EdgePlace, Function, Phi, Reg, Slot, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// The slots of values and φs.
pub(super) struct Homes {
    /// The home of each value that has one.
    pub(super) of: SecondaryMap<Value, PackedOption<Slot>>,
    /// The cell of each φ that has one, by the φ's definition.
    pub(super) cells: SecondaryMap<Value, PackedOption<Slot>>,
    /// The number of slots.
    pub(super) count: usize,
}

impl Homes {
    pub(super) fn new(function: &Function, liveness: &Liveness, pins: &PinLiveness, registers: &Registers) -> Self {
        let mut homes = Homes { of: SecondaryMap::new(), cells: SecondaryMap::new(), count: 0 };
        for (to, data) in &function.blocks {
            if data.preds.iter().any(|&from| takes_no_code(function, pins, registers, from, to)) {
                liveness.live_in(to).iter().for_each(|&value| homes.give_home(value));
                live_phis(function, liveness, to).for_each(|phi| homes.give_cell(phi.def));
            }
        }
        if function.returns_twice {
            function.blocks.keys().for_each(|block| homes.keep_across_calls(function, liveness, block));
        }
        homes
    }

    fn give_home(&mut self, value: Value) {
        if self.of[value].is_none() {
            self.of[value] = Slot::new(self.count).into();
            self.count += 1;
        }
    }

    fn give_cell(&mut self, def: Value) {
        self.cells[def] = Slot::new(self.count).into();
        self.count += 1;
    }

    /// Gives homes to the values that are live across an instruction of the block that destroys registers.
    fn keep_across_calls(&mut self, function: &Function, liveness: &Liveness, block: Block) {
        let mut live: Vec<Value> = liveness.live_out(block).to_vec();
        for inst in function.block_insts(block).rev() {
            let operands = function.operands(inst);
            live.retain(|value| !operands.iter().any(|o| o.is_def() && o.value == *value));
            if !function.pins(inst).clobbers.is_empty() {
                live.iter().for_each(|&value| self.give_home(value));
            }
            live.extend(operands.iter().filter(|o| !o.is_def()).map(|o| o.value));
        }
    }
}

/// The φs of a block whose definitions are used.
pub(super) fn live_phis<'a>(function: &'a Function, liveness: &'a Liveness, block: Block) -> impl Iterator<Item = &'a Phi> {
    function.blocks[block].phis.iter().filter(|phi| !liveness.is_dead(phi.def))
}

/// Whether regalloc2 cannot move anything on an edge. It refuses branches with operands where it would have to put code
/// before them, and a physical register that is live there would be such an operand.
pub(super) fn takes_no_code(function: &Function, pins: &PinLiveness, registers: &Registers, from: Block, to: Block) -> bool {
    match function.edge_place(from, to) {
        EdgePlace::Head(_) => false,
        EdgePlace::Tail(tail) => {
            let allocatable = |reg: Reg| registers.preg(reg).is_some();
            pins.at(function, tail).iter().any(allocatable)
        }
        EdgePlace::Nowhere => true,
    }
}
