//! Dominance of program positions, computed for the validator alone \[CHK01\].
//!
//! Exceptional edges leave their block in the middle. A value that the block defines after that must not count as defined in
//! their targets. So every block that throws is cut there, and each part is a node.

use std::ops::Range;

use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

/// Where something is defined or used: at the head of a block, at one of its instructions, or at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    block: Block,
    /// 0 at the head. Instruction `i` reads at 2·`i` + 1 and writes at 2·`i` + 2.
    time: u64,
}

impl Position {
    pub fn head(block: Block) -> Self {
        Position { block, time: 0 }
    }

    pub fn read(block: Block, inst: Inst) -> Self {
        Position { block, time: 2 * u64::from(inst.as_u32()) + 1 }
    }

    pub fn written(block: Block, inst: Inst) -> Self {
        Position { block, time: 2 * u64::from(inst.as_u32()) + 2 }
    }
}

/// The dominator of a node that no pass has reached yet.
const UNKNOWN: usize = usize::MAX;

/// The largest number of parts of a block.
const PARTS: usize = 2;

/// The definitions of values, and the positions that they dominate.
pub struct Dominance<'a> {
    function: &'a Function,
    /// Where control leaves each block for landing pads. Values defined up to there are defined in these.
    throws: PrimaryMap<Block, Option<Position>>,
    /// For each node, its position in reverse postorder; `None` if it is unreachable.
    order: Vec<Option<usize>>,
    /// The immediate dominators. Both node and dominator are positions in reverse postorder; the first node has itself.
    idom: Vec<usize>,
    /// For each node, by position in reverse postorder: the range of nodes that it dominates, numbered in preorder of the
    /// dominator tree.
    dominated: Vec<Range<usize>>,
    defs: SecondaryMap<Value, Option<Position>>,
}

impl<'a> Dominance<'a> {
    pub fn new(function: &'a Function) -> Self {
        let throws = |block: Block| function.blocks[block].throws.expand().map(|inst| Position::read(block, inst));
        let throws = function.blocks.keys().map(throws).collect();
        let mut result =
            Dominance { function, throws, order: Vec::new(), idom: Vec::new(), dominated: Vec::new(), defs: SecondaryMap::new() };
        let nodes = result.reverse_postorder();
        result.idom = vec![UNKNOWN; nodes.len()];
        result.idom[0] = 0;
        while result.sweep(&nodes) {}
        result.dominated = dominated(&result.idom);
        result
    }

    /// Records a definition. Returns whether it is the first one of the value.
    pub fn define(&mut self, value: Value, at: Position) -> bool {
        self.defs[value].replace(at).is_none()
    }

    pub fn is_defined(&self, value: Value) -> bool {
        self.defs[value].is_some()
    }

    /// Whether the block is reachable from the entry.
    pub fn is_reached(&self, block: Block) -> bool {
        self.order[self.node(Position::head(block))].is_some()
    }

    /// Where the edge leaves the block `from`: at its end, or where it throws.
    pub fn exit(&self, from: Block, to: Block) -> Position {
        let early = self.throws[from].filter(|_| self.function.blocks[to].landing_pad);
        early.unwrap_or(Position { block: from, time: u64::MAX })
    }

    /// Whether the value is defined before this position on every path to it.
    pub fn reaches(&self, value: Value, at: Position) -> bool {
        let Some(def) = self.defs[value] else { return false };
        if def.block == at.block {
            return def.time <= at.time || self.order[self.node(at)].is_none();
        }
        let Some(node) = self.order[self.node(at)] else { return true };
        let Some(target) = self.order[self.node(def)] else { return false };
        self.dominated[target].contains(&self.dominated[node].start)
    }

    fn node(&self, at: Position) -> usize {
        PARTS * at.block.index() + usize::from(self.throws[at.block].is_some_and(|cut| at.time > cut.time))
    }

    fn successors(&self, node: usize) -> Vec<usize> {
        let block = Block::new(node / PARTS);
        let leaves = |&&to: &&Block| self.node(self.exit(block, to)) == node;
        let edges = self.function.blocks[block].succs.iter().filter(leaves).map(|&to| self.node(Position::head(to)));
        let is_last = node % PARTS == usize::from(self.throws[block].is_some());
        edges.chain((!is_last).then_some(node + 1)).collect()
    }

    /// The reachable nodes in reverse postorder. Fills in [`Self::order`].
    fn reverse_postorder(&mut self) -> Vec<usize> {
        let mut postorder = Vec::new();
        let mut visited = vec![false; PARTS * self.function.blocks.len()];
        visited[0] = true;
        let mut stack = vec![(0, self.successors(0))];
        while let Some((node, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !visited[next] => {
                    visited[next] = true;
                    stack.push((next, self.successors(next)));
                }
                Some(_) => {}
                None => {
                    postorder.push(*node);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        self.order = vec![None; visited.len()];
        for (index, &node) in postorder.iter().enumerate() {
            self.order[node] = Some(index);
        }
        postorder
    }

    /// One pass over the nodes. Returns whether a dominator changed.
    fn sweep(&mut self, nodes: &[usize]) -> bool {
        let before = self.idom.clone();
        for (index, &node) in nodes.iter().enumerate() {
            for to in self.successors(node).into_iter().filter_map(|to| self.order[to]).filter(|&to| to != 0) {
                self.idom[to] = match self.idom[to] {
                    UNKNOWN => index,
                    idom => self.common(idom, index),
                };
            }
        }
        self.idom != before
    }

    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let later = if a > b { &mut a } else { &mut b };
            *later = self.idom[*later];
        }
        a
    }
}

/// The nodes that each node dominates, from immediate dominators. A node's own number is the first of its range; its
/// children's ranges follow. In reverse postorder, a node comes after those that dominate it.
fn dominated(idom: &[usize]) -> Vec<Range<usize>> {
    let mut sizes = vec![1; idom.len()];
    for node in (1..idom.len()).rev() {
        sizes[idom[node]] += sizes[node];
    }
    // For each node, where the range of its next child begins.
    let mut next = vec![0; idom.len()];
    let number = |(node, &parent): (usize, &usize)| {
        let start = next[parent];
        next[parent] += sizes[node];
        next[node] = start + 1;
        start..start + sizes[node]
    };
    idom.iter().enumerate().map(number).collect()
}
