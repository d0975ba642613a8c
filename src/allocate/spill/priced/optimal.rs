//! The cheapest labels that satisfy the constraints, by integer programming.
//!
//! Relies on: the relaxation of this program, in which decisions may be fractions, nearly always has integral solutions,
//! since the columns of one component are those of a minimum cut.

use super::multipliers::{Purchase, Solution};
use crate::allocate::cuts::{Constraint, FORBIDDEN, Implication, Network, Node, Residual, Units};
use crate::allocate::integer_program::{Answer, Program, Variable};
use crate::analysis::grouped::Grouped;
use cranelift_entity::PrimaryMap;
use std::time::Duration;

/// Labels all nodes, beginning with a known solution. If that takes longer than `limit`, the labels are the best so far.
pub(super) fn solve(network: &Network, costs: &Residual, purchase: Purchase, known: Solution, limit: Duration) -> Solution {
    // The known labels may violate an implication, which is no solution here.
    let known_cost = cost(network, costs, purchase, &known.is_one, known.bought).unwrap_or(i64::MAX);
    if known_cost <= known.bound {
        return known;
    }
    let Stated { program, variables, purchases, base } = Stated::new(network, costs, purchase, &known);
    let Some(answer) = program.minimise(limit) else { return known };
    let is_one: PrimaryMap<Node, bool> = variables.values().map(|&variable| answer.is_one(variable)).collect();
    let bought = purchase.least + purchases.iter().filter(|&&purchased| answer.is_one(purchased)).count();
    let found = cost(network, costs, purchase, &is_one, bought).filter(|&cost| cost < known_cost);
    let best = found.unwrap_or(known_cost);
    let bound = if answer.is_optimal { best } else { known.bound.max(floor(&answer, network.units) + base).min(best) };
    match found {
        Some(_) => Solution { is_one, bought, bound, ..known },
        None => Solution { bound, ..known },
    }
}

/// The solver's bound, less its tolerance.
fn floor(answer: &Answer, units: Units) -> i64 {
    let bound = answer.bound - 1e-6 * (1.0 + answer.bound.abs());
    (bound / units.executions(1)).floor() as i64
}

/// The integer program.
struct Stated {
    program: Program,
    variables: PrimaryMap<Node, Variable>,
    /// Whether one register more than the least is bought, whether two are, and so on.
    purchases: Vec<Variable>,
    /// A cost that is paid in any case.
    base: i64,
}

impl Stated {
    fn new(network: &Network, costs: &Residual, purchase: Purchase, known: &Solution) -> Self {
        let mut program = Program::default();
        // If much is forbidden, the cost of all nodes as 1 may overflow; the sums below subtract it again.
        let with_all_ones = network.components().map(|component| costs.cost(network, component, |_| true));
        let mut base = with_all_ones.fold(purchase.cost * purchase.least as i64, i64::wrapping_add);
        let executions = |cost: i64| network.units.executions(cost);
        let mut variables: PrimaryMap<Node, Variable> = PrimaryMap::with_capacity(network.all_nodes().len());
        for node in network.all_nodes() {
            // A forbidden label costs more than any other costs of the node.
            let excess = costs.excess(node);
            let (has_to, must_not) = (excess > FORBIDDEN / 2, excess < -FORBIDDEN / 2);
            let variable = program.decision(if has_to || must_not { 0.0 } else { executions(-excess) }, known.is_one[node]);
            if has_to {
                program.at_most(-1.0, [(variable, -1.0)]);
            } else {
                base = base.wrapping_add(excess);
            }
            if must_not {
                program.at_most(0.0, [(variable, 1.0)]);
            }
            variables.push(variable);
        }
        for node in network.all_nodes() {
            for arc in network.arcs_of(node) {
                let (to, cost) = (network.arcs[arc].to, costs.inflow(arc as u32));
                let (one, zero) = (variables[to], variables[node]);
                if cost >= FORBIDDEN {
                    program.at_most(0.0, [(one, 1.0), (zero, -1.0)]);
                } else if cost > 0 {
                    let is_cut = known.is_one[to] && !known.is_one[node];
                    let cut = program.penalty(executions(cost), is_cut);
                    program.at_most(0.0, [(one, 1.0), (zero, -1.0), (cut, -1.0)]);
                }
            }
        }
        let purchases: Vec<Variable> = (purchase.least..purchase.most)
            .map(|bought| program.decision(executions(purchase.cost), bought < known.bought))
            .collect();
        for pair in purchases.windows(2) {
            program.at_most(0.0, [(pair[1], 1.0), (pair[0], -1.0)]);
        }
        let members = members(network);
        for (constraint, capacities) in &network.capacities {
            let members = members.get(constraint).iter().map(|&node| (variables[node], 1.0));
            let more = |k: usize| f64::from(capacities[purchase.least + k]) - f64::from(capacities[purchase.least + k + 1]);
            let wider = purchases.iter().enumerate().map(|(k, &purchased)| (purchased, more(k)));
            program.at_most(f64::from(capacities[purchase.least]), members.chain(wider.filter(|&(_, more)| more != 0.0)));
        }
        for &Implication { premise, unless, conclusion, .. } in &network.implications {
            let others = unless.into_iter().chain([conclusion]).map(|node| (variables[node], -1.0));
            program.at_most(0.0, [(variables[premise], 1.0)].into_iter().chain(others));
        }
        Stated { program, variables, purchases, base }
    }
}

/// The nodes of each constraint.
fn members(network: &Network) -> Grouped<Constraint, Node> {
    let nodes = network.all_nodes();
    let members: Vec<(Constraint, Node)> =
        nodes.flat_map(|node| network.constraints_of(node).map(move |constraint| (constraint, node))).collect();
    Grouped::new(network.capacities.len(), &members)
}

/// The cost of labels; `None` if they violate a constraint or an implication, or do something forbidden.
fn cost(network: &Network, costs: &Residual, purchase: Purchase, is_one: &PrimaryMap<Node, bool>, bought: usize) -> Option<i64> {
    let members = members(network);
    let load = |constraint: Constraint| members.get(constraint).iter().filter(|&&node| is_one[node]).count();
    let fits = network.capacities.iter().all(|(constraint, capacities)| load(constraint) <= usize::from(capacities[bought]));
    let own: i64 = network.components().map(|component| costs.cost(network, component, |node| is_one[node])).sum();
    let cost = own + purchase.cost * bought as i64;
    let is_violated = |implication: &Implication<Node>| implication.violation(|node| is_one[node]) > 0;
    (fits && own < FORBIDDEN && !network.implications.iter().any(is_violated)).then_some(cost)
}

#[cfg(test)]
mod tests {
    use super::super::multipliers;
    use super::*;
    use crate::allocate::cuts::testing;

    #[test]
    fn nothing_is_cheaper() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut better = 0;
        for _ in 0..200 {
            let (count, constraints) = (rng.usize(1..10), rng.usize(0..5));
            let decisions = testing::random_with_implication(&mut rng, count, constraints);
            let (network, costs) = Network::new(decisions.clone());
            let purchase = Purchase { cost: testing::random_cost(&mut rng), least: rng.usize(0..2), most: rng.usize(2..4) };
            let known = multipliers::solve(&network, costs.clone(), purchase, &[]);
            let known_cost = cost(&network, &costs, purchase, &known.is_one, known.bought);
            let best = solve(&network, &costs, purchase, known, Duration::from_secs(60));
            let found = cost(&network, &costs, purchase, &best.is_one, best.bought).expect("it is a solution");
            let paid = |bought: usize| purchase.cost * bought as i64;
            let least =
                (purchase.least..=purchase.most).map(|bought| testing::least(&decisions, bought) + paid(bought)).min().unwrap();
            assert_eq!((found, best.bound), (least, least));
            let labels = testing::bits(&network.labels(|node| best.is_one[node]));
            assert_eq!(testing::cost(&decisions, labels, best.bought).map(|cost| cost + paid(best.bought)), Some(least));
            better += usize::from(known_cost.is_none_or(|known| found < known));
        }
        assert!(better > 10, "{better} of 200 are better than what is found in no time");
    }
}
