//! The heaviest stable set of a graph: nodes of which no two are neighbours.
//!
//! If all neighbours of a node are neighbours of each other, at most one of them and the node is in a set: the node, unless
//! another one is worth more. So it is put off, and its weight is deducted from theirs; it is taken in the end if none of them
//! has been. This alone solves chordal graphs, as interference graphs are. Where no such node is left, because a node is
//! several names or conflicts have been added, the problem is NP-complete, and branch and bound goes on: a set with the node
//! that has most neighbours is compared with one without it, part by part of what has fallen apart. A cover of the nodes by
//! cliques bounds the latter, since a stable set has at most one node of each.

/// How much work the sets of one unit may take: the pairs of nodes that are looked at. What does not fit is solved by taking
/// the heaviest nodes first. (A graph of a hundred nodes may have a hundred branches.)
pub(super) const BUDGET: usize = 1_000_000;

/// The heaviest stable set, ascending. The neighbours of each node are sorted; a node that is its own neighbour is in no
/// stable set.
pub(super) fn heaviest(weights: &[f64], neighbours: &[Vec<usize>], budget: &mut usize) -> Vec<usize> {
    let nodes: Vec<usize> = (0..weights.len()).filter(|k| neighbours[*k].binary_search(k).is_err()).collect();
    let none = vec![false; weights.len()];
    let mut search = Search { weights: weights.to_vec(), neighbours, open: none.clone(), taken: none, budget };
    search.set_open(&nodes, true);
    let mut set = search.solve(&nodes);
    set.sort_unstable();
    set
}

struct Search<'a> {
    /// The weight of each node. Where nodes have been put off, it is less: by what a set loses that has this node instead of them.
    weights: Vec<f64>,
    neighbours: &'a [Vec<usize>],
    /// Whether a node may still be taken.
    open: Vec<bool>,
    /// The nodes of one set, while those that have been put off are looked at.
    taken: Vec<bool>,
    budget: &'a mut usize,
}

impl Search<'_> {
    /// The heaviest stable set of some nodes. They are open before, and are not afterwards; all open nodes that can be reached
    /// from them are among them.
    fn solve(&mut self, nodes: &[usize]) -> Vec<usize> {
        let mut put_off = Vec::new();
        let mut waiting: Vec<usize> = nodes.iter().rev().copied().collect();
        while let Some(k) = waiting.pop() {
            if self.open[k] && self.neighbours_are_a_clique(k) {
                self.put_off(k, &mut waiting);
                put_off.push(k);
            }
        }
        let mut set = Vec::new();
        for &k in nodes {
            if self.open[k] {
                let part = self.part_of(k);
                set.extend(self.branch(&part));
            }
        }
        self.add(&mut set, &put_off);
        set
    }

    /// The open neighbours of a node.
    fn open_neighbours(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        self.neighbours[k].iter().copied().filter(|&other| self.open[other])
    }

    fn are_neighbours(&self, a: usize, b: usize) -> bool {
        self.neighbours[a].binary_search(&b).is_ok()
    }

    /// Whether all open neighbours of a node are neighbours of each other. False if the budget does not allow to look.
    fn neighbours_are_a_clique(&mut self, k: usize) -> bool {
        let around: Vec<usize> = self.open_neighbours(k).collect();
        let pairs = around.len() * around.len().saturating_sub(1) / 2;
        self.spend(pairs) && around.iter().enumerate().all(|(n, &a)| around[..n].iter().all(|&b| self.are_neighbours(a, b)))
    }

    /// Spends some of the budget; false if there is not enough.
    fn spend(&mut self, pairs: usize) -> bool {
        let left = self.budget.checked_sub(pairs);
        *self.budget = left.unwrap_or(*self.budget);
        left.is_some()
    }

    /// Deducts a node's weight from its neighbours. The node is closed, and so are those that are worth nothing more. What has
    /// lost a neighbour waits to be looked at again.
    fn put_off(&mut self, k: usize, waiting: &mut Vec<usize>) {
        self.open[k] = false;
        let around: Vec<usize> = self.open_neighbours(k).collect();
        for &other in &around {
            self.weights[other] -= self.weights[k];
            self.open[other] = self.weights[other] > 0.0;
        }
        waiting.extend(around.iter().copied().filter(|&other| self.open[other]));
        for &other in around.iter().filter(|&&other| !self.open[other]) {
            waiting.extend(self.open_neighbours(other));
        }
    }

    /// Adds those nodes that have been put off and have no neighbour in the set, the latest first.
    fn add(&mut self, set: &mut Vec<usize>, put_off: &[usize]) {
        set.iter().for_each(|&k| self.taken[k] = true);
        for &k in put_off.iter().rev() {
            if self.neighbours[k].iter().all(|&other| !self.taken[other]) {
                self.taken[k] = true;
                set.push(k);
            }
        }
        set.iter().for_each(|&k| self.taken[k] = false);
    }

    /// The open nodes that are connected with a node, ascending.
    fn part_of(&mut self, k: usize) -> Vec<usize> {
        let mut part = vec![k];
        self.open[k] = false;
        let mut looked_at = 0;
        while looked_at < part.len() {
            let more: Vec<usize> = self.open_neighbours(part[looked_at]).collect();
            self.set_open(&more, false);
            part.extend(more);
            looked_at += 1;
        }
        self.set_open(&part, true);
        part.sort_unstable();
        part
    }

    /// The heaviest stable set of a part, with or without one node.
    fn branch(&mut self, part: &[usize]) -> Vec<usize> {
        if !self.spend(part.len() * part.len()) {
            return self.greedy(part);
        }
        let most = |best: usize, k: usize| {
            if self.open_neighbours(k).count() > self.open_neighbours(best).count() { k } else { best }
        };
        let branching = part.iter().copied().reduce(most).expect("a part has nodes");
        let others: Vec<usize> = part.iter().copied().filter(|&k| k != branching).collect();
        let apart: Vec<usize> = others.iter().copied().filter(|&k| !self.are_neighbours(branching, k)).collect();
        let weights: Vec<f64> = part.iter().map(|&k| self.weights[k]).collect();
        let bound = self.bound(&others);
        self.set_open(part, false);
        self.set_open(&apart, true);
        let mut with = self.solve(&apart);
        with.push(branching);
        self.set_weights(part, &weights);
        if self.weight(&with) >= bound {
            return with;
        }
        self.set_open(&others, true);
        let without = self.solve(&others);
        self.set_weights(part, &weights);
        if self.weight(&without) > self.weight(&with) { without } else { with }
    }

    fn set_open(&mut self, nodes: &[usize], open: bool) {
        nodes.iter().for_each(|&k| self.open[k] = open);
    }

    fn set_weights(&mut self, nodes: &[usize], weights: &[f64]) {
        nodes.iter().zip(weights).for_each(|(&k, &weight)| self.weights[k] = weight);
    }

    fn weight(&self, set: &[usize]) -> f64 {
        set.iter().map(|&k| self.weights[k]).sum()
    }

    /// An upper bound on the weight of a stable set. The nodes are divided into cliques; a stable set has at most one node of
    /// each, so it weighs no more than the heaviest nodes of all cliques together.
    fn bound(&self, nodes: &[usize]) -> f64 {
        let mut cliques: Vec<Vec<usize>> = Vec::new();
        for &k in &self.heaviest_first(nodes) {
            let fits = |clique: &&mut Vec<usize>| clique.iter().all(|&other| self.are_neighbours(k, other));
            match cliques.iter_mut().find(fits) {
                Some(clique) => clique.push(k),
                None => cliques.push(vec![k]),
            }
        }
        cliques.iter().map(|clique| self.weights[clique[0]]).sum()
    }

    /// Takes each node that fits with those taken before, the heaviest first.
    fn greedy(&mut self, part: &[usize]) -> Vec<usize> {
        let mut set = Vec::new();
        for k in self.heaviest_first(part) {
            if self.open[k] {
                let around: Vec<usize> = self.open_neighbours(k).collect();
                self.set_open(&around, false);
                self.open[k] = false;
                set.push(k);
            }
        }
        set
    }

    fn heaviest_first(&self, nodes: &[usize]) -> Vec<usize> {
        let mut nodes = nodes.to_vec();
        nodes.sort_by(|&a, &b| self.weights[b].total_cmp(&self.weights[a]));
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neighbours both ways, sorted.
    fn graph(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); count];
        for (a, b) in edges {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        neighbours.iter_mut().for_each(|of| {
            of.sort_unstable();
            of.dedup();
        });
        neighbours
    }

    fn weight(weights: &[f64], set: &[usize]) -> f64 {
        set.iter().map(|&k| weights[k]).sum()
    }

    fn is_stable(neighbours: &[Vec<usize>], set: &[usize]) -> bool {
        set.iter().all(|k| set.iter().all(|other| !neighbours[*k].contains(other)))
    }

    #[test]
    fn no_stable_set_is_heavier() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2_000 {
            let count = rng.usize(1..12);
            let weights: Vec<f64> = (0..count).map(|_| f64::from(rng.u8(0..6))).collect();
            let density = rng.u8(1..9);
            let pairs = (0..count).flat_map(|a| (0..=a).map(move |b| (a, b)));
            let neighbours =
                graph(count, pairs.filter(|&(a, b)| if a == b { rng.u8(..16) == 0 } else { rng.u8(..10) < density }));
            let members = |bits: u32| (0..count).filter(|k| bits >> k & 1 != 0).collect::<Vec<_>>();
            let stable = (0..1 << count).map(members).filter(|set| is_stable(&neighbours, set));
            let most = stable.map(|set| weight(&weights, &set)).fold(0.0, f64::max);
            let set = heaviest(&weights, &neighbours, &mut BUDGET.clone());
            assert!(is_stable(&neighbours, &set), "{neighbours:?} {set:?}");
            assert_eq!(weight(&weights, &set), most, "{weights:?} {neighbours:?} {set:?}");
            let greedy = heaviest(&weights, &neighbours, &mut 0);
            assert!(is_stable(&neighbours, &greedy) && weight(&weights, &greedy) <= most, "{neighbours:?} {greedy:?}");
        }
    }

    /// The nodes are in a row, and each is a neighbour of the next two. In such a graph, which is chordal, the heaviest stable set
    /// is found without trying alternatives, so ten thousand nodes take no time.
    #[test]
    fn chordal_graphs_take_no_branches() {
        let mut rng = fastrand::Rng::with_seed(4);
        let weights: Vec<f64> = (0..10_000).map(|_| f64::from(rng.u8(1..20))).collect();
        let count = weights.len();
        let neighbours = graph(count, (0..count).flat_map(|a| (a + 1..count.min(a + 3)).map(move |b| (a, b))));
        let mut most = vec![0.0; count + 3];
        for k in (0..count).rev() {
            most[k] = f64::max(most[k + 1], weights[k] + most[k + 3]);
        }
        let mut budget = BUDGET;
        assert_eq!(weight(&weights, &heaviest(&weights, &neighbours, &mut budget)), most[0]);
        assert!(BUDGET - budget < 100_000, "{budget} is left");
        assert!(weight(&weights, &heaviest(&weights, &neighbours, &mut 0)) < most[0]);
    }

    /// A ring of this many nodes is not chordal. As soon as the search decides about one node, what is left is a path, which is.
    #[test]
    fn a_ring_takes_a_branch() {
        for count in [50, 51] {
            let neighbours = graph(count, (0..count).map(|a| (a, (a + 1) % count)));
            let mut budget = BUDGET;
            assert_eq!(heaviest(&vec![1.0; count], &neighbours, &mut budget).len(), count / 2);
            assert!(BUDGET - budget < 3 * count * count, "{budget} is left");
        }
    }
}
