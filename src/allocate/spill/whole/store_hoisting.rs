//! Stores of φ arguments, where a φ in memory takes a value in a register.
//!
//! Each argument is stored at the start of its edge, or once after its definition [PP09, §6.1].

use crate::allocate::cost;
use crate::allocate::spill::plan::builder::stored_arguments;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Point, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// The stores that φs in memory need.
pub(in crate::allocate::spill) struct ArgumentStores {
    /// Those at the starts of edges: (point, argument, φ), ascending.
    pub(in crate::allocate::spill) at_ends: Vec<(Point, Value, Value)>,
    /// For each argument that is stored after its definition, a φ that takes it.
    pub(in crate::allocate::spill) hoisted: SecondaryMap<Value, Option<Value>>,
    /// How many stores hoisting saves.
    pub(in crate::allocate::spill) saved: u64,
}

/// Finds the arguments that have to be stored, and places their stores.
pub(in crate::allocate::spill) fn argument_stores(
    problem: &Problem,
    in_memory: &EntitySet<Value>,
    hoist: bool,
) -> ArgumentStores {
    let function = &problem.conventional.function;
    let mut at_ends: Vec<(Point, Value, Value)> = stored_arguments(function, in_memory).collect();
    let all = at_ends.len();
    let better = if hoist { hoistable(problem, &at_ends) } else { Vec::new() };
    let mut hoisted = SecondaryMap::new();
    for &(_, value, phi) in at_ends.iter().filter(|(_, value, _)| better.binary_search(value).is_ok()) {
        hoisted[value] = Some(phi);
    }
    at_ends.retain(|(_, value, _)| better.binary_search(value).is_err());
    let saved = (all - at_ends.len() - better.len()) as u64;
    ArgumentStores { at_ends, hoisted, saved }
}

/// The arguments that are better stored after their definitions, ascending: those that would be stored at the ends of
/// several blocks, and those whose definitions are executed less often than the ends.
fn hoistable(problem: &Problem, stores: &[(Point, Value, Value)]) -> Vec<Value> {
    let function = &problem.conventional.function;
    let defined = cost::definitions(function);
    let mut by_value: Vec<(Value, Point)> = stores.iter().map(|&(point, value, _)| (value, point)).collect();
    by_value.sort_unstable();
    let better = |of_one: &&[(Value, Point)]| {
        let (value, point) = of_one[0];
        let moves_out = of_one.len() > 1 || defined[value] < function.blocks[point.block].frequency;
        moves_out && !problem.unspillable.contains(value)
    };
    by_value.chunk_by(|a, b| a.0 == b.0).filter(better).map(|of_one| of_one[0].0).collect()
}
