//! Control-flow graphs: what there is to a function where only its edges matter.

use crate::machine::{Block, Edges, Function};

/// A graph of blocks, numbered from 0, which the entry reaches all.
pub trait Graph {
    fn block_count(&self) -> usize;
    /// Has no predecessors.
    fn entry(&self) -> Block;
    /// Distinct blocks.
    fn preds(&self, block: Block) -> &[Block];
    /// Distinct blocks.
    fn succs(&self, block: Block) -> &[Block];
}

impl Graph for Function {
    fn block_count(&self) -> usize {
        self.blocks.len()
    }

    fn entry(&self) -> Block {
        Function::entry(self)
    }

    fn preds(&self, block: Block) -> &[Block] {
        &self.blocks[block].preds
    }

    fn succs(&self, block: Block) -> &[Block] {
        &self.blocks[block].succs
    }
}

impl Graph for Edges {
    fn block_count(&self) -> usize {
        Edges::block_count(self)
    }

    fn entry(&self) -> Block {
        Block::from_u32(0)
    }

    fn preds(&self, block: Block) -> &[Block] {
        Edges::preds(self, block)
    }

    fn succs(&self, block: Block) -> &[Block] {
        Edges::succs(self, block)
    }
}
