//! The colouring with the cheapest copies, by integer programming \[GH07\].
//!
//! Nodes that no copy concerns and that find a register whatever their neighbours have are coloured last. The others fall
//! into components, each of which becomes an integer program. Its constraints: a node has exactly one register; at most one
//! node of a clique has a given register; and a copy is paid for where only one of its sides has a register.

use super::affinities::{Affinities, Affinity};
use super::colouring::Colouring;
use super::conflicts::{Conflicts, Node};
use crate::allocate::integer_program::{Program, Variable};
use crate::analysis::Partition;
use crate::analysis::grouped::of_each;
use crate::machine::{Reg, RegSet};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Recolours the function if that makes copies cheaper, within about `limit`. Answers a lower bound of the cost of copies.
pub(super) fn optimise(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities, limit: Duration) -> f64 {
    let started = Instant::now();
    colouring.begin();
    let graph = Graph::new(colouring, conflicts, affinities);
    let mut bound = 0.0;
    for component in graph.components() {
        let left = limit.saturating_sub(started.elapsed());
        bound += graph.solve(&component, colouring, left);
    }
    graph.colour_last(colouring);
    bound
}

/// The interference graph, and the nodes that are left out of the programs.
struct Graph<'a> {
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    /// The neighbours in ascending order. Nodes that share a register before recolouring do not count as neighbours
    /// ([`Colouring`]).
    neighbours: PrimaryMap<Node, Vec<Node>>,
    /// Nodes that find a register once all other nodes, and those further down this list, have theirs.
    last: Vec<Node>,
    /// The index of a node in `last`.
    place: SecondaryMap<Node, Option<usize>>,
}

impl<'a> Graph<'a> {
    fn new(colouring: &Colouring, conflicts: &'a Conflicts, affinities: &'a Affinities) -> Self {
        let neighbours = |node: Node| {
            let differ = |other: &Node| colouring.of(*other) != colouring.of(node);
            let mut neighbours: Vec<Node> = conflicts.neighbours(node).iter().copied().filter(differ).collect();
            neighbours.sort_unstable();
            neighbours.dedup();
            neighbours
        };
        let neighbours: PrimaryMap<Node, Vec<Node>> = conflicts.colours.keys().map(neighbours).collect();
        let mut degree: SecondaryMap<Node, usize> = of_each(neighbours.len());
        neighbours.iter().for_each(|(node, others)| degree[node] = others.len());
        let mut graph = Graph { conflicts, affinities, neighbours, last: Vec::new(), place: SecondaryMap::new() };
        let mut queue: Vec<Node> = conflicts.colours.keys().collect();
        while let Some(node) = queue.pop() {
            let wanted = !affinities.of(node).is_empty() || !affinities.pins(node).is_empty();
            if wanted || graph.place[node].is_some() || degree[node] >= conflicts.allowed(node).len() {
                continue;
            }
            graph.place[node] = Some(graph.last.len());
            graph.last.push(node);
            for &other in &graph.neighbours[node] {
                degree[other] -= 1;
                queue.push(other);
            }
        }
        graph
    }

    /// The nodes that are not coloured last, by components that conflicts and copies connect.
    fn components(&self) -> Vec<Vec<Node>> {
        let is_left = |node: &Node| self.place[*node].is_none();
        let mut sets: Partition<Node> = Partition::discrete(self.neighbours.len());
        for node in self.neighbours.keys().filter(is_left) {
            let copies = self.affinities.of(node).iter().map(|&(other, _)| other);
            for other in self.neighbours[node].iter().copied().filter(is_left).chain(copies) {
                let (a, b) = (sets.find(node), sets.find(other));
                if a != b {
                    sets.attach(a, b);
                }
            }
        }
        let mut members: SecondaryMap<Node, Vec<Node>> = SecondaryMap::new();
        self.neighbours.keys().filter(is_left).for_each(|node| members[sets.find(node)].push(node));
        self.neighbours.keys().map(|node| std::mem::take(&mut members[node])).filter(|nodes| !nodes.is_empty()).collect()
    }

    /// Colours a component, if that makes its copies cheaper. Answers a lower bound of their cost.
    fn solve(&self, component: &[Node], colouring: &mut Colouring, limit: Duration) -> f64 {
        let known = self.cost(component, |node| colouring.of(node));
        if known == 0.0 || limit.is_zero() {
            return 0.0;
        }
        let Stated { program, registers, base } = self.state(component, colouring);
        let Some(answer) = program.minimise(limit) else { return 0.0 };
        let mut found: SecondaryMap<Node, Option<Reg>> = SecondaryMap::new();
        for &node in component {
            found[node] = registers[node].iter().find(|&&(_, variable)| answer.is_one(variable)).map(|&(reg, _)| reg);
        }
        let is_colouring = component
            .iter()
            .all(|&node| found[node].is_some() && !self.neighbours[node].iter().any(|&other| found[other] == found[node]));
        let cost = |node: Node| found[node].unwrap_or(colouring.of(node));
        let cost = if is_colouring { self.cost(component, cost) } else { known };
        if cost < known {
            component.iter().for_each(|&node| colouring.set(node, found[node].expect("it has one")));
        }
        let best = cost.min(known);
        if answer.is_optimal { best } else { (answer.bound + base).clamp(0.0, best) }
    }

    /// The cost of the copies of a component's nodes.
    fn cost(&self, component: &[Node], of: impl Fn(Node) -> Reg) -> f64 {
        let at = |node: Node| {
            let partners = self.affinities.of(node).iter().filter(|&&(other, _)| of(other) != of(node));
            let pins = self.affinities.pins(node).iter().filter(|&&(pin, _)| pin != of(node));
            partners.map(|(_, weight)| weight / 2.0).sum::<f64>() + pins.map(|(_, weight)| weight).sum::<f64>()
        };
        component.iter().map(|&node| at(node)).sum()
    }

    /// The integer program of a component.
    fn state(&self, component: &[Node], colouring: &Colouring) -> Stated {
        let (mut program, mut registers) = (Program::default(), SecondaryMap::new());
        let mut base = 0.0;
        for &node in component {
            let pins = self.affinities.pins(node);
            base += pins.iter().map(|(_, weight)| weight).sum::<f64>();
            let variable =
                |reg: Reg| (reg, program.decision(-self.affinities.saved_by_pin(node, reg), colouring.of(node) == reg));
            let variables: Vec<(Reg, Variable)> = self.conflicts.allowed(node).iter().map(variable).collect();
            program.exactly(1.0, variables.iter().map(|&(_, variable)| (variable, 1.0)));
            registers[node] = variables;
        }
        let mut stated = Stated { program, registers, base };
        self.cliques(component).iter().for_each(|clique| stated.differ(clique));
        for &node in component {
            for &(other, weight) in self.affinities.of(node).iter().filter(|&&(other, _)| node < other) {
                if self.neighbours[node].binary_search(&other).is_ok() {
                    stated.base += weight;
                } else {
                    stated.agree(&Affinity { ends: (node, other), weight }, colouring);
                }
            }
        }
        stated
    }

    /// Cliques that cover all conflicts of a component.
    fn cliques(&self, component: &[Node]) -> Vec<Vec<Node>> {
        let mut covered: HashSet<(Node, Node)> = HashSet::new();
        let mut cliques = Vec::new();
        for &node in component {
            let before = self.neighbours[node].iter().copied().rev();
            let before: Vec<Node> = before.filter(|&other| other < node && self.place[other].is_none()).collect();
            for &other in &before {
                if covered.contains(&(other, node)) {
                    continue;
                }
                let mut clique = vec![node, other];
                for &third in &before {
                    let meets = |&it: &Node| self.neighbours[it].binary_search(&third).is_ok();
                    if third != other && clique.iter().all(meets) {
                        clique.push(third);
                    }
                }
                covered.extend(clique[1..].iter().map(|&other| (other, node)));
                cliques.push(clique);
            }
        }
        cliques
    }

    /// Colours the nodes that are last: each finds a register in any case.
    fn colour_last(&self, colouring: &mut Colouring) {
        for (place, &node) in self.last.iter().enumerate().rev() {
            let has_one = |other: &&Node| self.place[**other].is_none_or(|it| it > place);
            let taken: RegSet = self.neighbours[node].iter().filter(has_one).map(|&other| colouring.of(other)).collect();
            if taken.contains(colouring.of(node)) {
                let free = (self.conflicts.allowed(node) - taken).first();
                colouring.set(node, free.expect("there are fewer neighbours than registers"));
            }
        }
    }
}

/// The integer program of a component.
struct Stated {
    program: Program,
    /// For each node, the decisions whether it is in a register.
    registers: SecondaryMap<Node, Vec<(Reg, Variable)>>,
    /// The cost that no decision changes.
    base: f64,
}

impl Stated {
    fn in_register(&self, node: Node, reg: Reg) -> Option<Variable> {
        self.registers[node].iter().find(|&&(other, _)| other == reg).map(|&(_, variable)| variable)
    }

    /// Constrains a clique: no two of its nodes are in one register.
    fn differ(&mut self, clique: &[Node]) {
        let all: RegSet = clique.iter().flat_map(|&node| self.registers[node].iter().map(|&(reg, _)| reg)).collect();
        for reg in all.iter() {
            let there: Vec<_> = clique.iter().filter_map(|&node| Some((self.in_register(node, reg)?, 1.0))).collect();
            if there.len() > 1 {
                self.program.at_most(1.0, there);
            }
        }
    }

    /// Charges a copy's weight if its sides are not in one register.
    fn agree(&mut self, affinity: &Affinity, colouring: &Colouring) {
        let &Affinity { ends: (a, b), weight } = affinity;
        for (reg, in_a) in self.registers[a].clone() {
            let alone = colouring.of(a) == reg && colouring.of(b) != reg;
            let alone = self.program.penalty(weight, alone);
            let in_b = self.in_register(b, reg).map(|variable| (variable, -1.0));
            self.program.at_most(0.0, [(in_a, 1.0), (alone, -1.0)].into_iter().chain(in_b));
        }
    }
}
