//! The interference graph.

use crate::allocate::assign::variables::intervals::Interval;
use crate::analysis::grouped::of_each;
use crate::machine::{Reg, RegSet};
use cranelift_entity::SecondaryMap;

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum NodeState {
    #[default]
    Present,
    /// It has been taken out of the graph, and waits on the stack to be coloured.
    Stacked,
    /// It is a part of another node.
    Coalesced(Interval),
    /// It is coalesced with a register of the program.
    Fixed(Reg),
    /// It was spilled when the graph was built.
    Spilled,
}

/// The interference graph. Its nodes are intervals, and later sets of intervals, each under the name of one of them.
///
/// Neighbours count only if they have a register in common. Registers are taken from nodes and never given back, so
/// neighbours that do not count never will.
pub(super) struct Graph {
    /// The neighbours of each node. If one has been coalesced since, the node of which it is a part is also listed.
    pub(super) adjacent: SecondaryMap<Interval, Vec<Interval>>,
    /// The registers that a node can have.
    pub(super) allowed: SecondaryMap<Interval, RegSet>,
    /// The number of neighbours that are present and count.
    pub(super) degree: SecondaryMap<Interval, usize>,
    /// The cost of spilling each node, in executed accesses. It is infinite for those too short for spilling to help;
    /// temporaries have none.
    pub(super) cost: SecondaryMap<Interval, Option<f64>>,
    pub(super) state: SecondaryMap<Interval, NodeState>,
    /// The last mark of each node ([`Graph::mark`]).
    seen: SecondaryMap<Interval, u32>,
    /// The mark of neighbours of both nodes. That of neighbours of the first one only is one less.
    now: u32,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Self {
        Graph {
            adjacent: of_each(nodes),
            allowed: of_each(nodes),
            degree: of_each(nodes),
            cost: of_each(nodes),
            state: of_each(nodes),
            seen: of_each(nodes),
            now: 0,
        }
    }

    /// The node that an interval is a part of.
    pub(super) fn find(&self, mut node: Interval) -> Interval {
        while let NodeState::Coalesced(into) = self.state[node] {
            node = into;
        }
        node
    }

    pub(super) fn is_present(&self, node: Interval) -> bool {
        self.state[node] == NodeState::Present
    }

    /// Whether two nodes have a register in common.
    pub(super) fn compete(&self, a: Interval, b: Interval) -> bool {
        self.allowed[a].intersects(self.allowed[b])
    }

    /// Whether a node will find a register whatever its neighbours get.
    pub(super) fn is_insignificant(&self, node: Interval) -> bool {
        self.degree[node] < self.allowed[node].len()
    }

    /// The neighbours of a node that are present and count.
    pub(super) fn neighbours(&self, node: Interval) -> impl Iterator<Item = Interval> {
        self.adjacent[node].iter().copied().filter(move |&other| self.is_present(other) && self.compete(node, other))
    }

    /// Whether two nodes are neighbours. Neither of them has been coalesced with another one.
    pub(super) fn interfere(&self, a: Interval, b: Interval) -> bool {
        let (few, other) = if self.adjacent[a].len() < self.adjacent[b].len() { (a, b) } else { (b, a) };
        self.adjacent[few].contains(&other)
    }

    /// Counts the neighbours of all nodes.
    pub(super) fn count(&mut self) {
        for node in self.adjacent.keys() {
            self.degree[node] = self.neighbours(node).count();
        }
    }

    /// Marks the neighbours of two nodes, for [`Graph::union`].
    pub(super) fn mark(&mut self, a: Interval, b: Interval) {
        self.now += 2;
        let (of_one, of_both) = (self.now - 1, self.now);
        let Graph { adjacent, seen, .. } = self;
        adjacent[a].iter().for_each(|&node| seen[node] = of_one);
        for &node in &adjacent[b] {
            if seen[node] == of_one {
                seen[node] = of_both;
            }
        }
    }

    /// The neighbours of two nodes, each once, with the information of which of the two it is a neighbour. Nodes that have
    /// been coalesced with others are left out. Requires that the two nodes have just been marked.
    pub(super) fn union(&self, a: Interval, b: Interval) -> impl Iterator<Item = (Interval, [bool; 2])> {
        let whole = |&node: &Interval| !matches!(self.state[node], NodeState::Coalesced(_));
        let of_both = move |node: Interval| self.seen[node] == self.now;
        let of_a = self.adjacent[a].iter().copied().filter(whole).map(move |node| (node, [true, of_both(node)]));
        let of_b = self.adjacent[b].iter().copied().filter(move |&node| !of_both(node) && whole(&node));
        of_a.chain(of_b.map(|node| (node, [false, true])))
    }

    /// Makes one node of two that do not interfere, under the name of the first. Returns the neighbours whose degrees fall,
    /// with their old degrees.
    pub(super) fn combine(&mut self, into: Interval, node: Interval) -> Vec<(Interval, usize)> {
        self.mark(into, node);
        let neighbours: Vec<(Interval, [bool; 2])> = self.union(into, node).collect();
        let before = [into, node].map(|part| self.allowed[part]);
        let allowed = before[0] & before[1];
        self.allowed[into] = allowed;
        self.degree[into] = 0;
        self.cost[into] = self.cost[into].zip(self.cost[node]).map(|(a, b)| a + b);
        self.state[node] = NodeState::Coalesced(into);
        let mut fallen = Vec::new();
        for &(other, of) in &neighbours {
            if !of[0] {
                self.adjacent[other].push(into);
            }
            if self.is_present(other) {
                let of_it = self.allowed[other];
                let counted = (0..2).filter(|&part| of[part] && before[part].intersects(of_it)).count();
                let counts = usize::from(allowed.intersects(of_it));
                self.degree[into] += counts;
                if counts < counted {
                    fallen.push((other, self.degree[other]));
                    self.degree[other] -= counted - counts;
                }
            }
        }
        self.adjacent[into] = neighbours.into_iter().map(|(other, _)| other).collect();
        fallen
    }

    /// Takes a node out of the graph. Returns the neighbours whose degrees fall, with their old degrees.
    pub(super) fn remove(&mut self, node: Interval, state: NodeState) -> Vec<(Interval, usize)> {
        let neighbours: Vec<Interval> = self.neighbours(node).collect();
        self.state[node] = state;
        let fallen = neighbours.iter().map(|&other| (other, self.degree[other])).collect();
        neighbours.into_iter().for_each(|other| self.degree[other] -= 1);
        fallen
    }

    /// Takes a register from a node. Returns the neighbours whose degrees fall, with their old degrees.
    pub(super) fn take_from(&mut self, node: Interval, reg: Reg) -> Vec<(Interval, usize)> {
        let before: Vec<Interval> = self.neighbours(node).collect();
        self.allowed[node].remove(reg);
        let mut fallen = Vec::new();
        for other in before.into_iter().filter(|&other| !self.allowed[node].intersects(self.allowed[other])) {
            fallen.push((other, self.degree[other]));
            self.degree[other] -= 1;
            self.degree[node] -= 1;
        }
        fallen
    }
}
