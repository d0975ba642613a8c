//! Labels that keep to the constraints, from relaxed ones.
//!
//! Components take their places one after the other, those first that lose most by leaving ([`Priority`]). One that does not fit as it
//! would like to be is cut again, with what is full forbidden. So is one that relies on what has found no capacity. Then each
//! component with something to gain is placed again, in what the others leave.

use super::multipliers::Relaxed;
use super::tuning::MOST_CUTS;
use crate::allocate::cuts::{Capacities, Component, Cutter, FORBIDDEN, Implication, Network, Node, Residual};
use crate::analysis::grouped::Grouped;
use cranelift_entity::{EntityRef, PrimaryMap};

/// Labels that keep to the constraints.
#[derive(Clone)]
pub(super) struct Rounded {
    pub(super) is_one: PrimaryMap<Node, bool>,
    pub(super) cost_of: PrimaryMap<Component, i64>,
    /// How many places have been bought for them.
    pub(super) bought: usize,
    /// Their own, what the places cost, and what those do not save that rely on others in vain.
    pub(super) cost: i64,
}

/// Which components take their places first.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    /// Those that lose most by leaving.
    Loss,
    /// For each place in a constraint that they could take.
    LossBySize,
    /// For what they pay for places (Pirkul 1987, of knapsacks with several constraints).
    LossByCharge,
}

pub(super) struct Rounding<'n> {
    network: &'n Network,
    /// What a bought place costs.
    cost_of_purchase: i64,
    bought: usize,
    /// What flows have slack of the component that is being placed.
    scratch: Residual,
    /// What each component costs with nothing in registers, and at least.
    nothing: PrimaryMap<Component, i64>,
    least: PrimaryMap<Component, i64>,
    /// How many places in constraints each component could take.
    size: PrimaryMap<Component, usize>,
    is_one: PrimaryMap<Node, bool>,
    /// Of each constraint, how many more members can be 1.
    slack: Vec<i32>,
    /// The components, with what they lose by leaving: those first that lose most.
    order: Vec<(f64, Component)>,
    /// The implications that are about a component's nodes, by their indices.
    implications: Grouped<Component, u32>,
}

/// More than anything that is not forbidden, and less than what is.
const FAR_TOO_MUCH: i64 = FORBIDDEN / 16;

impl<'n> Rounding<'n> {
    /// `alone` is what components cost without regard to constraints.
    pub(super) fn new(network: &'n Network, cost_of_purchase: i64, alone: &Relaxed) -> Self {
        let size =
            |component: Component| network.nodes(component).flat_map(|node| network.runs_of(node)).map(|run| run.len()).sum();
        Rounding {
            network,
            cost_of_purchase,
            bought: 0,
            scratch: Residual::for_any_component(network),
            nothing: network.components().map(|component| alone.cost_of(component, |_| false)).collect(),
            least: alone.cost.clone(),
            size: network.components().map(size).collect(),
            is_one: network.all_nodes().map(|_| false).collect(),
            slack: vec![0; network.capacities.len()],
            order: Vec::new(),
            implications: by_component(network),
        }
    }

    /// Gives those places back that these labels do not need, which were the latest, down to the least number.
    pub(super) fn sell(&mut self, rounded: &mut Rounded, least: usize) {
        let Rounding { network, bought, .. } = *self;
        let less = |capacities: &Capacities, fewer: usize| i32::from(capacities[bought]) - i32::from(capacities[fewer]);
        let suffices =
            |&fewer: &usize| self.slack.iter().zip(network.capacities.values()).all(|(&slack, it)| slack >= less(it, fewer));
        let needed = (least..bought).find(suffices).unwrap_or(bought);
        self.slack.iter_mut().zip(network.capacities.values()).for_each(|(slack, capacities)| *slack -= less(capacities, needed));
        rounded.cost -= self.cost_of_purchase * (bought - needed) as i64;
        (self.bought, rounded.bought) = (needed, needed);
    }

    /// Buys so many places, and leaves all of them empty.
    fn buy(&mut self, bought: usize) {
        self.bought = bought;
        self.slack
            .iter_mut()
            .zip(self.network.capacities.values())
            .for_each(|(slack, capacities)| *slack = i32::from(capacities[bought]));
    }

    /// Components are going to be placed by what they lose by leaving, from these labels.
    pub(super) fn put_in_order(&mut self, relaxed: &Relaxed, priority: Priority) {
        let share = |component: Component| match priority {
            Priority::Loss => 1.0,
            Priority::LossBySize => self.size[component].max(1) as f64,
            Priority::LossByCharge => (relaxed.value[component] - relaxed.cost[component]).max(1) as f64,
        };
        let loss = |component: Component| (self.nothing[component] - relaxed.value[component]) as f64 / share(component);
        self.order.clear();
        self.order.extend(self.network.components().map(|component| (loss(component), component)));
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    /// Makes relaxed labels fit, with so many places bought.
    pub(super) fn round(&mut self, cutter: &mut Cutter, relaxed: &Relaxed, bought: usize) -> Rounded {
        self.buy(bought);
        self.is_one.clone_from(relaxed.is_one);
        let mut cost_of: PrimaryMap<Component, i64> = self.network.components().map(|_| 0).collect();
        for index in 0..self.order.len() {
            let (_, component) = self.order[index];
            let fits = self.change_slack(component, -1);
            cost_of[component] = if fits && !self.violates_implication(component) {
                relaxed.cost[component]
            } else {
                self.change_slack(component, 1);
                self.relabel_from(cutter, component, relaxed);
                self.cost(component, relaxed)
            };
        }
        self.repair_implications(cutter, relaxed, &mut cost_of);
        let unsaved: i64 = self.network.implications.iter().filter(|it| self.is_violated(it)).map(|it| it.saved).sum();
        let cost = cost_of.values().sum::<i64>() + self.cost_of_purchase * bought as i64 + unsaved;
        Rounded { is_one: self.is_one.clone(), cost, cost_of, bought }
    }

    /// Places those components again that rely on others in vain, since these have been placed later.
    fn repair_implications(&mut self, cutter: &mut Cutter, relaxed: &Relaxed, cost_of: &mut PrimaryMap<Component, i64>) {
        let network = self.network;
        for it in &network.implications {
            if self.is_violated(it) {
                let component = network.component_of(it.premise);
                self.change_slack(component, 1);
                self.relabel_from(cutter, component, relaxed);
                cost_of[component] = self.cost(component, relaxed);
            }
        }
    }

    fn is_violated(&self, implication: &Implication<Node>) -> bool {
        implication.violation(|node| self.is_one[node]) > 0
    }

    /// The implications that are about nodes of a component.
    fn implications_of(&self, component: Component) -> impl Iterator<Item = &'n Implication<Node>> + use<'_, 'n> {
        let network = self.network;
        self.implications.get(component).iter().map(|&index| &network.implications[index as usize])
    }

    fn violates_implication(&self, component: Component) -> bool {
        self.implications_of(component)
            .any(|it| self.is_violated(it) && self.network.node_range(component).contains(&it.premise.index()))
    }

    /// What is not saved, since a component relies on others in vain, or others on it.
    fn cost_of_violations(&self, component: Component) -> i64 {
        self.implications_of(component).filter(|it| self.is_violated(it)).map(|it| it.saved).sum()
    }

    fn cost(&self, component: Component, relaxed: &Relaxed) -> i64 {
        relaxed.cost_of(component, |node| self.is_one[node])
    }

    /// Places those components again that could have more ones.
    pub(super) fn improve(&mut self, cutter: &mut Cutter, rounded: &mut Rounded, relaxed: &Relaxed) {
        if rounded.bought != self.bought {
            self.buy(rounded.bought);
            self.is_one = rounded.is_one.clone();
            for component in self.network.components() {
                self.change_slack(component, -1);
            }
        }
        let mut before: Vec<bool> = Vec::new();
        for index in 0..self.order.len() {
            let (_, component) = self.order[index];
            let confined = |node: Node| self.network.runs_of(node).next().is_some();
            let could = |node: Node| !self.is_one[node] && confined(node) && self.fits(node);
            if rounded.cost_of[component] <= self.least[component] || !self.network.nodes(component).any(could) {
                continue;
            }
            before.clear();
            before.extend(self.network.nodes(component).map(|node| self.is_one[node]));
            let old = rounded.cost_of[component] + self.cost_of_violations(component);
            self.change_slack(component, 1);
            self.relabel(cutter, component, relaxed);
            let cost = self.cost(component, relaxed);
            let new = cost + self.cost_of_violations(component);
            if new < old {
                rounded.cost -= old - new;
                rounded.cost_of[component] = cost;
            } else {
                self.change_slack(component, 1);
                self.network.nodes(component).zip(&before).for_each(|(node, &one)| self.is_one[node] = one);
                self.change_slack(component, -1);
            }
        }
        rounded.is_one.clone_from(&self.is_one);
    }

    /// Whether a node finds capacity in its constraints.
    fn fits(&self, node: Node) -> bool {
        self.network.runs_of(node).all(|run| self.slack[run].iter().all(|&slack| slack > 0))
    }

    /// Has a component take its places, or leave them. Answers whether there is capacity for it.
    fn change_slack(&mut self, component: Component, by: i32) -> bool {
        let mut fits = true;
        for node in self.network.nodes(component).filter(|&node| self.is_one[node]) {
            for run in self.network.runs_of(node) {
                for slack in &mut self.slack[run] {
                    *slack += by;
                    fits &= *slack >= 0;
                }
            }
        }
        fits
    }

    /// Has a component take its places, if it finds capacity everywhere; forbids nodes that do not.
    fn enter(&mut self, component: Component) -> bool {
        if self.change_slack(component, -1) {
            return true;
        }
        for node in self.network.nodes(component).filter(|&node| self.is_one[node]) {
            if self.network.runs_of(node).any(|run| self.slack[run].iter().any(|&slack| slack < 0)) {
                *self.scratch.excess_mut(node) -= 4 * FORBIDDEN;
            }
        }
        self.change_slack(component, 1);
        false
    }

    /// Labels a component so that it fits. What flows under prices may flow without: nodes are the dearer as 0 for what they do
    /// not pay any more.
    fn relabel(&mut self, cutter: &mut Cutter, component: Component, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, component);
        for node in self.network.nodes(component) {
            self.is_one[node] = true;
            *self.scratch.excess_mut(node) = relaxed.excess_without_multipliers(node);
        }
        self.charge_implications(component);
        self.make_fit(cutter, component);
    }

    /// The same, beginning with what is cheapest under prices if everything fits.
    fn relabel_from(&mut self, cutter: &mut Cutter, component: Component, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, component);
        for node in self.network.nodes(component) {
            self.is_one[node] = relaxed.is_one[node];
            *self.scratch.excess_mut(node) = relaxed.excess(node);
        }
        self.charge_implications(component);
        self.make_fit(cutter, component);
    }

    /// Nothing of a component that is about to be placed relies on what is 0. What others rely on is worth what they save.
    fn charge_implications(&mut self, component: Component) {
        let network = self.network;
        let nodes = network.node_range(component);
        for &index in self.implications.get(component) {
            let Implication { premise, unless, conclusion, saved } = network.implications[index as usize];
            let is_one = |node: Node| self.is_one[node];
            if nodes.contains(&premise.index()) {
                if !is_one(conclusion) {
                    *self.scratch.excess_mut(premise) -= FAR_TOO_MUCH;
                    unless.into_iter().for_each(|unless| *self.scratch.excess_mut(unless) += FAR_TOO_MUCH);
                }
            } else if is_one(premise) && !unless.is_some_and(is_one) {
                *self.scratch.excess_mut(conclusion) += saved;
            }
        }
    }

    /// Cuts a component until it fits, without the nodes that find no capacity. It may have several nodes in one constraint, so that what
    /// each would find capacity for alone may not fit together: then those are forbidden, too.
    fn make_fit(&mut self, cutter: &mut Cutter, component: Component) {
        for node in self.network.nodes(component) {
            if self.is_one[node] && !self.fits(node) {
                *self.scratch.excess_mut(node) -= 4 * FORBIDDEN;
            }
        }
        for _ in 0..MOST_CUTS {
            cutter.cut_within(component, &mut self.scratch, |node| self.is_one[node]);
            for node in self.network.nodes(component) {
                self.is_one[node] = cutter.is_one(node);
            }
            if self.enter(component) {
                return;
            }
        }
        self.network.nodes(component).for_each(|node| self.is_one[node] = false);
    }
}

/// The implications that each component's nodes occur in. (A node that is 1 in any case if another one is, is in the same component.)
fn by_component(network: &Network) -> Grouped<Component, u32> {
    let components = |it: &Implication<Node>| {
        let [premise, conclusion] = [it.premise, it.conclusion].map(|node| network.component_of(node));
        [Some(premise), Some(conclusion).filter(|&conclusion| conclusion != premise)].into_iter().flatten()
    };
    let pairs: Vec<(Component, u32)> = (0..)
        .zip(&network.implications)
        .flat_map(|(index, it)| components(it).map(move |component| (component, index)))
        .collect();
    Grouped::new(network.components().len(), &pairs)
}
