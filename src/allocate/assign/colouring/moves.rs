//! Moves that coalescing can make come to nothing.

use super::graph::{Graph, State};
use crate::allocate::assign::variables::intervals::{Interval, Intervals};
use crate::analysis::grouped::of_each;
use crate::machine::Reg;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

/// A copy, a two-address operand, or a copy from or to a register of the program; those that relate the same are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Move(u32);
entity_impl!(Move, "move");

/// The other side of a move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum End {
    Node(Interval),
    Fixed(Reg),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// It waits to be looked at.
    Waiting,
    /// It was looked at, and will be again when a node around it has become insignificant.
    Active,
    /// It is coalesced, constrained or frozen.
    Done,
}

pub(super) struct MoveData {
    pub(super) node: Interval,
    pub(super) end: End,
    /// How often it is executed.
    pub(super) weight: f64,
    pub(super) status: Status,
}

pub(super) struct Moves {
    pub(super) data: PrimaryMap<Move, MoveData>,
    /// The moves of each node.
    pub(super) of: SecondaryMap<Interval, Vec<Move>>,
}

impl Moves {
    pub(super) fn none(nodes: usize) -> Self {
        Moves { data: PrimaryMap::new(), of: of_each(nodes) }
    }

    /// The moves between intervals that can be spilled, and between these and registers that they can have.
    pub(super) fn new(intervals: &Intervals, graph: &Graph) -> Self {
        let mut moves = Moves::none(intervals.data.len());
        let is_node = |number: Interval| graph.is_present(number) && graph.cost[number].is_some();
        for (number, interval) in intervals.data.iter().filter(|&(number, _)| is_node(number)) {
            let pins = interval.pins.iter().filter(|(reg, _)| graph.allowed[number].contains(*reg));
            let partners = interval.partners.iter().filter(|&&(partner, _)| number < partner && is_node(partner));
            let partners = partners.filter(|&&(partner, _)| graph.compete(number, partner) && !graph.interfere(number, partner));
            let pins = pins.map(|&(reg, weight)| (End::Fixed(reg), weight));
            let mut ends: Vec<(End, f64)> = partners.map(|&(node, weight)| (End::Node(node), weight)).chain(pins).collect();
            ends.sort_by_key(|&(end, _)| end);
            ends.dedup_by(|next, end| {
                let same = next.0 == end.0;
                end.1 += if same { next.1 } else { 0.0 };
                same
            });
            ends.into_iter().for_each(|(end, weight)| moves.add(number, end, weight));
        }
        moves
    }

    pub(super) fn add(&mut self, node: Interval, end: End, weight: f64) {
        let number = self.data.push(MoveData { node, end, weight, status: Status::Waiting });
        self.of[node].push(number);
        if let End::Node(other) = end {
            self.of[other].push(number);
        }
    }

    /// The moves of a node that may still come to nothing.
    pub(super) fn open(&self, node: Interval) -> impl Iterator<Item = Move> {
        self.of[node].iter().copied().filter(|&number| self.data[number].status != Status::Done)
    }

    /// What the open moves of a node are worth.
    pub(super) fn worth(&self, node: Interval) -> f64 {
        self.open(node).map(|number| self.data[number].weight).sum()
    }

    /// The two sides of a move, as they are by now: nodes that have got a register of the program are that register.
    pub(super) fn ends(&self, number: Move, graph: &Graph) -> [End; 2] {
        let MoveData { node, end, .. } = self.data[number];
        [End::Node(node), end].map(|end| match end {
            End::Node(node) => match graph.state[graph.find(node)] {
                State::Fixed(reg) => End::Fixed(reg),
                _ => End::Node(graph.find(node)),
            },
            fixed => fixed,
        })
    }

    /// Gives a node the open moves of another one that is a part of it now.
    pub(super) fn merge(&mut self, into: Interval, node: Interval) {
        let mut all = std::mem::take(&mut self.of[into]);
        all.append(&mut self.of[node]);
        all.retain(|&number| self.data[number].status != Status::Done);
        self.of[into] = all;
    }
}
