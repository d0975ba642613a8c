//! Makes labels that satisfy the constraints from those of relaxed cuts.
//!
//! Components take capacity one after the other, those first that lose most by going to memory ([`Priority`]). One whose
//! labels do not fit is cut again, with its nodes in full constraints forbidden; so is one that violates an implication.
//! Then each component with something to gain is labelled again, within the capacity that the others leave.
//!
//! ```text
//!     p + q1 <= 1      relaxed     p placed     q cut again, q1 forbidden
//!       p                 1           1             1
//!       q1, q2            1, 1                      0, 1
//!       slack            -1           0             0
//! ```
//!
//! (The example is that of [`super::model`].)

use super::multipliers::Relaxed;
use super::tuning::MOST_CUTS;
use crate::allocate::cuts::{Capacities, Component, Cutter, FORBIDDEN, Implication, Network, Node, Residual};
use crate::analysis::grouped::Grouped;
use cranelift_entity::{EntityRef, PrimaryMap};

/// Labels that satisfy the constraints, and their cost.
#[derive(Clone)]
pub(super) struct Rounded {
    pub(super) is_one: PrimaryMap<Node, bool>,
    pub(super) cost_of: PrimaryMap<Component, i64>,
    /// The number of registers bought for them.
    pub(super) bought: usize,
    /// The cost of the labels and of the registers, and what violated implications do not save.
    pub(super) cost: i64,
}

/// The order in which components take capacity.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    /// By what a component loses if it goes to memory.
    Loss,
    /// By that loss, for each unit of capacity that the component could take.
    LossBySize,
    /// By that loss, for what the component pays in multipliers: Pirkul's order for knapsacks with several constraints \[Pir87\].
    LossByCharge,
}

pub(super) struct Rounding<'n> {
    network: &'n Network,
    /// The cost of buying one register.
    cost_of_purchase: i64,
    bought: usize,
    /// The residual network of the component that is being labelled.
    scratch: Residual,
    /// The cost of each component with everything in memory, and the least cost of each.
    nothing: PrimaryMap<Component, i64>,
    least: PrimaryMap<Component, i64>,
    /// The units of capacity that each component could take.
    size: PrimaryMap<Component, usize>,
    is_one: PrimaryMap<Node, bool>,
    /// The number of further members of each constraint that can be 1.
    slack: Vec<i32>,
    /// The components and their losses in memory, greatest loss first.
    order: Vec<(f64, Component)>,
    /// The implications on nodes of each component, by index.
    implications: Grouped<Component, u32>,
}

/// More than anything that can be paid, and less than what is forbidden.
const FAR_TOO_MUCH: i64 = FORBIDDEN / 16;

impl<'n> Rounding<'n> {
    /// `alone` has the costs of components without regard to constraints.
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

    /// Gives those registers back that these labels do not need, from the last one bought, down to the least number.
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

    /// Buys registers, and leaves all capacity free.
    fn buy(&mut self, bought: usize) {
        self.bought = bought;
        self.slack
            .iter_mut()
            .zip(self.network.capacities.values())
            .for_each(|(slack, capacities)| *slack = i32::from(capacities[bought]));
    }

    /// Puts components in order for rounding these labels.
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

    /// Makes relaxed labels fit, with this many registers bought.
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

    /// Labels those components again whose implications are violated, since their sources were labelled later.
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

    /// The implications on nodes of a component.
    fn implications_of(&self, component: Component) -> impl Iterator<Item = &'n Implication<Node>> + use<'_, 'n> {
        let network = self.network;
        self.implications.get(component).iter().map(|&index| &network.implications[index as usize])
    }

    fn violates_implication(&self, component: Component) -> bool {
        self.implications_of(component)
            .any(|it| self.is_violated(it) && self.network.node_range(component).contains(&it.premise.index()))
    }

    /// The savings that violated implications on nodes of a component lose.
    fn cost_of_violations(&self, component: Component) -> i64 {
        self.implications_of(component).filter(|it| self.is_violated(it)).map(|it| it.saved).sum()
    }

    fn cost(&self, component: Component, relaxed: &Relaxed) -> i64 {
        relaxed.cost_of(component, |node| self.is_one[node])
    }

    /// Labels those components again that could have more ones.
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

    /// Whether the constraints of a node have capacity for it.
    fn fits(&self, node: Node) -> bool {
        self.network.runs_of(node).all(|run| self.slack[run].iter().all(|&slack| slack > 0))
    }

    /// Has a component take its capacity (-1), or give it back (1). Answers whether no constraint is violated.
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

    /// Has a component take its capacity if it fits. If not, forbids its nodes in constraints that it violates.
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

    /// Labels a component so that it fits. The flow that multipliers made may also flow without them, so the residual
    /// network is that of the relaxed cut, with the multipliers added back.
    fn relabel(&mut self, cutter: &mut Cutter, component: Component, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, component);
        for node in self.network.nodes(component) {
            self.is_one[node] = true;
            *self.scratch.excess_mut(node) = relaxed.excess_without_multipliers(node);
        }
        self.charge_implications(component);
        self.make_fit(cutter, component);
    }

    /// Labels a component so that it fits, starting from its relaxed labels, with multipliers.
    fn relabel_from(&mut self, cutter: &mut Cutter, component: Component, relaxed: &Relaxed) {
        self.scratch.copy_from(relaxed.residual(), self.network, component);
        for node in self.network.nodes(component) {
            self.is_one[node] = relaxed.is_one[node];
            *self.scratch.excess_mut(node) = relaxed.excess(node);
        }
        self.charge_implications(component);
        self.make_fit(cutter, component);
    }

    /// Charges the component that is about to be labelled for its implications: a premise whose source is 0 is forbidden,
    /// and a source is worth what the premises of other components save.
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

    /// Cuts a component until it fits, without the nodes whose constraints are full. Several of its nodes may be under one
    /// constraint, and fit one by one, but not together. Then they are forbidden, too.
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

/// The implications on each component's nodes. (The node of `unless` is in the component of the premise.)
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
