//! Minimum cuts by augmenting paths.
//!
//! A node that costs more as 0 than as 1 has a positive *excess*, which flows from it; one that costs more as 1 is a sink,
//! and a pair is an arc \[PR75\]. When nothing flows any more, the nodes that reach no sink are 1.
//!
//! Paths are found along trees rooted in sinks. A tree is mended where flow has filled an arc or a sink, not searched anew
//! \[BK04\]; theirs grow from both ends. Later cuts of the same network, with other costs of single nodes, go on with the flow
//! and the trees of earlier ones \[KT07\].

use super::network::{Arc, Component, Network, Node};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::ops::Range;

/// The network that flow has left, or that of one component. It states the same costs in another way: flow takes as much
/// from some as it adds to others, so that no labelling becomes cheaper or dearer.
#[derive(Clone)]
pub(in crate::allocate) struct Residual {
    /// The cost of each node as 0, less its cost as 1 and the flow from it.
    excess: Vec<i64>,
    /// The remaining capacity of each arc towards its own node. The search goes backwards from sinks, so this is what it
    /// reads.
    inflow: Vec<i64>,
    /// The indices of the first node and of the first arc.
    first: usize,
    first_arc: usize,
}

impl Residual {
    /// The network before any flow: by how much more each node costs as 0 than as 1; and, for each arc, the cost of its own
    /// node being 0 and the other one 1.
    pub(super) fn new(excess: Vec<i64>, inflow: Vec<i64>) -> Self {
        Residual { excess, inflow, first: 0, first_arc: 0 }
    }

    /// An empty one, with memory for any single component.
    pub(in crate::allocate) fn for_any_component(network: &Network) -> Self {
        let most = |count: fn(&Network, Component) -> usize| network.components().map(|it| count(network, it)).max().unwrap_or(0);
        let (nodes, arcs) =
            (most(|network, it| network.node_range(it).len()), most(|network, it| network.arcs_of_component(it).len()));
        Residual { excess: Vec::with_capacity(nodes), inflow: Vec::with_capacity(arcs), first: 0, first_arc: 0 }
    }

    /// Becomes the part of another one that is about a component.
    pub(in crate::allocate) fn copy_from(&mut self, other: &Residual, network: &Network, component: Component) {
        let (nodes, arcs) = (network.node_range(component), network.arcs_of_component(component));
        (self.first, self.first_arc) = (nodes.start, arcs.start);
        self.excess.clear();
        self.excess.extend_from_slice(&other.excess[nodes]);
        self.inflow.clear();
        self.inflow.extend_from_slice(&other.inflow[arcs]);
    }

    /// The cost of a labelling of a component whose nodes have not been charged anything.
    pub(in crate::allocate) fn cost(&self, network: &Network, component: Component, is_one: impl Fn(Node) -> bool) -> i64 {
        self.cost_without(network, component, is_one, |_| 0)
    }

    /// The cost of a labelling, without the charges for being 1 that have been subtracted from the nodes' excesses.
    pub(in crate::allocate) fn cost_without(
        &self,
        network: &Network,
        component: Component,
        is_one: impl Fn(Node) -> bool,
        charged: impl Fn(Node) -> i64,
    ) -> i64 {
        let mut cost = network.with_all_ones[component];
        for node in network.nodes(component).filter(|&node| !is_one(node)) {
            let arcs = network.arcs_of(node);
            let cut =
                network.arcs[arcs.clone()].iter().zip(self.inflows(arcs)).filter(|&(arc, &cost)| cost > 0 && is_one(arc.to));
            let own = self.excess(node).wrapping_add(charged(node));
            cost = cut.fold(cost.wrapping_add(own), |sum, (_, &cost)| sum.wrapping_add(cost));
        }
        cost
    }

    /// [`Self::cost_without`] for the labelling that a cut has just found: no capacity is left across it.
    pub(in crate::allocate) fn cost_of_cut(
        &self,
        network: &Network,
        component: Component,
        is_one: impl Fn(Node) -> bool,
        charged: impl Fn(Node) -> i64,
    ) -> i64 {
        let own = |node: Node| self.excess(node).wrapping_add(charged(node));
        let zeros = network.nodes(component).filter(|&node| !is_one(node));
        zeros.fold(network.with_all_ones[component], |sum, node| sum.wrapping_add(own(node)))
    }

    pub(in crate::allocate) fn excess(&self, node: Node) -> i64 {
        self.excess[node.index() - self.first]
    }

    pub(in crate::allocate) fn excess_mut(&mut self, node: Node) -> &mut i64 {
        &mut self.excess[node.index() - self.first]
    }

    pub(in crate::allocate) fn inflow(&self, arc: u32) -> i64 {
        self.inflow[arc as usize - self.first_arc]
    }

    fn inflow_mut(&mut self, arc: u32) -> &mut i64 {
        &mut self.inflow[arc as usize - self.first_arc]
    }

    fn excesses(&self, nodes: Range<usize>) -> &[i64] {
        &self.excess[nodes.start - self.first..nodes.end - self.first]
    }

    fn inflows(&self, arcs: Range<usize>) -> &[i64] {
        &self.inflow[arcs.start - self.first_arc..arcs.end - self.first_arc]
    }
}

/// Cuts components, one at a time.
pub(in crate::allocate) struct Cutter<'n> {
    network: &'n Network,
    /// Whether links of all components are kept, or only those of the one that was cut last.
    keeps_trees: bool,
    /// The indices of the first node of the current component, and of the first node with a link.
    first: usize,
    first_link: usize,
    /// The way of each node to a sink.
    links: Vec<Link>,
    /// Of each node, the number of arcs to its sink, and the time at which that was found.
    distances: Vec<(u32, u32)>,
    time: u32,
    /// Nodes of trees whose neighbours may join, and the number of them that have been looked at.
    queue: Vec<Node>,
    looked_at: usize,
    sources: Vec<Node>,
    /// Nodes whose arc is full, or that are no longer sinks: it is unknown whether they and the nodes above them reach a
    /// sink.
    orphans: Vec<Node>,
    /// The number of nodes that all cuts have looked at.
    pub(in crate::allocate) work: u64,
}

/// The way of a node to a sink. Nodes and their arcs make trees, with sinks as roots.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u32);

impl Link {
    /// It reaches none.
    const NONE: Link = Link(u32::MAX);
    /// It is a sink.
    const SINK: Link = Link(u32::MAX - 1);
    /// It may reach one, but not by its arc.
    const LOST: Link = Link(u32::MAX - 2);
    /// It takes no part in this cut.
    const OUTSIDE: Link = Link(u32::MAX - 3);

    /// The arc to the next node.
    fn arc(self) -> Option<u32> {
        (self.0 < Link::OUTSIDE.0).then_some(self.0)
    }
}

impl<'n> Cutter<'n> {
    pub(in crate::allocate) fn new(network: &'n Network) -> Self {
        Self::of(network, false)
    }

    /// A cutter that can go on from an earlier cut of a component ([`Self::recut`]).
    pub(in crate::allocate) fn keeping_trees(network: &'n Network) -> Self {
        Self::of(network, true)
    }

    fn of(network: &'n Network, keeps_trees: bool) -> Self {
        let most = network.components().map(|component| network.node_range(component).len()).max().unwrap_or(0);
        Cutter {
            network,
            keeps_trees,
            first: 0,
            first_link: 0,
            links: vec![Link::NONE; if keeps_trees { network.all_nodes().len() } else { most }],
            distances: vec![(0, 0); most],
            time: 0,
            queue: Vec::new(),
            looked_at: 0,
            sources: Vec::new(),
            orphans: Vec::new(),
            work: 0,
        }
    }

    /// Cuts all components. Answers the labels of all nodes.
    pub(in crate::allocate) fn cut_all(&mut self, residual: &mut Residual) -> PrimaryMap<Node, bool> {
        let mut is_one = PrimaryMap::with_capacity(self.network.all_nodes().len());
        for component in self.network.components() {
            self.cut(component, residual);
            is_one.extend(self.network.nodes(component).map(|node| self.is_one(node)));
        }
        is_one
    }

    /// Makes as much flow as possible. Of the cheapest labellings, [`Self::is_one`] then gives the one with the most ones.
    pub(in crate::allocate) fn cut(&mut self, component: Component, residual: &mut Residual) {
        self.cut_within(component, residual, |_| true);
    }

    /// Cuts again where nodes have become dearer as 1 since an earlier cut. Nodes that it made 0 stay so: only nodes
    /// `within` those that it made 1 are looked at.
    pub(in crate::allocate) fn cut_within(
        &mut self,
        component: Component,
        residual: &mut Residual,
        within: impl Fn(Node) -> bool,
    ) {
        self.find_sinks(component, residual, within);
        self.push_flow(residual);
    }

    /// Cuts a component again whose nodes have become `dearer` as 1 (or cheaper) since its last cut. The trees are those of
    /// the last cut, repaired where excesses have changed \[KT07\].
    pub(in crate::allocate) fn recut(&mut self, component: Component, residual: &mut Residual, dearer: impl Fn(Node) -> i64) {
        debug_assert!(self.keeps_trees);
        self.begin(component);
        for node in self.network.nodes(component) {
            let by = dearer(node);
            if by != 0 {
                *residual.excess_mut(node) -= by;
                self.reconsider(node, residual.excess(node));
            }
        }
        self.adopt(residual);
        self.push_flow(residual);
    }

    /// Updates the link of a node whose excess has changed.
    fn reconsider(&mut self, node: Node, excess: i64) {
        let link = self.link(node);
        if excess < 0 && link != Link::SINK {
            *self.link_mut(node) = Link::SINK;
            if link == Link::NONE {
                self.queue.push(node);
            }
        } else if excess >= 0 && link == Link::SINK {
            self.lose(node);
        }
        if excess > 0 && link != Link::NONE {
            self.sources.push(node);
        }
    }

    /// Pushes flow along the trees, which grow meanwhile, until no source reaches a sink.
    fn push_flow(&mut self, residual: &mut Residual) {
        self.grow(residual);
        let mut next = 0;
        while let Some(&source) = self.sources.get(next) {
            next += 1;
            while residual.excess(source) > 0 && self.link(source) != Link::NONE {
                self.augment(source, residual);
                self.adopt(residual);
            }
            self.grow(residual);
        }
    }

    /// The label of a node of the current component: 1 if it does not reach a sink.
    pub(in crate::allocate) fn is_one(&self, node: Node) -> bool {
        self.link(node) == Link::NONE
    }

    fn link(&self, node: Node) -> Link {
        self.links[node.index() - self.first_link]
    }

    fn link_mut(&mut self, node: Node) -> &mut Link {
        &mut self.links[node.index() - self.first_link]
    }

    fn distance(&self, node: Node) -> (u32, u32) {
        self.distances[node.index() - self.first]
    }

    fn distance_mut(&mut self, node: Node) -> &mut (u32, u32) {
        &mut self.distances[node.index() - self.first]
    }

    /// Starts on a component, none of whose nodes has been looked at.
    fn begin(&mut self, component: Component) {
        self.queue.clear();
        self.sources.clear();
        self.looked_at = 0;
        self.first = self.network.node_range(component).start;
        self.first_link = if self.keeps_trees { 0 } else { self.first };
    }

    /// Queues the sinks, where the search begins.
    fn find_sinks(&mut self, component: Component, residual: &Residual, within: impl Fn(Node) -> bool) {
        self.begin(component);
        let range = self.network.node_range(component);
        let links = self.links[range.start - self.first_link..].iter_mut().zip(residual.excesses(range.clone()));
        for (index, (link, &excess)) in range.zip(links) {
            *link = Link::NONE;
            if !within(Node::new(index)) {
                *link = Link::OUTSIDE;
            } else if excess < 0 {
                *link = Link::SINK;
                self.queue.push(Node::new(index));
            }
        }
    }

    /// Grows the trees by a breadth-first search backwards from their nodes.
    fn grow(&mut self, residual: &Residual) {
        let before = self.looked_at;
        while let Some(&node) = self.queue.get(self.looked_at) {
            self.looked_at += 1;
            if self.link(node) == Link::NONE {
                continue;
            }
            let arcs = self.network.arcs_of(node);
            for (arc, &inflow) in self.network.arcs[arcs.clone()].iter().zip(residual.inflows(arcs)) {
                let link = &mut self.links[arc.to.index() - self.first_link];
                if *link == Link::NONE && inflow > 0 {
                    *link = Link(arc.sister);
                    self.queue.push(arc.to);
                    if residual.excess(arc.to) > 0 {
                        self.sources.push(arc.to);
                    }
                }
            }
        }
        self.work += (self.looked_at - before) as u64;
    }

    /// Pushes as much of a source's excess to its sink as the path takes.
    fn augment(&mut self, source: Node, residual: &mut Residual) {
        let network = self.network;
        let mut amount = residual.excess(source);
        let mut node = source;
        while let Some(arc) = self.link(node).arc() {
            let Arc { to, sister, .. } = network.arcs[arc as usize];
            amount = amount.min(residual.inflow(sister));
            node = to;
        }
        amount = amount.min(-residual.excess(node));
        *residual.excess_mut(source) -= amount;
        let mut node = source;
        while let Some(arc) = self.link(node).arc() {
            let Arc { to, sister, .. } = network.arcs[arc as usize];
            *residual.inflow_mut(arc) += amount;
            let left = residual.inflow_mut(sister);
            *left -= amount;
            if *left == 0 {
                self.lose(node);
            }
            node = to;
        }
        *residual.excess_mut(node) += amount;
        if residual.excess(node) == 0 {
            self.lose(node);
        }
    }

    fn lose(&mut self, node: Node) {
        *self.link_mut(node) = Link::LOST;
        self.orphans.push(node);
    }

    /// Finds new links for orphans, to the neighbour that is nearest to its sink. An orphan without one leaves its tree, and
    /// joins another one when a neighbour's turn comes.
    fn adopt(&mut self, residual: &Residual) {
        let network = self.network;
        self.time += 1;
        while let Some(node) = self.orphans.pop() {
            self.work += 1;
            let mut best: Option<(u32, u32)> = None;
            for arc in network.arcs_of(node) {
                let Arc { to, sister, .. } = network.arcs[arc];
                if residual.inflow(sister) > 0
                    && let Some(distance) = self.distance_to_sink(to)
                    && best.is_none_or(|(least, _)| distance < least)
                {
                    best = Some((distance, arc as u32));
                }
            }
            if let Some((distance, arc)) = best {
                *self.link_mut(node) = Link(arc);
                *self.distance_mut(node) = (self.time, distance + 1);
                continue;
            }
            *self.link_mut(node) = Link::NONE;
            for arc in network.arcs_of(node) {
                let Arc { to, sister, .. } = network.arcs[arc];
                let link = self.link(to);
                if link == Link::NONE || link == Link::OUTSIDE {
                    continue;
                }
                if residual.inflow(sister) > 0 {
                    self.queue.push(to);
                }
                if link == Link(sister) {
                    self.lose(to);
                }
            }
        }
    }

    /// The number of arcs from a node to its sink, unless it reaches none, or there is an orphan on the way.
    fn distance_to_sink(&mut self, from: Node) -> Option<u32> {
        let arcs = &self.network.arcs;
        let (mut node, mut steps) = (from, 0);
        let distance = loop {
            let (time, distance) = self.distance(node);
            let link = self.link(node);
            if let Some(arc) = link.arc() {
                if time == self.time {
                    break distance + steps;
                }
                steps += 1;
                node = arcs[arc as usize].to;
            } else if link == Link::SINK {
                break steps;
            } else {
                return None;
            }
        };
        let (mut node, mut left) = (from, distance);
        while let Some(arc) = self.link(node).arc()
            && self.distance(node).0 != self.time
        {
            *self.distance_mut(node) = (self.time, left);
            left -= 1;
            node = arcs[arc as usize].to;
        }
        Some(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decision, testing};
    use super::*;

    /// The labels of all decisions, and their cost according to the network.
    fn cut_all((network, residual): &mut (Network, Residual)) -> (u32, i64) {
        let is_one = Cutter::new(network).cut_all(residual);
        let cost = network.components().map(|component| residual.cost(network, component, |node| is_one[node])).sum();
        (testing::bits(&network.labels(|node| is_one[node])), cost)
    }

    #[test]
    fn cuts_are_the_cheapest_labellings() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let count = rng.usize(1..10);
            let decisions = testing::random(&mut rng, count, 0);
            let (labels, cost) = cut_all(&mut Network::new(decisions.clone()));
            assert_eq!(testing::cost(&decisions, labels, 0), Some(cost));
            assert_eq!(cost, testing::least(&decisions, 0));
        }
    }

    /// Costs change, and the next cut goes on from the last: with new trees, and with the old ones.
    #[test]
    fn cuts_go_on_where_others_have_ended() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..500 {
            let count = rng.usize(1..10);
            let mut decisions = testing::random(&mut rng, count, 0);
            let (network, mut residual) = Network::new(decisions.clone());
            let mut again = residual.clone();
            let mut remembering = Cutter::keeping_trees(&network);
            remembering.cut_all(&mut again);
            let mut charged = 0;
            for _ in 0..6 {
                let mut dearer: PrimaryMap<Node, i64> = network.all_nodes().map(|_| 0).collect();
                for decision in (0..rng.usize(1..4)).map(|_| Decision::new(rng.usize(..count))).collect::<Vec<_>>() {
                    let charge = rng.i64(-decisions.costs[decision][1]..30);
                    decisions.costs[decision][1] += charge;
                    dearer[network.node(decision)] += charge;
                    charged += charge;
                }
                for node in network.all_nodes() {
                    *residual.excess_mut(node) -= dearer[node];
                }
                let labels = Cutter::new(&network).cut_all(&mut residual);
                for component in network.components() {
                    remembering.recut(component, &mut again, |node| dearer[node]);
                    network.nodes(component).for_each(|node| assert_eq!(remembering.is_one(node), labels[node]));
                }
                let least = testing::least(&decisions, 0);
                for residual in [&residual, &again] {
                    let costs = network.components().map(|component| residual.cost(&network, component, |node| labels[node]));
                    assert_eq!(costs.sum::<i64>() + charged, least);
                }
                let labels = testing::bits(&network.labels(|node| labels[node]));
                assert_eq!(testing::cost(&decisions, labels, 0), Some(least));
            }
        }
    }

    #[test]
    fn costs_that_are_forbidden_often_are_no_more_than_forbidden() {
        let mut decisions = super::super::Decisions::default();
        let [a, b] = [(); 2].map(|()| decisions.decide());
        for _ in 0..100_000 {
            decisions.charge(a, true, super::super::FORBIDDEN);
            decisions.pair(b, a, super::super::FORBIDDEN);
        }
        decisions.charge(b, false, 5);
        assert_eq!(cut_all(&mut Network::new(decisions)), (0, 5));
    }
}
