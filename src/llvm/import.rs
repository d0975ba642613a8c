//! Builds the model of a function from the bridge's flat arrays.

use super::ffi::{self, Unknown};
use super::places;
use crate::allocate::shrink_wrap::{EdgeKind, Frame, FrameBlock, FrameEdge};
use crate::explain::listing::{ListedBlock, ListedInst, Listing, Origin};
use crate::explain::schema::Part;
use crate::machine::{
    Bank, BankInfo, Block, BlockData, BlockList, ClassInfo, DebugUse, Function, Goal, Inst, InstData, InstFlags, InstKind,
    Operand, Phi, PinSets, Pins, Point, Reg, RegClass, RegInfo, RegSet, RegisterFile, Role, SwapSupport, Value,
};
use crate::measure::stats::Place;
use cranelift_entity::{EntityRef, PrimaryMap, packed_option::PackedOption};
use smallvec::smallvec;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

impl From<ffi::RegSet> for RegSet {
    fn from(set: ffi::RegSet) -> RegSet {
        RegSet::from_bits(u128::from(set.words[0]) | u128::from(set.words[1]) << 64)
    }
}

impl From<RegSet> for ffi::RegSet {
    fn from(set: RegSet) -> ffi::RegSet {
        let bits = set.iter().fold(0u128, |bits, reg| bits | 1 << reg.index());
        ffi::RegSet { words: [bits as u64, (bits >> 64) as u64] }
    }
}

fn optional<T: EntityRef + cranelift_entity::packed_option::ReservedValue>(number: u32) -> PackedOption<T> {
    if number == ffi::NONE { None.into() } else { Some(T::new(number as usize)).into() }
}

/// Converts each item of an array.
fn all<'a, T, U>(items: &'a [T], convert: impl Fn(&'a T) -> Result<U, Unknown>) -> Result<Vec<U>, Unknown> {
    let mut converted = Vec::with_capacity(items.len());
    for item in items {
        converted.push(convert(item)?);
    }
    Ok(converted)
}

/// The register file that the bridge describes.
///
/// # Errors
/// If it contains a value that an enum does not have.
///
/// # Safety
/// The file's pointers must be valid.
pub unsafe fn register_file(file: &ffi::File) -> Result<RegisterFile, Unknown> {
    let (banks, regs, classes, orders) = unsafe {
        (
            ffi::slice(file.banks, file.num_banks),
            ffi::slice(file.regs, file.num_regs),
            ffi::slice(file.classes, file.num_classes),
            ffi::slice(file.orders, file.num_orders),
        )
    };
    let swap = |kind| match kind {
        ffi::Swap::Exchange => SwapSupport::Exchange,
        ffi::Swap::Xor => SwapSupport::Xor,
        ffi::Swap::Never => SwapSupport::Never,
    };
    let bank = |bank: &ffi::Bank| {
        let beside = (bank.beside != ffi::NONE).then(|| Bank::new(bank.beside as usize));
        Ok(BankInfo { name: unsafe { bank.name.text() }, swap: swap(bank.swap.try_into()?), beside })
    };
    let class = |class: &ffi::Class| {
        let order: Vec<Reg> =
            orders[class.first_reg as usize..class.end_reg as usize].iter().map(|&reg| Reg::new(usize::from(reg))).collect();
        ClassInfo {
            name: unsafe { class.name.text() },
            bank: Bank::new(class.bank as usize),
            regs: order.iter().copied().collect(),
            order,
            slot_size: class.slot_size,
            slot_align: class.slot_align,
        }
    };
    let status = |(index, reg): (usize, &ffi::Reg)| (reg.bank == ffi::NONE).then(|| Reg::new(index));
    Ok(RegisterFile {
        regs: regs
            .iter()
            .map(|reg| RegInfo {
                name: unsafe { reg.name.text() },
                bank: (reg.bank != ffi::NONE).then(|| Bank::new(reg.bank as usize)),
            })
            .collect(),
        banks: all(banks, bank)?.into(),
        classes: classes.iter().map(class).collect(),
        callee_saved: file.callee_saved.into(),
        prefixed: file.prefixed.into(),
        excluded: RegSet::EMPTY,
        status: regs.iter().enumerate().filter_map(status).collect(),
    })
}

/// The function that the bridge hands over, with its splittable critical edges split.
///
/// # Errors
/// If it contains a value that an enum does not have.
///
/// # Safety
/// The arrays must be valid.
pub unsafe fn function(flat: &ffi::Function, file: Arc<RegisterFile>) -> Result<Function, Unknown> {
    let (blocks, edges) = unsafe { (ffi::slice(flat.blocks, flat.num_blocks), ffi::slice(flat.edges, flat.num_edges)) };
    let (insts, operands) = unsafe { (ffi::slice(flat.insts, flat.num_insts), ffi::slice(flat.operands, flat.num_operands)) };
    let (pins, classes) = unsafe { (ffi::slice(flat.pins, flat.num_pins), ffi::slice(flat.classes, flat.num_values)) };
    let debug_uses = unsafe { ffi::slice(flat.debug_uses, flat.num_debug_uses) };
    let mut function = Function {
        name: unsafe { flat.name.text() },
        returns_twice: flat.returns_twice != 0,
        goal: goal(flat.goal)?,
        file,
        blocks: blocks.iter().map(block).collect(),
        insts: all(insts, inst)?.into(),
        operands: all(operands, operand)?,
        values: classes.iter().map(|&class| RegClass::from_u32(class).into()).collect(),
        pins: Arc::new(pins.iter().map(pin_sets).collect()),
        debug_uses: debug_uses.iter().map(debug_use).collect(),
    };
    connect(&mut function.blocks, blocks, edges);
    unsafe { add_phis(&mut function.blocks, flat) };
    for block in function.blocks.keys() {
        // A marker further down does not keep code away from the head.
        for index in function.head(block).index..function.blocks[block].insts.len() as u32 {
            let inst = Inst::from_u32(function.blocks[block].insts.start + index);
            function.insts[inst].flags.remove(InstFlags::LABEL);
        }
    }
    for (inst, data) in &mut function.insts {
        data.origin = inst.into();
    }
    Ok(function)
}

fn block(data: &ffi::Block) -> BlockData {
    BlockData {
        live_in_pins: data.live_in.into(),
        landing_pad: data.landing_pad != 0,
        throws: optional(data.throws),
        ..BlockData::new(data.first_inst..data.end_inst, BlockList::new(), BlockList::new(), data.frequency)
    }
}

fn inst(data: &ffi::Inst) -> Result<InstData, Unknown> {
    let pinned = || Reg::new(data.reg as usize);
    let kind = match data.kind.try_into()? {
        ffi::InstKind::Op => InstKind::Op,
        ffi::InstKind::Copy => InstKind::Copy,
        ffi::InstKind::CopyTo => InstKind::CopyTo(pinned()),
        ffi::InstKind::CopyFrom => InstKind::CopyFrom(pinned()),
    };
    let operands = data.first_operand..data.end_operand;
    Ok(InstData { pins: Pins::from_u32(data.pins), flags: ffi::inst_flags(data.flags)?, ..InstData::new(kind, operands) })
}

fn operand(data: &ffi::Operand) -> Result<Operand, Unknown> {
    Ok(Operand {
        value: Value::from_u32(data.value),
        role: match data.role.try_into()? {
            ffi::Role::Use => Role::Use,
            ffi::Role::Def => Role::Def,
            ffi::Role::EarlyDef => Role::EarlyDef,
        },
        reuse: tied(data.reuse),
        reuse_instead: data.reuse_instead.into(),
        reuse_none: data.reuse_none != 0,
        foldable: data.foldable != 0,
    })
}

fn tied(operand: u16) -> Option<u8> {
    (operand != u16::MAX).then(|| u8::try_from(operand).expect("a tied operand is among the first 255"))
}

fn pin_sets(data: &ffi::Pins) -> PinSets {
    PinSets { uses: data.uses.into(), defs: data.defs.into(), early_defs: data.early_defs.into(), clobbers: data.clobbers.into() }
}

fn debug_use(data: &ffi::DebugUse) -> DebugUse {
    DebugUse { value: Value::from_u32(data.value), at: Point { block: Block::from_u32(data.block), index: data.index } }
}

/// Enters the edges. Each critical edge that can be split gets a block.
fn connect(blocks: &mut PrimaryMap<Block, BlockData>, flat: &[ffi::Block], edges: &[ffi::Edge]) {
    let end = flat.last().map_or(0, |block| block.end_inst);
    blocks.reserve_exact(edges.iter().filter(|edge| edge.block != ffi::NONE).count());
    for (from, data) in flat.iter().enumerate() {
        let from = Block::new(from);
        for edge in &edges[data.first_edge as usize..data.end_edge as usize] {
            let to = Block::from_u32(edge.to);
            let next = if edge.block == ffi::NONE {
                to
            } else {
                let between = blocks.push(BlockData::on_edge(end, from, to, blocks[to].live_in_pins, edge.frequency));
                assert_eq!(between.as_u32(), edge.block, "blocks on edges are numbered in the order of their edges");
                between
            };
            blocks[from].succs.push(next);
            if next == to {
                blocks[to].preds.push(from);
            } else {
                blocks[to].preds.push(next);
            }
        }
    }
}

/// The question where to save callee-saved registers.
///
/// # Errors
/// If it contains a value that an enum does not have.
///
/// # Safety
/// The frame's pointers must be valid.
pub unsafe fn frame(flat: &ffi::Frame) -> Result<Frame, Unknown> {
    let (blocks, edges, wanted) = unsafe {
        (
            ffi::slice(flat.blocks, flat.num_blocks),
            ffi::slice(flat.edges, flat.num_edges),
            ffi::slice(flat.wanted, flat.num_registers * flat.num_blocks),
        )
    };
    let block = |block: &ffi::FrameBlock| FrameBlock {
        frequency: block.frequency,
        returns: block.returns != 0,
        head: block.head != 0,
        tail: block.tail != 0,
    };
    Ok(Frame {
        goal: goal(flat.goal)?,
        blocks: blocks.iter().map(block).collect(),
        edges: all(edges, frame_edge)?,
        wanted: wanted.chunks_exact(flat.num_blocks).map(|blocks| blocks.iter().map(|&it| it != 0).collect()).collect(),
        saves: flat.saves,
        restores: flat.restores,
    })
}

fn frame_edge(edge: &ffi::FrameEdge) -> Result<FrameEdge, Unknown> {
    Ok(FrameEdge {
        from: Block::from_u32(edge.from),
        to: Block::from_u32(edge.to),
        frequency: edge.frequency,
        kind: match edge.kind.try_into()? {
            ffi::EdgeKind::Plain => EdgeKind::Plain,
            ffi::EdgeKind::Splittable => EdgeKind::Splittable,
            ffi::EdgeKind::Inner => EdgeKind::Inner,
        },
    })
}

fn goal(number: u32) -> Result<Goal, Unknown> {
    Ok(match number.try_into()? {
        ffi::Goal::Speed => Goal::Speed,
        ffi::Goal::Size => Goal::Size,
        ffi::Goal::LeastSize => Goal::LeastSize,
    })
}

/// Enters the φs, with their arguments in the order of the predecessors.
///
/// # Safety
/// The arrays must be valid.
unsafe fn add_phis(blocks: &mut PrimaryMap<Block, BlockData>, flat: &ffi::Function) {
    let (phis, args) = unsafe { (ffi::slice(flat.phis, flat.num_phis), ffi::slice(flat.phi_args, flat.num_phi_args)) };
    // Maps the original predecessor, which an argument names, to the column. It holds for the block of the current φ only.
    let mut column = vec![0usize; blocks.len()];
    let mut current = None;
    for phi in phis {
        let block = Block::from_u32(phi.block);
        if current != Some(block) {
            current = Some(block);
            for (index, &pred) in blocks[block].preds.iter().enumerate() {
                let source = if blocks[pred].on_edge { blocks[pred].preds[0] } else { pred };
                column[source.index()] = index;
            }
        }
        let mut row = smallvec![PackedOption::default(); blocks[block].preds.len()];
        for arg in &args[phi.first_arg as usize..phi.end_arg as usize] {
            row[column[arg.pred as usize]] = optional(arg.value);
        }
        blocks[block].phis.push(Phi { def: Value::from_u32(phi.def), args: row });
    }
}

/// The variables that a function's values are.
///
/// # Safety
/// The function's pointers must be valid.
pub unsafe fn names(flat: &ffi::Function) -> Vec<(Value, String)> {
    let names = unsafe { ffi::slice(flat.names, flat.num_names) };
    names.iter().map(|name| (Value::new(name.value as usize), unsafe { name.variable.text() })).collect()
}

/// The code of an allocated function.
///
/// # Errors
/// If it contains a value that an enum does not have.
///
/// # Safety
/// The listing's pointers must be valid.
pub unsafe fn listing(flat: &ffi::Listing) -> Result<Listing, Unknown> {
    let (blocks, insts, succs) = unsafe {
        (ffi::slice(flat.blocks, flat.num_blocks), ffi::slice(flat.insts, flat.num_insts), ffi::slice(flat.succs, flat.num_succs))
    };
    let block = |block: &ffi::ListedBlock| {
        let insts = &insts[block.first_inst as usize..block.end_inst as usize];
        Ok(ListedBlock {
            position: (block.position != ffi::NONE).then_some(block.position as usize),
            frequency: block.frequency,
            succs: succs[block.first_succ as usize..block.end_succ as usize].iter().map(|&succ| succ as usize).collect(),
            insts: all(insts, |inst| unsafe { listed(inst) })?,
        })
    };
    Ok(Listing { blocks: all(blocks, block)? })
}

/// # Safety
/// The instruction's pointers must be valid.
unsafe fn listed(flat: &ffi::ListedInst) -> Result<ListedInst, Unknown> {
    let origin = match flat.origin {
        ffi::NO_LOCATION => Origin::Other,
        edit if edit < 0 => Origin::Edit(!edit as usize),
        inst => Origin::Program(Inst::new(inst as usize)),
    };
    let part = match flat.part.try_into()? {
        ffi::Part::Program => None,
        ffi::Part::Reload => Some(Part::Reload),
        ffi::Part::Store => Some(Part::Store),
        ffi::Part::Folded => Some(Part::Folded),
        ffi::Part::Save => Some(Part::Save),
        ffi::Part::Restore => Some(Part::Restore),
        ffi::Part::Copy => Some(Part::Copy),
        ffi::Part::Exchange => Some(Part::Exchange),
    };
    let [place, inlined] = [&flat.place, &flat.inlined].map(|flat| unsafe { place(flat) });
    Ok(ListedInst { text: unsafe { flat.text.text() }, place, inlined, origin, part, cost: flat.cost })
}

/// # Safety
/// The place's pointers must be valid.
unsafe fn place(flat: &ffi::Place) -> Option<Place> {
    let of = |text: ffi::Str| OsStr::from_bytes(unsafe { text.bytes() });
    (flat.line > 0).then(|| places::in_folder(Path::new(of(flat.folder)), Path::new(of(flat.file)), flat.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat_inst() -> ffi::Inst {
        ffi::Inst { first_operand: 0, end_operand: 0, pins: 0, kind: ffi::InstKind::CopyTo as u8, reg: 3, flags: 1 }
    }

    fn flat_operand() -> ffi::Operand {
        let role = ffi::Role::EarlyDef as u16;
        ffi::Operand { value: 7, role, reuse: u16::MAX, reuse_instead: 0b110, reuse_none: 0, foldable: 1 }
    }

    #[test]
    fn known_values_are_taken_over() {
        let known = inst(&flat_inst()).unwrap();
        assert_eq!((known.kind, known.flags), (InstKind::CopyTo(Reg::new(3)), InstFlags::TERMINATOR));
        let known = operand(&flat_operand()).unwrap();
        assert_eq!((known.role, known.reuse, known.foldable), (Role::EarlyDef, None, true));
        assert!(known.reuse_instead.iter().eq([1, 2]));
        assert_eq!(goal(2), Ok(Goal::LeastSize));
    }

    #[test]
    fn values_that_no_enum_has_are_errors() {
        let unknown = |name, value| Some(Unknown { name, value });
        assert_eq!(inst(&ffi::Inst { kind: 4, ..flat_inst() }).err(), unknown("InstKind", 4));
        assert_eq!(inst(&ffi::Inst { flags: 1 << 14, ..flat_inst() }).err(), unknown("InstFlags", 16384));
        assert_eq!(operand(&ffi::Operand { role: 3, ..flat_operand() }).err(), unknown("Role", 3));
        assert_eq!(goal(3).err(), unknown("Goal", 3));
        let edge = |kind| frame_edge(&ffi::FrameEdge { from: 0, to: 1, frequency: 1.0, kind });
        assert!(edge(2).is_ok());
        assert_eq!(edge(3).err(), unknown("EdgeKind", 3));
        let banks = [ffi::Bank { name: ffi::Str::new(b"g"), swap: 3, beside: ffi::NONE }];
        // SAFETY: arrays of no elements may be null, as all but one are.
        let file = unsafe { register_file(&ffi::File { banks: banks.as_ptr(), num_banks: 1, ..std::mem::zeroed() }) };
        assert_eq!(file.err(), unknown("Swap", 3));
    }
}
