//! Recolouring by optimisation units: the Perm-Optimizer of Hack, Grund and Goos [Hack, "Heuristics for Optimizing
//! Φ-functions"].
//!
//! A unit comes from one row of a φ, a copy or a parallel copy: the definition, and those of its arguments that do not
//! interfere with it. All of them should be in one register. For each register, a set of members that do not interfere with
//! each other is tried, the heaviest first. A node whose neighbour has the register swaps with it, and the swaps go on
//! through the graph. Members of finished units are pinned.
//!
//! The text leaves open in which order units come: here, the heaviest first. Its queue is a "min-queue" ordered by the weight
//! of the sets, which is read as the opposite: the first set that passes is the result, so the one that saves most has to come
//! first. Sets that the definition has been ruled out of stay in the queue, but weigh nothing, since no copy between their
//! members is saved; by the letter, they would keep their weight, and end the unit before other registers are tried.
//!
//! The code departs from the text in these points. Copies to and from registers of the program add to the weight of their
//! register. A unit that makes copies elsewhere dearer than it saves is undone. Since a node may be several names here,
//! chains of swaps may meet; a node is swapped only once for each member. And there are limits: for the search for the
//! heaviest sets ([`stable_set`]), for the nodes that swaps reach ([`Colouring`]), and for the tests of a unit ([`WORK`]).

use super::affinities::{Affinities, Row};
use super::colouring::Colouring;
use super::conflicts::{Conflicts, Node};
use super::stable_set;
use crate::analysis::grouped::of_each;
use crate::machine::Reg;
use cranelift_entity::SecondaryMap;

/// How many members all tests of a unit may have together. The last test then goes on without the members that fail. (A unit
/// of a hundred members has a thousand tests.)
const WORK: usize = 100_000;

/// Optimises unit by unit, the heaviest first.
pub(super) fn optimise(colouring: &mut Colouring, conflicts: &Conflicts, affinities: &Affinities) {
    let nodes = conflicts.colours.len();
    let mut places = of_each(nodes);
    let mut units: Vec<Unit> = affinities.rows.iter().filter_map(|row| Unit::new(conflicts, row, &mut places)).collect();
    units.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    let mut optimiser = Optimiser { colouring, conflicts, affinities, pinned: of_each(nodes), candidates: places };
    for unit in units {
        optimiser.unit(&unit);
    }
}

/// Nodes that should be in one register, and which of them interfere.
struct Unit {
    /// The definition, then its arguments, the heaviest first.
    members: Vec<Node>,
    /// The weight of each member's copy; 0 for the definition.
    weights: Vec<f64>,
    /// The conflict graph: for each member, those that it interferes with, ascending.
    conflicts: Vec<Vec<usize>>,
}

/// For each node, its place in a unit if it is one of the members that this is about.
type Places = SecondaryMap<Node, Option<usize>>;

impl Unit {
    /// The unit of a row, if the definition can be in one register with an argument. No node has a place before and after.
    fn new(conflicts: &Conflicts, row: &Row, places: &mut Places) -> Option<Unit> {
        let beside_definition = conflicts.neighbours(row.def);
        let mut args: Vec<(Node, f64)> = row.args.iter().copied().filter(|(arg, _)| !beside_definition.contains(arg)).collect();
        if args.is_empty() {
            return None;
        }
        args.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (members, weights): (Vec<Node>, Vec<f64>) = [(row.def, 0.0)].into_iter().chain(args).unzip();
        members.iter().enumerate().for_each(|(k, &node)| places[node] = Some(k));
        let among = |&node: &Node| {
            let mut others: Vec<usize> = conflicts.neighbours(node).iter().filter_map(|&other| places[other]).collect();
            others.sort_unstable();
            others.dedup();
            others
        };
        let conflicts = members.iter().map(among).collect();
        members.iter().for_each(|&node| places[node] = None);
        Some(Unit { members, weights, conflicts })
    }

    fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// A register that a unit may get, with the members that would get it.
struct Trial {
    reg: Reg,
    /// The unit's conflict graph, with conflicts that tests have found added.
    conflicts: Vec<Vec<usize>>,
    /// The heaviest set of members without a conflict, ascending.
    set: Vec<usize>,
    weight: f64,
}

impl Trial {
    /// Adds a conflict between two members; of a member with itself, if it cannot get the register at all.
    fn add_conflict(&mut self, a: usize, b: usize) {
        for (from, to) in [(a, b), (b, a)] {
            if let Err(at) = self.conflicts[from].binary_search(&to) {
                self.conflicts[from].insert(at, to);
            }
        }
    }
}

/// Why a node did not get a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refused {
    /// A member of the unit is in the way, which has got the register already.
    Candidate(usize),
    /// A member of a finished unit is in the way, or the register is not allowed.
    Other,
}

struct Optimiser<'a, 'b> {
    colouring: &'a mut Colouring<'b>,
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    pinned: SecondaryMap<Node, bool>,
    /// The places of the members that have got the register of the current test.
    candidates: Places,
}

impl Optimiser<'_, '_> {
    /// COALESCE of \[Hack\], for one unit.
    fn unit(&mut self, unit: &Unit) {
        let (mut budget, mut work) = (stable_set::BUDGET, WORK);
        let set = stable_set::heaviest(&unit.weights, &unit.conflicts, &mut budget);
        let trial = |reg: Reg| {
            let weight = self.weigh(unit, &set, reg);
            Trial { reg, conflicts: unit.conflicts.clone(), set: set.clone(), weight }
        };
        let mut queue: Vec<Trial> = self.conflicts.allowed(unit.members[0]).iter().map(trial).collect();
        while let Some(heaviest) = first_max(&queue) {
            let trial = &mut queue[heaviest];
            let mark = self.colouring.begin();
            let is_last = work < unit.members.len();
            let (candidates, failed) = self.test(unit, trial, is_last);
            candidates.iter().for_each(|&k| self.candidates[unit.members[k]] = None);
            let Some((u, refused)) = failed else {
                if candidates.len() > 1 && self.colouring.added_since(mark) <= 0.0 {
                    candidates.iter().for_each(|&k| self.pinned[unit.members[k]] = true);
                } else {
                    self.colouring.undo(mark);
                }
                return;
            };
            self.colouring.undo(mark);
            work -= unit.members.len();
            let v = if let Refused::Candidate(v) = refused { v } else { u };
            trial.add_conflict(v, u);
            trial.set = stable_set::heaviest(&unit.weights, &trial.conflicts, &mut budget);
            trial.weight = self.weigh(unit, &trial.set, trial.reg);
        }
    }

    /// The executions of copies that are saved if these members are in a register: none without the definition.
    fn weigh(&self, unit: &Unit, set: &[usize], reg: Reg) -> f64 {
        if set.first() != Some(&0) {
            return 0.0;
        }
        set.iter().map(|&k| unit.weights[k] + self.affinities.saved_by_pin(unit.members[k], reg)).sum()
    }

    /// TEST of \[Hack\]: gives members of a unit a register, and says which ones have got it and which one has not. `leaves_out`
    /// goes on without those that do not get it.
    fn test(&mut self, unit: &Unit, trial: &Trial, leaves_out: bool) -> (Vec<usize>, Option<(usize, Refused)>) {
        let mut candidates = Vec::new();
        for &u in &trial.set {
            let mark = self.colouring.mark();
            match self.try_colour(unit.members[u], None, trial.reg) {
                Ok(()) => {
                    candidates.push(u);
                    self.candidates[unit.members[u]] = Some(u);
                    self.colouring.release_since(mark);
                }
                Err(_) if leaves_out => self.colouring.undo(mark),
                // The definition is wanted in any case.
                Err(Refused::Candidate(0)) => return (candidates, Some((u, Refused::Other))),
                Err(refused) => return (candidates, Some((u, refused))),
            }
        }
        (candidates, None)
    }

    /// TRYCOLOR of \[Hack\]: gives a node a register; a neighbour that has it gets the node's.
    fn try_colour(&mut self, node: Node, from: Option<Node>, reg: Reg) -> Result<(), Refused> {
        let current = self.colouring.of(node);
        if current == reg {
            return Ok(());
        }
        if self.pinned[node] {
            return Err(Refused::Other);
        }
        if let Some(k) = self.candidates[node] {
            return Err(Refused::Candidate(k));
        }
        let is_allowed = self.conflicts.allowed(node).contains(reg);
        if !is_allowed || self.colouring.is_held(node) || !self.colouring.spend(node) {
            return Err(Refused::Other);
        }
        self.colouring.set(node, reg);
        self.colouring.hold(node);
        let conflicts = self.conflicts;
        for &other in conflicts.neighbours(node) {
            if Some(other) != from && self.colouring.of(other) == reg {
                self.try_colour(other, Some(node), current)?;
            }
        }
        Ok(())
    }
}

/// The heaviest trial; of equally heavy ones, the first.
fn first_max(queue: &[Trial]) -> Option<usize> {
    let heavier = |best: usize, k: usize| if queue[k].weight > queue[best].weight { k } else { best };
    (0..queue.len()).reduce(heavier)
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

    /// A row of a φ: a definition, and its arguments with their weights.
    fn row(def: usize, args: &[(usize, f64)]) -> Row {
        Row { def: node(def), args: args.iter().map(|&(arg, weight)| (node(arg), weight)).collect() }
    }

    /// Optimises a graph: for each node its register and those that it may have, by their letters. Returns the registers
    /// afterwards.
    fn optimised(nodes: &[&str], edges: &[(usize, usize)], rows: Vec<Row>) -> String {
        let reg = |letter: char| Reg::new(letter as usize - 'a' as usize);
        let allowed = |letters: &&str| letters.chars().map(reg).collect::<RegSet>();
        let nodes: Vec<(Reg, RegSet)> = nodes.iter().map(|it| (reg(it.chars().next().unwrap()), allowed(it))).collect();
        let edges: Vec<(Node, Node)> = edges.iter().map(|&(a, b)| (node(a), node(b))).collect();
        let conflicts = Conflicts::of_graph(&nodes, &edges);
        let affinities = Affinities::of_rows(nodes.len(), rows, &[]);
        let mut colouring = Colouring::new(&conflicts, &affinities);
        let before = left(&affinities, colouring.all()).1;
        optimise(&mut colouring, &conflicts, &affinities);
        assert!(left(&affinities, colouring.all()).1 <= before);
        assert!(edges.iter().all(|&(a, b)| colouring.of(a) != colouring.of(b)));
        colouring.all().values().map(|reg| char::from(b'a' + reg.index() as u8)).collect()
    }

    /// Nodes of a unit: 0, and its arguments 1, 2 and 3. Two chains of swaps lead from 1, one to 2 and one to 3.
    const STAR: [(usize, usize); 6] = [(1, 4), (4, 5), (5, 2), (1, 6), (6, 7), (7, 3)];

    fn star() -> Row {
        row(0, &[(1, 3.0), (2, 2.0), (3, 2.0)])
    }

    /// Two registers. 1 has a from the start, so that neither 2 nor 3 can get it: 1 is a candidate by then, and in their way.
    /// TEST returns these two edges; the heaviest stable set then is 2 and 3, for which 1 has to leave.
    #[test]
    fn candidates_in_the_way_become_edges_of_the_conflict_graph() {
        assert_eq!(optimised(&["ab", "ab", "ba", "ba", "ba", "ab", "ba", "ab"], &STAR, vec![star()]), "abaaabab");
    }

    /// As before, but 1 is one of a finished unit, and pinned. In its register, 2 and 3 are each ruled out by themselves. In
    /// the other one 1 is, and 2 and 3 are in it already.
    #[test]
    fn pinned_nodes_stay() {
        let nodes = ["ab", "ab", "ba", "ba", "ba", "ab", "ba", "ab", "ab"];
        assert_eq!(optimised(&nodes, &STAR, vec![star(), row(8, &[(1, 10.0)])]), "babbbabaa");
        let confined = ["a", "ab", "ba", "ba", "ba", "ab", "ba", "ab", "ab"];
        assert_eq!(optimised(&confined, &STAR, vec![star(), row(8, &[(1, 10.0)])]), "aabbbabaa");
    }

    /// 0 and 1 could change sides together with 2 and 3, if they were not pinned.
    #[test]
    fn nothing_swaps_with_what_is_pinned() {
        let edges = [(3, 4), (4, 0), (4, 1)];
        let (heavy, light) = (row(0, &[(1, 10.0)]), row(2, &[(3, 1.0)]));
        assert_eq!(optimised(&["ab", "ab", "b", "ab", "ba"], &edges, vec![light, heavy]), "aabab");
        assert_eq!(optimised(&["ab", "ab", "b", "ab", "ba"], &edges, vec![row(2, &[(3, 1.0)])]), "bbbba");
    }

    /// 1 is the heaviest argument, but interferes with 2 and 3, which are heavier together.
    #[test]
    fn of_what_interferes_the_heaviest_set_is_tried_first() {
        let unit = row(0, &[(1, 3.0), (2, 2.0), (3, 2.0)]);
        assert_eq!(optimised(&["ab", "bc", "ca", "ca"], &[(1, 2), (1, 3)], vec![unit]), "abaa");
    }

    /// A unit of which no argument can get a register of the definition.
    #[test]
    fn a_definition_alone_stays_where_it_is() {
        assert_eq!(optimised(&["cab", "d"], &[], vec![row(0, &[(1, 1.0)])]), "cd");
    }

    #[test]
    fn units_may_have_any_number_of_members() {
        let nodes: Vec<&str> = ["ab"].into_iter().chain(std::iter::repeat_n("ba", 200)).collect();
        let args: Vec<(usize, f64)> = (1..=200).map(|arg| (arg, 1.0)).collect();
        assert_eq!(optimised(&nodes, &[], vec![row(0, &args)]), "a".repeat(201));
    }

    /// So many members that there is one test of each register, apart from the last: the first one to be refused is left out.
    #[test]
    fn the_last_test_leaves_out_what_is_refused() {
        let count = WORK / 2;
        let nodes: Vec<&str> =
            ["a", "a"].into_iter().chain(std::iter::repeat_n("b", 4)).chain(std::iter::repeat_n("a", count)).collect();
        let args: Vec<(usize, f64)> = (1..nodes.len()).map(|arg| (arg, 1.0)).collect();
        let (found, expected) = (optimised(&nodes, &[], vec![row(0, &args)]), nodes.concat());
        assert!(found == expected);
    }
}
