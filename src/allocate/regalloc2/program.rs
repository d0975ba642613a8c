//! A function as regalloc2 reads it.
//!
//! Requires: strict SSA, critical edges split where they can be.
//! Ensures: what regalloc2 asks for: blocks in reverse postorder, one last instruction each, no critical edge, operands at a
//! branch only if no successor has another predecessor, values that start with a definition.
//!
//! - **Blocks.** One that throws ends at the call, for the landing pads are entered from there, and the rest is a block of its
//!   own. Edges that can take no code get a block, so that regalloc2 finds no critical edge; nothing moves there (`homes.rs`).
//! - **Instructions.** One each, but all terminators of a block are one, for no code can stand between them. What `homes.rs`
//!   needs are instructions of their own, and so are the definitions of undefined φ arguments.
//! - **Physical registers** that the program keeps something in are defined anew, early, by every instruction before which
//!   they are live: this occupies them from before the instruction up to the next one. What is live or destroyed only after an
//!   instruction is a clobber.

use crate::machine::{Point, Slot};
use regalloc2::{self as ra, Block, Inst, InstRange, PRegSet, RegClass, VReg};
use std::ops::Range;

/// What an instruction of regalloc2's is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// So many instructions of the function, from the item's point on. There is none on edges, at ends of blocks, and for
    /// undefined φ arguments.
    Instructions(u32),
    /// The item's first operand is loaded from this home.
    Load(Slot),
    /// The item's first operand is stored to this home.
    Store(Slot),
}

/// An instruction of regalloc2's.
pub(super) struct Item {
    pub(super) content: Content,
    /// Where it is in the function; `None` on an edge that can take no code.
    pub(super) at: Option<Point>,
    pub(super) operands: Range<usize>,
    pub(super) clobbers: PRegSet,
}

/// A block of regalloc2's.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) items: Range<usize>,
    pub(super) preds: Vec<Block>,
    pub(super) succs: Vec<Block>,
    pub(super) params: Vec<VReg>,
    /// One list a successor.
    pub(super) args: Vec<Vec<VReg>>,
}

/// A function for regalloc2.
#[derive(Default)]
pub(super) struct Program {
    pub(super) pieces: Vec<Piece>,
    pub(super) items: Vec<Item>,
    pub(super) operands: Vec<ra::Operand>,
    /// Parallel to `operands`: the operand of the function that it is.
    pub(super) origins: Vec<Option<u32>>,
    /// Operands of the function that are where another one of their instruction is, since both read one value.
    pub(super) repeated: Vec<(u32, u32)>,
    /// Operands of the function that are accessed in their homes.
    pub(super) in_homes: Vec<(u32, Slot)>,
    pub(super) num_vregs: usize,
}

impl Program {
    /// The operands of the function among those of an item: each with its place there.
    pub(super) fn origins(&self, item: usize) -> impl Iterator<Item = (usize, u32)> {
        let origins = &self.origins[self.items[item].operands.clone()];
        origins.iter().enumerate().filter_map(|(at, origin)| Some((at, (*origin)?)))
    }

    fn piece(&self, block: Block) -> &Piece {
        &self.pieces[block.index()]
    }
}

impl ra::Function for Program {
    fn num_insts(&self) -> usize {
        self.items.len()
    }

    fn num_blocks(&self) -> usize {
        self.pieces.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        let items = &self.piece(block).items;
        InstRange::new(Inst::new(items.start), Inst::new(items.end))
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.piece(block).succs
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.piece(block).preds
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.piece(block).params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.last_of(inst).is_some_and(|piece| piece.succs.is_empty())
    }

    fn is_branch(&self, inst: Inst) -> bool {
        self.last_of(inst).is_some_and(|piece| !piece.succs.is_empty())
    }

    fn branch_blockparams(&self, block: Block, _inst: Inst, succ: usize) -> &[VReg] {
        &self.piece(block).args[succ]
    }

    fn inst_operands(&self, inst: Inst) -> &[ra::Operand] {
        &self.operands[self.items[inst.index()].operands.clone()]
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        self.items[inst.index()].clobbers
    }

    fn num_vregs(&self) -> usize {
        self.num_vregs
    }

    fn spillslot_size(&self, _class: RegClass) -> usize {
        // How wide a slot is, what it holds decides.
        1
    }
}

impl Program {
    /// The block that ends with this instruction.
    fn last_of(&self, inst: Inst) -> Option<&Piece> {
        let at = self.pieces.partition_point(|piece| piece.items.end <= inst.index());
        self.pieces.get(at).filter(|piece| piece.items.end == inst.index() + 1)
    }
}
