//! Writing a function anew with instructions inserted. This is how phases change code: the old function stays as it is.

use super::function::{Block, DebugUse, Function, Inst, InstData, InstKind, Operand, OperandSet, Point, Value, ValueData};
use super::registers::RegClass;
use cranelift_entity::PrimaryMap;

/// A function under construction: it has the blocks, edges and φs of an old one, and the instructions written so far.
pub struct Rewriter<'a> {
    old: &'a Function,
    /// All of it may be changed freely, except for instructions and operands.
    pub new: Function,
    block: Block,
    first: u32,
    /// The index of the next of the old function's debug uses.
    debug: usize,
}

impl<'a> Rewriter<'a> {
    pub fn new(old: &'a Function) -> Self {
        let new = Function {
            name: old.name.clone(),
            returns_twice: old.returns_twice,
            goal: old.goal,
            file: old.file.clone(),
            blocks: old.blocks.clone(),
            insts: PrimaryMap::with_capacity(old.insts.len() + old.insts.len() / 4),
            operands: Vec::with_capacity(old.operands.len() + old.operands.len() / 4),
            values: old.values.clone(),
            pins: old.pins.clone(),
            debug_uses: Vec::with_capacity(old.debug_uses.len()),
        };
        Rewriter { old, new, block: old.entry(), first: 0, debug: 0 }
    }

    /// Adds a new value.
    pub fn value(&mut self, class: RegClass) -> Value {
        self.new.values.push(class.into())
    }

    /// Adds a new name for a value.
    pub fn name(&mut self, value: Value) -> Value {
        let original = self.old.original(value);
        self.new.values.push(ValueData { of: original.into(), ..self.old.values[original] })
    }

    /// Starts a block. Blocks have to be written in the order of their numbers.
    pub fn begin(&mut self, block: Block) {
        self.block = block;
        self.first = self.new.insts.len() as u32;
    }

    /// Copies a block with other operands. Returns the new number of its first instruction.
    pub fn copy_block(&mut self, block: Block, operand: impl FnMut(&Operand) -> Operand) -> u32 {
        self.begin(block);
        let old = self.old;
        let debug_uses = &old.debug_uses[self.debug..];
        let here = debug_uses.iter().take_while(|debug| debug.at.block == block).count();
        self.new.debug_uses.extend_from_slice(&debug_uses[..here]);
        self.debug += here;
        let operands = old.block_operand_range(block);
        let first = self.new.operands.len() as u32;
        self.new.operands.extend(old.block_operands(block).iter().map(operand));
        let moved = |operand: u32| operand - operands.start as u32 + first;
        self.new.insts.extend(old.block_insts(block).map(|inst| {
            let data = old.insts[inst].clone();
            InstData { operands: moved(data.operands.start)..moved(data.operands.end), ..data }
        }));
        let data = &old.blocks[block];
        let throws = data.throws.map(|inst| Inst::from_u32(inst.as_u32() - data.insts.start + self.first));
        self.new.blocks[block].throws = throws.into();
        self.end();
        self.first
    }

    /// Inserts an instruction.
    pub fn insert(&mut self, kind: InstKind, operands: &[Operand]) -> Inst {
        let first = self.new.operands.len() as u32;
        self.new.operands.extend_from_slice(operands);
        let operands = first..self.new.operands.len() as u32;
        self.new.insts.push(InstData::new(kind, operands))
    }

    /// Copies an instruction of the current block of the old function, with other operands.
    pub fn copy(&mut self, inst: Inst, operands: &[Operand]) -> Inst {
        self.move_debug_uses(inst.as_u32() - self.old.blocks[self.block].insts.start);
        self.place(inst, operands)
    }

    /// Leaves out an instruction of the current block of the old function. Debug uses before it stay before what is written
    /// next.
    pub fn leave_out(&mut self, inst: Inst) {
        self.move_debug_uses(inst.as_u32() - self.old.blocks[self.block].insts.start);
    }

    /// Copies an instruction of the current block of the old function to a place elsewhere in the block.
    pub fn transplant(&mut self, inst: Inst) -> Inst {
        self.place(inst, self.old.operands(inst))
    }

    fn place(&mut self, inst: Inst, operands: &[Operand]) -> Inst {
        let first = self.new.operands.len() as u32;
        self.new.operands.extend_from_slice(operands);
        let data = InstData { operands: first..self.new.operands.len() as u32, ..self.old.insts[inst].clone() };
        let new = self.new.insts.push(data);
        if self.old.blocks[self.block].throws.expand() == Some(inst) {
            self.new.blocks[self.block].throws = new.into();
        }
        new
    }

    /// Ends the block.
    pub fn end(&mut self) {
        self.move_debug_uses(self.old.blocks[self.block].insts.len() as u32);
        self.new.blocks[self.block].insts = self.first..self.new.insts.len() as u32;
    }

    /// Places the debug uses of the old block up to this index before the instruction that is written next.
    fn move_debug_uses(&mut self, old_index: u32) {
        while let Some(debug) = self.old.debug_uses.get(self.debug)
            && debug.at <= (Point { block: self.block, index: old_index })
        {
            let index = self.new.insts.len() as u32 - self.first;
            self.new.debug_uses.push(DebugUse { value: debug.value, at: Point { block: self.block, index } });
            self.debug += 1;
        }
    }
}

impl Operand {
    /// A use of a value in a register.
    pub fn using(value: Value) -> Self {
        Operand {
            value,
            role: super::Role::Use,
            reuse: None,
            reuse_instead: OperandSet::EMPTY,
            reuse_none: false,
            foldable: false,
        }
    }

    /// A definition of a value in a register.
    pub fn defining(value: Value) -> Self {
        Operand { role: super::Role::Def, ..Operand::using(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{append, block, def, graph, usage, value, values};

    #[test]
    fn a_block_is_copied_after_one_that_has_become_shorter() {
        let mut f = graph(&[&[1], &[]]);
        values(&mut f, 3);
        append(&mut f, 0, &[def(0)]);
        let left_out = append(&mut f, 0, &[def(1)]);
        append(&mut f, 1, &[usage(0)]);
        let call = append(&mut f, 1, &[def(2), usage(0)]);
        append(&mut f, 1, &[usage(2)]);
        f.blocks[block(1)].throws = call.into();
        f.debug_uses.push(DebugUse { value: value(0), at: Point { block: block(1), index: 1 } });
        let mut rewriter = Rewriter::new(&f);
        rewriter.begin(block(0));
        rewriter.copy(Inst::from_u32(0), &[def(0)]);
        rewriter.leave_out(left_out);
        rewriter.end();
        assert_eq!(rewriter.copy_block(block(1), |operand| *operand), 1);
        let new = rewriter.new;
        let data = &new.blocks[block(1)];
        assert_eq!((data.insts.clone(), data.throws.expand()), (1..4, Some(Inst::from_u32(2))));
        let operands = |inst: u32| new.operands(Inst::from_u32(inst)).iter().map(|o| (o.is_def(), o.value)).collect();
        let accesses: [Vec<(bool, Value)>; 3] = [1, 2, 3].map(operands);
        assert_eq!(accesses, [vec![(false, value(0))], vec![(true, value(2)), (false, value(0))], vec![(false, value(2))]]);
        assert_eq!(new.debug_uses.len(), 1);
        assert_eq!(new.debug_uses[0].at, Point { block: block(1), index: 1 });
    }
}
