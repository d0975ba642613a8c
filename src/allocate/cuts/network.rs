//! The decisions that are left, as networks whose minimum cuts are the cheapest labellings.
//!
//! Requires: [`Decisions`], which become the network; those that have been taken out are left out.
//! Ensures: decisions that costs of pairs connect are one *cluster*, with consecutive nodes; clusters meet in rows and reliances
//! alone. What labels cost is in a [`Residual`] through which nothing has flowed yet.

use super::{Decision, Decisions, Pair, Reliance, Residual, Rooms, Units, together};
use crate::analysis::Partition;
use crate::analysis::grouped::{Grouped, of_each};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use std::ops::Range;

/// A decision of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Node(u32);
entity_impl!(Node);

/// Decisions that depend on each other, whatever the others are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Cluster(u32);
entity_impl!(Cluster);

/// A set of nodes of which so many at most are 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Row(u32);
entity_impl!(Row);

/// Half of an edge between two nodes.
#[derive(Clone, Copy)]
pub(in crate::allocate) struct Arc {
    pub(in crate::allocate) to: Node,
    /// The other half.
    pub(in crate::allocate) sister: u32,
}

/// All clusters and rows.
pub(in crate::allocate) struct Network {
    /// What costs are counted in.
    pub(in crate::allocate) units: Units,
    /// The first node of each cluster.
    first: PrimaryMap<Cluster, Node>,
    /// How many nodes there are.
    count: usize,
    /// What each cluster costs if all its nodes are 1. (What is forbidden often may make it overflow. Costs of labellings that
    /// do nothing forbidden come out right all the same.)
    pub(super) with_all_ones: PrimaryMap<Cluster, i64>,
    pub(in crate::allocate) arcs: Vec<Arc>,
    /// The first arc of each node, and one beyond the last.
    first_arc: Vec<u32>,
    /// The runs of rows that each node is in.
    runs: Grouped<Node, (Row, Row)>,
    pub(in crate::allocate) rooms: PrimaryMap<Row, Rooms>,
    pub(in crate::allocate) frequency: PrimaryMap<Row, f64>,
    pub(in crate::allocate) reliances: Vec<Reliance<Node>>,
    node_of: PrimaryMap<Decision, PackedOption<Node>>,
}

impl Network {
    pub(in crate::allocate) fn new(decisions: Decisions) -> (Self, Residual) {
        let (mut network, excess) = Network::without_arcs(&decisions);
        // Arcs take most memory while they are made: by then, nothing else is left of the decisions.
        let inflow = network.connect(decisions.into_pairs());
        (network, Residual::new(excess, inflow))
    }

    /// The nodes, and the rows that they are in; and of each node, how much dearer it is as 0 than as 1.
    fn without_arcs(decisions: &Decisions) -> (Self, Vec<i64>) {
        let of_cluster = by_cluster(decisions);
        let (nodes, clusters) = (of_cluster.len(), of_cluster.keys());
        let mut node_of: PrimaryMap<Decision, PackedOption<Node>> = decisions.costs.keys().map(|_| None.into()).collect();
        let mut excess = Vec::with_capacity(nodes);
        let mut first: PrimaryMap<Cluster, Node> = PrimaryMap::with_capacity(clusters);
        let mut with_all_ones: PrimaryMap<Cluster, i64> = PrimaryMap::with_capacity(clusters);
        for cluster in (0..clusters).map(Cluster::new) {
            first.push(Node::new(excess.len()));
            let mut ones: i64 = 0;
            for &decision in of_cluster.get(cluster) {
                node_of[decision] = Node::new(excess.len()).into();
                let [zero, one] = decisions.costs[decision];
                excess.push(zero - one);
                ones = ones.wrapping_add(one);
            }
            with_all_ones.push(ones);
        }
        let runs = decisions.runs.iter().map(|run| (node(&node_of, run.decision), (Row(run.rows.start), Row(run.rows.end))));
        let network = Network {
            units: decisions.units,
            runs: Grouped::from_pairs(nodes, runs),
            rooms: decisions.rows.iter().map(|data| data.rooms).collect(),
            frequency: decisions.rows.iter().map(|data| data.frequency).collect(),
            reliances: decisions.reliances.iter().map(|it| it.map(|decision| node(&node_of, decision))).collect(),
            first,
            count: nodes,
            with_all_ones,
            arcs: Vec::new(),
            first_arc: Vec::new(),
            node_of,
        };
        (network, excess)
    }

    pub(in crate::allocate) fn clusters(&self) -> impl DoubleEndedIterator<Item = Cluster> + ExactSizeIterator + use<> {
        (0..self.first.len()).map(Cluster::new)
    }

    /// All nodes.
    pub(in crate::allocate) fn all_nodes(&self) -> impl ExactSizeIterator<Item = Node> + Clone + use<> {
        (0..self.count).map(Node::new)
    }

    /// The nodes of a cluster.
    pub(in crate::allocate) fn nodes(&self, cluster: Cluster) -> impl DoubleEndedIterator<Item = Node> + Clone + use<> {
        let range = self.node_range(cluster);
        range.map(Node::new)
    }

    /// The indices of a cluster's nodes.
    pub(in crate::allocate) fn node_range(&self, cluster: Cluster) -> Range<usize> {
        let next = Cluster::new(cluster.index() + 1);
        self.first[cluster].index()..self.first.get(next).map_or(self.count, |node| node.index())
    }

    /// The indices of a node's arcs.
    pub(in crate::allocate) fn arcs_of(&self, node: Node) -> Range<usize> {
        self.first_arc[node.index()] as usize..self.first_arc[node.index() + 1] as usize
    }

    /// The indices of the arcs of a cluster's nodes.
    pub(in crate::allocate) fn arcs_of_cluster(&self, cluster: Cluster) -> Range<usize> {
        let nodes = self.node_range(cluster);
        self.first_arc[nodes.start] as usize..self.first_arc[nodes.end] as usize
    }

    /// The runs of rows that a node is in, as ranges of their indices.
    pub(in crate::allocate) fn runs_of(&self, node: Node) -> impl Iterator<Item = Range<usize>> {
        self.runs.get(node).iter().map(|&(first, end)| first.index()..end.index())
    }

    /// The rows that a node is in.
    pub(in crate::allocate) fn rows_of(&self, node: Node) -> impl Iterator<Item = Row> {
        self.runs_of(node).flatten().map(Row::new)
    }

    /// The node of a decision that has not been taken out.
    pub(in crate::allocate) fn node(&self, decision: Decision) -> Node {
        node(&self.node_of, decision)
    }

    /// The cluster of a node.
    pub(in crate::allocate) fn cluster_of(&self, node: Node) -> Cluster {
        Cluster::new(self.first.as_values_slice().partition_point(|&first| first <= node) - 1)
    }

    /// The labels of all decisions, by those of nodes; 0 for those that have been taken out.
    pub(in crate::allocate) fn labels(&self, is_one: impl Fn(Node) -> bool) -> PrimaryMap<Decision, bool> {
        self.node_of.values().map(|node| node.expand().is_some_and(&is_one)).collect()
    }

    /// Makes the arcs of all nodes, those between the same two one. Answers what each costs if its own node is 0 and the other
    /// one 1.
    fn connect(&mut self, pairs: Vec<Pair>) -> Vec<i64> {
        let nodes = self.count;
        let halves = pairs.iter().map(|pair| {
            let (one, zero) = (self.node(pair.one), self.node(pair.zero));
            (one.min(zero), Half { upper: one.max(zero), of_lower: one < zero, cost: pair.cost })
        });
        let by_lower = Grouped::from_pairs(nodes, halves);
        drop(pairs);
        self.first_arc = first_arcs(nodes, &by_lower);
        let first_arc = &self.first_arc;
        let mut arcs = vec![Arc { to: Node::new(0), sister: 0 }; first_arc[nodes] as usize];
        let mut costs = vec![0; arcs.len()];
        let mut next = first_arc.clone();
        for lower in (0..nodes).map(Node::new) {
            for &Half { upper, of_lower, cost } in above(&by_lower, lower) {
                // A node's arcs to those below come first: the latest one may be to this one.
                let latest = next[upper.index()].checked_sub(1).filter(|&arc| arc >= first_arc[upper.index()]);
                let of_upper = latest.filter(|&arc| arcs[arc as usize].to == lower).unwrap_or_else(|| {
                    let (i, j) = (next[lower.index()], next[upper.index()]);
                    arcs[i as usize] = Arc { to: upper, sister: j };
                    arcs[j as usize] = Arc { to: lower, sister: i };
                    next[lower.index()] += 1;
                    next[upper.index()] += 1;
                    j
                });
                let arc = if of_lower { of_upper } else { arcs[of_upper as usize].sister };
                let sum = &mut costs[arc as usize];
                *sum = together(*sum, cost);
            }
        }
        self.arcs = arcs;
        costs
    }
}

fn node(node_of: &PrimaryMap<Decision, PackedOption<Node>>, decision: Decision) -> Node {
    node_of[decision].expect("the decision has not been taken out")
}

/// The decisions that are left, by clusters, which are numbered in the order of their first decisions.
fn by_cluster(decisions: &Decisions) -> Grouped<Cluster, Decision> {
    let mut partition: Partition<Decision> = Partition::discrete(decisions.costs.len());
    for pair in &decisions.pairs {
        let (one, zero) = (partition.find(pair.one), partition.find(pair.zero));
        if one != zero {
            partition.attach(one.max(zero), one.min(zero));
        }
    }
    let mut numbers: SecondaryMap<Decision, PackedOption<Cluster>> = of_each(decisions.costs.len());
    let mut count = 0;
    let mut pairs = Vec::with_capacity(decisions.costs.len());
    let left = decisions.costs.keys().filter(|&decision| !decisions.taken_out.contains(decision));
    pairs.extend(left.map(|decision| {
        let number = &mut numbers[partition.find(decision)];
        let cluster = number.expand().unwrap_or_else(|| {
            *number = Cluster::new(count).into();
            count += 1;
            Cluster::new(count - 1)
        });
        (cluster, decision)
    }));
    Grouped::new(count, &pairs)
}

/// What depends on a node and on one behind it.
#[derive(Clone, Copy)]
struct Half {
    upper: Node,
    /// What it costs if only the lower one is 1, or else if only the upper one is.
    of_lower: bool,
    cost: i64,
}

/// The pairs of a node with those behind it.
fn above(by_lower: &Grouped<Node, Half>, lower: Node) -> impl Iterator<Item = &Half> {
    by_lower.get(lower).iter().filter(move |half| half.upper != lower)
}

/// Where each node's arcs begin, and where the last ones end.
fn first_arcs(nodes: usize, by_lower: &Grouped<Node, Half>) -> Vec<u32> {
    let mut first_arc = vec![0u32; nodes + 1];
    // Of each node, the latest one below that it has an arc to.
    let mut latest = vec![u32::MAX; nodes];
    for lower in (0..nodes).map(Node::new) {
        for &Half { upper, .. } in above(by_lower, lower) {
            if std::mem::replace(&mut latest[upper.index()], lower.as_u32()) != lower.as_u32() {
                first_arc[lower.index() + 1] += 1;
                first_arc[upper.index() + 1] += 1;
            }
        }
    }
    for node in 0..nodes {
        first_arc[node + 1] += first_arc[node];
    }
    first_arc
}
