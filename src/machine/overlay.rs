//! The answer of an allocator: locations and edits laid over an unchanged function.

use super::function::{Function, Inst, Point, Slot};
use super::registers::{Reg, RegClass};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};

/// Where an operand's value is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    Reg(Reg),
    Slot(Slot),
}

/// How two registers are swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapKind {
    /// One exchange instruction.
    Exchange,
    /// Three exclusive-ors.
    Xor,
}

/// An instruction that allocation adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    Load {
        to: Reg,
        from: Slot,
        class: RegClass,
    },
    Store {
        from: Reg,
        to: Slot,
        class: RegClass,
    },
    Move {
        to: Reg,
        from: Reg,
        class: RegClass,
    },
    Swap {
        a: Reg,
        b: Reg,
        class: RegClass,
        kind: SwapKind,
    },
    /// Execute this rematerialisable instruction again, with its definition in `to`: a register of its class, or, right before a
    /// copy to a register of the program, that register, which is the place of the copied operand then. Or a recomputable one, with
    /// what it reads in `from`.
    Rematerialise {
        to: Reg,
        inst: Inst,
        from: Option<Reg>,
    },
    /// Write what this rematerialisable instruction computes to memory. Nothing else changes.
    StoreConstant {
        to: Slot,
        inst: Inst,
    },
    /// Execute this movable instruction here, not where it stands further up in the block. If it is `flagless`, it is so in a
    /// form with three addresses, which writes no flags.
    Perform {
        inst: Inst,
        flagless: bool,
    },
}

/// Size and alignment of a spill slot in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotData {
    pub size: u32,
    pub align: u32,
}

/// An allocation of a function.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// One location an operand, parallel to [`Function::operands`]; none for those of dropped instructions. Slots only for
    /// operands of copies, for foldable ones, and for what a foldable definition in the same slot overwrites.
    pub locations: Vec<Option<Location>>,
    /// Sorted by point; edits at one point happen in order, all before the instruction there. At a point behind a
    /// terminator there is none.
    pub edits: Vec<(Point, Edit)>,
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Of slots that are none of the frame, whose [given](super::InstFlags::GIVEN) result is in them: foldable operands read them, and
    /// nothing else names them.
    pub given: SecondaryMap<Slot, PackedOption<Inst>>,
    /// Instructions that are not executed where they stand, ascending: rematerialisable and recomputable ones, copies that are where their sources
    /// are, and those that an edit performs, which have locations.
    pub dropped: Vec<Inst>,
    /// One a [`Function::debug_uses`]: where the variable is then, if that is known.
    pub debug_locations: Vec<Option<Location>>,
}

impl Overlay {
    /// Whether an instruction is dropped.
    pub fn is_dropped(&self, inst: Inst) -> bool {
        self.dropped.binary_search(&inst).is_ok()
    }

    /// Whether an edit performs an instruction.
    pub fn is_performed(&self, function: &Function, inst: Inst) -> bool {
        self.is_dropped(inst) && self.operands(function, inst).iter().any(Option::is_some)
    }

    /// The locations of an instruction's operands.
    pub fn operands(&self, function: &Function, inst: Inst) -> &[Option<Location>] {
        let range = &function.insts[inst].operands;
        &self.locations[range.start as usize..range.end as usize]
    }
}
