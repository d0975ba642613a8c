//! Location transfer graphs: in which order their edges can be implemented.
//!
//! The type of the edges says what a location is, and this file never looks into it. So a graph whose edges cannot name
//! memory is implemented without memory.
//!
//! Relies on: [PP09, §4]. Each location is written once, so the graphs are windmills: a component is a tree, or a cycle from
//! which trees sprout. An edge is ready when no other edge leaves its target. Once the trees are gone, only cycles are left,
//! in which each location is read once.

use smallvec::SmallVec;
use std::fmt::Debug;

/// An edge: the content of one place goes to another, at the same time as along all other edges of the graph.
pub(super) trait Edge: Copy {
    type Place: Copy + Ord + Debug;
    fn source(self) -> Self::Place;
    fn target(self) -> Self::Place;
}

/// The edges that are not implemented yet.
pub(super) struct Graph<E: Edge> {
    /// The nodes in ascending order of their places.
    nodes: Vec<Node<E>>,
    /// No node before this one is pending.
    first_pending: usize,
}

struct Node<E: Edge> {
    place: E::Place,
    /// The edge into the place, while the place is pending.
    into: Option<E>,
    /// The number of edges out of the place.
    readers: u32,
}

impl<E: Edge> Graph<E> {
    /// The graph of these edges, without self loops, which need no code.
    pub(super) fn new(edges: &[E]) -> Self {
        let mut targets: SmallVec<[E::Place; 8]> = edges.iter().map(|edge| edge.target()).collect();
        targets.sort_unstable();
        if let Some(twice) = targets.windows(2).find(|pair| pair[0] == pair[1]) {
            panic!("a parallel copy writes {:?} twice", twice[0]);
        }
        let edges = || edges.iter().filter(|edge| edge.source() != edge.target());
        let mut places: SmallVec<[E::Place; 16]> = edges().flat_map(|edge| [edge.source(), edge.target()]).collect();
        places.sort_unstable();
        places.dedup();
        let nodes = places.into_iter().map(|place| Node { place, into: None, readers: 0 }).collect();
        let mut graph = Graph { nodes, first_pending: 0 };
        for &edge in edges() {
            graph.node_mut(edge.target()).into = Some(edge);
            graph.node_mut(edge.source()).readers += 1;
        }
        graph
    }

    /// The places whose edge is ready, in ascending order.
    pub(super) fn ready(&self) -> SmallVec<[E::Place; 8]> {
        self.nodes.iter().filter(|node| node.into.is_some() && node.readers == 0).map(|node| node.place).collect()
    }

    /// The number of edges out of a place.
    pub(super) fn readers(&self, place: E::Place) -> u32 {
        self.node(place).map_or(0, |node| node.readers)
    }

    /// The edge into a place.
    pub(super) fn edge_into(&self, place: E::Place) -> Option<E> {
        self.node(place)?.into
    }

    /// Takes the edge into a place out of the graph. Answers the edge, and its source if that has become ready.
    pub(super) fn take(&mut self, place: E::Place) -> (E, Option<E::Place>) {
        let edge = self.node_mut(place).into.take().expect("a pending place has an edge");
        let source = self.node_mut(edge.source());
        source.readers -= 1;
        (edge, (source.readers == 0 && source.into.is_some()).then_some(source.place))
    }

    /// Takes the cycle of the lowest pending place out of a graph in which no edge is ready. Its edges come in backward
    /// order from the one into that place: the source of each is the target of the next.
    pub(super) fn next_cycle(&mut self) -> Option<Vec<E>> {
        let pending = self.nodes[self.first_pending..].iter().position(|node| node.into.is_some())?;
        self.first_pending += pending;
        let mut at = self.nodes[self.first_pending].place;
        let mut cycle = Vec::new();
        while self.edge_into(at).is_some() {
            let (edge, _) = self.take(at);
            cycle.push(edge);
            at = edge.source();
        }
        Some(cycle)
    }

    fn node(&self, place: E::Place) -> Option<&Node<E>> {
        let index = self.nodes.binary_search_by_key(&place, |node| node.place).ok()?;
        Some(&self.nodes[index])
    }

    fn node_mut(&mut self, place: E::Place) -> &mut Node<E> {
        let index = self.nodes.binary_search_by_key(&place, |node| node.place).expect("the place is in the graph");
        &mut self.nodes[index]
    }
}
