//! Which blocks are reachable from which without taking a back edge.
//!
//! Requires: a reducible graph. Without its back edges (those to dominators), it has no cycles.
//! Ensures: an answer for any two blocks. It takes constant time in a graph of at most [`DENSE`] blocks; in larger ones,
//! space is linear in the graph.
//! Relies on: in small graphs, one bit for each pair of blocks \[Boi08\], which would be 1.25 GB for 100,000 blocks. In large
//! graphs, labels: a block reaches only blocks with a smaller postorder number than its own, and none below the least one
//! that it reaches \[Yil10\]. Where labels and dominance leave the question open, the graph is searched.

use super::grouped::of_each;
use super::{Dominators, Graph, Order};
use crate::machine::Block;
use cranelift_entity::SecondaryMap;

/// The largest number of blocks for which each pair has a bit; that is half a megabyte.
const DENSE: usize = 2048;

/// Answers whether one block reaches another.
pub struct Reach<'a, G> {
    graph: &'a G,
    order: &'a Order,
    dominators: &'a Dominators,
    labels: SecondaryMap<Block, Label>,
    /// For each block, a bit set of the blocks that it reaches; both are indexed by postorder number. Empty if there are too
    /// many blocks.
    rows: Vec<u64>,
    /// For each block, the number of the last search that visited it.
    seen: SecondaryMap<Block, u32>,
    searches: u32,
    stack: Vec<Block>,
}

/// A block's postorder number, and the least postorder number that it reaches.
#[derive(Clone, Copy, Default)]
struct Label {
    least: u32,
    number: u32,
}

impl<'a, G: Graph> Reach<'a, G> {
    /// Returns `None` if the graph is irreducible.
    pub fn new(graph: &'a G, order: &'a Order, dominators: &'a Dominators) -> Option<Self> {
        let goes_back = |from: Block, to: Block| order.index(to) <= order.index(from);
        let mut labels: SecondaryMap<Block, Label> = of_each(graph.block_count());
        for (number, &block) in order.blocks().iter().rev().enumerate() {
            let number = number as u32;
            let mut least = number;
            for &succ in graph.succs(block) {
                match goes_back(block, succ) {
                    true if !dominators.dominates(succ, block) => return None,
                    true => {}
                    false => least = least.min(labels[succ].least),
                }
            }
            labels[block] = Label { least, number };
        }
        let (seen, stack) = (SecondaryMap::new(), Vec::new());
        let mut reach = Reach { graph, order, dominators, labels, rows: Vec::new(), seen, searches: 0, stack };
        if graph.block_count() <= DENSE {
            reach.fill_rows();
        }
        Some(reach)
    }

    /// The size of the tables in memory.
    pub fn bytes(&self) -> usize {
        let each = size_of::<Label>() + size_of::<u32>();
        size_of_val(&self.rows[..]) + self.graph.block_count() * each
    }

    fn words(&self) -> usize {
        self.graph.block_count().div_ceil(64)
    }

    /// Fills in the bits. In postorder, a block comes after the blocks that it reaches.
    fn fill_rows(&mut self) {
        let words = self.words();
        self.rows = vec![0; words * self.graph.block_count()];
        for (number, &block) in self.order.blocks().iter().rev().enumerate() {
            let (before, row) = self.rows.split_at_mut(number * words);
            row[number / 64] |= 1 << (number % 64);
            for &succ in self.graph.succs(block) {
                let succ = self.labels[succ].number as usize;
                if succ < number {
                    row.iter_mut().zip(&before[succ * words..][..words]).for_each(|(word, other)| *word |= other);
                }
            }
        }
    }

    /// Whether a path without back edges leads from one block to another. A block reaches itself.
    pub fn reaches(&mut self, from: Block, to: Block) -> bool {
        if !self.may_reach(from, to) {
            return false;
        }
        if !self.rows.is_empty() {
            let to = self.labels[to].number as usize;
            return self.rows[self.labels[from].number as usize * self.words() + to / 64] >> (to % 64) & 1 == 1;
        }
        self.searches += 1;
        self.stack.clear();
        self.stack.push(from);
        while let Some(block) = self.stack.pop() {
            if self.dominators.dominates(block, to) {
                return true;
            }
            for &succ in self.graph.succs(block) {
                let onward = self.order.index(succ) > self.order.index(block);
                if onward && self.may_reach(succ, to) && self.seen[succ] != self.searches {
                    self.seen[succ] = self.searches;
                    self.stack.push(succ);
                }
            }
        }
        false
    }

    /// Whether the labels allow it.
    fn may_reach(&self, from: Block, to: Block) -> bool {
        let Label { least, number } = self.labels[from];
        (least..=number).contains(&self.labels[to].number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};

    /// All answers about a graph. With bits and without, they must agree.
    fn answers(succs: &[&[usize]]) -> Option<Vec<Vec<usize>>> {
        let function = graph(succs);
        let order = Order::new(&function);
        let dominators = Dominators::new(&function, &order);
        let mut reach = Reach::new(&function, &order, &dominators)?;
        let mut all = || -> Vec<Vec<usize>> {
            let mut reached = |from: usize| (0..succs.len()).filter(|&to| reach.reaches(block(from), block(to))).collect();
            let all = (0..succs.len()).map(&mut reached).collect();
            reach.rows.clear();
            all
        };
        let by_bits = all();
        assert_eq!(all(), by_bits);
        Some(by_bits)
    }

    #[test]
    fn back_edges_are_not_taken() {
        // 0 → 1 → {2, 3} → 4 → {1, 5}
        let reached = answers(&[&[1], &[2, 3], &[4], &[4], &[1, 5], &[]]).unwrap();
        assert_eq!(reached[0], [0, 1, 2, 3, 4, 5]);
        assert_eq!(reached[2], [2, 4, 5]);
        assert_eq!(reached[3], [3, 4, 5]);
        assert_eq!(reached[4], [4, 5]);
    }

    #[test]
    fn irreducible_graphs_are_refused() {
        assert!(answers(&[&[1, 2], &[2], &[1, 3], &[]]).is_none());
        assert!(answers(&[&[1, 2], &[2], &[3], &[]]).is_some());
    }

    /// Compares with a search without labels, on random acyclic graphs.
    #[test]
    fn labels_never_hide_a_path() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut pairs = 0;
        for _ in 0..200 {
            let count = rng.usize(2..14);
            let mut succs: Vec<Vec<usize>> = vec![Vec::new(); count];
            for to in 1..count {
                for _ in 0..rng.usize(1..4) {
                    let from = rng.usize(..to);
                    if !succs[from].contains(&to) {
                        succs[from].push(to);
                    }
                }
            }
            let borrowed: Vec<&[usize]> = succs.iter().map(Vec::as_slice).collect();
            let reached = answers(&borrowed).unwrap();
            for from in (0..count).rev() {
                let mut expected: Vec<usize> = vec![from];
                succs[from].iter().for_each(|&succ| expected.extend(&reached[succ]));
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(reached[from], expected);
                pairs += expected.len();
            }
        }
        assert!(pairs > 2000, "{pairs}");
    }
}
