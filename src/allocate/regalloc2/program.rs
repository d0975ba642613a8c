//! A function as regalloc2 reads it.
//!
//! Requires: strict SSA form, with critical edges split where they can be.
//! Ensures: what regalloc2 requires: blocks in reverse postorder with one last instruction each; no critical edge; operands
//! at a branch only if no successor has another predecessor; values that start with a definition.
//!
//! - **Blocks.** A block that throws ends at the call, since the landing pads are entered from there; the rest is a block of
//!   its own. An edge that can take no code gets a block, so that regalloc2 finds no critical edge, but nothing moves there
//!   (`homes.rs`).
//! - **Instructions.** Each is one of regalloc2's, but all terminators of a block together are one, since no code can stand
//!   between them. The accesses to homes and cells are instructions of their own, and so are the definitions of undefined φ
//!   arguments.
//! - **Physical registers** in which the program keeps something are defined anew, early, by every instruction before which
//!   they are live. This occupies them from before the instruction up to the next one. Registers that are live or destroyed
//!   only after an instruction are clobbers.

use crate::machine::{Point, Slot};
use regalloc2::{self as ra, Block, Inst, InstRange, PRegSet, RegClass, VReg};
use std::ops::Range;

/// The meaning of one of regalloc2's instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// This many instructions of the function, from the item's point on. There are none on edges, at the ends of blocks
    /// without terminators, and for undefined φ arguments.
    Instructions(u32),
    /// The item's first operand is loaded from this home.
    Load(Slot),
    /// The item's first operand is stored to this home.
    Store(Slot),
}

/// One of regalloc2's instructions.
pub(super) struct Item {
    pub(super) content: Content,
    /// Its point in the function; `None` on an edge that can take no code.
    pub(super) at: Option<Point>,
    pub(super) operands: Range<usize>,
    pub(super) clobbers: PRegSet,
}

/// One of regalloc2's blocks.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) items: Range<usize>,
    pub(super) preds: Vec<Block>,
    pub(super) succs: Vec<Block>,
    pub(super) params: Vec<VReg>,
    /// A list for each successor.
    pub(super) args: Vec<Vec<VReg>>,
}

/// A function in regalloc2's terms.
#[derive(Default)]
pub(super) struct Program {
    pub(super) pieces: Vec<Piece>,
    pub(super) items: Vec<Item>,
    pub(super) operands: Vec<ra::Operand>,
    /// For each of `operands`, the operand of the function that it is, if it is one.
    pub(super) origins: Vec<Option<u32>>,
    /// Operands of the function that are where another operand of their instruction is, since both read one value.
    pub(super) repeated: Vec<(u32, u32)>,
    /// Operands of the function that are accessed in their homes.
    pub(super) in_homes: Vec<(u32, Slot)>,
    pub(super) num_vregs: usize,
}

impl Program {
    /// The operands of the function among those of an item, each with its index there.
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
        // All slots count as one: their widths depend on their content, which only `answer.rs` finds.
        1
    }
}

impl Program {
    /// The block that this instruction ends.
    fn last_of(&self, inst: Inst) -> Option<&Piece> {
        let at = self.pieces.partition_point(|piece| piece.items.end <= inst.index());
        self.pieces.get(at).filter(|piece| piece.items.end == inst.index() + 1)
    }
}
