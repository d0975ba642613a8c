//! Control-flow graphs: a function reduced to its blocks and edges.

use crate::machine::{Block, Edges, Function};

/// A graph of blocks that are numbered from 0 and all reachable from the entry.
pub trait Graph {
    fn block_count(&self) -> usize;
    /// The block where control enters; it has no predecessors.
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
