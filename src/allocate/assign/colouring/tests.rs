//! Tests with small graphs and small functions.

use super::build::build;
use super::graph::{Graph, NodeState};
use super::moves::{MoveEnd, Moves};
use super::select::Select;
use super::simplify::{Simplified, simplify};
use crate::allocate::assign::Evictable;
use crate::allocate::assign::variables::intervals::{Interval, Intervals};
use crate::allocate::assign::variables::positions::Positions;
use crate::allocate::assign::variables::registers::Fixed;
use crate::allocate::cssa::{self, Coalescing};
use crate::allocate::spill::Spilled;
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::{Dominators, Interference, Liveness, Order, PinLiveness};
use crate::machine::{Function, Reg, RegSet, Value, parse};
use cranelift_entity::SecondaryMap;

/// Simplifies a graph with these edges and a move of weight 1 for each pair of `moves`. Its nodes can have two registers.
fn sketch(edges: &[(u32, u32)], moves: &[(u32, u32)]) -> Simplified {
    let node = Interval::from_u32;
    let nodes = edges.iter().map(|&(a, b)| a.max(b) + 1).max().unwrap();
    let mut graph = Graph::new(nodes as usize);
    for number in (0..nodes).map(node) {
        graph.allowed[number] = RegSet::from_bits(0b11);
        graph.cost[number] = Some(1.0);
        graph.adjacent[number] = Vec::new();
    }
    for &(a, b) in edges {
        graph.adjacent[node(a)].push(node(b));
        graph.adjacent[node(b)].push(node(a));
    }
    graph.count();
    let mut all = Moves::none(nodes as usize);
    moves.iter().for_each(|&(a, b)| all.add(node(a), MoveEnd::Node(node(b)), 1.0));
    simplify(graph, all)
}

fn are_one(simplified: &Simplified, a: u32, b: u32) -> bool {
    let [a, b] = [a, b].map(|number| simplified.graph.find(Interval::from_u32(number)));
    a == b
}

const CYCLE_OF_SIX: [(u32, u32); 6] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)];

/// If opposite nodes of a cycle of six were one, there would be two triangles, which two registers do not colour.
#[test]
fn what_would_make_the_graph_uncolourable_is_not_coalesced() {
    assert!(!are_one(&sketch(&CYCLE_OF_SIX, &[(0, 3)]), 0, 3));
    assert!(!are_one(&sketch(&CYCLE_OF_SIX[..3], &[(0, 3)]), 0, 3), "the ends of a path of four would make one");
}

/// Opposite nodes of a cycle of four have both other nodes as neighbours, which lose one neighbour when they are coalesced.
#[test]
fn neighbours_of_both_sides_lose_one() {
    let cycle = [(0, 1), (1, 2), (2, 3), (0, 3)];
    let simplified = sketch(&cycle, &[(0, 2)]);
    assert!(are_one(&simplified, 0, 2));
    assert_eq!(simplified.stack.len(), 3);
}

#[test]
fn neighbours_are_not_coalesced() {
    assert!(!are_one(&sketch(&[(0, 1)], &[(0, 1)]), 0, 1));
}

/// Two cycles of four, each with one more node that has one neighbour. These two would be one node with two significant
/// neighbours, so their move is given up, and they are taken out before anything is spilled.
#[test]
fn insignificant_nodes_are_frozen_before_one_is_spilled() {
    let edges = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7), (0, 8), (4, 9)];
    let simplified = sketch(&edges, &[(8, 9)]);
    assert!(!are_one(&simplified, 8, 9));
    let mut first: Vec<u32> = simplified.stack[..2].iter().map(|node| node.as_u32()).collect();
    first.sort_unstable();
    assert_eq!(first, [8, 9]);
}

/// A function whose variables are its φ-webs and all values outside them.
struct Setting {
    function: Function,
    positions: Positions,
    intervals: Intervals,
}

impl Setting {
    /// A function with a class `w` of these registers, and a class `n` of the first one alone.
    fn new(registers: &str, code: &str) -> Self {
        let first = registers.split(' ').next().unwrap();
        let classes = format!("class w g 8/8 {registers}\n  class n g 8/8 {first}");
        let text = format!("target\n  bank g exchange\n  registers g {registers}\n  {classes}\nfunction f\n{code}");
        let Conventional { function, webs, .. } = conventional(&parse(&text).unwrap());
        let positions = Positions::new(&function);
        let spilled = Spilled::nothing(function.clone());
        let evictable = Evictable { weight: &|_| 1.0, webs: &webs, spilled: &spilled };
        let fixed = Fixed::new(&function, &positions, &PinLiveness::new(&function));
        let intervals = Intervals::new(&spilled, &Liveness::new(&function), &positions, &evictable).beside(&fixed);
        Setting { function, positions, intervals }
    }

    fn simplified(&self) -> Simplified {
        let graph = build(&self.function, &self.intervals);
        let moves = Moves::new(&self.intervals, &graph);
        simplify(graph, moves)
    }

    fn node(&self, value: u32) -> Interval {
        self.intervals.of(Value::from_u32(value))
    }

    fn state(&self, value: u32) -> NodeState {
        self.simplified().graph.state[self.node(value)]
    }

    /// The registers of all values, by name, or the values that are spilled.
    fn coloured(&self) -> Result<Vec<&str>, Vec<u32>> {
        let simplified = self.simplified();
        let mut select = Select::new(&self.function, &self.positions, &self.intervals, &simplified);
        select.run().unwrap();
        if !select.evicted.is_empty() {
            return Err(select.evicted.iter().map(|value| value.as_u32()).collect());
        }
        let chosen = select.chosen();
        let name = |value| self.function.file.name(chosen[self.intervals.of(value)].unwrap());
        Ok(self.function.values.keys().map(name).collect())
    }
}

fn conventional(function: &Function) -> Conventional {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    cssa::conventional(function, &order, &dominators, &interference, Coalescing::Pairwise, false)
}

#[test]
fn a_copy_is_coalesced() {
    let setting = Setting::new("a b", "b0:\n  v0:w = op\n  v1:w = op\n  op v0\n  v2:w = copy v0\n  op v1\n  op v2\n  op v2\n");
    let colours = setting.coloured().unwrap();
    assert!(colours[0] == colours[2] && colours[0] != colours[1], "{colours:?}");
    assert!(are_one(&setting.simplified(), setting.node(0).as_u32(), setting.node(2).as_u32()));
}

/// Around the loop, v2, v4, v5 and v3 form a cycle: each is live together with the one before it and the one after it. All
/// have two neighbours and two registers, and still these suffice.
#[test]
fn a_cycle_of_four_is_coloured_optimistically() {
    let body = "  op v3\n  v4:w = op\n  op v2\n  v5:w = op\n  op v4\n  v6:w = op\n  op v5\n  v7:w = op\n";
    let phis = "  v2:w = phi b0:v0 b3:v7\n  v3:w = phi b0:v1 b3:v6\n";
    let entry = "b0: -> b1\n  v0:w = op\n  v1:w = op\n  op terminator\n";
    let setting = Setting::new("a b", &format!("{entry}b1: -> b2 b3\n{phis}{body}  op terminator\nb2:\nb3: -> b1\n"));
    let graph = build(&setting.function, &setting.intervals);
    assert!([2, 3, 4, 5].iter().all(|&value| !graph.is_insignificant(setting.node(value))), "nothing can be simplified");
    let colours = setting.coloured().unwrap();
    assert!(colours[2] == colours[5] && colours[3] == colours[4] && colours[2] != colours[3], "{colours:?}");
}

#[test]
fn a_variable_is_coalesced_with_a_register_of_the_program() {
    let a = Reg::new(1);
    let setting = Setting::new("b a", "b0:\n  v0:w = op\n  op v0\n  copy-to(a) v0\n  op uses=a\n");
    assert_eq!(setting.state(0), NodeState::Fixed(a));
    assert_eq!(setting.coloured().unwrap(), ["a"]);
}

/// v1 and v2 could have `a`, and are significant since each has two neighbours.
#[test]
fn a_register_that_significant_neighbours_could_have_is_left_to_them() {
    let code = "b0:\n  v0:w = op\n  v1:w = op\n  v2:w = op\n  op v1 v2\n  op v1 v2\n  copy-to(a) v0\n  op uses=a\n";
    let setting = Setting::new("b a", code);
    assert!(!matches!(setting.state(0), NodeState::Fixed(_)));
    assert_eq!(setting.coloured(), Err(vec![0]), "its cost is least");
}

/// Of three variables for two registers, the one is spilled that is accessed where control hardly ever comes.
#[test]
fn what_is_seldom_accessed_is_spilled() {
    let code = |often: f64| {
        let entry = "b0: -> b1\n  v0:w = op\n  v1:w = op\n  v2:w = op\n  op terminator\n";
        format!(
            "{entry}b1: freq={often} -> b1 b2\n  op v0 v1\n  op v0 v1\n  op terminator\nb2:\n  op v2\n  op v2\n  op v2\n  op v2\n"
        )
    };
    assert_eq!(Setting::new("a b", &code(100.0)).coloured(), Err(vec![2]));
    assert_eq!(Setting::new("a b", &code(0.01)).coloured(), Err(vec![0]));
}

/// v1 can only be in `a`. It has as many neighbours as registers, and v0 has fewer. So v1 is coloured first, and v0 cannot
/// have `a`.
#[test]
fn what_can_be_in_few_registers_comes_first() {
    let setting = Setting::new("a b", "b0:\n  v0:w = op\n  op v0\n  v1:n = op\n  op v0 v1\n  op v0\n");
    assert_eq!(setting.coloured().unwrap(), ["b", "a"]);
}

/// v0 and v1 are of classes without a common register, so they do not compete.
#[test]
fn only_neighbours_with_a_register_in_common_count() {
    let file = "target\n  bank g exchange\n  registers g a b\n  class w g 8/8 a\n  class x g 8/8 b\n";
    let function = parse(&format!("{file}function f\nb0:\n  v0:w = op\n  v1:x = op\n  op v0 v1\n  op v0 v1\n")).unwrap();
    let positions = Positions::new(&function);
    let spilled = Spilled::nothing(function.clone());
    let evictable = Evictable { weight: &|_| 1.0, webs: &SecondaryMap::new(), spilled: &spilled };
    let intervals = Intervals::new(&spilled, &Liveness::new(&function), &positions, &evictable);
    let graph = build(&function, &intervals);
    assert!(intervals.data.keys().all(|node| graph.degree[node] == 0));
}
