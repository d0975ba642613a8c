//! Dominance of program positions, computed for the validator alone (Cooper, Harvey, Kennedy: "A simple, fast
//! dominance algorithm").
//!
//! An exceptional edge leaves its block in the middle. So that what the block defines behind that does not count as
//! defined in the landing pad, every block is two nodes: the part before the instruction that throws, and the rest.

use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Where something is defined or used: at the head of a block, at one of its instructions, or at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    block: Block,
    /// 0 at the head; instruction `i` reads at 2·`i` + 1 and writes at 2·`i` + 2.
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

/// A node whose dominator no pass has seen yet.
const UNKNOWN: usize = usize::MAX;

/// Which definition is where, and which positions it dominates.
pub struct Dominance<'a> {
    function: &'a Function,
    /// The position of a node in reverse postorder; `None` if it cannot be reached.
    order: Vec<Option<usize>>,
    /// The immediate dominator, both in reverse postorder; the first node's is itself.
    idom: Vec<usize>,
    defs: SecondaryMap<Value, Option<Position>>,
}

impl<'a> Dominance<'a> {
    pub fn new(function: &'a Function) -> Self {
        let mut result = Dominance { function, order: Vec::new(), idom: Vec::new(), defs: SecondaryMap::new() };
        let nodes = result.reverse_postorder();
        result.idom = vec![UNKNOWN; nodes.len()];
        result.idom[0] = 0;
        while result.sweep(&nodes) {}
        result
    }

    /// Notes a definition; false if there is one already.
    pub fn define(&mut self, value: Value, at: Position) -> bool {
        self.defs[value].replace(at).is_none()
    }

    pub fn is_defined(&self, value: Value) -> bool {
        self.defs[value].is_some()
    }

    /// Where the edge leaves the block `from`: at its end, or where it throws.
    pub fn exit(&self, from: Block, to: Block) -> Position {
        match self.function.blocks[from].throws.expand() {
            Some(throws) if self.function.blocks[to].landing_pad => Position::read(from, throws),
            _ => Position { block: from, time: u64::MAX },
        }
    }

    /// Whether the value is defined before this position on every way to it.
    pub fn reaches(&self, value: Value, at: Position) -> bool {
        let Some(def) = self.defs[value] else { return false };
        if def.block == at.block {
            return def.time < at.time || self.order[self.node(at)].is_none();
        }
        let Some(mut node) = self.order[self.node(at)] else { return true };
        let Some(target) = self.order[self.node(def)] else { return false };
        while node > target {
            node = self.idom[node];
        }
        node == target
    }

    fn node(&self, at: Position) -> usize {
        let throws = self.function.blocks[at.block].throws.expand();
        let behind = throws.is_some_and(|inst| at.time > Position::read(at.block, inst).time);
        2 * at.block.index() + usize::from(behind)
    }

    fn successors(&self, node: usize) -> Vec<usize> {
        let data = &self.function.blocks[Block::new(node / 2)];
        let before = node.is_multiple_of(2);
        let exceptional = |to: Block| data.throws.is_some() && self.function.blocks[to].landing_pad;
        let edges = data.succs.iter().filter(|&&to| exceptional(to) == before).map(|to| 2 * to.index());
        edges.chain(before.then_some(node + 1)).collect()
    }

    /// The nodes that can be reached; fills [`Self::order`].
    fn reverse_postorder(&mut self) -> Vec<usize> {
        let mut postorder = Vec::new();
        let mut visited = vec![false; 2 * self.function.blocks.len()];
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

    /// One pass over the nodes; whether a dominator changed.
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
