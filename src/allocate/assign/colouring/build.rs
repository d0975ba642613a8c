//! The interference graph of intervals.

use super::graph::{Graph, NodeState};
use crate::allocate::assign::variables::intervals::{Interval, Intervals, Range};
use crate::analysis::grouped::of_each;
use crate::machine::{Function, RegSet};
use cranelift_entity::SecondaryMap;

/// Builds the graph. Two intervals interfere if they have a position in common, and a register that both could have.
///
/// Where more intervals are live than there can be registers, some have to be spilled in any case. The lightest ones are
/// spilled at once, so that the number of edges is at most a multiple of the number of the intervals' ranges.
pub(super) fn build(function: &Function, intervals: &Intervals) -> Graph {
    let mut graph = Graph::new(intervals.data.len());
    let costs = costs(function, intervals);
    for (number, interval) in &intervals.data {
        graph.allowed[number] = interval.allowed;
        graph.cost[number] = interval.weight.map(|weight| if weight.is_finite() { costs[number] } else { f64::INFINITY });
        graph.adjacent[number] = Vec::new();
        if interval.weight.is_some() && interval.allowed.is_empty() {
            graph.state[number] = NodeState::Spilled;
        }
    }
    connect(intervals, &mut graph);
    for number in intervals.data.keys() {
        graph.adjacent[number].sort_unstable();
        graph.adjacent[number].dedup();
    }
    graph.count();
    graph
}

/// Makes neighbours of the intervals that are live at once, in one pass over all ranges.
fn connect(intervals: &Intervals, graph: &mut Graph) {
    let ranges = intervals.data.iter().flat_map(|(number, data)| data.ranges.iter().map(move |&range| (number, range)));
    let mut ranges: Vec<(Interval, Range)> = ranges.collect();
    ranges.sort_unstable_by_key(|&(number, range)| (range.start, range.end, number));
    let mut active: Vec<(Interval, Range)> = Vec::new();
    for (number, range) in ranges {
        active.retain(|&(other, earlier)| earlier.end > range.start && graph.is_present(other));
        if !graph.is_present(number) {
            continue;
        }
        for &(other, earlier) in &active {
            let over = earlier.over.expand() == Some(number) || range.over.expand() == Some(other);
            if other != number && !over && graph.compete(number, other) {
                graph.adjacent[number].push(other);
                graph.adjacent[other].push(number);
            }
        }
        active.push((number, range));
        if active.len() > RegSet::CAPACITY {
            spill_lightest(intervals, &active, graph);
        }
    }
}

/// Spills the active interval of least weight.
fn spill_lightest(intervals: &Intervals, active: &[(Interval, Range)], graph: &mut Graph) {
    let weighted = active.iter().filter_map(|&(number, _)| Some((intervals.data[number].weight?, number)));
    if let Some((_, lightest)) = weighted.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) {
        graph.state[lightest] = NodeState::Spilled;
    }
}

/// The executed accesses to the values of each interval.
fn costs(function: &Function, intervals: &Intervals) -> SecondaryMap<Interval, f64> {
    let mut costs: SecondaryMap<Interval, f64> = of_each(intervals.data.len());
    for (block, data) in &function.blocks {
        for operand in function.block_operands(block) {
            costs[intervals.of(operand.value)] += data.frequency;
        }
    }
    costs
}
