//! Labels that keep to the rows, from relaxed ones.
//!
//! Clusters take their places one after the other, those first that lose most by leaving ([`First`]). One that does not fit as it
//! would like to be is cut again, with what is full forbidden. So is one that relies on what has found no room. Then each
//! cluster with something to gain is placed again, in what the others leave.

use super::multipliers::Relaxed;
use crate::allocate::cuts::{Cluster, Cutter, FORBIDDEN, Network, Node, Reliance, Residual, Rooms};
use crate::analysis::grouped::Grouped;
use cranelift_entity::{EntityRef, PrimaryMap};

/// Labels that keep to the rows.
#[derive(Clone)]
pub(super) struct Rounded {
    pub(super) is_one: PrimaryMap<Node, bool>,
    pub(super) cost_of: PrimaryMap<Cluster, i64>,
    /// How many places have been bought for them.
    pub(super) bought: usize,
    /// Their own, what the places cost, and what those do not save that rely on others in vain.
    pub(super) cost: i64,
}

/// Which clusters take their places first.
#[derive(Clone, Copy)]
pub(super) enum First {
    /// Those that lose most by leaving.
    Dearest,
    /// For each place in a row that they could take.
    DearestByPlace,
    /// For what they pay for places (Pirkul 1987, of knapsacks with several constraints).
    DearestByPrice,
}

pub(super) struct Rounding<'n> {
    network: &'n Network,
    /// What a bought place costs.
    price: i64,
    bought: usize,
    /// What flows have left of the cluster that is being placed.
    scratch: Residual,
    /// What each cluster costs with nothing in registers, and at least.
    nothing: PrimaryMap<Cluster, i64>,
    least: PrimaryMap<Cluster, i64>,
    /// How many places in rows each cluster could take.
    size: PrimaryMap<Cluster, usize>,
    is_one: PrimaryMap<Node, bool>,
    /// Of each row, how many more members can be 1.
    left: Vec<i32>,
    /// The clusters, with what they lose by leaving: those first that lose most.
    order: Vec<(f64, Cluster)>,
    /// The reliances that are about a cluster's nodes, by their indices.
    reliances: Grouped<Cluster, u32>,
}

/// More than anything that is not forbidden, and less than what is.
const FAR_TOO_MUCH: i64 = FORBIDDEN / 16;

impl<'n> Rounding<'n> {
    /// `alone` is what clusters cost without regard to rows.
    pub(super) fn new(network: &'n Network, price: i64, alone: &Relaxed) -> Self {
        let size = |cluster: Cluster| network.nodes(cluster).flat_map(|node| network.runs_of(node)).map(|run| run.len()).sum();
        Rounding {
            network,
            price,
            bought: 0,
            scratch: Residual::of_any_cluster(network),
            nothing: network.clusters().map(|cluster| alone.cost_of(cluster, |_| false)).collect(),
            least: alone.cost.clone(),
            size: network.clusters().map(size).collect(),
            is_one: network.all_nodes().map(|_| false).collect(),
            left: vec![0; network.rooms.len()],
            order: Vec::new(),
            reliances: by_cluster(network),
        }
    }

    /// Gives those places back that these labels do not need, which were the latest, down to the least number.
    pub(super) fn sell(&mut self, rounded: &mut Rounded, least: usize) {
        let Rounding { network, bought, .. } = *self;
        let less = |rooms: &Rooms, fewer: usize| i32::from(rooms[bought]) - i32::from(rooms[fewer]);
        let suffices = |&fewer: &usize| self.left.iter().zip(network.rooms.values()).all(|(&left, it)| left >= less(it, fewer));
        let needed = (least..bought).find(suffices).unwrap_or(bought);
        self.left.iter_mut().zip(network.rooms.values()).for_each(|(left, rooms)| *left -= less(rooms, needed));
        rounded.cost -= self.price * (bought - needed) as i64;
        (self.bought, rounded.bought) = (needed, needed);
    }

    /// Buys so many places, and leaves all of them empty.
    fn buy(&mut self, bought: usize) {
        self.bought = bought;
        self.left.iter_mut().zip(self.network.rooms.values()).for_each(|(left, rooms)| *left = i32::from(rooms[bought]));
    }

    /// Clusters are going to be placed by what they lose by leaving, from these labels.
    pub(super) fn put_in_order(&mut self, relaxed: &Relaxed, first: First) {
        let share = |cluster: Cluster| match first {
            First::Dearest => 1.0,
            First::DearestByPlace => self.size[cluster].max(1) as f64,
            First::DearestByPrice => (relaxed.value[cluster] - relaxed.cost[cluster]).max(1) as f64,
        };
        let loss = |cluster: Cluster| (self.nothing[cluster] - relaxed.value[cluster]) as f64 / share(cluster);
        self.order.clear();
        self.order.extend(self.network.clusters().map(|cluster| (loss(cluster), cluster)));
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    /// Makes relaxed labels fit, with so many places bought.
    pub(super) fn round(&mut self, cutter: &mut Cutter, relaxed: &Relaxed, bought: usize) -> Rounded {
        self.buy(bought);
        self.is_one.clone_from(relaxed.is_one);
        let mut cost_of: PrimaryMap<Cluster, i64> = self.network.clusters().map(|_| 0).collect();
        for index in 0..self.order.len() {
            let (_, cluster) = self.order[index];
            let fits = self.change_left(cluster, -1);
            cost_of[cluster] = if fits && !self.relies_in_vain(cluster) {
                relaxed.cost[cluster]
            } else {
                self.change_left(cluster, 1);
                self.place_from(cutter, cluster, relaxed);
                self.cost(cluster, relaxed)
            };
        }
        self.help(cutter, relaxed, &mut cost_of);
        let in_vain: i64 = self.network.reliances.iter().filter(|it| self.is_in_vain(it)).map(|it| it.saved).sum();
        let cost = cost_of.values().sum::<i64>() + self.price * bought as i64 + in_vain;
        Rounded { is_one: self.is_one.clone(), cost, cost_of, bought }
    }

    /// Places those clusters again that rely on others in vain, since these have been placed later.
    fn help(&mut self, cutter: &mut Cutter, relaxed: &Relaxed, cost_of: &mut PrimaryMap<Cluster, i64>) {
        let network = self.network;
        for it in &network.reliances {
            if self.is_in_vain(it) {
                let cluster = network.cluster_of(it.one);
                self.change_left(cluster, 1);
                self.place_from(cutter, cluster, relaxed);
                cost_of[cluster] = self.cost(cluster, relaxed);
            }
        }
    }

    fn is_in_vain(&self, reliance: &Reliance<Node>) -> bool {
        reliance.excess(|node| self.is_one[node]) > 0
    }

    /// The reliances that are about nodes of a cluster.
    fn reliances_of(&self, cluster: Cluster) -> impl Iterator<Item = &'n Reliance<Node>> + use<'_, 'n> {
        let network = self.network;
        self.reliances.get(cluster).iter().map(|&index| &network.reliances[index as usize])
    }

    fn relies_in_vain(&self, cluster: Cluster) -> bool {
        self.reliances_of(cluster).any(|it| self.is_in_vain(it) && self.network.node_range(cluster).contains(&it.one.index()))
    }

    /// What is not saved, since a cluster relies on others in vain, or others on it.
    fn in_vain(&self, cluster: Cluster) -> i64 {
        self.reliances_of(cluster).filter(|it| self.is_in_vain(it)).map(|it| it.saved).sum()
    }

    fn cost(&self, cluster: Cluster, relaxed: &Relaxed) -> i64 {
        relaxed.cost_of(cluster, |node| self.is_one[node])
    }

    /// Places those clusters again that could have more ones.
    pub(super) fn improve(&mut self, cutter: &mut Cutter, rounded: &mut Rounded, relaxed: &Relaxed) {
        if rounded.bought != self.bought {
            self.buy(rounded.bought);
            self.is_one = rounded.is_one.clone();
            for cluster in self.network.clusters() {
                self.change_left(cluster, -1);
            }
        }
        let mut before: Vec<bool> = Vec::new();
        for index in 0..self.order.len() {
            let (_, cluster) = self.order[index];
            let confined = |node: Node| self.network.runs_of(node).next().is_some();
            let could = |node: Node| !self.is_one[node] && confined(node) && self.fits(node);
            if rounded.cost_of[cluster] <= self.least[cluster] || !self.network.nodes(cluster).any(could) {
                continue;
            }
            before.clear();
            before.extend(self.network.nodes(cluster).map(|node| self.is_one[node]));
            let old = rounded.cost_of[cluster] + self.in_vain(cluster);
            self.change_left(cluster, 1);
            self.place(cutter, cluster, relaxed);
            let cost = self.cost(cluster, relaxed);
            let new = cost + self.in_vain(cluster);
            if new < old {
                rounded.cost -= old - new;
                rounded.cost_of[cluster] = cost;
            } else {
                self.change_left(cluster, 1);
                self.network.nodes(cluster).zip(&before).for_each(|(node, &one)| self.is_one[node] = one);
                self.change_left(cluster, -1);
            }
        }
        rounded.is_one.clone_from(&self.is_one);
    }

    /// Whether a node finds room in its rows.
    fn fits(&self, node: Node) -> bool {
        self.network.runs_of(node).all(|run| self.left[run].iter().all(|&left| left > 0))
    }

    /// Has a cluster take its places, or leave them. Answers whether there is room for it.
    fn change_left(&mut self, cluster: Cluster, by: i32) -> bool {
        let mut fits = true;
        for node in self.network.nodes(cluster).filter(|&node| self.is_one[node]) {
            for run in self.network.runs_of(node) {
                for left in &mut self.left[run] {
                    *left += by;
                    fits &= *left >= 0;
                }
            }
        }
        fits
    }

    /// Has a cluster take its places, if it finds room everywhere; forbids nodes that do not.
    fn enter(&mut self, cluster: Cluster) -> bool {
        if self.change_left(cluster, -1) {
            return true;
        }
        for node in self.network.nodes(cluster).filter(|&node| self.is_one[node]) {
            if self.network.runs_of(node).any(|run| self.left[run].iter().any(|&left| left < 0)) {
                *self.scratch.excess_mut(node) -= 4 * FORBIDDEN;
            }
        }
        self.change_left(cluster, 1);
        false
    }

    /// Labels a cluster so that it fits. What flows under prices may flow without: nodes are the dearer as 0 for what they do
    /// not pay any more.
    fn place(&mut self, cutter: &mut Cutter, cluster: Cluster, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, cluster);
        for node in self.network.nodes(cluster) {
            self.is_one[node] = true;
            *self.scratch.excess_mut(node) = relaxed.excess_without_prices(node);
        }
        self.count_on_others(cluster);
        self.make_fit(cutter, cluster);
    }

    /// The same, beginning with what is cheapest under prices if everything fits.
    fn place_from(&mut self, cutter: &mut Cutter, cluster: Cluster, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, cluster);
        for node in self.network.nodes(cluster) {
            self.is_one[node] = relaxed.is_one[node];
            *self.scratch.excess_mut(node) = relaxed.excess(node);
        }
        self.count_on_others(cluster);
        self.make_fit(cutter, cluster);
    }

    /// Nothing of a cluster that is about to be placed relies on what is 0. What others rely on is worth what they save.
    fn count_on_others(&mut self, cluster: Cluster) {
        let network = self.network;
        let nodes = network.node_range(cluster);
        for &index in self.reliances.get(cluster) {
            let Reliance { one, unless, on, saved, .. } = network.reliances[index as usize];
            let is_one = |node: Node| self.is_one[node];
            if nodes.contains(&one.index()) {
                if !is_one(on) {
                    *self.scratch.excess_mut(one) -= FAR_TOO_MUCH;
                    unless.into_iter().for_each(|unless| *self.scratch.excess_mut(unless) += FAR_TOO_MUCH);
                }
            } else if is_one(one) && !unless.is_some_and(is_one) {
                *self.scratch.excess_mut(on) += saved;
            }
        }
    }

    /// Cuts a cluster until it fits, without the nodes that find no room. It may have several nodes in one row, so that what
    /// each would find room for alone may not fit together: then those are forbidden, too.
    fn make_fit(&mut self, cutter: &mut Cutter, cluster: Cluster) {
        const ATTEMPTS: u32 = 8;
        for node in self.network.nodes(cluster) {
            if self.is_one[node] && !self.fits(node) {
                *self.scratch.excess_mut(node) -= 4 * FORBIDDEN;
            }
        }
        for _ in 0..ATTEMPTS {
            cutter.cut_within(cluster, &mut self.scratch, |node| self.is_one[node]);
            for node in self.network.nodes(cluster) {
                self.is_one[node] = cutter.is_one(node);
            }
            if self.enter(cluster) {
                return;
            }
        }
        self.network.nodes(cluster).for_each(|node| self.is_one[node] = false);
    }
}

/// The reliances that each cluster's nodes occur in. (A node that is 1 in any case if another one is, is in the same cluster.)
fn by_cluster(network: &Network) -> Grouped<Cluster, u32> {
    let clusters = |it: &Reliance<Node>| {
        let [one, on] = [it.one, it.on].map(|node| network.cluster_of(node));
        [Some(one), Some(on).filter(|&on| on != one)].into_iter().flatten()
    };
    let pairs: Vec<(Cluster, u32)> =
        (0..).zip(&network.reliances).flat_map(|(index, it)| clusters(it).map(move |cluster| (cluster, index))).collect();
    Grouped::new(network.clusters().len(), &pairs)
}
