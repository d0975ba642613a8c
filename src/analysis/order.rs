//! Reverse postorder of the blocks.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: a permutation of the blocks that begins with the entry. A block comes before all blocks that it dominates, and
//! before its successors except along retreating edges.

use super::Graph;
use super::grouped::of_each;
use crate::machine::Block;
use cranelift_entity::SecondaryMap;

pub struct Order {
    blocks: Vec<Block>,
    index: SecondaryMap<Block, u32>,
}

impl Order {
    pub fn new(graph: &impl Graph) -> Self {
        let mut blocks = postorder(graph);
        assert_eq!(blocks.len(), graph.block_count(), "an unreachable block");
        blocks.reverse();
        let mut index = of_each(blocks.len());
        for (i, &block) in blocks.iter().enumerate() {
            index[block] = i as u32;
        }
        Order { blocks, index }
    }

    /// All blocks in reverse postorder.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The position of a block in reverse postorder.
    pub fn index(&self, block: Block) -> usize {
        self.index[block] as usize
    }
}

/// A depth-first search with its own stack: a function can be too deep for the thread's stack.
fn postorder(graph: &impl Graph) -> Vec<Block> {
    let mut seen = of_each(graph.block_count());
    let mut done = Vec::with_capacity(graph.block_count());
    // Blocks, each with the number of its successors that have been looked at.
    let mut stack = vec![(graph.entry(), 0)];
    seen[graph.entry()] = true;
    while let Some((block, next)) = stack.last_mut() {
        if let Some(&succ) = graph.succs(*block).get(*next) {
            *next += 1;
            if !seen[succ] {
                seen[succ] = true;
                stack.push((succ, 0));
            }
        } else {
            done.push(*block);
            stack.pop();
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};

    fn order(succs: &[&[usize]]) -> Vec<usize> {
        let order = Order::new(&graph(succs));
        for (i, &b) in order.blocks().iter().enumerate() {
            assert_eq!(order.index(b), i);
        }
        order.blocks().iter().map(|b| b.as_u32() as usize).collect()
    }

    #[test]
    fn joins_come_after_their_arms() {
        assert_eq!(order(&[&[1, 2], &[3], &[3], &[]]), [0, 2, 1, 3]);
    }

    #[test]
    fn a_loop_body_comes_after_its_header() {
        let order = Order::new(&graph(&[&[1], &[2, 3], &[1], &[]]));
        assert!(order.index(block(1)) < order.index(block(2)) && order.index(block(1)) < order.index(block(3)));
    }

    #[test]
    fn irreducible_graphs_have_an_order_too() {
        assert_eq!(order(&[&[1, 2], &[2, 3], &[1], &[]]), [0, 1, 3, 2]);
    }

    #[test]
    fn depth_is_no_problem() {
        let succs: Vec<Vec<usize>> = (0..100_000).map(|i| if i == 99_999 { vec![] } else { vec![i + 1] }).collect();
        let succs: Vec<&[usize]> = succs.iter().map(Vec::as_slice).collect();
        assert!(order(&succs).is_sorted());
    }

    #[test]
    #[should_panic(expected = "unreachable")]
    fn unreachable_blocks_are_refused() {
        order(&[&[], &[0]]);
    }
}
