//! Where physical registers that the program names itself are live.
//!
//! A definition is taken to write the whole register, also where it names only a part.

use crate::machine::{Block, Function, Inst, Point, RegSet};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// Physical registers (status registers included) live between instructions.
pub struct PinLiveness {
    before: PrimaryMap<Inst, RegSet>,
    end: SecondaryMap<Block, RegSet>,
}

impl PinLiveness {
    pub fn new(function: &Function) -> Self {
        PinLiveness::keeping(function, RegSet::EMPTY)
    }

    /// Likewise, where some registers, which the program does not name, keep what they hold from the function's entry on.
    pub fn keeping(function: &Function, kept: RegSet) -> Self {
        let mut before: PrimaryMap<Inst, RegSet> = function.insts.keys().map(|_| RegSet::EMPTY).collect();
        let mut end = SecondaryMap::with_default(RegSet::EMPTY);
        for (block, data) in &function.blocks {
            // What is live into a landing pad was put there by the unwinder, not by the block.
            let succs = data.succs.iter().map(|&succ| &function.blocks[succ]).filter(|succ| !succ.landing_pad);
            let mut live = succs.fold(kept, |set, succ| set | succ.live_in_pins);
            end[block] = live;
            for inst in function.block_insts(block).rev() {
                let pins = function.pins(inst);
                live = (live - pins.defs - pins.early_defs - pins.clobbers) | pins.uses;
                before[inst] = live;
            }
        }
        PinLiveness { before, end }
    }

    /// The registers live just before an instruction.
    pub fn before(&self, inst: Inst) -> RegSet {
        self.before[inst]
    }

    /// The registers live at a point.
    pub fn at(&self, function: &Function, point: Point) -> RegSet {
        let insts = &function.blocks[point.block].insts;
        let inst = insts.start + point.index;
        if inst < insts.end { self.before[Inst::from_u32(inst)] } else { self.end[point.block] }
    }

    /// The registers that the program writes to by name.
    pub fn written(function: &Function) -> RegSet {
        let pins = function.insts.keys().map(|inst| function.pins(inst));
        pins.fold(RegSet::EMPTY, |set, pins| set | pins.defs | pins.early_defs | pins.clobbers)
    }

    /// What an instruction leaves for values.
    pub fn occupancy(&self, function: &Function, block: Block, inst: Inst) -> Occupancy {
        let index = inst.as_u32() - function.blocks[block].insts.start;
        let pins = function.pins(inst);
        Occupancy {
            before: self.before[inst] | pins.early_defs,
            after: self.at(function, Point { block, index: index + 1 }) | pins.defs | pins.early_defs,
            clobbers: pins.clobbers,
        }
    }
}

/// The registers that an instruction's operands and the values that live on past it cannot have.
#[derive(Clone, Copy, Debug)]
pub struct Occupancy {
    /// While operands are read.
    pub before: RegSet,
    /// When definitions are written.
    pub after: RegSet,
    /// In between: values that live on cannot be there.
    pub clobbers: RegSet,
}

impl Occupancy {
    /// The same where some registers keep what they hold.
    pub fn keeping(self, kept: RegSet) -> Self {
        Occupancy { before: self.before | kept, after: self.after | kept, ..self }
    }

    /// Whether values that live on lose registers here, besides those that are occupied already.
    pub fn takes(&self, occupied: RegSet) -> bool {
        !((self.before | self.after | self.clobbers) - occupied).is_empty()
    }

    /// Whether there is nothing in the way.
    pub fn is_empty(&self) -> bool {
        (self.before | self.after | self.clobbers).is_empty()
    }
}
