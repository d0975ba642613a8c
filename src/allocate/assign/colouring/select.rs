//! Colours for the nodes on the stack, the last one first. Even a node that was taken out for spilling gets a colour if one
//! is left (optimistic colouring, \[BCT94\]).

use super::graph::{Graph, NodeState};
use super::simplify::Simplified;
use crate::allocate::assign::variables::Chosen;
use crate::allocate::assign::variables::intervals::{Interval, Intervals, LiveInterval, Temporaries};
use crate::allocate::assign::variables::positions::Positions;
use crate::allocate::assign::variables::temporaries::Placing;
use crate::allocate::failure::Unsupported;
use crate::analysis::grouped::of_each;
use crate::machine::{Function, Reg, RegSet, Value};
use cranelift_entity::SecondaryMap;

pub(super) struct Select<'a> {
    function: &'a Function,
    positions: &'a Positions,
    intervals: &'a Intervals,
    graph: &'a Graph,
    stack: &'a [Interval],
    /// The intervals of each node.
    members: SecondaryMap<Interval, Vec<Interval>>,
    /// For each temporary, its instruction, as an index into [`Intervals::temporaries`].
    group: SecondaryMap<Interval, usize>,
    /// The registers of nodes.
    colours: Chosen,
    /// Values that have to be spilled, after which a new round is needed. This one goes on without them, to find all of
    /// them.
    pub(super) evicted: Vec<Value>,
}

impl<'a> Select<'a> {
    pub(super) fn new(
        function: &'a Function,
        positions: &'a Positions,
        intervals: &'a Intervals,
        simplified: &'a Simplified,
    ) -> Self {
        let Simplified { graph, stack } = simplified;
        let mut members: SecondaryMap<Interval, Vec<Interval>> = of_each(intervals.data.len());
        intervals.data.keys().for_each(|number| members[graph.find(number)].push(number));
        let mut group = of_each(intervals.data.len());
        for (index, temporaries) in intervals.temporaries.iter().enumerate() {
            temporaries.intervals.iter().for_each(|&number| group[number] = index);
        }
        let colours = of_each(intervals.data.len());
        Select { function, positions, intervals, graph, stack, members, group, colours, evicted: Vec::new() }
    }

    /// Colours all nodes, or finds out which ones have to be spilled.
    ///
    /// # Errors
    /// If an instruction alone needs more registers than there are.
    pub(super) fn run(&mut self) -> Result<(), Unsupported> {
        for node in self.intervals.data.keys() {
            match self.graph.state[node] {
                NodeState::Fixed(reg) => self.take(node, reg),
                NodeState::Spilled => self.evict(node),
                _ => {}
            }
        }
        for &node in self.stack.iter().rev() {
            self.colour(node)?;
        }
        Ok(())
    }

    /// The registers of all intervals.
    pub(super) fn chosen(&self) -> Chosen {
        let mut chosen = Chosen::with_capacity(self.intervals.data.len());
        self.intervals.data.keys().for_each(|number| chosen[number] = self.colours[self.graph.find(number)]);
        chosen
    }

    /// Finds a register for a node, or spills it. If it is too short for that to help, others are spilled.
    fn colour(&mut self, node: Interval) -> Result<(), Unsupported> {
        // Temporaries may have been coloured with others of their instruction.
        if self.colours[node].is_some() {
            return Ok(());
        }
        let free = self.graph.allowed[node] - self.taken(node);
        let order = self.favourites(node).into_iter().chain(self.order(&self.intervals.data[node]));
        match (order.into_iter().find(|&reg| free.contains(reg)), self.graph.cost[node]) {
            (Some(reg), _) => self.take(node, reg),
            (None, None) => self.colour_together(node)?,
            (None, Some(cost)) if cost.is_infinite() => self.make_room(node),
            (None, Some(_)) => self.evict(node),
        }
        Ok(())
    }

    /// Colours all temporaries of an instruction anew, because one of them has found no register.
    fn colour_together(&mut self, node: Interval) -> Result<(), Unsupported> {
        let intervals = self.intervals;
        let temporaries: &Temporaries = &intervals.temporaries[self.group[node]];
        temporaries.intervals.iter().for_each(|&number| self.colours[number] = None);
        self.place_temporaries(temporaries)
    }

    /// The registers of a node's neighbours.
    fn taken(&self, node: Interval) -> RegSet {
        self.graph.adjacent[node].iter().filter_map(|&other| self.colours[self.graph.find(other)]).collect()
    }
}

impl Placing for Select<'_> {
    fn positions(&self) -> &Positions {
        self.positions
    }

    fn intervals(&self) -> &Intervals {
        self.intervals
    }

    /// Includes the registers that were taken from the node because neighbours have been coalesced with them.
    fn allowed(&self, number: Interval) -> RegSet {
        let allowed = self.members[number].iter().map(|&member| self.intervals.data[member].allowed);
        allowed.reduce(|all, one| all & one).unwrap_or_default()
    }

    fn clashes(&self, number: Interval, reg: Reg) -> impl Iterator<Item = Interval> {
        let neighbours = self.graph.adjacent[number].iter().map(|&other| self.graph.find(other));
        neighbours.filter(move |&other| self.colours[other] == Some(reg))
    }

    fn weight(&self, number: Interval) -> Option<f64> {
        self.graph.cost[number]
    }

    fn favourites(&self, number: Interval) -> Vec<Reg> {
        let before = self.intervals.data[number].previous_access;
        let before = before.and_then(|access| self.colours[self.graph.find(access.interval)]);
        let chosen = |partner: Interval| self.colours[self.graph.find(partner)];
        before.into_iter().chain(self.intervals.hints(&self.members[number], chosen)).collect()
    }

    fn order(&self, interval: &LiveInterval) -> Vec<Reg> {
        self.function.file.classes[interval.class].order.clone()
    }

    fn take(&mut self, number: Interval, reg: Reg) {
        self.colours[number] = Some(reg);
    }

    /// Spills all intervals of a node.
    fn evict(&mut self, number: Interval) {
        self.colours[number] = None;
        for &member in &self.members[number] {
            self.evicted.extend(&self.intervals.data[member].values);
        }
    }
}
