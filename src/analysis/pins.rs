//! Pins: where physical registers that the program itself names are live.
//!
//! A definition counts as writing the whole register, even where it names only a part of it.

use super::Liveness;
use super::grouped::{Grouped, of_each};
use crate::machine::{Block, Function, Inst, InstFlags, InstKind, Operand, Point, Reg, RegSet, Role, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use std::ops::Range;
use std::rc::Rc;

/// Which physical registers, status registers included, are live at each point.
#[derive(Clone)]
pub struct PinLiveness {
    before: Rc<PrimaryMap<Inst, RegSet>>,
    end: Rc<SecondaryMap<Block, RegSet>>,
    /// Instructions at which no allocatable register is occupied, which is most of them.
    free: Rc<PrimaryMap<Inst, bool>>,
    /// Blocks in which that is so at all instructions.
    free_blocks: Rc<EntitySet<Block>>,
    /// The registers that some value can be in.
    allocatable: RegSet,
    /// [Untouched] registers, in all blocks.
    kept: RegSet,
    held: Rc<Grouped<Inst, Held>>,
}

/// Callee-saved registers that the program does not name: they keep their content from the function's entry on.
#[derive(Clone, Debug, Default)]
pub struct Untouched {
    /// Registers that are untouched in all blocks.
    pub everywhere: RegSet,
    /// Further registers, with the blocks in which they are used; they are untouched in all other blocks.
    pub outside: Option<Rc<(RegSet, EntitySet<Block>)>>,
}

impl Untouched {
    /// The registers that are untouched in this block.
    pub fn in_block(&self, block: Block) -> RegSet {
        match self.outside.as_deref() {
            Some((registers, used_in)) if !used_in.contains(block) => self.everywhere | *registers,
            _ => self.everywhere,
        }
    }
}

impl From<RegSet> for Untouched {
    fn from(everywhere: RegSet) -> Self {
        Untouched { everywhere, outside: None }
    }
}

/// A value that may be in a register that the program itself occupies, because both have the same content.
///
/// A value that lives on past its copy to a physical register may be in that register while the program needs the copy
/// there. This does not hold if the value is overwritten meanwhile, or if the register is, before it is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub value: Value,
    pub reg: Reg,
    /// Whether the register is live before the instruction. If not, the instruction is the copy.
    pub before: bool,
    /// Whether the register is live after the instruction and still holds the value. If not, this is the last instruction
    /// that reads the value, or the register.
    pub after: bool,
}

impl PinLiveness {
    pub fn new(function: &Function) -> Self {
        let mut before: PrimaryMap<Inst, RegSet> = function.insts.keys().map(|_| RegSet::EMPTY).collect();
        let mut end: SecondaryMap<Block, RegSet> = of_each(function.blocks.len());
        let mut free: PrimaryMap<Inst, bool> = function.insts.keys().map(|_| false).collect();
        let mut free_blocks = EntitySet::with_capacity(function.blocks.len());
        let allocatable = function.file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs);
        for (block, data) in &function.blocks {
            // The unwinder writes the registers that are live into a landing pad; the block does not.
            let succs = data.succs.iter().map(|&succ| &function.blocks[succ]).filter(|succ| !succ.landing_pad);
            let mut live = succs.fold(RegSet::EMPTY, |set, succ| set | succ.live_in_pins);
            let mut occupies = live.intersects(allocatable);
            let mut all_free = true;
            end[block] = live;
            for inst in function.block_insts(block).rev() {
                if function.names_registers(inst) {
                    let pins = function.pins(inst);
                    let written = pins.defs | pins.early_defs | pins.clobbers;
                    live = (live - written) | pins.uses;
                    let occupied_after = occupies || written.intersects(allocatable);
                    occupies = live.intersects(allocatable);
                    free[inst] = !(occupies || occupied_after);
                } else {
                    free[inst] = !occupies;
                }
                before[inst] = live;
                all_free &= free[inst];
            }
            if all_free {
                free_blocks.insert(block);
            }
        }
        let held = Grouped::new(function.insts.len(), &[]);
        PinLiveness {
            before: before.into(),
            end: end.into(),
            free: free.into(),
            free_blocks: free_blocks.into(),
            allocatable,
            kept: RegSet::EMPTY,
            held: held.into(),
        }
    }

    /// Treats registers that are untouched as occupied, where they are so.
    #[must_use]
    pub fn keeping(mut self, function: &Function, untouched: &Untouched) -> Self {
        if let Some((registers, blocks)) = untouched.outside.as_deref() {
            let (before, end) = (Rc::make_mut(&mut self.before), Rc::make_mut(&mut self.end));
            let (free, free_blocks) = (Rc::make_mut(&mut self.free), Rc::make_mut(&mut self.free_blocks));
            for block in function.blocks.keys().filter(|&block| !blocks.contains(block)) {
                free_blocks.remove(block);
                for inst in function.block_insts(block) {
                    before[inst] |= *registers;
                    free[inst] = false;
                }
                end[block] |= *registers;
            }
        }
        PinLiveness { kept: untouched.everywhere, ..self }
    }

    /// The registers that keep their content throughout the function.
    pub fn kept(&self) -> RegSet {
        self.kept
    }

    /// Finds where values may be held in the registers that they are copied to ([`Held`]).
    #[must_use]
    pub fn holding(self, function: &Function, liveness: &Liveness) -> Self {
        let mut held: Vec<(Inst, Held)> = Vec::new();
        for block in function.blocks.keys() {
            let insts = function.blocks[block].insts.clone();
            // The values that are held, each with the last instruction at which it is.
            let mut here: Vec<(Value, u32)> = Vec::new();
            for copy in insts.clone() {
                let data = &function.insts[Inst::from_u32(copy)];
                let InstKind::CopyTo(reg) = data.kind else { continue };
                let operand = data.operands.start as usize;
                let value = function.operands[operand].value;
                here.retain(|&(_, until)| until >= copy);
                let held_already = here.iter().any(|&(other, _)| other == value);
                if liveness.kills(operand) || !function.allowed(value).contains(reg) || held_already {
                    continue;
                }
                if let Some(until) = self.held_until((function, liveness), block, copy + 1..insts.end, value, reg) {
                    here.push((value, until));
                    let at = |inst: u32| Held { value, reg, before: inst != copy, after: inst != until };
                    held.extend((copy..=until).map(|inst| (Inst::from_u32(inst), at(inst))));
                }
            }
        }
        let held = Grouped::new(function.insts.len(), &held).into();
        PinLiveness { held, ..self }
    }

    /// The last instruction after a copy to `reg` up to which the register holds `value`: the value's last use or, if the
    /// value lives on longer, the last instruction that reads the register. `None` if something overwrites either before
    /// that.
    fn held_until(
        &self,
        (function, liveness): (&Function, &Liveness),
        block: Block,
        mut rest: Range<u32>,
        value: Value,
        reg: Reg,
    ) -> Option<u32> {
        let start = function.blocks[block].insts.start;
        let is_live = |inst: u32| self.at(function, Point { block, index: inst - start }).contains(reg);
        let in_the_way = |inst: u32| {
            let inst = Inst::from_u32(inst);
            let (pins, data) = (function.pins(inst), &function.insts[inst]);
            let operands = function.operands(inst);
            let is_reused = |k: usize| operands.iter().any(|operand| operand.reuse.map(usize::from) == Some(k));
            let overwrites = |(k, o): (usize, &Operand)| o.value == value && (o.is_def() || is_reused(k));
            let overwritten =
                (pins.defs | pins.early_defs | pins.clobbers).contains(reg) || operands.iter().enumerate().any(overwrites);
            !is_live(inst.as_u32()) || overwritten || data.is(InstFlags::TERMINATOR)
        };
        let dies = |inst: u32| {
            let mut operands = function.insts[Inst::from_u32(inst)].operands.clone();
            operands.any(|k| function.operands[k as usize].value == value && liveness.kills(k as usize))
        };
        let until = rest.find(|&inst| in_the_way(inst) || dies(inst) || !is_live(inst + 1))?;
        (!in_the_way(until)).then_some(until)
    }

    /// The registers live just before an instruction.
    pub fn before(&self, inst: Inst) -> RegSet {
        self.before[inst] | self.kept
    }

    /// The registers live at a point.
    pub fn at(&self, function: &Function, point: Point) -> RegSet {
        let insts = &function.blocks[point.block].insts;
        let inst = insts.start + point.index;
        let live = if inst < insts.end { self.before[Inst::from_u32(inst)] } else { self.end[point.block] };
        live | self.kept
    }

    /// The values that may be in registers of the program at an instruction.
    pub fn held(&self, inst: Inst) -> &[Held] {
        self.held.get(inst)
    }

    /// The register of the program that a value may be in at an instruction.
    pub fn holder(&self, inst: Inst, value: Value) -> Option<Held> {
        self.held(inst).iter().find(|held| held.value == value).copied()
    }

    /// The registers that the program writes by name.
    pub fn written(function: &Function) -> RegSet {
        let pins = function.insts.keys().map(|inst| function.pins(inst));
        pins.fold(RegSet::EMPTY, |set, pins| set | pins.defs | pins.early_defs | pins.clobbers)
    }

    /// Whether no register is occupied at an instruction, apart from those that are [kept](Self::kept).
    pub fn is_free(&self, inst: Inst) -> bool {
        self.free[inst]
    }

    /// Whether [`Self::is_free`] holds for all of a block's instructions.
    pub fn is_free_in(&self, block: Block) -> bool {
        self.free_blocks.contains(block)
    }

    /// The registers that values cannot have at an instruction.
    pub fn occupancy(&self, function: &Function, block: Block, inst: Inst) -> Occupancy {
        if !self.free[inst] {
            return self.occupied(function, block, inst);
        }
        let kept = self.kept & self.allocatable;
        Occupancy { before: kept, after: kept, clobbers: RegSet::EMPTY }
    }

    fn occupied(&self, function: &Function, block: Block, inst: Inst) -> Occupancy {
        let index = inst.as_u32() - function.blocks[block].insts.start;
        let pins = function.pins(inst);
        let after = self.at(function, Point { block, index: index + 1 }) | pins.defs | pins.early_defs;
        // An early definition is written before the clobbers take effect, and would be lost in a clobbered register.
        let is_written_early = || function.operands(inst).iter().any(|operand| operand.role == Role::EarlyDef);
        let lost = if !pins.clobbers.is_empty() && is_written_early() { pins.clobbers } else { RegSet::EMPTY };
        Occupancy {
            before: (self.before(inst) | pins.early_defs) & self.allocatable,
            after: (after | lost) & self.allocatable,
            clobbers: pins.clobbers & self.allocatable,
        }
    }
}

/// The registers that are denied at an instruction to its operands, and to values that live on past it. Only registers that
/// some value can have are listed: most instructions write flags, and for most of them nothing else is in the way.
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
    /// Adds registers that keep their content.
    pub fn keeping(self, kept: RegSet) -> Self {
        Occupancy { before: self.before | kept, after: self.after | kept, ..self }
    }

    /// All registers that are denied to some value.
    pub fn all(&self) -> RegSet {
        self.before | self.after | self.clobbers
    }

    /// Whether values that live on lose registers here, in addition to those that are occupied already.
    pub fn takes(&self, occupied: RegSet) -> bool {
        !(self.all() - occupied).is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }
}
