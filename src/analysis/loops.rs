//! Natural loops and their nesting.
//!
//! A back edge is an edge to a block that dominates its source. All back edges to one header make one loop: the blocks from
//! which the edges' sources are reached without passing the header. Cycles without a dominating header (irreducible ones)
//! are not loops.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: the depth of a block is the number of loops that contain it.
//! Relies on: natural loops with different headers are disjoint or nested. So once an inner loop is found, it is a single
//! node for the loops around it, with its header's predecessors. Each edge is looked at a constant number of times; path
//! compression in the union-find of nodes comes on top.

use super::grouped::of_each;
use super::{Dominators, Graph, Order};
use crate::machine::Block;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

pub struct Loops {
    depth: SecondaryMap<Block, u32>,
    forest: Forest,
}

impl Loops {
    pub fn new(graph: &impl Graph, order: &Order, dominators: &Dominators) -> Self {
        let mut forest = Forest::default();
        // Outer headers dominate inner ones, so in backward order inner headers come first.
        for &header in order.blocks().iter().rev() {
            forest.add_loop(graph, dominators, header);
        }
        let mut depth: SecondaryMap<Block, u32> = of_each(order.blocks().len());
        for &block in order.blocks() {
            let around = forest.parent[block].expand().map_or(0, |header| depth[header]);
            depth[block] = around + u32::from(forest.is_header[block]);
        }
        Loops { depth, forest }
    }

    /// The header of the innermost loop that contains a block.
    pub fn innermost(&self, block: Block) -> Option<Block> {
        if self.forest.is_header[block] { Some(block) } else { self.forest.parent[block].expand() }
    }

    /// The header of the next loop around the one with this header.
    pub fn around(&self, header: Block) -> Option<Block> {
        self.forest.parent[header].expand()
    }

    /// The number of loops that contain the block.
    pub fn depth(&self, block: Block) -> u32 {
        self.depth[block]
    }
}

/// The loops found so far.
#[derive(Default)]
struct Forest {
    is_header: SecondaryMap<Block, bool>,
    /// The header of the innermost loop that contains the block and has another header.
    parent: SecondaryMap<Block, PackedOption<Block>>,
    /// A step towards the header of the outermost loop found that contains the block. Paths are compressed.
    outward: SecondaryMap<Block, PackedOption<Block>>,
}

impl Forest {
    /// Adds the loop with this header, if there is one. The loops inside it must have been added before.
    fn add_loop(&mut self, graph: &impl Graph, dominators: &Dominators, header: Block) {
        let back_edge = |&p: &Block| dominators.dominates(header, p);
        let mut work: Vec<Block> = graph.preds(header).iter().copied().filter(back_edge).collect();
        self.is_header[header] = !work.is_empty();
        while let Some(block) = work.pop() {
            let node = self.outermost(block);
            if node != header {
                self.parent[node] = header.into();
                self.outward[node] = header.into();
                work.extend(graph.preds(node));
            }
        }
    }

    /// The header of the outermost loop found that contains the block, or the block itself.
    fn outermost(&mut self, block: Block) -> Block {
        let mut root = block;
        while let Some(next) = self.outward[root].expand() {
            root = next;
        }
        let mut at = block;
        while let Some(next) = self.outward[at].expand() {
            self.outward[at] = root.into();
            at = next;
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};

    fn depths(succs: &[&[usize]]) -> Vec<u32> {
        let function = graph(succs);
        let order = Order::new(&function);
        let loops = Loops::new(&function, &order, &Dominators::new(&function, &order));
        (0..succs.len()).map(|b| loops.depth(block(b))).collect()
    }

    #[test]
    fn nested_three_deep() {
        // 1 { 2 { 3 } 4 { 5 } } 6, where 3 is a loop of its own.
        assert_eq!(depths(&[&[1], &[2, 6], &[3], &[3, 2, 4], &[5], &[4, 1], &[]]), [0, 1, 2, 3, 2, 2, 0]);
    }

    #[test]
    fn one_header_is_one_loop() {
        assert_eq!(depths(&[&[1], &[2, 3], &[1], &[1, 4], &[]]), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn exits_are_outside() {
        assert_eq!(depths(&[&[1], &[2], &[3, 1], &[4], &[]]), [0, 1, 1, 0, 0]);
    }

    #[test]
    fn irreducible_cycles_are_no_loops_but_may_be_in_one() {
        assert_eq!(depths(&[&[1, 2], &[2], &[1, 3], &[]]), [0, 0, 0, 0]);
        assert_eq!(depths(&[&[1], &[2, 3], &[3], &[2, 4], &[1, 5], &[]]), [0, 1, 1, 1, 1, 0]);
    }
}
