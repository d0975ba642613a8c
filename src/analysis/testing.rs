//! Functions made by hand, for unit tests.

use crate::machine::{
    Bank, BankInfo, Block, BlockData, BlockList, ClassInfo, Function, Goal, Inst, InstData, InstKind, Operand, Phi, PinSets, Reg,
    RegClass, RegInfo, RegSet, RegisterFile, Role, SwapSupport, Value,
};
use cranelift_entity::PrimaryMap;
use std::sync::Arc;

pub(crate) fn block(index: usize) -> Block {
    Block::from_u32(index as u32)
}

pub(crate) fn value(index: u32) -> Value {
    Value::from_u32(index)
}

pub(crate) fn usage(of: u32) -> Operand {
    Operand::using(value(of))
}

pub(crate) fn def(of: u32) -> Operand {
    Operand { role: Role::Def, ..usage(of) }
}

/// A function of empty blocks with these successors.
pub(crate) fn graph(succs: &[&[usize]]) -> Function {
    let empty = BlockData::new(0..0, BlockList::new(), BlockList::new(), 1.0);
    let mut blocks: PrimaryMap<Block, BlockData> = succs.iter().map(|_| empty.clone()).collect();
    for (from, &targets) in succs.iter().enumerate() {
        for &to in targets {
            blocks[block(from)].succs.push(block(to));
            blocks[block(to)].preds.push(block(from));
        }
    }
    Function {
        name: "test".to_string(),
        returns_twice: false,
        goal: Goal::Speed,
        file: Arc::new(file()),
        blocks,
        insts: PrimaryMap::new(),
        operands: vec![],
        values: PrimaryMap::new(),
        pins: Arc::new([PinSets::default()].into_iter().collect()),
        debug_uses: vec![],
    }
}

/// Registers `a b c d` of class `gp`, which can be exchanged; `x y` of the classes `vec` and `half`, which can be swapped by
/// xor; and `flags`.
pub(crate) fn file() -> RegisterFile {
    let banks = [("gp", SwapSupport::Exchange), ("vec", SwapSupport::Xor)];
    let banks: PrimaryMap<Bank, BankInfo> =
        banks.into_iter().map(|(name, swap)| BankInfo { name: name.to_string(), swap, beside: None }).collect();
    let (gp, vec) = (Bank::from_u32(0), Bank::from_u32(1));
    let regs = [("a", Some(gp)), ("b", Some(gp)), ("c", Some(gp)), ("d", Some(gp)), ("x", Some(vec)), ("y", Some(vec))];
    let regs = regs.into_iter().chain([("flags", None)]).map(|(name, bank)| RegInfo { name: name.to_string(), bank });
    let class = |name: &str, bank, regs: std::ops::Range<usize>, size| {
        let order: Vec<Reg> = regs.map(Reg::new).collect();
        let regs = order.iter().copied().collect();
        ClassInfo { name: name.to_string(), bank, order, regs, slot_size: size, slot_align: size }
    };
    RegisterFile {
        regs: regs.collect(),
        banks,
        classes: [class("gp", gp, 0..4, 8), class("vec", vec, 4..6, 16), class("half", vec, 4..6, 8)].into_iter().collect(),
        callee_saved: RegSet::EMPTY,
        prefixed: RegSet::EMPTY,
        excluded: RegSet::EMPTY,
        status: RegSet::only(Reg::new(6)),
    }
}

/// A path through all blocks, with random edges added. It is often irreducible.
pub(crate) fn random_graph(rng: &mut fastrand::Rng, count: usize) -> Function {
    let succs: Vec<Vec<usize>> = (0..count)
        .map(|at| {
            let mut succs: Vec<usize> = (0..rng.usize(0..3)).map(|_| rng.usize(1..count)).collect();
            succs.extend((at + 1 < count).then_some(at + 1));
            succs.sort_unstable();
            succs.dedup();
            succs
        })
        .collect();
    graph(&succs.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Adds values of the first class, `gp`.
pub(crate) fn values(function: &mut Function, count: usize) {
    for _ in 0..count {
        function.values.push(RegClass::from_u32(0).into());
    }
}

/// Appends an instruction to a block. Blocks have to be filled in order.
pub(crate) fn append(function: &mut Function, at: usize, operands: &[Operand]) -> Inst {
    let first = function.operands.len() as u32;
    function.operands.extend_from_slice(operands);
    let operands = first..function.operands.len() as u32;
    let inst = function.insts.push(InstData::new(InstKind::Op, operands));
    let end = function.insts.len() as u32;
    function.blocks[block(at)].insts.end = end;
    for later in at + 1..function.blocks.len() {
        assert!(function.blocks[block(later)].insts.is_empty(), "blocks have to be filled in order");
        function.blocks[block(later)].insts = end..end;
    }
    inst
}

/// Adds a φ. An argument that is `None` is undefined.
pub(crate) fn phi(function: &mut Function, at: usize, def: u32, args: &[Option<u32>]) {
    let args = args.iter().map(|arg| arg.map(value).into()).collect();
    function.blocks[block(at)].phis.push(Phi { def: value(def), args });
}

/// Gives an instruction physical registers that it reads, writes and destroys.
pub(crate) fn pin(function: &mut Function, inst: Inst, sets: PinSets) {
    function.insts[inst].pins = Arc::make_mut(&mut function.pins).push(sets);
}
