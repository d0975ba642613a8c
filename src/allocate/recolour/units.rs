//! Recolouring by optimisation units: the Perm-Optimizer of Hack, Grund and Goos [Hack, "Heuristics for Optimizing
//! Φ-functions"].
//!
//! A unit comes from one row of a φ, a copy or a parallel copy: the definition, and those of its arguments that do not
//! interfere with it. All of them should be in one register. For each register, a set of members that do not interfere with
//! each other is tried, the heaviest first. A node whose neighbour has the register swaps with it, and the swaps go on
//! through the graph. Members of finished units are pinned.
//!
//! The code departs from the text in three points. Copies to and from registers of the program add to the weight of their
//! register. A unit that makes copies elsewhere dearer than it saves is undone. And since a node may be several names here,
//! chains of swaps may meet; a node is swapped only once.

use super::affinities::{Affinities, Row};
use super::colouring::Colouring;
use super::conflicts::{Conflicts, Node};
use crate::analysis::grouped::of_each;
use crate::machine::Reg;
use cranelift_entity::SecondaryMap;

/// The heaviest stable set of up to this many members is found exactly; of more, by taking the heaviest members first.
const EXACT: usize = 12;

/// Optimises unit by unit, the heaviest first.
pub(super) fn optimise(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities) {
    let mut optimiser = Optimiser { colouring, conflicts, affinities, pinned: of_each(conflicts.colours.len()) };
    let mut units: Vec<Unit> = affinities.rows.iter().filter_map(|row| Unit::new(conflicts, row)).collect();
    units.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    for unit in units {
        optimiser.unit(&unit);
    }
}

/// Nodes that should be in one register, and which of them interfere.
struct Unit {
    /// The definition, then its arguments.
    members: Vec<Node>,
    /// The weight of each member's copy; 0 for the definition.
    weights: Vec<f64>,
    /// The conflict graph: for each member, a bit for each member that it interferes with.
    conflicts: Vec<u64>,
}

impl Unit {
    /// There are bits for this many members.
    const MEMBERS: usize = 64;

    fn new(conflicts: &Conflicts, row: &Row) -> Option<Unit> {
        let interferes = |a: Node, b: Node| conflicts.neighbours(a).contains(&b);
        let mut args: Vec<(Node, f64)> = row.args.iter().copied().filter(|&(arg, _)| !interferes(arg, row.def)).collect();
        args.sort_by(|a, b| b.1.total_cmp(&a.1));
        args.truncate(Unit::MEMBERS - 1);
        let members: Vec<Node> = [row.def].into_iter().chain(args.iter().map(|&(arg, _)| arg)).collect();
        let among = |&node: &Node| {
            let others = members.iter().enumerate();
            others.filter(|&(_, &other)| interferes(node, other)).map(|(k, _)| 1 << k).sum()
        };
        let weights = [0.0].into_iter().chain(args.iter().map(|&(_, weight)| weight)).collect();
        let conflicts = members.iter().map(among).collect();
        (!args.is_empty()).then_some(Unit { members, weights, conflicts })
    }

    fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The heaviest set of members without a conflict, as bits; of equally heavy ones, that with the first members.
    fn stable_set(&self, conflicts: &[u64]) -> u64 {
        let usable = (0..self.members.len()).filter(|&k| conflicts[k] >> k & 1 == 0).map(|k| 1 << k).sum();
        if self.members.len() <= EXACT { self.heaviest(conflicts, usable).1 } else { self.greedy(conflicts, usable) }
    }

    fn heaviest(&self, conflicts: &[u64], usable: u64) -> (f64, u64) {
        if usable == 0 {
            return (0.0, 0);
        }
        let k = usable.trailing_zeros() as usize;
        let rest = usable & !(1 << k);
        let (weight, set) = self.heaviest(conflicts, rest & !conflicts[k]);
        let with = (weight + self.weights[k], set | 1 << k);
        if conflicts[k] & rest == 0 {
            return with;
        }
        let without = self.heaviest(conflicts, rest);
        if without.0 > with.0 { without } else { with }
    }

    /// Takes each member that fits with those taken before, the heaviest first.
    fn greedy(&self, conflicts: &[u64], usable: u64) -> u64 {
        let take = |set: u64, k: usize| if usable >> k & 1 != 0 && conflicts[k] & set == 0 { set | 1 << k } else { set };
        (0..self.members.len()).fold(0, take)
    }

    fn weight_of(&self, set: u64) -> f64 {
        self.weights.iter().enumerate().filter(|&(k, _)| set >> k & 1 != 0).map(|(_, weight)| weight).sum()
    }
}

/// A register that a unit may get, with the members that would get it.
struct Trial {
    reg: Reg,
    /// The unit's conflict graph, with conflicts that trials have found added.
    conflicts: Vec<u64>,
    set: u64,
    weight: f64,
}

/// Why a node did not get a register.
enum Refused {
    /// A member of the unit is in the way, which has got the register already.
    Candidate(usize),
    Other,
}

struct Optimiser<'a, 'b> {
    colouring: &'a mut Colouring<'b>,
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    pinned: SecondaryMap<Node, bool>,
}

impl Optimiser<'_, '_> {
    /// COALESCE of \[Hack\], for one unit.
    fn unit(&mut self, unit: &Unit) {
        let affinities = self.affinities;
        let set = unit.stable_set(&unit.conflicts);
        let weigh = |set: u64, reg: Reg| {
            let members = unit.members.iter().enumerate().filter(|&(k, _)| set >> k & 1 != 0);
            unit.weight_of(set) + members.map(|(_, &node)| affinities.saved_by_pin(node, reg)).sum::<f64>()
        };
        let registers = self.conflicts.allowed(unit.members[0]);
        let mut trials: Vec<Trial> =
            registers.iter().map(|reg| Trial { reg, conflicts: unit.conflicts.clone(), set, weight: weigh(set, reg) }).collect();
        while let Some(heaviest) = first_max(&trials) {
            let mark = self.colouring.begin();
            match self.test(unit, &trials[heaviest]) {
                Ok(()) => {
                    if self.colouring.added_since(mark) > 0.0 {
                        self.colouring.undo(mark);
                    } else if trials[heaviest].set.count_ones() > 1 {
                        let members = unit.members.iter().enumerate();
                        let done = members.filter(|&(k, _)| trials[heaviest].set >> k & 1 != 0);
                        done.for_each(|(_, &node)| self.pinned[node] = true);
                    }
                    return;
                }
                Err((k, refused)) => {
                    self.colouring.undo(mark);
                    let trial = &mut trials[heaviest];
                    match refused {
                        Refused::Candidate(other) => {
                            trial.conflicts[k] |= 1 << other;
                            trial.conflicts[other] |= 1 << k;
                        }
                        Refused::Other => trial.conflicts[k] |= 1 << k,
                    }
                    trial.set = unit.stable_set(&trial.conflicts);
                    trial.weight = weigh(trial.set, trial.reg);
                    // Without its definition, a unit is worth nothing.
                    if trial.set & 1 == 0 {
                        trials.remove(heaviest);
                    }
                }
            }
        }
    }

    /// TEST of \[Hack\]: gives members of a unit a register, or says which one did not get it.
    fn test(&mut self, unit: &Unit, trial: &Trial) -> Result<(), (usize, Refused)> {
        let mut candidates: Vec<(usize, Node)> = Vec::new();
        for (k, &node) in unit.members.iter().enumerate().filter(|&(k, _)| trial.set >> k & 1 != 0) {
            match self.try_colour(node, None, trial.reg, &candidates) {
                Ok(()) => candidates.push((k, node)),
                Err(in_the_way) => {
                    let candidate = candidates.iter().find(|&&(other, node)| other != 0 && Some(node) == in_the_way);
                    return Err((k, candidate.map_or(Refused::Other, |&(other, _)| Refused::Candidate(other))));
                }
            }
        }
        Ok(())
    }

    /// TRYCOLOR of \[Hack\]: gives a node a register; a neighbour that has it gets the node's. The error is the node that
    /// cannot be changed.
    fn try_colour(&mut self, node: Node, from: Option<Node>, reg: Reg, candidates: &[(usize, Node)]) -> Result<(), Option<Node>> {
        let current = self.colouring.of(node);
        if current == reg {
            return Ok(());
        }
        let fixed = self.pinned[node] || candidates.iter().any(|&(_, candidate)| candidate == node);
        if fixed || !self.conflicts.allowed(node).contains(reg) || self.colouring.is_held(node) || !self.colouring.spend(node) {
            return Err(Some(node));
        }
        self.colouring.set(node, reg);
        self.colouring.hold(node);
        let conflicts = self.conflicts;
        for &other in conflicts.neighbours(node) {
            if Some(other) != from && self.colouring.of(other) == reg {
                self.try_colour(other, Some(node), current, candidates)?;
            }
        }
        Ok(())
    }
}

/// The heaviest trial; of equally heavy ones, the first.
fn first_max(trials: &[Trial]) -> Option<usize> {
    let heavier = |best: usize, k: usize| if trials[k].weight > trials[best].weight { k } else { best };
    (0..trials.len()).reduce(heavier)
}
