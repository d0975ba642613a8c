//! The dominator tree.
//!
//! Requires: every block is reachable from the entry.
//! Relies on: immediate dominators are a fixed point over reverse postorder, which reducible functions reach in two passes
//! \[CHK01\].

use super::grouped::of_each;
use super::{Graph, Order};
use crate::machine::Block;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// The dominator tree, with an interval numbering that answers [`Dominators::dominates`] in constant time.
///
/// The numbering is a preorder that visits the child with the largest subtree first. So the tree falls into paths of
/// consecutive numbers ([`Dominators::path`]), and at most log2 n of them lie above any block.
pub struct Dominators {
    idom: SecondaryMap<Block, PackedOption<Block>>,
    /// Preorder number.
    pre: SecondaryMap<Block, u32>,
    /// The number of blocks in the subtree, which have the numbers `pre .. pre + size`.
    size: SecondaryMap<Block, u32>,
    /// The number of the first block of the path that the block is on.
    path: SecondaryMap<Block, u32>,
    /// The blocks by number.
    blocks: Vec<Block>,
}

impl Dominators {
    pub fn new(graph: &impl Graph, order: &Order) -> Self {
        let idom_index = immediate_dominators(graph, order);
        let blocks = order.blocks();
        let mut idom: SecondaryMap<Block, PackedOption<Block>> = of_each(blocks.len());
        let mut pre = of_each(blocks.len());
        let mut size: SecondaryMap<Block, u32> = of_each(blocks.len());
        let mut largest: SecondaryMap<Block, PackedOption<Block>> = of_each(blocks.len());
        // A dominator comes before the blocks that it dominates. So the backward pass finishes children before their parent,
        // and the forward pass numbers them after it.
        for (i, &block) in blocks.iter().enumerate().skip(1).rev() {
            let parent = blocks[idom_index[i] as usize];
            idom[block] = parent.into();
            size[block] += 1;
            size[parent] += size[block];
            let largest = &mut largest[parent];
            if largest.expand().is_none_or(|other| size[block] > size[other]) {
                *largest = block.into();
            }
        }
        size[graph.entry()] += 1;
        let mut path = of_each(blocks.len());
        let mut next_free: SecondaryMap<Block, u32> = of_each(blocks.len());
        let mut by_number = vec![graph.entry(); blocks.len()];
        for &block in blocks {
            if let Some(parent) = idom[block].expand() {
                if largest[parent] == block.into() {
                    (pre[block], path[block]) = (pre[parent] + 1, path[parent]);
                } else {
                    (pre[block], path[block]) = (next_free[parent], next_free[parent]);
                    next_free[parent] += size[block];
                }
            }
            next_free[block] = pre[block] + 1 + largest[block].expand().map_or(0, |child| size[child]);
            by_number[pre[block] as usize] = block;
        }
        Dominators { idom, pre, size, path, blocks: by_number }
    }

    /// The immediate dominator; `None` for the entry.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.idom[block].expand()
    }

    /// The nearest block that dominates both.
    pub fn meet(&self, a: Block, b: Block) -> Block {
        let above = std::iter::successors(Some(a), |&block| self.idom(block));
        above.into_iter().find(|&block| self.dominates(block, b)).expect("the entry dominates all")
    }

    /// The position of the block in a preorder walk of the tree. Its subtree takes the positions from there on.
    pub fn preorder(&self, block: Block) -> u32 {
        self.pre[block]
    }

    /// The last position in that walk of a block in this one's subtree.
    pub fn last_below(&self, block: Block) -> u32 {
        self.pre[block] + self.size[block] - 1
    }

    /// The path of the tree that ends at this block: consecutive blocks of the preorder, each the immediate dominator of the
    /// next.
    ///
    /// Further dominators of the block are on the path to the immediate dominator of this path's first block, and so on.
    pub fn path(&self, block: Block) -> &[Block] {
        &self.blocks[self.path[block] as usize..=self.pre[block] as usize]
    }

    /// Whether every path from the entry to `b` passes `a`. A block dominates itself.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.pre[b].wrapping_sub(self.pre[a]) < self.size[a]
    }
}

/// Immediate dominators as positions in the order; the entry has its own.
fn immediate_dominators(graph: &impl Graph, order: &Order) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let mut idom = vec![UNKNOWN; order.blocks().len()];
    idom[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (i, &block) in order.blocks().iter().enumerate().skip(1) {
            let preds = graph.preds(block).iter().map(|&p| order.index(p) as u32);
            let known = preds.filter(|&p| idom[p as usize] != UNKNOWN);
            let new = known.reduce(|a, b| meet(&idom, a, b)).expect("one predecessor precedes the block");
            changed |= idom[i] != new;
            idom[i] = new;
        }
    }
    idom
}

fn meet(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};

    /// The immediate dominators of all blocks but the entry. Checks `dominates` against its definition on the way.
    fn idoms(succs: &[&[usize]]) -> Vec<usize> {
        let function = graph(succs);
        let dominators = Dominators::new(&function, &Order::new(&function));
        for a in 0..succs.len() {
            let without_a = reachable_without(succs, a);
            for (b, &reached) in without_a.iter().enumerate() {
                assert_eq!(dominators.dominates(block(a), block(b)), !reached, "{a} and {b}");
            }
        }
        assert_eq!(dominators.idom(block(0)), None);
        (1..succs.len()).map(|b| dominators.idom(block(b)).unwrap().as_u32() as usize).collect()
    }

    fn reachable_without(succs: &[&[usize]], without: usize) -> Vec<bool> {
        let mut reached = vec![false; succs.len()];
        let mut work = if without == 0 { vec![] } else { vec![0] };
        while let Some(b) = work.pop() {
            if !reached[b] {
                reached[b] = true;
                work.extend(succs[b].iter().filter(|&&s| s != without));
            }
        }
        reached
    }

    #[test]
    fn diamond() {
        assert_eq!(idoms(&[&[1, 2], &[3], &[3], &[]]), [0, 0, 0]);
    }

    #[test]
    fn nested_loops() {
        assert_eq!(idoms(&[&[1], &[2, 5], &[3], &[2, 4], &[1], &[]]), [0, 1, 2, 3, 1]);
    }

    #[test]
    fn irreducible() {
        assert_eq!(idoms(&[&[1, 2], &[2, 3], &[1, 4], &[4], &[]]), [0, 0, 1, 0]);
    }

    #[test]
    fn needs_more_than_one_pass() {
        // [CHK01, Figure 4].
        assert_eq!(idoms(&[&[1, 2], &[5], &[3, 4], &[4], &[3, 5], &[4]]), [0, 0, 0, 0, 0]);
    }
}
