//! The result of an allocator: locations and edits laid over an unchanged function.

use super::function::{Function, Inst, InstFlags, Point, Slot};
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
    /// By one exchange instruction.
    Exchange,
    /// By three exclusive-ors.
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
    /// Execute this instruction again, with its definition in `to`.
    ///
    /// If the instruction is rematerialisable, `from` is `None`, and `to` is a register of the definition's class. Right
    /// before a copy to a register of the program, `to` may also be that register; it is then the location of the copied
    /// operand. If the instruction is recomputable, `from` is the register of the value that it reads.
    Rematerialise {
        to: Reg,
        inst: Inst,
        from: Option<Reg>,
    },
    /// Write the result of this storable instruction to memory. No register changes.
    StoreConstant {
        to: Slot,
        inst: Inst,
    },
    /// Execute this movable instruction here, rather than where it stands in the block. If `flagless`, it takes a
    /// three-address form, which writes no flags.
    Perform {
        inst: Inst,
        flagless: bool,
    },
}

/// Size and alignment of a slot, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotData {
    pub size: u32,
    pub align: u32,
}

/// An allocation of a function.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// One location for each of [`Function::operands`]; `None` for operands of dropped instructions that are not performed
    /// elsewhere. Only three kinds of operands may be in slots: those of copies, foldable ones, and the use that a foldable
    /// definition overwrites in the same slot.
    pub locations: Vec<Option<Location>>,
    /// Sorted by point. Edits at one point happen in order, before the instruction there. There are none after a terminator.
    pub edits: Vec<(Point, Edit)>,
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Of slots that are none of the frame, whose [given](super::InstFlags::GIVEN) result is in them: foldable operands read them, and
    /// nothing else names them.
    pub given: SecondaryMap<Slot, PackedOption<Inst>>,
    /// Instructions that are not executed where they stand, ascending: rematerialisable and recomputable ones, copies whose
    /// definitions are where their sources are, and those that an edit performs. Only those have locations.
    pub dropped: Vec<Inst>,
    /// One for each of [`Function::debug_uses`]: the variable's location there, if it is known.
    pub debug_locations: Vec<Option<Location>>,
}

impl Overlay {
    pub fn is_dropped(&self, inst: Inst) -> bool {
        self.dropped.binary_search(&inst).is_ok()
    }

    /// Whether an edit performs the instruction.
    pub fn is_performed(&self, function: &Function, inst: Inst) -> bool {
        self.is_dropped(inst) && self.operands(function, inst).iter().any(Option::is_some)
    }

    /// A recorded operand's instruction ([`InstFlags::RECORDED`]) whose place is written to before the operand is recorded, if there
    /// is one.
    pub fn displaced_record(&self, function: &Function) -> Option<Inst> {
        let is_recorded = |inst: Inst| function.insts[inst].is(InstFlags::RECORDED);
        if !function.insts.keys().any(is_recorded) {
            return None;
        }
        let blocks = function.blocks.keys();
        blocks
            .flat_map(|block| function.block_insts(block).map(move |inst| (block, inst)))
            .filter(|&(_, inst)| is_recorded(inst))
            .find_map(|(block, inst)| {
                let start = function.blocks[block].insts.start;
                let mut behind = function.block_insts(block).skip((inst.as_u32() - start) as usize + 1);
                let recorder = behind.find(|&inst| !is_recorded(inst))?;
                let points = inst.as_u32() + 1 - start..=recorder.as_u32() - start;
                let location = self.operands(function, inst)[0]?;
                let first = self.edits.partition_point(|(at, _)| (at.block, at.index) < (block, *points.start()));
                let mut edits = self.edits[first..].iter().take_while(|(at, _)| at.block == block && points.contains(&at.index));
                edits.any(|(_, edit)| self.writes(function, edit, location)).then_some(inst)
            })
    }

    /// Whether an edit writes to a location.
    fn writes(&self, function: &Function, edit: &Edit, location: Location) -> bool {
        let names = |inst: Inst| {
            let pins = function.pins(inst);
            matches!(location, Location::Reg(reg) if (pins.defs | pins.early_defs | pins.clobbers).contains(reg))
        };
        match *edit {
            Edit::Load { to, .. } | Edit::Move { to, .. } => location == Location::Reg(to),
            Edit::Store { to, .. } | Edit::StoreConstant { to, .. } => location == Location::Slot(to),
            Edit::Swap { a, b, .. } => [a, b].map(Location::Reg).contains(&location),
            Edit::Rematerialise { to, inst, .. } => location == Location::Reg(to) || names(inst),
            Edit::Perform { inst, .. } => {
                let defs =
                    function.operands(inst).iter().zip(self.operands(function, inst)).filter(|(operand, _)| operand.is_def());
                names(inst) || defs.into_iter().any(|(_, &written)| written == Some(location))
            }
        }
    }

    /// The locations of an instruction's operands.
    pub fn operands(&self, function: &Function, inst: Inst) -> &[Option<Location>] {
        let range = &function.insts[inst].operands;
        &self.locations[range.start as usize..range.end as usize]
    }
}
