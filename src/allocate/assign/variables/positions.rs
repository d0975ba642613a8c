//! The program in a line: a number for each moment at which operands are read or written.

use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// A moment of the program.
///
/// Each instruction has three: first operands are read and early definitions written, then clobbered registers are
/// destroyed, and last the other definitions are written. Each block has one more before its instructions, and one after
/// them.
///
/// A value whose last use is in an instruction and one that the instruction defines have no moment in common. Neither is
/// live at the moment between, when registers are clobbered.
pub(in crate::allocate::assign) type Position = u32;

/// The moments of one instruction.
#[derive(Clone, Copy)]
pub(in crate::allocate::assign) struct Moments {
    pub(in crate::allocate::assign) read: Position,
    pub(in crate::allocate::assign) clobber: Position,
    pub(in crate::allocate::assign) write: Position,
}

/// The positions of blocks and instructions, in layout order, but with the blocks on edges after their sources.
pub(in crate::allocate::assign) struct Positions {
    order: Vec<Block>,
    head: SecondaryMap<Block, Position>,
    read: PrimaryMap<Inst, Position>,
}

impl Positions {
    pub(in crate::allocate::assign) fn new(function: &Function) -> Self {
        let mut order = Vec::with_capacity(function.blocks.len());
        for (block, data) in function.blocks.iter().filter(|(_, data)| !data.on_edge) {
            order.push(block);
            order.extend(data.succs.iter().filter(|&&succ| function.blocks[succ].on_edge));
        }
        let mut head = of_each(function.blocks.len());
        let mut read: PrimaryMap<Inst, Position> = function.insts.keys().map(|_| 0).collect();
        let mut next = 0;
        for &block in &order {
            head[block] = next;
            next += 1;
            for inst in function.block_insts(block) {
                read[inst] = next;
                next += 3;
            }
            next += 1;
        }
        Positions { order, head, read }
    }

    /// All blocks in order.
    pub(in crate::allocate::assign) fn blocks(&self) -> &[Block] {
        &self.order
    }

    /// The position at which a block's φs are defined.
    pub(in crate::allocate::assign) fn head(&self, block: Block) -> Position {
        self.head[block]
    }

    /// The position at which φs of successors take their arguments.
    pub(in crate::allocate::assign) fn end(&self, function: &Function, block: Block) -> Position {
        self.head[block] + 3 * function.blocks[block].insts.len() as u32 + 1
    }

    pub(in crate::allocate::assign) fn of(&self, inst: Inst) -> Moments {
        let read = self.read[inst];
        Moments { read, clobber: read + 1, write: read + 2 }
    }
}
