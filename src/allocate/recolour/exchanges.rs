//! Recolouring by exchanging two registers, after recolouring by chunks.
//!
//! Where nodes leave a register one by one, each is parted from the nodes that copies relate it to. Here all nodes in either
//! of two registers that neighbours and copies connect change sides at once: none of the copies among them is lost.
//!
//! Relies on: Kempe chains. Two neighbours in two registers are still in two registers after both have changed sides.

use super::affinities::{Affinities, Affinity};
use super::chunks;
use super::colouring::{Colouring, SIGNIFICANT};
use super::conflicts::{Conflicts, Node};
use crate::analysis::grouped::of_each;
use crate::machine::Reg;
use cranelift_entity::SecondaryMap;

/// In how many registers a chunk is tried before exchanges.
const TRIED: usize = 3;

/// Recolours chunks, and then tries to save each copy that is left, the heaviest first.
pub(super) fn optimise(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities) {
    chunks::optimise(colouring, conflicts, affinities, TRIED);
    exchange(colouring, conflicts, affinities);
}

fn exchange(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities) {
    let copies = copies(colouring, conflicts, affinities);
    let mut exchange =
        Exchange { colouring, conflicts, affinities, changes: of_each(conflicts.colours.len()), chain: Vec::new() };
    for Copy { of, with, .. } in copies {
        match with {
            Side::Register(reg) => _ = exchange.bring(of, reg, None),
            Side::Node(other) => _ = exchange.join(of, other) || exchange.join(other, of),
        }
    }
}

/// A copy that a node takes part in.
struct Copy {
    of: Node,
    with: Side,
    weight: f64,
}

/// The other side of a copy.
enum Side {
    Node(Node),
    /// A register of the program.
    Register(Reg),
}

/// The copies whose sides are in different registers, the heaviest first.
fn copies(colouring: &Colouring, conflicts: &Conflicts, affinities: &Affinities) -> Vec<Copy> {
    let pairs = affinities.pairs.iter().filter(|pair| colouring.of(pair.ends.0) != colouring.of(pair.ends.1));
    let pairs = pairs.map(|&Affinity { ends: (of, with), weight }| Copy { of, with: Side::Node(with), weight });
    let pins = conflicts.colours.keys().flat_map(|of| {
        let pins = affinities.pins(of).iter().filter(move |&&(reg, _)| reg != colouring.of(of));
        pins.map(move |&(reg, weight)| Copy { of, with: Side::Register(reg), weight })
    });
    let mut copies: Vec<Copy> = pairs.chain(pins).collect();
    copies.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    copies
}

struct Exchange<'a, 'b> {
    colouring: &'a mut Colouring<'b>,
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    /// The nodes that change sides.
    changes: SecondaryMap<Node, bool>,
    /// These nodes as a list.
    chain: Vec<Node>,
}

impl Exchange<'_, '_> {
    /// Brings a node to the register of another one, which stays, if that makes copies cheaper.
    fn join(&mut self, node: Node, other: Node) -> bool {
        self.bring(node, self.colouring.of(other), Some(other))
    }

    /// Brings a node to a register, if that makes copies cheaper. The node that `stays` must not change sides.
    fn bring(&mut self, node: Node, reg: Reg, stays: Option<Node>) -> bool {
        let from = self.colouring.of(node);
        if from == reg {
            return false;
        }
        let mark = self.colouring.begin();
        let found = self.find_chain(node, [from, reg], stays);
        for node in self.chain.drain(..) {
            self.changes[node] = false;
            if found {
                let there = if self.colouring.of(node) == from { reg } else { from };
                self.colouring.set(node, there);
            }
        }
        let pays = self.colouring.added_since(mark) < -SIGNIFICANT;
        if !pays {
            self.colouring.undo(mark);
        }
        pays
    }

    /// Finds the nodes that change sides together with this one: neighbours have to, partners should. Answers whether all of
    /// them can.
    fn find_chain(&mut self, node: Node, regs: [Reg; 2], stays: Option<Node>) -> bool {
        let Exchange { conflicts, affinities, .. } = *self;
        self.add(node);
        let mut next = 0;
        while let Some(&node) = self.chain.get(next) {
            next += 1;
            let here = self.colouring.of(node);
            let there = if here == regs[0] { regs[1] } else { regs[0] };
            if Some(node) == stays || !conflicts.allowed(node).contains(there) || !self.colouring.spend(node) {
                return false;
            }
            for &neighbour in conflicts.neighbours(node) {
                if self.colouring.of(neighbour) == there {
                    self.add(neighbour);
                }
            }
            for &(partner, _) in affinities.of(node) {
                if self.colouring.of(partner) == here && conflicts.allowed(partner).contains(there) {
                    self.add(partner);
                }
            }
        }
        true
    }

    fn add(&mut self, node: Node) {
        if !std::mem::replace(&mut self.changes[node], true) {
            self.chain.push(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::left;
    use super::*;
    use crate::machine::RegSet;
    use cranelift_entity::EntityRef;

    fn node(number: usize) -> Node {
        Node::new(number)
    }

    fn pair(a: usize, b: usize, weight: f64) -> Affinity {
        Affinity { ends: (node(a), node(b)), weight }
    }

    /// Nodes 0 to 2 are one variable in a loop; 3 and 4 are another, which is copied to `a` at the end. If 1 and 2 leave
    /// their register for 3, node 0 is left; if 3 leaves for them, node 4 is.
    #[test]
    fn what_copies_relate_changes_sides_together() {
        let [a, b] = [0, 1].map(Reg::new);
        let all: RegSet = [a, b].into_iter().collect();
        let conflicts = Conflicts::of_graph(&[a, a, a, b, b].map(|reg| (reg, all)), &[(node(1), node(3)), (node(2), node(3))]);
        let pairs = vec![pair(0, 1, 1.0), pair(1, 2, 7.0), pair(3, 4, 1.0)];
        let affinities = Affinities::between(5, pairs, &[(node(4), (a, 1.0))]);
        let mut colouring = Colouring::new(&conflicts, &affinities);
        let cost = |colouring: &Colouring| left(&affinities, colouring.all()).1;
        chunks::optimise(&mut colouring, &conflicts, &affinities, chunks::TRIED);
        assert_eq!(cost(&colouring), 1.0);
        exchange(&mut colouring, &conflicts, &affinities);
        assert_eq!(cost(&colouring), 0.0);
    }

    #[test]
    fn neighbours_stay_apart_and_copies_become_no_dearer() {
        let mut rng = fastrand::Rng::with_seed(6);
        let mut better = 0;
        for _ in 0..500 {
            let count = rng.usize(2..12);
            let nodes: Vec<(Reg, RegSet)> = (0..count)
                .map(|_| {
                    let reg = Reg::new(rng.usize(..3));
                    (reg, (0..3).map(Reg::new).filter(|&it| it == reg || rng.u8(..4) > 0).collect())
                })
                .collect();
            let all = || (0..count).flat_map(|a| (0..a).map(move |b| (b, a)));
            let edges = all().filter(|&(a, b)| nodes[a].0 != nodes[b].0 && rng.bool()).map(|(a, b)| (node(a), node(b)));
            let conflicts = Conflicts::of_graph(&nodes, &edges.collect::<Vec<_>>());
            let mut weight = || Some(f64::from(rng.u8(1..9))).filter(|&weight| weight <= 2.0);
            let pairs: Vec<Affinity> = all().filter_map(|(a, b)| Some(pair(a, b, weight()?))).collect();
            let pins: Vec<(Node, (Reg, f64))> =
                (0..count).filter_map(|it| Some((node(it), (Reg::new(it % 3), weight()?)))).collect();
            let affinities = Affinities::between(count, pairs, &pins);
            let mut colouring = Colouring::new(&conflicts, &affinities);
            let cost = |colouring: &Colouring| left(&affinities, colouring.all()).1;
            let before = cost(&colouring);
            exchange(&mut colouring, &conflicts, &affinities);
            assert!(cost(&colouring) <= before);
            better += u32::from(cost(&colouring) < before);
            for node in conflicts.colours.keys() {
                assert!(conflicts.allowed(node).contains(colouring.of(node)));
                assert!(conflicts.neighbours(node).iter().all(|&other| colouring.of(other) != colouring.of(node)));
            }
        }
        assert!(better > 100, "{better} of 500 have become better");
    }
}
