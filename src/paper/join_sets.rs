//! Measures how much the join sets of a program's variables have in common \[FA05\].

use crate::analysis::{DjGraph, Dominators, JoinSets, Order, Reuse};
use crate::machine::Unpromoted;

/// The sum over the functions of a module that is still before SSA form: one that has more variables in memory that could be
/// in registers than it has φs.
pub fn join_sets(functions: &[Unpromoted]) -> Option<Reuse> {
    let variables: usize = functions.iter().map(|function| function.variables.len()).sum();
    let phis: usize = functions.iter().map(|function| function.phis).sum();
    let sum = functions.iter().map(reuse).reduce(|sum, reuse| sum + reuse);
    sum.filter(|_| variables > phis)
}

fn reuse(function: &Unpromoted) -> Reuse {
    let order = Order::new(&function.graph);
    let dominators = Dominators::new(&function.graph, &order);
    let assigned: Vec<&[_]> = function.variables.iter().map(|variable| &variable.assigned[..]).collect();
    JoinSets::new(&assigned, &mut DjGraph::new(&function.graph, &order, &dominators)).reuse
}
