//! Labels that keep to the rows, from relaxed ones.
//!
//! Clusters take their places one after the other, those first that lose most by leaving, for each place in a row that they
//! take. One that does not fit as it would like to be is cut again, with what is full forbidden. Then each cluster with
//! something to gain is placed again, in what the others leave.

use super::prices::{Cheapest, Relaxed};
use crate::allocate::spill::cuts::{Cluster, Cutter, FORBIDDEN, Network, Node, Residual, Row};
use cranelift_entity::PrimaryMap;

/// Labels that keep to the rows.
#[derive(Clone)]
pub(super) struct Rounded {
    pub(super) is_one: PrimaryMap<Node, bool>,
    pub(super) cost_of: PrimaryMap<Cluster, i64>,
    /// How many places have been bought for them.
    pub(super) bought: usize,
    /// Their own, and what the places cost.
    pub(super) cost: i64,
}

pub(super) struct Rounding<'n> {
    network: &'n Network,
    /// What a bought place costs.
    price: i64,
    bought: usize,
    cutter: Cutter<'n>,
    /// A copy of the residual network, of the cluster that is being placed.
    scratch: Residual,
    /// What each cluster costs with nothing in registers.
    nothing: PrimaryMap<Cluster, i64>,
    /// How many places in rows each cluster could take.
    size: PrimaryMap<Cluster, usize>,
    is_one: PrimaryMap<Node, bool>,
    load: PrimaryMap<Row, u32>,
}

impl<'n> Rounding<'n> {
    pub(super) fn new(network: &'n Network, price: i64) -> Self {
        let size = |cluster: Cluster| network.nodes(cluster).map(|node| network.rows_of(node).len()).sum();
        Rounding {
            network,
            price,
            bought: 0,
            cutter: Cutter::new(network),
            scratch: Residual::new(network),
            nothing: network.clusters().map(|cluster| network.cost(cluster, |_| false)).collect(),
            size: network.clusters().map(size).collect(),
            is_one: network.costs.keys().map(|_| false).collect(),
            load: network.rooms.keys().map(|_| 0).collect(),
        }
    }

    pub(super) fn work(&self) -> u64 {
        self.cutter.work
    }

    /// How many places these labels need, which were the latest.
    pub(super) fn needed(&self, rounded: &Rounded) -> usize {
        let suffices = |bought: &usize| self.load.iter().all(|(row, &load)| load <= u32::from(self.network.rooms[row][*bought]));
        (0..rounded.bought).find(suffices).unwrap_or(rounded.bought)
    }

    fn room(&self, row: Row) -> u32 {
        u32::from(self.network.rooms[row][self.bought])
    }

    /// Makes relaxed labels fit, with so many places bought. Clusters are placed again if it comes to less than `worth` by then.
    pub(super) fn round(&mut self, relaxed: &Relaxed, bought: usize, worth: i64) -> Rounded {
        self.bought = bought;
        self.load.values_mut().for_each(|load| *load = 0);
        let gain = |cluster: Cluster| (self.nothing[cluster] - relaxed.value[cluster]) as f64 / self.size[cluster].max(1) as f64;
        let mut order: Vec<(f64, Cluster)> = self.network.clusters().map(|cluster| (gain(cluster), cluster)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut cost_of: PrimaryMap<Cluster, i64> = self.network.clusters().map(|_| 0).collect();
        for &(_, cluster) in &order {
            for node in self.network.nodes(cluster) {
                self.is_one[node] = relaxed.is_one[node];
            }
            cost_of[cluster] = if self.enter(cluster) {
                relaxed.cost[cluster]
            } else {
                self.place(cluster, &relaxed.priced());
                self.cost(cluster)
            };
        }
        let paid = self.price * bought as i64;
        if cost_of.values().sum::<i64>() + paid < worth {
            self.improve(&order, relaxed, &mut cost_of);
        }
        let cost = cost_of.values().sum::<i64>() + paid;
        Rounded { is_one: self.is_one.clone(), cost, cost_of, bought }
    }

    fn cost(&self, cluster: Cluster) -> i64 {
        self.network.cost(cluster, |node| self.is_one[node])
    }

    /// Places those clusters again that could have more ones.
    fn improve(&mut self, order: &[(f64, Cluster)], relaxed: &Relaxed, cost_of: &mut PrimaryMap<Cluster, i64>) {
        let mut before: Vec<bool> = Vec::new();
        for &(_, cluster) in order {
            let could = |node: Node| !self.is_one[node] && !self.network.rows_of(node).is_empty() && self.fits(node);
            if cost_of[cluster] <= 0 || !self.network.nodes(cluster).any(could) {
                continue;
            }
            before.clear();
            before.extend(self.network.nodes(cluster).map(|node| self.is_one[node]));
            self.change_load(cluster, -1);
            self.place(cluster, &relaxed.unpriced());
            let cost = self.cost(cluster);
            if cost < cost_of[cluster] {
                cost_of[cluster] = cost;
            } else {
                self.change_load(cluster, -1);
                self.network.nodes(cluster).zip(&before).for_each(|(node, &one)| self.is_one[node] = one);
                self.change_load(cluster, 1);
            }
        }
    }

    /// Whether a node finds room in its rows.
    fn fits(&self, node: Node) -> bool {
        !self.network.rows_of(node).iter().any(|&row| self.load[row] >= self.room(row))
    }

    fn change_load(&mut self, cluster: Cluster, by: i32) {
        for node in self.network.nodes(cluster).filter(|&node| self.is_one[node]) {
            for &row in self.network.rows_of(node) {
                self.load[row] = self.load[row].wrapping_add_signed(by);
            }
        }
    }

    /// Has a cluster take its places, if it finds room everywhere; forbids nodes that do not.
    fn enter(&mut self, cluster: Cluster) -> bool {
        self.change_load(cluster, 1);
        let mut fits = true;
        for node in self.network.nodes(cluster) {
            let overfull = |&row: &Row| self.load[row] > self.room(row);
            if self.is_one[node] && self.network.rows_of(node).iter().any(overfull) {
                self.scratch.excess[node] -= 4 * FORBIDDEN;
                fits = false;
            }
        }
        if !fits {
            self.change_load(cluster, -1);
        }
        fits
    }

    /// Labels a cluster so that it fits, beginning with labels that are cheapest if everything does. A cluster may have several
    /// nodes in one row, so that what each would find room for alone may not fit together: then those are forbidden, too.
    fn place(&mut self, cluster: Cluster, cheapest: &Cheapest) {
        const ATTEMPTS: u32 = 8;
        let arcs = self.network.arcs_of_cluster(cluster);
        self.scratch.capacity[arcs.clone()].copy_from_slice(&cheapest.residual.capacity[arcs]);
        for node in self.network.nodes(cluster) {
            self.is_one[node] = cheapest.is_one[node];
            let forbidden = if self.is_one[node] && !self.fits(node) { 4 * FORBIDDEN } else { 0 };
            self.scratch.excess[node] = cheapest.excess(node) - forbidden;
        }
        for _ in 0..ATTEMPTS {
            self.cutter.cut_within(cluster, &mut self.scratch, |node| self.is_one[node]);
            for node in self.network.nodes(cluster) {
                self.is_one[node] = self.cutter.is_one(node);
            }
            if self.enter(cluster) {
                return;
            }
        }
        self.network.nodes(cluster).for_each(|node| self.is_one[node] = false);
    }
}
