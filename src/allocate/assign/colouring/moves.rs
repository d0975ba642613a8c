//! The moves that disappear if their two sides are coalesced.

use super::graph::{Graph, NodeState};
use crate::allocate::assign::variables::intervals::{Interval, Intervals};
use crate::analysis::grouped::of_each;
use crate::machine::Reg;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

/// A copy, a two-address operand, or a copy from or to a pinned register. Those between the same two sides are one move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Move(u32);
entity_impl!(Move, "move");

/// A side of a move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum MoveEnd {
    Node(Interval),
    Fixed(Reg),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MoveStatus {
    /// It is still to be looked at.
    Waiting,
    /// It could not be coalesced, and will be looked at again when a node near it has become insignificant.
    Active,
    /// It has been coalesced, is constrained, or has been frozen.
    Done,
}

pub(super) struct MoveData {
    pub(super) node: Interval,
    pub(super) end: MoveEnd,
    /// The executions of the move.
    pub(super) weight: f64,
    pub(super) status: MoveStatus,
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

    /// The moves between intervals that are no temporaries, and between these and pinned registers that they can have.
    pub(super) fn new(intervals: &Intervals, graph: &Graph) -> Self {
        let mut moves = Moves::none(intervals.data.len());
        let is_node = |number: Interval| graph.is_present(number) && graph.cost[number].is_some();
        for (number, interval) in intervals.data.iter().filter(|&(number, _)| is_node(number)) {
            let pins = interval.pins.iter().filter(|(reg, _)| graph.allowed[number].contains(*reg));
            let partners = interval.partners.iter().filter(|&&(partner, _)| number < partner && is_node(partner));
            let partners = partners.filter(|&&(partner, _)| graph.compete(number, partner) && !graph.interfere(number, partner));
            let pins = pins.map(|&(reg, weight)| (MoveEnd::Fixed(reg), weight));
            let mut ends: Vec<(MoveEnd, f64)> =
                partners.map(|&(node, weight)| (MoveEnd::Node(node), weight)).chain(pins).collect();
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

    pub(super) fn add(&mut self, node: Interval, end: MoveEnd, weight: f64) {
        let number = self.data.push(MoveData { node, end, weight, status: MoveStatus::Waiting });
        self.of[node].push(number);
        if let MoveEnd::Node(other) = end {
            self.of[other].push(number);
        }
    }

    /// The moves of a node that may still be coalesced.
    pub(super) fn open(&self, node: Interval) -> impl Iterator<Item = Move> {
        self.of[node].iter().copied().filter(|&number| self.data[number].status != MoveStatus::Done)
    }

    /// The executions of a node's open moves.
    pub(super) fn worth(&self, node: Interval) -> f64 {
        self.open(node).map(|number| self.data[number].weight).sum()
    }

    /// The two sides of a move at present. A node that was coalesced with a pinned register is that register.
    pub(super) fn ends(&self, number: Move, graph: &Graph) -> [MoveEnd; 2] {
        let MoveData { node, end, .. } = self.data[number];
        [MoveEnd::Node(node), end].map(|end| match end {
            MoveEnd::Node(node) => match graph.state[graph.find(node)] {
                NodeState::Fixed(reg) => MoveEnd::Fixed(reg),
                _ => MoveEnd::Node(graph.find(node)),
            },
            fixed => fixed,
        })
    }

    /// Gives a node the open moves of another one that has been coalesced with it.
    pub(super) fn merge(&mut self, into: Interval, node: Interval) {
        let mut all = std::mem::take(&mut self.of[into]);
        all.append(&mut self.of[node]);
        all.retain(|&number| self.data[number].status != MoveStatus::Done);
        self.of[into] = all;
    }
}
