//! The cheapest labels that keep to the rows, by integer programming.
//!
//! Relies on: the relaxation of this program, in which decisions may be fractions, is nearly always integral, as its columns of
//! one cluster are those of a minimum cut.

use super::multipliers::{Market, Solution};
use crate::allocate::cuts::{FORBIDDEN, Network, Node, Reliance, Residual, Row, Units};
use crate::allocate::integer_program::{Answer, Program, Variable};
use crate::analysis::grouped::Grouped;
use cranelift_entity::PrimaryMap;
use std::time::Duration;

/// Labels all nodes, beginning with a solution that is known; if it takes longer than this, as well as was found.
pub(super) fn solve(network: &Network, costs: &Residual, market: Market, known: Solution, limit: Duration) -> Solution {
    // Something may rely on what has found no room, which is no solution here.
    let known_cost = cost(network, costs, market, &known.is_one, known.bought).unwrap_or(i64::MAX);
    if known_cost <= known.bound {
        return known;
    }
    let Stated { program, variables, places, base } = Stated::new(network, costs, market, &known);
    let Some(answer) = program.minimise(limit) else { return known };
    let is_one: PrimaryMap<Node, bool> = variables.values().map(|&variable| answer.is_one(variable)).collect();
    let bought = market.least + places.iter().filter(|&&place| answer.is_one(place)).count();
    let found = cost(network, costs, market, &is_one, bought).filter(|&cost| cost < known_cost);
    let best = found.unwrap_or(known_cost);
    let bound = if answer.is_optimal { best } else { known.bound.max(floor(&answer, network.units) + base).min(best) };
    match found {
        Some(_) => Solution { is_one, bought, bound },
        None => Solution { bound, ..known },
    }
}

/// The solver's bound, less what it may be off by.
fn floor(answer: &Answer, units: Units) -> i64 {
    let bound = answer.bound - 1e-6 * (1.0 + answer.bound.abs());
    (bound / units.executions(1)).floor() as i64
}

/// The integer program.
struct Stated {
    program: Program,
    variables: PrimaryMap<Node, Variable>,
    /// Whether one place more than the least is bought, or two, and so on.
    places: Vec<Variable>,
    /// What there is to pay in any case.
    base: i64,
}

impl Stated {
    fn new(network: &Network, costs: &Residual, market: Market, known: &Solution) -> Self {
        let mut program = Program::default();
        // Of what is forbidden, what everything costs as 1 may have more than there are numbers for; it is taken off again.
        let with_all_ones = network.clusters().map(|cluster| costs.cost(network, cluster, |_| true));
        let mut base = with_all_ones.fold(market.price * market.least as i64, i64::wrapping_add);
        let executions = |cost: i64| network.units.executions(cost);
        let mut variables: PrimaryMap<Node, Variable> = PrimaryMap::with_capacity(network.all_nodes().len());
        for node in network.all_nodes() {
            // Whatever else it costs, what is forbidden costs more.
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
        let places: Vec<Variable> =
            (market.least..market.most).map(|bought| program.decision(executions(market.price), bought < known.bought)).collect();
        for pair in places.windows(2) {
            program.at_most(0.0, [(pair[1], 1.0), (pair[0], -1.0)]);
        }
        let members = members(network);
        for (row, rooms) in &network.rooms {
            let members = members.get(row).iter().map(|&node| (variables[node], 1.0));
            let more = |k: usize| f64::from(rooms[market.least + k]) - f64::from(rooms[market.least + k + 1]);
            let wider = places.iter().enumerate().map(|(k, &place)| (place, more(k)));
            program.at_most(f64::from(rooms[market.least]), members.chain(wider.filter(|&(_, more)| more != 0.0)));
        }
        for &Reliance { one, unless, on, .. } in &network.reliances {
            let others = unless.into_iter().chain([on]).map(|node| (variables[node], -1.0));
            program.at_most(0.0, [(variables[one], 1.0)].into_iter().chain(others));
        }
        Stated { program, variables, places, base }
    }
}

/// The nodes of each row.
fn members(network: &Network) -> Grouped<Row, Node> {
    let nodes = network.all_nodes();
    let members: Vec<(Row, Node)> = nodes.flat_map(|node| network.rows_of(node).map(move |row| (row, node))).collect();
    Grouped::new(network.rooms.len(), &members)
}

/// What labels cost; `None` if they do not keep to the rows, rely on others in vain, or do what is forbidden.
fn cost(network: &Network, costs: &Residual, market: Market, is_one: &PrimaryMap<Node, bool>, bought: usize) -> Option<i64> {
    let members = members(network);
    let load = |row: Row| members.get(row).iter().filter(|&&node| is_one[node]).count();
    let fits = network.rooms.iter().all(|(row, rooms)| load(row) <= usize::from(rooms[bought]));
    let own: i64 = network.clusters().map(|cluster| costs.cost(network, cluster, |node| is_one[node])).sum();
    let cost = own + market.price * bought as i64;
    let is_in_vain = |reliance: &Reliance<Node>| reliance.excess(|node| is_one[node]) > 0;
    (fits && own < FORBIDDEN && !network.reliances.iter().any(is_in_vain)).then_some(cost)
}

#[cfg(test)]
mod tests {
    use super::multipliers;
    use super::*;
    use crate::allocate::cuts::testing;

    #[test]
    fn nothing_is_cheaper() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut better = 0;
        for _ in 0..200 {
            let (count, rows) = (rng.usize(1..10), rng.usize(0..5));
            let decisions = testing::random_relying(&mut rng, count, rows);
            let (network, costs) = Network::new(decisions.clone());
            let market = Market { price: testing::random_cost(&mut rng), least: rng.usize(0..2), most: rng.usize(2..4) };
            let known = multipliers::solve(&network, costs.clone(), market, &[]);
            let known_cost = cost(&network, &costs, market, &known.is_one, known.bought);
            let best = solve(&network, &costs, market, known, Duration::from_secs(60));
            let found = cost(&network, &costs, market, &best.is_one, best.bought).expect("it is a solution");
            let paid = |bought: usize| market.price * bought as i64;
            let least =
                (market.least..=market.most).map(|bought| testing::least(&decisions, bought) + paid(bought)).min().unwrap();
            assert_eq!((found, best.bound), (least, least));
            let labels = testing::bits(&network.labels(|node| best.is_one[node]));
            assert_eq!(testing::cost(&decisions, labels, best.bought).map(|cost| cost + paid(best.bought)), Some(least));
            better += usize::from(known_cost.is_none_or(|known| found < known));
        }
        assert!(better > 10, "{better} of 200 are better than what is found in no time");
    }
}
