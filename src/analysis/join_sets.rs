//! Join sets: the blocks that need φs for a variable that several blocks assign.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: for a set of blocks A, the iterated join set J⁺(A). [`Worklist`] and [`DjGraph`] compute it for one set at a
//! time; [`JoinSets`] does so for many sets, reusing results among them.
//! Relies on: J⁺(A) is the iterated dominance frontier of A [FA05, Theorem 1; Cytron91], and J⁺(X ∪ Y) = J⁺(X) ∪ J⁺(Y)
//! [FA05, Theorem 4].

use super::grouped::{Grouped, of_each};
use super::{Dominators, Frontiers, Graph, Order};
use crate::machine::Block;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// An algorithm that computes join sets.
pub trait JoinSet {
    /// Appends the join set of the blocks `assigned`, in no particular order.
    ///
    /// Only blocks that are `wanted` join it, and the search does not continue past others. If `wanted` says where the
    /// variable is live, the φs are those of pruned SSA form.
    fn append(&mut self, assigned: &[Block], wanted: impl Fn(Block) -> bool, joins: &mut Vec<Block>);

    /// How much work that has been so far: blocks taken up, and blocks and edges looked at from there.
    fn steps(&self) -> u64;
}

/// Cytron's worklist, over dominance frontiers that are computed beforehand \[Cytron91\].
///
/// A set takes time linear in the frontiers of its blocks and of its join set. All frontiers together can be of quadratic
/// size.
pub struct Worklist {
    frontiers: Frontiers,
    joined: Marks,
    pending: Vec<Block>,
    steps: u64,
}

impl Worklist {
    pub fn new(graph: &impl Graph, order: &Order, dominators: &Dominators) -> Self {
        Worklist { frontiers: Frontiers::new(graph, order, dominators), joined: Marks::default(), pending: Vec::new(), steps: 0 }
    }
}

impl JoinSet for Worklist {
    fn append(&mut self, assigned: &[Block], wanted: impl Fn(Block) -> bool, joins: &mut Vec<Block>) {
        self.joined.clear();
        self.pending.extend_from_slice(assigned);
        while let Some(block) = self.pending.pop() {
            self.steps += 1 + self.frontiers.of(block).len() as u64;
            for &join in self.frontiers.of(block) {
                if wanted(join) && self.joined.insert(join) {
                    joins.push(join);
                    self.pending.push(join);
                }
            }
        }
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}

/// The algorithm of \[SG95\], which takes time linear in the graph for a set, however large the frontiers are.
///
/// It takes blocks from the deepest in the dominator tree to the highest. The subtree below each is searched for *J-edges*
/// (edges that are not edges of the tree) to a block that is no deeper than the subtree's root. No block is searched twice.
pub struct DjGraph {
    j_edges: Grouped<Block, Block>,
    children: Grouped<Block, Block>,
    /// Depth in the dominator tree.
    level: SecondaryMap<Block, u32>,
    /// Roots of subtrees that have yet to be searched, by level: the piggy bank of \[SG95\].
    bank: Vec<Vec<Block>>,
    banked: Marks,
    searched: Marks,
    joined: Marks,
    pending: Vec<Block>,
    steps: u64,
}

impl DjGraph {
    pub fn new(graph: &impl Graph, order: &Order, dominators: &Dominators) -> Self {
        let mut level: SecondaryMap<Block, u32> = of_each(graph.block_count());
        let (mut tree, mut j_edges) = (Vec::new(), Vec::new());
        let mut deepest = 0;
        for &block in order.blocks() {
            if let Some(parent) = dominators.idom(block) {
                level[block] = level[parent] + 1;
                deepest = deepest.max(level[block]);
                tree.push((parent, block));
            }
            let not_the_trees = graph.succs(block).iter().filter(|&&to| dominators.idom(to) != Some(block));
            j_edges.extend(not_the_trees.map(|&to| (block, to)));
        }
        DjGraph {
            j_edges: Grouped::new(graph.block_count(), &j_edges),
            children: Grouped::new(graph.block_count(), &tree),
            level,
            bank: vec![Vec::new(); deepest as usize + 1],
            banked: Marks::default(),
            searched: Marks::default(),
            joined: Marks::default(),
            pending: Vec::new(),
            steps: 0,
        }
    }

    fn deposit(&mut self, block: Block) {
        if self.banked.insert(block) {
            self.bank[self.level[block] as usize].push(block);
        }
    }

    /// Searches a subtree for joins, except for blocks that have been searched before: Visit of \[SG95\].
    fn search(&mut self, root: Block, wanted: &impl Fn(Block) -> bool, joins: &mut Vec<Block>) {
        let first = joins.len();
        self.pending.extend(self.searched.insert(root).then_some(root));
        while let Some(block) = self.pending.pop() {
            self.steps += 1 + (self.j_edges.get(block).len() + self.children.get(block).len()) as u64;
            for &join in self.j_edges.get(block) {
                if self.level[join] <= self.level[root] && wanted(join) && self.joined.insert(join) {
                    joins.push(join);
                }
            }
            for &child in self.children.get(block) {
                self.pending.extend(self.searched.insert(child).then_some(child));
            }
        }
        joins[first..].iter().for_each(|&join| self.deposit(join));
    }
}

impl JoinSet for DjGraph {
    fn append(&mut self, assigned: &[Block], wanted: impl Fn(Block) -> bool, joins: &mut Vec<Block>) {
        self.joined.clear();
        self.banked.clear();
        self.searched.clear();
        assigned.iter().for_each(|&block| self.deposit(block));
        // A join is no deeper than the root of its search, so a level that has been left gets no more blocks.
        for level in (0..self.bank.len()).rev() {
            while let Some(root) = self.bank[level].pop() {
                self.search(root, &wanted, joins);
            }
        }
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}

/// How much work was saved by computing many join sets together: the columns of [FA05, Tables 2 and 3].
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Reuse {
    /// The number of sets other than the empty one: the worklists of \[FA05\].
    pub sets: u64,
    /// Of these, sets that equal an earlier one: A(x) = A(y).
    pub equal: u64,
    /// Of these, sets that have an earlier one as a proper subset, whose join set is reused: A(x) ⊂ A(y).
    pub supersets: u64,
    /// The blocks that are not in the subset, summed over all supersets.
    pub remainder: u64,
    /// The fraction of the blocks that is in the subset, summed over all supersets.
    pub saved: f64,
}

impl Reuse {
    /// Sets of which all or a part need not be computed: A(x) ⊆ A(y).
    pub fn redundant(&self) -> u64 {
        self.equal + self.supersets
    }
}

impl std::ops::Add for Reuse {
    type Output = Reuse;

    fn add(self, other: Reuse) -> Reuse {
        Reuse {
            sets: self.sets + other.sets,
            equal: self.equal + other.equal,
            supersets: self.supersets + other.supersets,
            remainder: self.remainder + other.remainder,
            saved: self.saved + other.saved,
        }
    }
}

/// The join sets of many sets of blocks.
pub struct JoinSets {
    /// For each set, its number among the distinct ones.
    index: Vec<u32>,
    joins: Vec<Vec<Block>>,
    pub reuse: Reuse,
    /// How much work it was to find out what can be reused, and to reuse it: blocks compared, marked, looked up and copied.
    /// (Computing the rest of a set is counted by the algorithm, as [`steps`](JoinSet::steps).)
    pub finding: u64,
}

impl JoinSets {
    /// Computes the join sets of some sets of blocks, each of which is ascending. Equal sets are computed once. For a set
    /// with a known subset, only the remaining blocks are computed [FA05, Theorem 4].
    pub fn new<S: AsRef<[Block]>>(assigned: &[S], algorithm: &mut impl JoinSet) -> Self {
        let mut sets = JoinSets { index: vec![0; assigned.len()], joins: Vec::new(), reuse: Reuse::default(), finding: 0 };
        // Puts subsets before their supersets, and equal sets next to each other.
        let mut order: Vec<usize> = (0..assigned.len()).collect();
        let mut compared = 0;
        order.sort_unstable_by(|&one, &other| {
            let [one, other] = [one, other].map(|set| assigned[set].as_ref());
            let by_size = one.len().cmp(&other.len());
            compared += 1;
            by_size.then_with(|| {
                compared += one.iter().zip(other).take_while(|(one, other)| one == other).count() as u64;
                one.cmp(other)
            })
        });
        let mut subsets = Subsets::new(assigned.iter().map(AsRef::as_ref));
        let mut last: Option<&[Block]> = None;
        for set in order {
            let blocks = assigned[set].as_ref();
            sets.reuse.sets += u64::from(!blocks.is_empty());
            if last.replace(blocks) == Some(blocks) {
                sets.reuse.equal += u64::from(!blocks.is_empty());
            } else {
                sets.compute(blocks, &mut subsets, algorithm);
            }
            sets.index[set] = sets.joins.len() as u32 - 1;
        }
        sets.finding += compared + subsets.looked_at;
        sets
    }

    fn compute<'a>(&mut self, blocks: &'a [Block], subsets: &mut Subsets<'a>, algorithm: &mut impl JoinSet) {
        let mut joins = Vec::new();
        match subsets.largest(blocks) {
            Some(subset) => {
                let known = subsets.sets[subset];
                let remainder: Vec<Block> = blocks.iter().copied().filter(|block| known.binary_search(block).is_err()).collect();
                self.reuse.supersets += 1;
                self.reuse.remainder += remainder.len() as u64;
                self.reuse.saved += known.len() as f64 / blocks.len() as f64;
                joins.extend_from_slice(&self.joins[subset.index()]);
                self.finding += (blocks.len() + joins.len()) as u64;
                algorithm.append(&remainder, |_| true, &mut joins);
            }
            None => algorithm.append(blocks, |_| true, &mut joins),
        }
        joins.sort_unstable();
        joins.dedup();
        self.joins.push(joins);
        subsets.add(blocks);
    }

    /// The join set of this set, ascending.
    pub fn get(&self, set: usize) -> &[Block] {
        &self.joins[self.index[set] as usize]
    }
}

/// The distinct sets so far, in which subsets of further sets are looked up.
struct Subsets<'a> {
    sets: PrimaryMap<Set, &'a [Block]>,
    /// The number of sets that contain the block, those to come included.
    occurrences: SecondaryMap<Block, u32>,
    /// For each block, the latest of the sets in which it is the rarest block. All supersets of these contain it, too.
    by_rarest: SecondaryMap<Block, PackedOption<Set>>,
    /// For each set, the one before it with the same rarest block.
    before: PrimaryMap<Set, PackedOption<Set>>,
    members: Marks,
    /// The number of blocks that were marked or looked up.
    looked_at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Set(u32);
entity_impl!(Set, "set");

impl<'a> Subsets<'a> {
    /// How many blocks of candidates may be looked at per block of a set: finding a subset must cost less than it saves.
    const EFFORT: usize = 4;

    /// Knows how often each block occurs in all sets that will be added, but contains none of them yet.
    fn new(sets: impl Iterator<Item = &'a [Block]>) -> Self {
        let mut occurrences: SecondaryMap<Block, u32> = SecondaryMap::new();
        sets.flatten().for_each(|&block| occurrences[block] += 1);
        let by_rarest = of_each(occurrences.capacity());
        let (sets, before) = (PrimaryMap::new(), PrimaryMap::new());
        Subsets { sets, occurrences, by_rarest, before, members: Marks::default(), looked_at: 0 }
    }

    /// Adds a set, which must be no smaller than those before it.
    fn add(&mut self, blocks: &'a [Block]) {
        let set = self.sets.push(blocks);
        self.looked_at += blocks.len() as u64;
        let rarest = blocks.iter().min_by_key(|&&block| self.occurrences[block]);
        let before = rarest.map(|&rarest| std::mem::replace(&mut self.by_rarest[rarest], set.into()));
        self.before.push(before.unwrap_or_default());
    }

    /// The largest proper subset that is found with limited effort.
    fn largest(&mut self, blocks: &[Block]) -> Option<Set> {
        if self.sets.is_empty() || blocks.len() < 2 {
            return None;
        }
        self.members.clear();
        self.looked_at += 2 * blocks.len() as u64;
        for &block in blocks {
            self.members.insert(block);
        }
        let mut effort = Self::EFFORT * blocks.len();
        let mut best: Option<Set> = None;
        for &block in blocks {
            let candidates = std::iter::successors(self.by_rarest[block].expand(), |&set| self.before[set].expand());
            for candidate in candidates {
                let set = self.sets[candidate];
                if best.is_some_and(|best| self.sets[best].len() >= set.len()) {
                    break;
                }
                if set.len() > effort {
                    return best;
                }
                effort -= set.len();
                self.looked_at += set.len() as u64;
                if set.iter().all(|&member| self.members.contains(member)) {
                    best = Some(candidate);
                    break;
                }
            }
        }
        best
    }
}

/// A set of blocks that can be emptied in constant time.
#[derive(Default)]
struct Marks {
    /// For each block, the value of `emptied + 1` when it was last inserted.
    round: SecondaryMap<Block, u32>,
    emptied: u32,
}

impl Marks {
    fn clear(&mut self) {
        self.emptied += 1;
    }

    /// Returns whether the block was new.
    fn insert(&mut self, block: Block) -> bool {
        std::mem::replace(&mut self.round[block], self.emptied + 1) != self.emptied + 1
    }

    fn contains(&self, block: Block) -> bool {
        self.round[block] == self.emptied + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph, random_graph};
    use crate::machine::Function;
    use std::collections::BTreeSet;

    struct Analysed {
        worklist: Worklist,
        dj_graph: DjGraph,
        frontiers: Frontiers,
    }

    fn analyse(function: &Function) -> Analysed {
        let order = Order::new(function);
        let dominators = Dominators::new(function, &order);
        Analysed {
            worklist: Worklist::new(function, &order, &dominators),
            dj_graph: DjGraph::new(function, &order, &dominators),
            frontiers: Frontiers::new(function, &order, &dominators),
        }
    }

    fn join_set(algorithm: &mut impl JoinSet, assigned: &[Block], wanted: impl Fn(Block) -> bool) -> Vec<Block> {
        let mut joins = Vec::new();
        algorithm.append(assigned, wanted, &mut joins);
        joins.sort_unstable();
        joins
    }

    /// The limit of the sequence in [FA05, Definition 3].
    fn by_definition(frontiers: &Frontiers, assigned: &[Block]) -> Vec<Block> {
        let mut joins: BTreeSet<Block> = BTreeSet::new();
        loop {
            let from: Vec<Block> = assigned.iter().chain(&joins).copied().collect();
            let next: BTreeSet<Block> = from.iter().flat_map(|&block| frontiers.of(block)).copied().collect();
            if next == joins {
                return joins.into_iter().collect();
            }
            joins = next;
        }
    }

    fn random_set(rng: &mut fastrand::Rng, count: usize) -> Vec<Block> {
        let density = rng.f64();
        (0..count).filter(|_| rng.f64() < density).map(block).collect()
    }

    #[test]
    fn a_loop_header_joins_the_assignments_of_the_loop() {
        let f = graph(&[&[1], &[2, 3], &[1], &[]]);
        let mut analysed = analyse(&f);
        for assigned in [vec![block(2)], vec![block(1)], vec![block(1), block(2)]] {
            assert_eq!(join_set(&mut analysed.worklist, &assigned, |_| true), [block(1)]);
            assert_eq!(join_set(&mut analysed.dj_graph, &assigned, |_| true), [block(1)]);
        }
        assert!(join_set(&mut analysed.dj_graph, &[block(0), block(3)], |_| true).is_empty());
        assert!(join_set(&mut analysed.worklist, &[block(2)], |join| join != block(1)).is_empty());
    }

    /// The graphs include irreducible ones.
    #[test]
    fn both_algorithms_agree_with_the_definition() {
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..500 {
            let count = rng.usize(2..14);
            let f = random_graph(&mut rng, count);
            let mut analysed = analyse(&f);
            for _ in 0..4 {
                let assigned = random_set(&mut rng, count);
                let expected = by_definition(&analysed.frontiers, &assigned);
                assert_eq!(join_set(&mut analysed.worklist, &assigned, |_| true), expected, "worklist, {assigned:?}");
                assert_eq!(join_set(&mut analysed.dj_graph, &assigned, |_| true), expected, "DJ-graph, {assigned:?}");
            }
        }
    }

    #[test]
    fn reused_join_sets_are_those_that_would_have_been_computed() {
        let mut rng = fastrand::Rng::with_seed(12);
        let mut total = Reuse::default();
        for _ in 0..300 {
            let count = rng.usize(2..14);
            let f = random_graph(&mut rng, count);
            let mut analysed = analyse(&f);
            let assigned: Vec<Vec<Block>> = (0..12).map(|_| random_set(&mut rng, count)).collect();
            let reused = JoinSets::new(&assigned, &mut analysed.dj_graph);
            for (set, assigned) in assigned.iter().enumerate() {
                assert_eq!(reused.get(set), join_set(&mut analysed.worklist, assigned, |_| true), "{assigned:?}");
            }
            total.equal += reused.reuse.equal;
            total.supersets += reused.reuse.supersets;
        }
        assert!(total.equal > 100 && total.supersets > 100, "{total:?}: nothing was tried");
    }

    /// [FA05, Figure 2]: A(y) = {B1, B2, B5} is a subset of A(x) = {B1, ..., B5}.
    #[test]
    fn only_the_remainder_of_a_superset_is_computed() {
        let f = graph(&[&[1, 2], &[3], &[3, 4], &[5], &[5], &[]]);
        let sets = [&[1, 2, 3, 4, 5][..], &[1, 2, 5], &[1, 2, 5], &[]];
        let assigned: Vec<Vec<Block>> = sets.iter().map(|set| set.iter().copied().map(block).collect()).collect();
        let reused = JoinSets::new(&assigned, &mut analyse(&f).worklist);
        assert_eq!(reused.reuse, Reuse { sets: 3, equal: 1, supersets: 1, remainder: 2, saved: 0.6 });
        assert!(reused.finding > 0);
        assert_eq!(reused.get(0), [block(3), block(5)]);
        assert_eq!(reused.get(1), reused.get(2));
        assert!(reused.get(3).is_empty());
    }
}
