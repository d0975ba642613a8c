//! Networks whose minimum cuts are the cheapest labellings.
//!
//! Requires: [`Decisions`], which become the network; those that have been eliminated are left out.
//! Ensures: decisions that pairs connect are one *component*, with consecutive nodes. Components meet only in constraints
//! and implications. The costs of labels are in a [`Residual`] through which nothing has flowed yet.

use super::{Capacities, Decision, Decisions, Implication, Pair, Residual, Units, capped_sum};
use crate::analysis::Partition;
use crate::analysis::grouped::{Grouped, of_each};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use std::ops::Range;

/// A decision. Those of one component are consecutive nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Node(u32);
entity_impl!(Node);

/// Decisions that pairs connect: their best labels are independent of those of other components, but for constraints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Component(u32);
entity_impl!(Component);

/// A limit to the number of nodes that are 1, among those that it includes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::allocate) struct Constraint(u32);
entity_impl!(Constraint);

/// One direction of an edge between two nodes.
#[derive(Clone, Copy)]
pub(in crate::allocate) struct Arc {
    pub(in crate::allocate) to: Node,
    /// The index of the arc in the other direction.
    pub(in crate::allocate) sister: u32,
}

/// All components, and the constraints and implications between them.
pub(in crate::allocate) struct Network {
    pub(in crate::allocate) units: Units,
    /// The first node of each component.
    first: PrimaryMap<Component, Node>,
    /// The number of nodes.
    count: usize,
    /// The cost of each component if all its nodes are 1. It may overflow where much is forbidden; the costs of labellings
    /// that do nothing forbidden come out right all the same.
    pub(super) with_all_ones: PrimaryMap<Component, i64>,
    pub(in crate::allocate) arcs: Vec<Arc>,
    /// The first arc of each node, and one beyond the last.
    first_arc: Vec<u32>,
    /// The runs of constraints that include each node.
    runs: Grouped<Node, (Constraint, Constraint)>,
    pub(in crate::allocate) capacities: PrimaryMap<Constraint, Capacities>,
    pub(in crate::allocate) frequency: PrimaryMap<Constraint, f64>,
    pub(in crate::allocate) implications: Vec<Implication<Node>>,
    node_of: PrimaryMap<Decision, PackedOption<Node>>,
}

impl Network {
    pub(in crate::allocate) fn new(decisions: Decisions) -> (Self, Residual) {
        let (mut network, excess) = Network::without_arcs(&decisions);
        // Arcs take the most memory while they are made. By then, nothing else is left of the decisions.
        let inflow = network.connect(decisions.into_pairs());
        (network, Residual::new(excess, inflow))
    }

    /// The nodes and the constraints that include them, and by how much more each node costs as 0 than as 1.
    fn without_arcs(decisions: &Decisions) -> (Self, Vec<i64>) {
        let of_component = by_component(decisions);
        let (nodes, components) = (of_component.len(), of_component.keys());
        let mut node_of: PrimaryMap<Decision, PackedOption<Node>> = decisions.costs.keys().map(|_| None.into()).collect();
        let mut excess = Vec::with_capacity(nodes);
        let mut first: PrimaryMap<Component, Node> = PrimaryMap::with_capacity(components);
        let mut with_all_ones: PrimaryMap<Component, i64> = PrimaryMap::with_capacity(components);
        for component in (0..components).map(Component::new) {
            first.push(Node::new(excess.len()));
            let mut ones: i64 = 0;
            for &decision in of_component.get(component) {
                node_of[decision] = Node::new(excess.len()).into();
                let [zero, one] = decisions.costs[decision];
                excess.push(zero - one);
                ones = ones.wrapping_add(one);
            }
            with_all_ones.push(ones);
        }
        let runs = decisions
            .runs
            .iter()
            .map(|run| (node(&node_of, run.decision), (Constraint(run.constraints.start), Constraint(run.constraints.end))));
        let network = Network {
            units: decisions.units,
            runs: Grouped::from_pairs(nodes, runs),
            capacities: decisions.constraints.iter().map(|data| data.capacities).collect(),
            frequency: decisions.constraints.iter().map(|data| data.frequency).collect(),
            implications: decisions.implications.iter().map(|it| it.map(|decision| node(&node_of, decision))).collect(),
            first,
            count: nodes,
            with_all_ones,
            arcs: Vec::new(),
            first_arc: Vec::new(),
            node_of,
        };
        (network, excess)
    }

    pub(in crate::allocate) fn components(&self) -> impl DoubleEndedIterator<Item = Component> + ExactSizeIterator + use<> {
        (0..self.first.len()).map(Component::new)
    }

    pub(in crate::allocate) fn all_nodes(&self) -> impl ExactSizeIterator<Item = Node> + Clone + use<> {
        (0..self.count).map(Node::new)
    }

    pub(in crate::allocate) fn nodes(&self, component: Component) -> impl DoubleEndedIterator<Item = Node> + Clone + use<> {
        let range = self.node_range(component);
        range.map(Node::new)
    }

    /// The indices of a component's nodes.
    pub(in crate::allocate) fn node_range(&self, component: Component) -> Range<usize> {
        let next = Component::new(component.index() + 1);
        self.first[component].index()..self.first.get(next).map_or(self.count, |node| node.index())
    }

    /// The indices of a node's arcs.
    pub(in crate::allocate) fn arcs_of(&self, node: Node) -> Range<usize> {
        self.first_arc[node.index()] as usize..self.first_arc[node.index() + 1] as usize
    }

    /// The indices of the arcs of a component's nodes.
    pub(in crate::allocate) fn arcs_of_component(&self, component: Component) -> Range<usize> {
        let nodes = self.node_range(component);
        self.first_arc[nodes.start] as usize..self.first_arc[nodes.end] as usize
    }

    /// The runs of constraints that include a node, as ranges of indices.
    pub(in crate::allocate) fn runs_of(&self, node: Node) -> impl Iterator<Item = Range<usize>> {
        self.runs.get(node).iter().map(|&(first, end)| first.index()..end.index())
    }

    /// The constraints that include a node.
    pub(in crate::allocate) fn constraints_of(&self, node: Node) -> impl Iterator<Item = Constraint> {
        self.runs_of(node).flatten().map(Constraint::new)
    }

    /// The node of a decision that has not been eliminated.
    pub(in crate::allocate) fn node(&self, decision: Decision) -> Node {
        node(&self.node_of, decision)
    }

    pub(in crate::allocate) fn component_of(&self, node: Node) -> Component {
        Component::new(self.first.as_values_slice().partition_point(|&first| first <= node) - 1)
    }

    /// The labels of all decisions, by those of nodes; 0 for decisions that have been eliminated.
    pub(in crate::allocate) fn labels(&self, is_one: impl Fn(Node) -> bool) -> PrimaryMap<Decision, bool> {
        self.node_of.values().map(|node| node.expand().is_some_and(&is_one)).collect()
    }

    /// Makes the arcs of all nodes, merging those between the same two nodes. Answers the cost of each arc: that of its own
    /// node being 0 and the other one 1.
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
                // Arcs to lower nodes come first, in order, so the latest arc of the upper node may be to this one already.
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
                *sum = capped_sum(*sum, cost);
            }
        }
        self.arcs = arcs;
        costs
    }
}

fn node(node_of: &PrimaryMap<Decision, PackedOption<Node>>, decision: Decision) -> Node {
    node_of[decision].expect("the decision has not been taken out")
}

/// The decisions that are left, by component. Components are numbered in the order of their first decisions.
fn by_component(decisions: &Decisions) -> Grouped<Component, Decision> {
    let mut partition: Partition<Decision> = Partition::discrete(decisions.costs.len());
    for pair in &decisions.pairs {
        let (one, zero) = (partition.find(pair.one), partition.find(pair.zero));
        if one != zero {
            partition.attach(one.max(zero), one.min(zero));
        }
    }
    let mut numbers: SecondaryMap<Decision, PackedOption<Component>> = of_each(decisions.costs.len());
    let mut count = 0;
    let mut pairs = Vec::with_capacity(decisions.costs.len());
    let left = decisions.costs.keys().filter(|&decision| !decisions.eliminated.contains(decision));
    pairs.extend(left.map(|decision| {
        let number = &mut numbers[partition.find(decision)];
        let component = number.expand().unwrap_or_else(|| {
            *number = Component::new(count).into();
            count += 1;
            Component::new(count - 1)
        });
        (component, decision)
    }));
    Grouped::new(count, &pairs)
}

/// A pair, as seen from its lower node.
#[derive(Clone, Copy)]
struct Half {
    upper: Node,
    /// Whether the cost is paid if the lower node is the one that is 1.
    of_lower: bool,
    cost: i64,
}

/// The pairs of a node with higher ones.
fn above(by_lower: &Grouped<Node, Half>, lower: Node) -> impl Iterator<Item = &Half> {
    by_lower.get(lower).iter().filter(move |half| half.upper != lower)
}

/// The first arc of each node, and the end of the last one's.
fn first_arcs(nodes: usize, by_lower: &Grouped<Node, Half>) -> Vec<u32> {
    let mut first_arc = vec![0u32; nodes + 1];
    // Of each node, the latest lower node that it has an arc to.
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
