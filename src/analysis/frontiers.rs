//! Dominance frontiers.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: the frontier of a block is where its dominance ends: the blocks with a predecessor that it dominates, which it
//! does not strictly dominate themselves.
//! Relies on: [CHK01, §4]: from each predecessor of a join, walk up the tree to the join's immediate dominator. The time is
//! linear in the size of the frontiers.

use super::grouped::{Grouped, of_each};
use super::{Dominators, Graph, Order};
use crate::machine::Block;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

pub struct Frontiers(Grouped<Block, Block>);

impl Frontiers {
    pub fn new(graph: &impl Graph, order: &Order, dominators: &Dominators) -> Self {
        let mut pairs = Vec::new();
        // For each block, the join that was last added to its frontier.
        let mut last: SecondaryMap<Block, PackedOption<Block>> = of_each(graph.block_count());
        for &join in order.blocks().iter().filter(|&&block| graph.preds(block).len() > 1) {
            for &pred in graph.preds(join) {
                let mut runner = pred;
                while Some(runner) != dominators.idom(join) && last[runner] != join.into() {
                    last[runner] = join.into();
                    pairs.push((runner, join));
                    let Some(up) = dominators.idom(runner) else { break };
                    runner = up;
                }
            }
        }
        Frontiers(Grouped::new(graph.block_count(), &pairs))
    }

    /// The dominance frontier of a block.
    pub fn of(&self, block: Block) -> &[Block] {
        self.0.get(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph, random_graph};
    use crate::machine::Function;

    fn frontiers(function: &Function) -> Frontiers {
        let order = Order::new(function);
        let dominators = Dominators::new(function, &order);
        Frontiers::new(function, &order, &dominators)
    }

    #[test]
    fn a_loop_header_is_in_its_own_frontier() {
        let f = graph(&[&[1], &[2, 3], &[1], &[]]);
        let frontiers = frontiers(&f);
        assert_eq!(frontiers.of(block(1)), [block(1)]);
        assert_eq!(frontiers.of(block(2)), [block(1)]);
        assert!(frontiers.of(block(0)).is_empty());
    }

    /// The graphs include irreducible ones.
    #[test]
    fn agrees_with_the_definition() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let count = rng.usize(2..9);
            let f = random_graph(&mut rng, count);
            let order = Order::new(&f);
            let dominators = Dominators::new(&f, &order);
            let frontiers = Frontiers::new(&f, &order, &dominators);
            for a in f.blocks.keys() {
                let ends = |&b: &Block| {
                    let reaches = f.blocks[b].preds.iter().any(|&pred| dominators.dominates(a, pred));
                    reaches && !(a != b && dominators.dominates(a, b))
                };
                let expected: Vec<Block> = f.blocks.keys().filter(ends).collect();
                let mut found = frontiers.of(a).to_vec();
                found.sort_unstable();
                assert_eq!(found, expected, "{a}");
            }
        }
    }
}
