//! Coalescing: which variables become one ([Bo09, §21.3], "De-coalescing in Linear Time").
//!
//! All variables that copies relate are given one colour, unless no register suits all of them. Then the variables of each
//! colour are visited in dominance order. If one interferes with an earlier one, the atom of one of the two is uncoloured:
//! the one that saves fewer executions of copies. Uncoloured atoms are coloured again, apart from the rest, until nothing
//! more is gained.
//!
//! Requires: variables with their affinities, atoms and liveness.
//! Ensures: classes of variables, none of which has two members that interfere by the given [`Notion`].
//! Relies on: in dominance order, it is enough to test the nearest earlier variable of a colour whose definition dominates,
//! and those of its value that are live with it ([`Classes::interfering`]).

use super::liveness::LiveOut;
use super::members::{Affinity, Members};
use super::{Merging, Notion, bytes};
use crate::analysis::Partition;
use crate::machine::{RegSet, Value};
use cranelift_entity::{EntityRef, packed_option::PackedOption};

/// How many variables may be looked at, for each one that there is, while classes are merged one by one.
const LOOKS: usize = 64;

/// Classes of variables that share a location.
pub(super) struct Classes<'a> {
    members: &'a Members,
    live: LiveOut<'a>,
    notion: Notion,
    /// Sets of variables that stay together.
    atoms: Partition<Value>,
    /// Atoms of one colour, by their representatives.
    colours: Partition<Value>,
    /// For the representative of each atom, the registers that suit all of its variables.
    allowed: Vec<RegSet>,
    /// For the representative of each atom, the executions of copies that its colour saves.
    gain: Vec<f64>,
    /// For the representative of each atom, whether it has left its colour.
    uncoloured: Vec<bool>,
    /// For each variable, the nearest one of its colour that dominates it.
    idom: Vec<PackedOption<Value>>,
    /// For each variable, the nearest such one that is live with it and has the same value ("equal intersecting ancestor").
    ancestor: Vec<PackedOption<Value>>,
    tests: u64,
}

impl<'a> Classes<'a> {
    pub(super) fn new(members: &'a Members, live: LiveOut<'a>, notion: Notion) -> Self {
        let count = members.count();
        let mut atoms = members.atoms.clone();
        let mut allowed = members.allowed.clone();
        for variable in (0..count).map(Value::new) {
            let atom = atoms.find(variable).index();
            allowed[atom] = allowed[atom] & members.allowed[variable.index()];
        }
        Classes {
            members,
            live,
            notion,
            atoms,
            colours: Partition::discrete(count),
            allowed,
            gain: vec![0.0; count],
            uncoloured: vec![false; count],
            idom: vec![None.into(); count],
            ancestor: vec![None.into(); count],
            tests: 0,
        }
    }

    /// The representative of a variable's class.
    pub(super) fn of(&mut self, variable: Value) -> Value {
        let atom = self.atoms.find(variable);
        self.colours.find(atom)
    }

    pub(super) fn tests(&self) -> u64 {
        self.tests
    }

    pub(super) fn bytes(&self) -> usize {
        let each = bytes(&self.allowed) + bytes(&self.gain) + bytes(&self.uncoloured) + bytes(&self.idom) + bytes(&self.ancestor);
        let partitions = 2 * self.members.count() * size_of::<Value>();
        each + partitions + self.live.bytes()
    }

    /// Two variables of one atom that interfere, if there are any.
    pub(super) fn strong_interference(&mut self) -> Option<[Value; 2]> {
        let atoms = self.groups();
        atoms.iter().find_map(|atom| self.find_interference(atom))
    }

    /// Puts the two sides of copies into one class, as long as no two variables of a class interfere.
    pub(super) fn coalesce(&mut self, merging: Merging) {
        let mut affinities = self.members.affinities.clone();
        affinities.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        match merging {
            Merging::ByWeight => {
                self.merge_by_weight(&mut affinities);
                self.merge_at_once(&mut affinities);
            }
            Merging::AtOnce => {
                self.merge_at_once(&mut affinities);
                self.merge_by_weight(&mut affinities);
            }
        }
    }

    /// Gives all variables that copies relate one colour and uncolours those that interfere, as long as each round saves
    /// copies.
    fn merge_at_once(&mut self, affinities: &mut Vec<Affinity>) {
        let mut apart = usize::MAX;
        while affinities.len() < apart {
            apart = affinities.len();
            self.colour(affinities);
            for colour in self.groups() {
                self.decoalesce(&colour);
            }
            self.settle(affinities);
            self.keep_apart(affinities);
        }
    }

    /// Keeps the copies whose two sides are in different classes.
    fn keep_apart(&mut self, affinities: &mut Vec<Affinity>) {
        affinities.retain(|affinity| self.of(affinity.to) != self.of(affinity.from));
    }

    /// Merges the classes of the two sides of each copy if no members interfere, the most frequent copies first.
    ///
    /// The number of variables that are looked at is limited, because a class may grow large by one variable at a time.
    fn merge_by_weight(&mut self, affinities: &mut Vec<Affinity>) {
        let mut budget = LOOKS * self.members.count();
        let mut lists: Vec<Vec<Value>> = vec![Vec::new(); self.members.count()];
        for variable in (0..self.members.count()).map(Value::new) {
            lists[self.of(variable).index()].push(variable);
        }
        lists.iter_mut().filter(|list| list.len() > 1).for_each(|list| self.members.in_dominance_order(list));
        for affinity in affinities.iter() {
            let (a, b) = (self.of(affinity.to), self.of(affinity.from));
            let both = self.allowed[a.index()] & self.allowed[b.index()];
            if a == b || both.is_empty() {
                continue;
            }
            let union = self.members.merged(&lists[a.index()], &lists[b.index()]);
            let Some(left) = budget.checked_sub(union.len()) else { break };
            budget = left;
            if self.find_interference(&union).is_none() {
                self.atoms.attach(b, a);
                self.allowed[a.index()] = both;
                lists[a.index()] = union;
                lists[b.index()] = Vec::new();
            }
        }
        self.keep_apart(affinities);
    }

    /// Two of these variables that interfere, if there are any. They are given in dominance order.
    fn find_interference(&mut self, variables: &[Value]) -> Option<[Value; 2]> {
        let mut before = None.into();
        variables.iter().find_map(|&variable| {
            let idom = self.enter(variable, before, false);
            before = variable.into();
            self.interfering(variable, idom, false).map(|other| [other, variable])
        })
    }

    /// Gives the atoms that copies relate one colour, as far as registers suit all of them.
    fn colour(&mut self, affinities: &[Affinity]) {
        // For the representative of each colour, the registers that suit all of its atoms.
        let mut allowed = self.allowed.clone();
        for &Affinity { to, from, weight } in affinities {
            let (a, b) = (self.atoms.find(to), self.atoms.find(from));
            let (x, y) = (self.colours.find(a), self.colours.find(b));
            let both = allowed[x.index()] & allowed[y.index()];
            if a == b || both.is_empty() {
                continue;
            }
            self.gain[a.index()] += weight;
            self.gain[b.index()] += weight;
            if x != y {
                self.colours.attach(y, x);
                allowed[x.index()] = both;
            }
        }
    }

    /// The variables of each colour in dominance order, or of each atom as long as nothing is coloured. Variables that are
    /// alone are left out.
    fn groups(&mut self) -> Vec<Vec<Value>> {
        let mut pairs: Vec<(Value, Value)> =
            (0..self.members.count()).map(Value::new).map(|variable| (self.of(variable), variable)).collect();
        pairs.sort_unstable();
        let groups = pairs.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1);
        let mut groups: Vec<Vec<Value>> = groups.map(|group| group.iter().map(|&(_, variable)| variable).collect()).collect();
        groups.iter_mut().for_each(|group| self.members.in_dominance_order(group));
        groups
    }

    /// Uncolours atoms until no two variables of a colour interfere [Bo09, Algorithm 21.3].
    ///
    /// Where one that interferes has been uncoloured, those that are live at it are still to be tested, and no others: each
    /// variable is tested once against another.
    fn decoalesce(&mut self, colour: &[Value]) {
        let mut before = None.into();
        for &variable in colour {
            if !self.is_coloured(variable) {
                continue;
            }
            let mut next = self.enter(variable, before, true);
            while self.is_coloured(variable)
                && let Some(other) = self.interfering(variable, next, true)
            {
                let (a, b) = (self.atoms.find(variable), self.atoms.find(other));
                let leaves = if self.gain[a.index()] <= self.gain[b.index()] { a } else { b };
                self.uncoloured[leaves.index()] = true;
                next = self.ancestor[other.index()];
            }
            before = variable.into();
        }
    }

    fn is_coloured(&mut self, variable: Value) -> bool {
        let atom = self.atoms.find(variable);
        !self.uncoloured[atom.index()]
    }

    /// Finds the nearest variable that dominates this one. `before` is the last that comes earlier in dominance order; with
    /// `parts`, uncoloured variables do not count.
    fn enter(&mut self, variable: Value, before: PackedOption<Value>, parts: bool) -> PackedOption<Value> {
        let dominators = self.live.dominators();
        let block = self.members.def[variable.index()].block;
        let mut idom = before;
        while let Some(other) = idom.expand()
            && !(dominators.dominates(self.members.def[other.index()].block, block) && (!parts || self.is_coloured(other)))
        {
            idom = self.idom[other.index()];
        }
        self.idom[variable.index()] = idom;
        self.ancestor[variable.index()] = None.into();
        idom
    }

    /// A variable that dominates this one and interferes with it: `next`, or one of the same value that is live with that.
    /// With `parts`, uncoloured variables do not count.
    ///
    /// It is enough to begin with the nearest one that dominates this one. Any other that were live here would also be live
    /// at the nearest one's definition, and would have been found there.
    fn interfering(&mut self, variable: Value, mut next: PackedOption<Value>, parts: bool) -> Option<Value> {
        while let Some(other) = next.expand() {
            next = self.ancestor[other.index()];
            if (parts && !self.is_coloured(other)) || !self.intersect(other, variable) {
                continue;
            }
            if !self.may_share(other, variable) {
                return Some(other);
            }
            if self.ancestor[variable.index()].is_none() {
                self.ancestor[variable.index()] = other.into();
            }
            if self.notion == Notion::Value {
                break;
            }
        }
        None
    }

    /// Whether a variable is live at the definition of another one, which its own definition dominates. Variables that are
    /// defined in one place intersect, even if they are dead.
    fn intersect(&mut self, variable: Value, other: Value) -> bool {
        self.tests += 1;
        let place = self.members.def[other.index()];
        self.members.def[variable.index()] == place || self.live.live_after(variable, place)
    }

    /// Whether two variables may share a location although both are live.
    fn may_share(&self, a: Value, b: Value) -> bool {
        let copies = |to: Value, from: Value| self.members.copy_of[to.index()] == from.into();
        match self.notion {
            Notion::Intersection => false,
            Notion::Chaitin => copies(a, b) || copies(b, a),
            Notion::Value => self.members.value[a.index()] == self.members.value[b.index()],
        }
    }

    /// Makes the two sides of a copy one atom if both have kept their colour. All other atoms are on their own again, even
    /// those that had their colour only by way of an uncoloured one.
    fn settle(&mut self, affinities: &[Affinity]) {
        for affinity in affinities {
            let (a, b) = (self.atoms.find(affinity.to), self.atoms.find(affinity.from));
            let left = self.uncoloured[a.index()] || self.uncoloured[b.index()];
            if a != b && !left && self.colours.find(a) == self.colours.find(b) {
                self.atoms.attach(b, a);
                self.allowed[a.index()] = self.allowed[a.index()] & self.allowed[b.index()];
            }
        }
        self.colours = Partition::discrete(self.members.count());
        self.gain.fill(0.0);
        self.uncoloured.fill(false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::isolation::Isolation;
    use super::super::members::Copies;
    use super::*;
    use crate::allocate::ssa::conventional::Sharing;
    use crate::analysis::{Dominators, Order};
    use crate::machine::parse;

    /// Runs Algorithm 21.3 on a function all of whose values have one colour at first. `weights` says, for v1 and those after
    /// it, how many executions of a copy from v0 are saved if both keep it. Returns the variables that keep the colour, and for
    /// each variable its nearest intersecting dominator of the same value.
    fn decoalesced(text: &str, weights: &[f64]) -> (Vec<usize>, Vec<Option<usize>>) {
        let function = parse(&format!("target tiny\nfunction f\n{text}")).unwrap();
        let order = Order::new(&function);
        let dominators = Dominators::new(&function, &order);
        let isolation = Isolation::new(&function, Sharing::Register);
        let mut members = Members::new(&function, &isolation, &order, &dominators, Copies::Virtual);
        let copy = |(to, &weight)| Affinity { to: Value::new(to + 1), from: Value::new(0), weight };
        members.affinities = weights.iter().enumerate().map(copy).collect();
        let live = LiveOut::new(&function, &order, &dominators, &members, Source::Check);
        let mut classes = Classes::new(&members, live, Notion::Value);
        classes.colour(&members.affinities);
        let [colour] = &classes.groups()[..] else { panic!("all are of one colour") };
        classes.decoalesce(colour);
        let left = (0..members.count()).filter(|&variable| classes.is_coloured(Value::new(variable))).collect();
        (left, classes.ancestor.iter().map(|ancestor| ancestor.expand().map(EntityRef::index)).collect())
    }

    /// The example of [Bo09, Figure 21.6], whose graph is lost: b has no such dominator, d has a; b and c do not intersect,
    /// and nothing interferes with c; d and e do not intersect, but a and e interfere.
    #[test]
    fn what_interferes_is_found_by_way_of_equal_dominators() {
        let a_to_e = "b0: -> b1 b2\n  v0:w = op\n  op terminator\nb1:\n  v1:w = op\n  v2:w = op v1\n  op v2\n\
                      b2:\n  v3:w = copy v0\n  v4:w = op v3\n  op v0 v4\n";
        let (left, ancestors) = decoalesced(a_to_e, &[1.0; 4]);
        assert_eq!(ancestors, [None, None, None, Some(0), None]);
        assert_eq!(left, [0, 1, 2, 3], "a has more copies to lose than e");
    }

    /// v0 has ended when v5 is defined, but its copies are live. Each of them is found, and gives way if it saves less.
    #[test]
    fn a_variable_may_drive_out_all_copies_of_another_one() {
        let copies: String = (1..=4).map(|copy| format!("  v{copy}:w = copy v0\n")).collect();
        let text = format!("b0:\n  v0:w = op\n{copies}  v5:w = op\n  op v1 v2 v3 v4 v5\n");
        let (left, ancestors) = decoalesced(&text, &[1.0, 1.0, 1.0, 1.0, 20.0]);
        assert_eq!(ancestors, [None, Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!(left, [0, 5]);
        assert_eq!(decoalesced(&text, &[1.0, 3.0, 1.0, 1.0, 2.0]).0, [0, 1, 2], "v2 drives v5 out, which v3 and v4 did not");
    }
}
