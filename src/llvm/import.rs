//! Flat arrays from the bridge to the model.

use super::ffi;
use crate::allocate::shrink_wrap::{EdgeKind, Frame, FrameBlock, FrameEdge};
use crate::machine::{
    Bank, BankInfo, Block, BlockData, BlockList, ClassInfo, DebugUse, Function, Goal, Inst, InstData, InstFlags, InstKind,
    Operand, Phi, PinSets, Pins, Point, Reg, RegClass, RegInfo, RegSet, RegisterFile, Role, SwapSupport, Value,
};
use bitflags::Flags;
use cranelift_entity::{EntityRef, PrimaryMap, packed_option::PackedOption};
use smallvec::smallvec;
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

/// The register file that the bridge describes.
///
/// # Safety
/// The file's pointers must be valid.
pub unsafe fn register_file(file: &ffi::File) -> RegisterFile {
    let (banks, regs, classes, orders) = unsafe {
        (
            ffi::slice(file.banks, file.num_banks),
            ffi::slice(file.regs, file.num_regs),
            ffi::slice(file.classes, file.num_classes),
            ffi::slice(file.orders, file.num_orders),
        )
    };
    let swap = |kind| match kind {
        ffi::SWAP_EXCHANGE => SwapSupport::Exchange,
        ffi::SWAP_XOR => SwapSupport::Xor,
        _ => SwapSupport::Never,
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
    RegisterFile {
        regs: regs
            .iter()
            .map(|reg| RegInfo {
                name: unsafe { reg.name.text() },
                bank: (reg.bank != ffi::NONE).then(|| Bank::new(reg.bank as usize)),
            })
            .collect(),
        banks: banks.iter().map(|bank| BankInfo { name: unsafe { bank.name.text() }, swap: swap(bank.swap) }).collect(),
        classes: classes.iter().map(class).collect(),
        callee_saved: file.callee_saved.into(),
        prefixed: file.prefixed.into(),
        excluded: RegSet::EMPTY,
        status: regs.iter().enumerate().filter_map(status).collect(),
    }
}

/// The function that the bridge hands over, with its splittable critical edges split.
///
/// # Safety
/// The arrays must be valid.
pub unsafe fn function(flat: &ffi::Function, file: Arc<RegisterFile>) -> Function {
    let (blocks, edges) = unsafe { (ffi::slice(flat.blocks, flat.num_blocks), ffi::slice(flat.edges, flat.num_edges)) };
    let (insts, operands) = unsafe { (ffi::slice(flat.insts, flat.num_insts), ffi::slice(flat.operands, flat.num_operands)) };
    let (pins, classes) = unsafe { (ffi::slice(flat.pins, flat.num_pins), ffi::slice(flat.classes, flat.num_values)) };
    let debug_uses = unsafe { ffi::slice(flat.debug_uses, flat.num_debug_uses) };
    let mut function = Function {
        name: unsafe { flat.name.text() },
        returns_twice: flat.returns_twice != 0,
        goal: goal(flat.goal),
        file,
        blocks: blocks.iter().map(block).collect(),
        insts: insts.iter().enumerate().map(|(index, data)| inst(index, data)).collect(),
        operands: operands.iter().map(operand).collect(),
        values: classes.iter().map(|&class| RegClass::from_u32(class).into()).collect(),
        pins: Arc::new(pins.iter().map(pin_sets).collect()),
        debug_uses: debug_uses.iter().map(debug_use).collect(),
    };
    connect(&mut function.blocks, blocks, edges);
    unsafe { add_phis(&mut function.blocks, flat) };
    for block in function.blocks.keys() {
        // Markers further down are nothing that code at the head could come before.
        for index in function.head(block).index..function.blocks[block].insts.len() as u32 {
            let inst = Inst::from_u32(function.blocks[block].insts.start + index);
            function.insts[inst].flags.remove(InstFlags::LABEL);
        }
    }
    function
}

fn block(data: &ffi::Block) -> BlockData {
    BlockData {
        live_in_pins: data.live_in.into(),
        landing_pad: data.landing_pad != 0,
        jump_target: data.jump_target != 0,
        throws: optional(data.throws),
        ..BlockData::new(data.first_inst..data.end_inst, BlockList::new(), BlockList::new(), data.frequency)
    }
}

// The bridge's bits are those of the model.
const _: () = {
    let bits = [
        (ffi::TERMINATOR, InstFlags::TERMINATOR),
        (ffi::LABEL, InstFlags::LABEL),
        (ffi::JUMPS, InstFlags::JUMPS),
        (ffi::REMATERIALISABLE, InstFlags::REMATERIALISABLE),
        (ffi::RECOMPUTABLE, InstFlags::RECOMPUTABLE),
        (ffi::DEAR, InstFlags::DEAR),
        (ffi::STORABLE, InstFlags::STORABLE),
        (ffi::GIVEN, InstFlags::GIVEN),
        (ffi::MOVABLE, InstFlags::MOVABLE),
        (ffi::READS, InstFlags::READS),
        (ffi::WRITES, InstFlags::WRITES),
    ];
    let mut at = 0;
    while at < bits.len() {
        assert!(bits[at].0 == bits[at].1.bits());
        at += 1;
    }
    assert!(bits.len() == InstFlags::FLAGS.len());
};

fn inst(index: usize, data: &ffi::Inst) -> InstData {
    let pinned = || Reg::new(data.reg as usize);
    InstData {
        kind: match data.kind {
            ffi::COPY => InstKind::Copy,
            ffi::COPY_TO => InstKind::CopyTo(pinned()),
            ffi::COPY_FROM => InstKind::CopyFrom(pinned()),
            _ => InstKind::Op,
        },
        origin: Some(Inst::new(index)).into(),
        operands: data.first_operand..data.end_operand,
        pins: Pins::from_u32(data.pins),
        flags: InstFlags::from_bits_truncate(data.flags),
    }
}

fn operand(data: &ffi::Operand) -> Operand {
    Operand {
        value: Value::from_u32(data.value),
        role: match data.role {
            ffi::DEF => Role::Def,
            ffi::EARLY_DEF => Role::EarlyDef,
            _ => Role::Use,
        },
        reuse: tied(data.reuse),
        reuse_instead: tied(data.reuse_instead),
        reuse_none: data.reuse_none != 0,
        foldable: data.foldable != 0,
    }
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

/// Enters the edges; a block goes on each critical edge that may have one.
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

/// What is asked about saving callee-saved registers.
///
/// # Safety
/// The frame's pointers must be valid.
pub unsafe fn frame(flat: &ffi::Frame) -> Frame {
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
    let edge = |edge: &ffi::FrameEdge| FrameEdge {
        from: Block::from_u32(edge.from),
        to: Block::from_u32(edge.to),
        frequency: edge.frequency,
        kind: match edge.kind {
            ffi::EDGE_PLAIN => EdgeKind::Plain,
            ffi::EDGE_SPLITTABLE => EdgeKind::Splittable,
            _ => EdgeKind::Inner,
        },
    };
    Frame {
        goal: goal(flat.goal),
        blocks: blocks.iter().map(block).collect(),
        edges: edges.iter().map(edge).collect(),
        wanted: wanted.chunks_exact(flat.num_blocks).map(|blocks| blocks.iter().map(|&it| it != 0).collect()).collect(),
        saves: flat.saves,
        restores: flat.restores,
    }
}

fn goal(number: u32) -> Goal {
    match number {
        ffi::SIZE => Goal::Size,
        ffi::LEAST_SIZE => Goal::LeastSize,
        _ => Goal::Speed,
    }
}

/// Enters the φs, their arguments in the order of the predecessors.
///
/// # Safety
/// The arrays must be valid.
unsafe fn add_phis(blocks: &mut PrimaryMap<Block, BlockData>, flat: &ffi::Function) {
    let (phis, args) = unsafe { (ffi::slice(flat.phis, flat.num_phis), ffi::slice(flat.phi_args, flat.num_phi_args)) };
    // The original predecessor of each block's predecessors, stamped with the φ's block, leads to the column.
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
