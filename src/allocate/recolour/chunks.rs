//! Recolouring by chunks \[HG08\].
//!
//! Nodes that copies relate and that do not interfere are gathered into chunks, along the heaviest copies first. The aim is
//! one register for a whole chunk. For some registers, the most promising first, its nodes are brought there one after the
//! other, and neighbours leave for the registers where they cost least. The register that saves most is kept; nodes that
//! could not follow become chunks of their own. The cost of all copies never rises.

use super::affinities::{Affinities, Affinity};
use super::colouring::{Colouring, SIGNIFICANT};
use super::conflicts::{Conflicts, Node};
use crate::analysis::Partition;
use crate::analysis::grouped::of_each;
use crate::machine::{Reg, RegSet};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// How long a chain of neighbours may grow that leave for one another.
const DEPTH: u32 = 1;

/// In how many registers a chunk is tried if no exchanges follow.
pub(super) const TRIED: usize = 4;

/// Two chunks are not united if each has more nodes and neighbours than this: finding out whether they interfere would not
/// be linear.
const LARGE: usize = 1_000;

/// Recolours chunks, the heaviest first, trying each in as many registers as `tried` says.
pub(super) fn optimise(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities, tried: usize) {
    let (open, reached) = (of_each(conflicts.colours.len()), BinaryHeap::new());
    let mut recolouring = Recolouring { colouring, conflicts, affinities, tried, open, reached };
    let mut chunks = BinaryHeap::new();
    for nodes in gather(conflicts, affinities) {
        recolouring.connected(&nodes, &mut chunks);
    }
    while let Some(chunk) = chunks.pop() {
        recolouring.chunk(&chunk, &mut chunks);
    }
}

/// An item that is ordered by its weight. Of equally heavy ones, the first in their own order is the greatest.
#[derive(PartialEq)]
struct Weighted<T> {
    weight: f64,
    of: T,
}

/// Nodes that should be in one register, and the weight of the copies that this saves. A copy relates each node but the
/// first to an earlier one.
type Chunk = Weighted<Vec<Node>>;

impl<T: Ord> Eq for Weighted<T> {}

impl<T: Ord> Ord for Weighted<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then_with(|| other.of.cmp(&self.of))
    }
}

impl<T: Ord> PartialOrd for Weighted<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Unites nodes that do not interfere, along copies, the heaviest first. A node that only copies to and from registers of
/// the program concern is a chunk of its own.
fn gather(conflicts: &Conflicts, affinities: &Affinities) -> Vec<Vec<Node>> {
    let count = conflicts.colours.len();
    let mut sets: Partition<Node> = Partition::discrete(count);
    let mut members: SecondaryMap<Node, Vec<Node>> = of_each(count);
    let mut common: SecondaryMap<Node, RegSet> = of_each(count);
    // The number of nodes and neighbours in each set.
    let mut size: SecondaryMap<Node, usize> = of_each(count);
    for node in conflicts.colours.keys() {
        common[node] = conflicts.allowed(node);
        size[node] = 1 + conflicts.neighbours(node).len();
    }
    let mut pairs: Vec<&Affinity> = affinities.pairs.iter().collect();
    pairs.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.ends.cmp(&b.ends)));
    for &&Affinity { ends: (a, b), .. } in &pairs {
        let (mut from, mut to) = (sets.find(a), sets.find(b));
        if from == to || (common[from] & common[to]).is_empty() {
            continue;
        }
        if size[from] > size[to] {
            std::mem::swap(&mut from, &mut to);
        }
        if size[from] > LARGE || interfere(conflicts, &mut sets, (from, &members[from]), to) {
            continue;
        }
        sets.attach(from, to);
        let moved = std::mem::take(&mut members[from]);
        if members[to].is_empty() {
            members[to].push(to);
        }
        if moved.is_empty() {
            members[to].push(from)
        } else {
            members[to].extend(moved)
        }
        common[to] = common[from] & common[to];
        size[to] += size[from];
    }
    let is_elsewhere = |node: Node| affinities.pins(node).iter().any(|&(reg, _)| reg != conflicts.colours[node]);
    let alone = |node: Node, sets: &mut Partition<Node>| sets.find(node) == node && is_elsewhere(node);
    let chunk = |node: Node| match std::mem::take(&mut members[node]) {
        nodes if !nodes.is_empty() => Some(nodes),
        _ => alone(node, &mut sets).then(|| vec![node]),
    };
    conflicts.colours.keys().filter_map(chunk).collect()
}

/// Whether a node of one set interferes with a node of the other.
fn interfere(conflicts: &Conflicts, sets: &mut Partition<Node>, (from, nodes): (Node, &[Node]), to: Node) -> bool {
    let nodes = if nodes.is_empty() { &[from] } else { nodes };
    nodes.iter().any(|&node| conflicts.neighbours(node).iter().any(|&other| sets.find(other) == to))
}

struct Recolouring<'a, 'b> {
    colouring: &'a mut Colouring<'b>,
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    tried: usize,
    /// Nodes that are being put into order, and have no place in it yet.
    open: SecondaryMap<Node, bool>,
    /// Partners of the nodes that are in order already.
    reached: BinaryHeap<Weighted<Node>>,
}

impl Recolouring<'_, '_> {
    /// Brings a chunk together, unless it is already. Connected parts of it that are left elsewhere are added to `chunks`.
    fn chunk(&mut self, chunk: &Chunk, chunks: &mut BinaryHeap<Chunk>) {
        let is_left = |&node: &Node| self.colouring.cost(node, self.colouring.of(node)) > 0.0;
        if !chunk.of.iter().any(is_left) {
            return;
        }
        let (saved, ideal) = self.prospects(&chunk.of);
        let mut best: Option<(f64, Reg)> = None;
        for &(most, reg) in ideal.iter().take(self.tried) {
            let least = best.map_or(-SIGNIFICANT, |(least, _)| least);
            if saved - most >= least {
                continue;
            }
            let mark = self.colouring.begin();
            self.bring(&chunk.of, reg);
            let added = self.colouring.added_since(mark);
            if added < least {
                best = Some((added, reg));
            }
            self.colouring.undo(mark);
        }
        let Some((_, reg)) = best else { return };
        self.colouring.begin();
        self.bring(&chunk.of, reg);
        let elsewhere: Vec<Node> = chunk.of.iter().copied().filter(|&node| self.colouring.of(node) != reg).collect();
        self.connected(&elsewhere, chunks);
    }

    /// The weight of the chunk's copies that its current registers save, and for each register the weight that would be
    /// saved if all nodes that may be there were. The most promising registers come first: those where most would be saved
    /// and where nodes are already.
    fn prospects(&mut self, nodes: &[Node]) -> (f64, SmallVec<[(f64, Reg); 16]>) {
        nodes.iter().for_each(|&node| self.open[node] = true);
        let mut registers = RegSet::EMPTY;
        let mut ideal = [0.0; RegSet::CAPACITY];
        let mut present = [0.0; RegSet::CAPACITY];
        let mut saved = 0.0;
        for &node in nodes {
            let (allowed, current) = (self.conflicts.allowed(node), self.colouring.of(node));
            registers |= allowed;
            for &(other, weight) in self.affinities.of(node) {
                let reg = self.colouring.of(other);
                present[current.index()] += weight / 2.0;
                if self.open[other] {
                    saved += if reg == current { weight / 2.0 } else { 0.0 };
                    (allowed & self.conflicts.allowed(other)).iter().for_each(|reg| ideal[reg.index()] += weight / 2.0);
                } else {
                    saved += if reg == current { weight } else { 0.0 };
                    ideal[reg.index()] += weight;
                }
            }
            for &(reg, weight) in self.affinities.pins(node) {
                saved += if reg == current { weight } else { 0.0 };
                ideal[reg.index()] += weight;
            }
        }
        nodes.iter().for_each(|&node| self.open[node] = false);
        let mut prospects: SmallVec<[(f64, Reg); 16]> = registers.iter().map(|reg| (ideal[reg.index()], reg)).collect();
        let likely = |&(most, reg): &(f64, Reg)| most + present[reg.index()];
        prospects.sort_by(|a, b| likely(b).total_cmp(&likely(a)));
        (saved, prospects)
    }

    fn bring(&mut self, nodes: &[Node], reg: Reg) {
        for &node in nodes {
            self.colouring.bring(node, reg, DEPTH);
        }
    }

    /// Adds the parts of these nodes that copies connect, each in the order of its heaviest copies (Prim's algorithm).
    fn connected(&mut self, nodes: &[Node], chunks: &mut BinaryHeap<Chunk>) {
        nodes.iter().for_each(|&node| self.open[node] = true);
        let mut part: SmallVec<[Node; 8]> = SmallVec::new();
        for &start in nodes {
            part.clear();
            let mut sum = 0.0;
            self.reached.push(Weighted { weight: 0.0, of: start });
            while let Some(Weighted { weight, of: node }) = self.reached.pop() {
                if std::mem::take(&mut self.open[node]) {
                    sum += weight;
                    part.push(node);
                    let partners = self.affinities.of(node).iter().filter(|(other, _)| self.open[*other]);
                    self.reached.extend(partners.map(|&(of, weight)| Weighted { weight, of }));
                }
            }
            let by_pins: f64 = part.iter().flat_map(|&node| self.affinities.pins(node)).map(|(_, weight)| weight).sum();
            if part.len() > 1 || by_pins > 0.0 {
                chunks.push(Chunk { weight: sum + by_pins, of: part.to_vec() });
            }
        }
    }
}
