//! Minimum cuts.
//!
//! Relies on: a labelling of a cluster costs what nodes cost for their labels, and pairs of which one is 1 and the other 0;
//! the cheapest is a minimum cut of the network in which a node that is dearer as 0 is a source, one that is dearer as 1 a
//! sink, and a pair an arc (Picard and Ratliff 1975). Found by blocking flows (Dinic 1970), in what earlier cuts under other
//! prices have left of the network.

use super::network::{Arc, Cluster, Network, Node};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::ops::Range;

/// What flows have left of a network, or of one of its clusters.
pub(in crate::allocate) struct Residual {
    /// Of each node, how much dearer it is as 0 than as 1; what has flowed is taken off.
    excess: Vec<i64>,
    /// Of each arc, how much more can flow back by it, to its own node: that is what is looked at most.
    inflow: Vec<i64>,
    /// The indices of the first node and of the first arc.
    first: usize,
    first_arc: usize,
}

impl Residual {
    /// Before any flow.
    pub(in crate::allocate) fn new(network: &Network) -> Self {
        let excess = network.costs.values().map(|[zero, one]| zero - one).collect();
        Residual { excess, inflow: network.arcs.iter().map(|arc| arc.cost).collect(), first: 0, first_arc: 0 }
    }

    /// With room for any one cluster.
    pub(in crate::allocate) fn of_any_cluster(network: &Network) -> Self {
        let most = |count: fn(&Network, Cluster) -> usize| network.clusters().map(|it| count(network, it)).max().unwrap_or(0);
        let (nodes, arcs) =
            (most(|network, it| network.node_range(it).len()), most(|network, it| network.arcs_of_cluster(it).len()));
        Residual { excess: Vec::with_capacity(nodes), inflow: Vec::with_capacity(arcs), first: 0, first_arc: 0 }
    }

    /// Becomes what another one says of a cluster.
    pub(in crate::allocate) fn copy_from(&mut self, other: &Residual, network: &Network, cluster: Cluster) {
        let (nodes, arcs) = (network.node_range(cluster), network.arcs_of_cluster(cluster));
        (self.first, self.first_arc) = (nodes.start, arcs.start);
        self.excess.clear();
        self.excess.extend_from_slice(&other.excess[nodes]);
        self.inflow.clear();
        self.inflow.extend_from_slice(&other.inflow[arcs]);
    }

    pub(in crate::allocate) fn excess(&self, node: Node) -> i64 {
        self.excess[node.index() - self.first]
    }

    pub(in crate::allocate) fn excess_mut(&mut self, node: Node) -> &mut i64 {
        &mut self.excess[node.index() - self.first]
    }

    fn inflow(&self, arc: u32) -> i64 {
        self.inflow[arc as usize - self.first_arc]
    }

    fn inflow_mut(&mut self, arc: u32) -> &mut i64 {
        &mut self.inflow[arc as usize - self.first_arc]
    }

    fn excesses(&self, nodes: Range<usize>) -> &[i64] {
        &self.excess[nodes.start - self.first..nodes.end - self.first]
    }

    /// Those of some arcs.
    fn inflows(&self, arcs: Range<usize>) -> &[i64] {
        &self.inflow[arcs.start - self.first_arc..arcs.end - self.first_arc]
    }
}

/// Cuts clusters.
pub(in crate::allocate) struct Cutter<'n> {
    network: &'n Network,
    /// Of each node, arcs to the next sink that are not full; nodes that reach none have none.
    level: Vec<u32>,
    /// Of each node, the next of its arcs to try.
    next: PrimaryMap<Node, u32>,
    /// Nodes that reach a sink, the nearest first.
    queue: Vec<Node>,
    sources: Vec<Node>,
    path: Vec<u32>,
    /// Nodes that were looked at, of all cuts.
    pub(in crate::allocate) work: u64,
}

const UNREACHED: u32 = u32::MAX;

impl<'n> Cutter<'n> {
    pub(in crate::allocate) fn new(network: &'n Network) -> Self {
        Cutter {
            network,
            level: vec![UNREACHED; network.costs.len()],
            next: network.costs.keys().map(|_| 0).collect(),
            queue: Vec::new(),
            sources: Vec::new(),
            path: Vec::new(),
            work: 0,
        }
    }

    /// Lets as much flow as possible; of the cheapest labellings, [`Self::is_one`] then tells that with the most ones.
    pub(in crate::allocate) fn cut(&mut self, cluster: Cluster, residual: &mut Residual) {
        self.cut_within(cluster, residual, |_| true);
    }

    /// The same for what an earlier cut has left of the network, when nodes have become dearer as 1 since: those that it made 0
    /// stay so. Only nodes `within` those that it made 1 are looked at.
    pub(in crate::allocate) fn cut_within(&mut self, cluster: Cluster, residual: &mut Residual, within: impl Fn(Node) -> bool) {
        self.find_sinks(cluster, residual, within);
        loop {
            self.find_levels(residual);
            if self.sources.is_empty() {
                return;
            }
            for &node in &self.queue {
                self.next[node] = self.network.first_arc(node);
            }
            for index in 0..self.sources.len() {
                self.augment(self.sources[index], residual);
            }
            self.find_sinks_again(residual);
        }
    }

    /// The label of a node of the cluster that was cut last: whether it reaches no sink any more.
    pub(in crate::allocate) fn is_one(&self, node: Node) -> bool {
        self.level[node.index()] == UNREACHED
    }

    /// What the search begins with.
    fn find_sinks(&mut self, cluster: Cluster, residual: &Residual, within: impl Fn(Node) -> bool) {
        self.queue.clear();
        let range = self.network.node_range(cluster);
        let levels = self.level[range.clone()].iter_mut().zip(residual.excesses(range.clone()));
        for (index, (level, &excess)) in range.zip(levels) {
            *level = UNREACHED;
            if !within(Node::new(index)) {
                *level = 0;
            } else if excess < 0 {
                *level = 0;
                self.queue.push(Node::new(index));
            }
        }
    }

    /// The same for the next search, among the nodes that the last one reached: it will reach no others, since flow leads from
    /// one of these to another.
    fn find_sinks_again(&mut self, residual: &Residual) {
        let level = &mut self.level;
        self.queue.retain(|node| {
            let is_sink = residual.excess(*node) < 0;
            level[node.index()] = if is_sink { 0 } else { UNREACHED };
            is_sink
        });
    }

    /// Searches backwards from the sinks.
    fn find_levels(&mut self, residual: &Residual) {
        self.sources.clear();
        let mut head = 0;
        while let Some(&node) = self.queue.get(head) {
            head += 1;
            let next = self.level[node.index()] + 1;
            let arcs = self.network.arcs_of(node);
            for (arc, &inflow) in self.network.arcs[arcs.clone()].iter().zip(residual.inflows(arcs)) {
                if inflow <= 0 {
                    continue;
                }
                let level = &mut self.level[arc.to.index()];
                if *level == UNREACHED {
                    *level = next;
                    self.queue.push(arc.to);
                    if residual.excess(arc.to) > 0 {
                        self.sources.push(arc.to);
                    }
                }
            }
        }
        self.work += self.queue.len() as u64;
    }

    /// Lets a source's excess flow along shortest paths.
    fn augment(&mut self, source: Node, residual: &mut Residual) {
        let mut node = source;
        self.path.clear();
        while residual.excess(source) > 0 {
            if residual.excess(node) < 0 {
                node = self.push(source, node, residual);
            } else if let Some(arc) = self.downwards(node, residual) {
                self.path.push(arc);
                node = self.network.arcs[arc as usize].to;
            } else {
                // A dead end.
                let Some(arc) = self.path.pop() else { return };
                node = self.network.arcs[self.network.arcs[arc as usize].sister as usize].to;
                self.next[node] += 1;
            }
        }
    }

    /// The next arc to a node that is nearer to a sink.
    fn downwards(&mut self, node: Node, residual: &Residual) -> Option<u32> {
        let end = self.network.arcs_of(node).end as u32;
        while self.next[node] < end {
            let arc = self.next[node];
            let Arc { to, sister, .. } = self.network.arcs[arc as usize];
            let is_downwards = self.level[to.index()] != UNREACHED && self.level[to.index()] + 1 == self.level[node.index()];
            if is_downwards && residual.inflow(sister) > 0 {
                return Some(arc);
            }
            self.next[node] += 1;
        }
        None
    }

    /// Lets as much flow along the path as it takes; the search goes on from before its first full arc.
    fn push(&mut self, source: Node, sink: Node, residual: &mut Residual) -> Node {
        let sister = |arc: u32| self.network.arcs[arc as usize].sister;
        let narrowest = self.path.iter().map(|&arc| residual.inflow(sister(arc))).min().unwrap_or(i64::MAX);
        let amount = narrowest.min(residual.excess(source)).min(-residual.excess(sink));
        *residual.excess_mut(source) -= amount;
        *residual.excess_mut(sink) += amount;
        for &arc in &self.path {
            *residual.inflow_mut(sister(arc)) -= amount;
            *residual.inflow_mut(arc) += amount;
        }
        let full = self.path.iter().position(|&arc| residual.inflow(sister(arc)) == 0).unwrap_or(0);
        self.path.truncate(full);
        self.path.last().map_or(source, |&arc| self.network.arcs[arc as usize].to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decision, testing};
    use super::*;

    /// The labels of all decisions, and what the network says that they cost.
    fn cut_all(network: &Network, cutter: &mut Cutter, residual: &mut Residual, decisions: usize) -> (u32, i64) {
        let (mut is_one, mut cost) = (0, 0);
        for cluster in network.clusters() {
            cutter.cut(cluster, residual);
            cost += network.cost(cluster, |node| cutter.is_one(node));
            for decision in (0..decisions).filter(|&it| network.cluster_of[network.node(Decision::new(it))] == cluster) {
                is_one |= u32::from(cutter.is_one(network.node(Decision::new(decision)))) << decision;
            }
        }
        (is_one, cost)
    }

    #[test]
    fn cuts_are_the_cheapest_labellings() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let count = rng.usize(1..10);
            let decisions = testing::random(&mut rng, count, 0);
            let network = Network::new(decisions.clone());
            let (labels, cost) = cut_all(&network, &mut Cutter::new(&network), &mut Residual::new(&network), count);
            assert_eq!(testing::cost(&decisions, labels, 0), Some(cost));
            assert_eq!(cost, testing::least(&decisions, 0));
        }
    }

    /// What is left of a network by one cut gives the next one, when costs have changed.
    #[test]
    fn cuts_go_on_where_others_have_ended() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..200 {
            let count = rng.usize(1..10);
            let mut decisions = testing::random(&mut rng, count, 0);
            let network = Network::new(decisions.clone());
            let (mut cutter, mut residual) = (Cutter::new(&network), Residual::new(&network));
            for _ in 0..4 {
                let (labels, _) = cut_all(&network, &mut cutter, &mut residual, count);
                assert_eq!(testing::cost(&decisions, labels, 0), Some(testing::least(&decisions, 0)));
                let (decision, price) = (Decision::new(rng.usize(..count)), rng.i64(0..30));
                decisions.costs[decision][1] += price;
                *residual.excess_mut(network.node(decision)) -= price;
            }
        }
    }

    #[test]
    fn what_is_forbidden_often_is_no_more_than_forbidden() {
        let mut decisions = super::super::Decisions::default();
        let [a, b] = [(); 2].map(|()| decisions.decide());
        for _ in 0..100_000 {
            decisions.charge(a, true, super::super::FORBIDDEN);
            decisions.pair(b, a, super::super::FORBIDDEN);
        }
        decisions.charge(b, false, 5);
        let network = Network::new(decisions.clone());
        assert_eq!(cut_all(&network, &mut Cutter::new(&network), &mut Residual::new(&network), 2), (0, 5));
    }
}
