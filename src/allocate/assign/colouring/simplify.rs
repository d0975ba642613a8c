//! Simplifying, coalescing and freezing in turns ([GA96, §3 and §4], and its appendix).
//!
//! The paper leaves open in which order moves are looked at. Here the heaviest waiting move comes first: each coalescing
//! makes others harder, and a frequent move should not be barred by one that is hardly ever executed. Of the nodes whose
//! moves can be frozen, the one whose moves are worth least comes first.

use super::graph::{Graph, NodeState};
use super::moves::{Move, MoveEnd, MoveStatus, Moves};
use crate::allocate::assign::variables::intervals::Interval;
use crate::machine::Reg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A graph from which all nodes have been taken: each is fixed, coalesced with another one, spilled, or on the stack.
pub(super) struct Simplified {
    pub(super) graph: Graph,
    /// The nodes to be coloured, the last one first.
    pub(super) stack: Vec<Interval>,
}

/// Takes the graph apart.
pub(super) fn simplify(graph: Graph, moves: Moves) -> Simplified {
    let nodes: Vec<Interval> = graph.adjacent.keys().collect();
    let mut simplifier = Simplifier {
        waiting: moves.data.iter().map(|(number, data)| (NonNegative::of(data.weight), Reverse(number))).collect(),
        graph,
        moves,
        simple: Vec::new(),
        related: BinaryHeap::new(),
        significant: BinaryHeap::new(),
        stack: Vec::new(),
    };
    for &node in nodes.iter().rev() {
        simplifier.enlist(node);
    }
    while simplifier.step() {}
    debug_assert!(nodes.iter().all(|&node| !simplifier.graph.is_present(node)), "every node is on some list");
    Simplified { graph: simplifier.graph, stack: simplifier.stack }
}

/// A number that is not negative, in a form that can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NonNegative(u64);

impl NonNegative {
    /// The bits of numbers that are not negative are ordered as the numbers are.
    fn of(number: f64) -> Self {
        NonNegative(number.to_bits())
    }
}

/// Nodes in the ascending order of a number, temporaries last. The number may have risen since a node was enlisted.
type Worklist = BinaryHeap<Reverse<(bool, NonNegative, Interval)>>;

struct Simplifier {
    graph: Graph,
    moves: Moves,
    /// Waiting moves, the heaviest first.
    waiting: BinaryHeap<(NonNegative, Reverse<Move>)>,
    /// Insignificant nodes without open moves.
    simple: Vec<Interval>,
    /// Insignificant nodes with open moves, by the worth of these.
    related: Worklist,
    /// Significant nodes, by their costs divided by their degrees, temporaries last.
    significant: Worklist,
    stack: Vec<Interval>,
}

impl Simplifier {
    /// Takes one step of the paper's main loop. Returns false if nothing is left to do.
    fn step(&mut self) -> bool {
        if let Some(node) = self.simple.pop() {
            if self.graph.is_present(node) {
                self.push(node);
            }
        } else if let Some((_, Reverse(number))) = self.waiting.pop() {
            self.coalesce(number);
        } else if let Some(Reverse(entry)) = self.related.pop() {
            self.freeze_if_current(entry);
        } else if let Some(Reverse(entry)) = self.significant.pop() {
            self.spill_if_current(entry);
        } else {
            return false;
        }
        true
    }

    /// Puts a node on the list where it belongs now.
    fn enlist(&mut self, node: Interval) {
        if !self.graph.is_present(node) {
            return;
        }
        if !self.graph.is_insignificant(node) {
            self.significant.push(Reverse(self.by_cost(node)));
        } else if self.moves.open(node).next().is_some() {
            self.related.push(Reverse(self.by_worth(node)));
        } else {
            self.simple.push(node);
        }
    }

    fn by_worth(&self, node: Interval) -> (bool, NonNegative, Interval) {
        (false, NonNegative::of(self.moves.worth(node)), node)
    }

    fn by_cost(&self, node: Interval) -> (bool, NonNegative, Interval) {
        let cost = self.graph.cost[node];
        let degree = self.graph.degree[node] as f64;
        (cost.is_none(), NonNegative::of(cost.unwrap_or(f64::INFINITY) / degree), node)
    }

    /// Takes a node without open moves out of the graph, and puts it on the stack.
    fn push(&mut self, node: Interval) {
        let fallen = self.graph.remove(node, NodeState::Stacked);
        self.stack.push(node);
        self.fallen(fallen);
    }

    /// Looks at the moves near a node again if it has become insignificant. The nodes come with the degrees from which they
    /// fell.
    fn fallen(&mut self, fallen: Vec<(Interval, usize)>) {
        for (node, before) in fallen {
            if self.graph.is_insignificant(node) && before >= self.graph.allowed[node].len() {
                self.wake(node);
                let neighbours: Vec<Interval> = self.graph.neighbours(node).collect();
                neighbours.into_iter().for_each(|other| self.wake(other));
                self.enlist(node);
            }
        }
    }

    /// Makes the active moves of a node wait again.
    fn wake(&mut self, node: Interval) {
        for &number in &self.moves.of[node] {
            let data = &mut self.moves.data[number];
            if data.status == MoveStatus::Active {
                data.status = MoveStatus::Waiting;
                self.waiting.push((NonNegative::of(data.weight), Reverse(number)));
            }
        }
    }

    fn coalesce(&mut self, number: Move) {
        if self.moves.data[number].status != MoveStatus::Waiting {
            return;
        }
        match self.moves.ends(number, &self.graph) {
            [MoveEnd::Node(a), MoveEnd::Node(b)] if a != b && !self.graph.interfere(a, b) && self.graph.compete(a, b) => {
                match self.is_safe(a, b) {
                    true => self.combine(number, a, b),
                    false => self.moves.data[number].status = MoveStatus::Active,
                }
            }
            [MoveEnd::Node(node), MoveEnd::Fixed(reg)] | [MoveEnd::Fixed(reg), MoveEnd::Node(node)]
                if self.graph.allowed[node].contains(reg) =>
            {
                match self.is_safe_in(node, reg) {
                    true => self.fix(number, node, reg),
                    false => self.moves.data[number].status = MoveStatus::Active,
                }
            }
            ends => self.finish(number, ends),
        }
    }

    /// Briggs's test: together, the two nodes would have fewer significant neighbours than registers.
    fn is_safe(&mut self, a: Interval, b: Interval) -> bool {
        let allowed = self.graph.allowed[a] & self.graph.allowed[b];
        self.graph.mark(a, b);
        let graph = &self.graph;
        let significant = |&(node, of): &(Interval, [bool; 2])| {
            let shared = usize::from(of[0] && of[1]);
            graph.is_present(node)
                && allowed.intersects(graph.allowed[node])
                && graph.degree[node] - shared >= graph.allowed[node].len()
        };
        graph.union(a, b).filter(significant).take(allowed.len()).count() < allowed.len()
    }

    /// George's test: each neighbour is insignificant, or cannot have the register.
    fn is_safe_in(&self, node: Interval, reg: Reg) -> bool {
        self.graph.neighbours(node).all(|other| !self.graph.allowed[other].contains(reg) || self.graph.is_insignificant(other))
    }

    /// Makes one node of two.
    fn combine(&mut self, number: Move, a: Interval, b: Interval) {
        let (into, node) = if self.graph.adjacent[a].len() < self.graph.adjacent[b].len() { (b, a) } else { (a, b) };
        let fallen = self.graph.combine(into, node);
        self.moves.data[number].status = MoveStatus::Done;
        self.wake(node);
        self.moves.merge(into, node);
        self.fallen(fallen);
        self.enlist(into);
    }

    /// Coalesces a node with a pinned register, which its neighbours can no longer have.
    fn fix(&mut self, number: Move, node: Interval, reg: Reg) {
        let losers: Vec<Interval> = self.graph.neighbours(node).filter(|&n| self.graph.allowed[n].contains(reg)).collect();
        let mut fallen = self.graph.remove(node, NodeState::Fixed(reg));
        self.finish(number, [MoveEnd::Node(node), MoveEnd::Fixed(reg)]);
        for loser in losers {
            fallen.extend(self.graph.take_from(loser, reg));
        }
        self.fallen(fallen);
        // Its other moves are moves from or to the register now.
        self.wake(node);
    }

    /// Marks a move as coalesced, constrained or given up. Its sides may have no open moves any more, and are enlisted
    /// again.
    fn finish(&mut self, number: Move, ends: [MoveEnd; 2]) {
        self.moves.data[number].status = MoveStatus::Done;
        for end in ends {
            if let MoveEnd::Node(node) = end
                && self.graph.is_insignificant(node)
            {
                self.enlist(node);
            }
        }
    }

    /// Freezes an insignificant node whose moves are worth least, unless the entry is out of date.
    fn freeze_if_current(&mut self, entry: (bool, NonNegative, Interval)) {
        let node = entry.2;
        if !self.graph.is_present(node) || !self.graph.is_insignificant(node) || self.moves.open(node).next().is_none() {
            return;
        }
        match self.by_worth(node) {
            current if current > entry => self.related.push(Reverse(current)),
            _ => self.freeze(node),
        }
    }

    fn freeze(&mut self, node: Interval) {
        let open: Vec<Move> = self.moves.open(node).collect();
        for number in open {
            self.finish(number, self.moves.ends(number, &self.graph));
        }
    }

    /// Takes out the significant node that is cheapest to spill, unless the entry is out of date. It may find a register all
    /// the same.
    fn spill_if_current(&mut self, entry: (bool, NonNegative, Interval)) {
        let node = entry.2;
        if !self.graph.is_present(node) || self.graph.is_insignificant(node) {
            return;
        }
        match self.by_cost(node) {
            current if current > entry => self.significant.push(Reverse(current)),
            _ => {
                self.freeze(node);
                self.push(node);
            }
        }
    }
}
