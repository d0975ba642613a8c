//! Simplifying, coalescing and freezing, in turns (sections 3 and 4, and the appendix).
//!
//! The heaviest of all waiting moves is looked at first. (The paper leaves the order open.) Each coalescing makes others harder,
//! so what is executed most often should not find the way barred by what hardly is; and what is frozen first is what is worth
//! least.

use super::graph::{Graph, State};
use super::moves::{End, Move, Moves, Status};
use crate::allocate::assign::variables::intervals::Interval;
use crate::machine::Reg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A graph without nodes: all are coloured already, parts of others, spilled, or wait for their turn.
pub(super) struct Simplified {
    pub(super) graph: Graph,
    /// The last is coloured first.
    pub(super) stack: Vec<Interval>,
}

/// Takes the graph apart.
pub(super) fn simplify(graph: Graph, moves: Moves) -> Simplified {
    let nodes: Vec<Interval> = graph.adjacent.keys().collect();
    let mut simplifier = Simplifier {
        waiting: moves.data.iter().map(|(number, data)| (Bits::of(data.weight), Reverse(number))).collect(),
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

/// A number, not negative, that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bits(u64);

impl Bits {
    /// Of numbers that are not negative, bits are ordered as numbers are.
    fn of(number: f64) -> Self {
        Bits(number.to_bits())
    }
}

/// Nodes that are looked at in the order of a number, which may have risen since.
type Worklist = BinaryHeap<Reverse<(bool, Bits, Interval)>>;

struct Simplifier {
    graph: Graph,
    moves: Moves,
    /// Moves that wait, the heaviest first.
    waiting: BinaryHeap<(Bits, Reverse<Move>)>,
    /// Insignificant nodes without open moves.
    simple: Vec<Interval>,
    /// Insignificant nodes with open moves, by what these are worth.
    related: Worklist,
    /// Significant nodes: temporaries last, others by their costs for each neighbour.
    significant: Worklist,
    stack: Vec<Interval>,
}

impl Simplifier {
    /// One step of the paper's main loop; false if there is nothing left.
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

    fn by_worth(&self, node: Interval) -> (bool, Bits, Interval) {
        (false, Bits::of(self.moves.worth(node)), node)
    }

    fn by_cost(&self, node: Interval) -> (bool, Bits, Interval) {
        let cost = self.graph.cost[node];
        let degree = self.graph.degree[node] as f64;
        (cost.is_none(), Bits::of(cost.unwrap_or(f64::INFINITY) / degree), node)
    }

    /// Takes a node out of the graph. Its open moves are given up by then.
    fn push(&mut self, node: Interval) {
        let fallen = self.graph.remove(node, State::Stacked);
        self.stack.push(node);
        self.fallen(fallen);
    }

    /// The degrees of nodes have fallen from these. Where one has become insignificant, moves around it are looked at again.
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

    /// Has the moves of a node looked at again.
    fn wake(&mut self, node: Interval) {
        for &number in &self.moves.of[node] {
            let data = &mut self.moves.data[number];
            if data.status == Status::Active {
                data.status = Status::Waiting;
                self.waiting.push((Bits::of(data.weight), Reverse(number)));
            }
        }
    }

    fn coalesce(&mut self, number: Move) {
        if self.moves.data[number].status != Status::Waiting {
            return;
        }
        match self.moves.ends(number, &self.graph) {
            [End::Node(a), End::Node(b)] if a != b && !self.graph.interfere(a, b) && self.graph.compete(a, b) => {
                match self.is_safe(a, b) {
                    true => self.combine(number, a, b),
                    false => self.moves.data[number].status = Status::Active,
                }
            }
            [End::Node(node), End::Fixed(reg)] | [End::Fixed(reg), End::Node(node)] if self.graph.allowed[node].contains(reg) => {
                match self.is_safe_in(node, reg) {
                    true => self.fix(number, node, reg),
                    false => self.moves.data[number].status = Status::Active,
                }
            }
            ends => self.finish(number, ends),
        }
    }

    /// Briggs: fewer neighbours of both together are significant than there are registers.
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

    /// George: each neighbour is insignificant, or cannot have the register.
    fn is_safe_in(&self, node: Interval, reg: Reg) -> bool {
        self.graph.neighbours(node).all(|other| !self.graph.allowed[other].contains(reg) || self.graph.is_insignificant(other))
    }

    /// Makes one node of two.
    fn combine(&mut self, number: Move, a: Interval, b: Interval) {
        let (into, node) = if self.graph.adjacent[a].len() < self.graph.adjacent[b].len() { (b, a) } else { (a, b) };
        let fallen = self.graph.combine(into, node);
        self.moves.data[number].status = Status::Done;
        self.wake(node);
        self.moves.merge(into, node);
        self.fallen(fallen);
        self.enlist(into);
    }

    /// Coalesces a node with a register of the program: its neighbours lose it.
    fn fix(&mut self, number: Move, node: Interval, reg: Reg) {
        let losers: Vec<Interval> = self.graph.neighbours(node).filter(|&n| self.graph.allowed[n].contains(reg)).collect();
        let mut fallen = self.graph.remove(node, State::Fixed(reg));
        self.finish(number, [End::Node(node), End::Fixed(reg)]);
        for loser in losers {
            fallen.extend(self.graph.take_from(loser, reg));
        }
        self.fallen(fallen);
        // Its other moves are moves from or to the register now.
        self.wake(node);
    }

    /// A move is coalesced, constrained or given up; its ends may have no other.
    fn finish(&mut self, number: Move, ends: [End; 2]) {
        self.moves.data[number].status = Status::Done;
        for end in ends {
            if let End::Node(node) = end
                && self.graph.is_insignificant(node)
            {
                self.enlist(node);
            }
        }
    }

    /// Gives up the moves of an insignificant node that are worth least.
    fn freeze_if_current(&mut self, entry: (bool, Bits, Interval)) {
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

    /// Takes out the significant node that is cheapest to spill; it may find a register all the same.
    fn spill_if_current(&mut self, entry: (bool, Bits, Interval)) {
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
