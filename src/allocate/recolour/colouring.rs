//! A colouring that is being changed, step by step, each of which can be undone.

use super::affinities::Affinities;
use super::conflicts::{Conflicts, Node};
use crate::analysis::grouped::of_each;
use crate::machine::{Reg, RegSet};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// How many neighbours may be looked at in one attempt to give nodes other registers: what keeps recolouring linear.
const PATIENCE: u32 = 1_000;

/// Executions of a copy that count for nothing: sums of floating-point numbers differ by as much.
pub(super) const SIGNIFICANT: f64 = 1e-9;

/// A register for each node, none of which a neighbour has. (Where values live into landing pads count as live longer than
/// they are, neighbours may share one from the start; no change adds to that.)
pub(super) struct Colouring<'a> {
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    colours: PrimaryMap<Node, Reg>,
    /// What each changed node had before, latest last.
    journal: Vec<(Node, Reg)>,
    /// Of each change in the journal, how much it added to the cost of all copies.
    added: Vec<f64>,
    /// Nodes that the current attempt does not change any more.
    held: SecondaryMap<Node, bool>,
    holding: Vec<Node>,
    patience: u32,
}

/// A state to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    changes: usize,
    held: usize,
}

impl<'a> Colouring<'a> {
    pub(super) fn new(conflicts: &'a Conflicts, affinities: &'a Affinities) -> Self {
        Colouring {
            conflicts,
            affinities,
            colours: conflicts.colours.clone(),
            journal: Vec::new(),
            added: Vec::new(),
            held: of_each(conflicts.colours.len()),
            holding: Vec::new(),
            patience: PATIENCE,
        }
    }

    pub(super) fn of(&self, node: Node) -> Reg {
        self.colours[node]
    }

    /// The register of each node.
    pub(super) fn all(&self) -> &PrimaryMap<Node, Reg> {
        &self.colours
    }

    /// Starts an attempt: what was changed before stays.
    pub(super) fn begin(&mut self) -> Mark {
        self.journal.clear();
        self.added.clear();
        self.release(0);
        self.patience = PATIENCE;
        self.mark()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { changes: self.journal.len(), held: self.holding.len() }
    }

    /// Undoes everything since then.
    pub(super) fn undo(&mut self, mark: Mark) {
        while self.journal.len() > mark.changes {
            let (node, reg) = self.journal.pop().expect("the journal is longer");
            self.colours[node] = reg;
            self.added.pop();
        }
        self.release(mark.held);
    }

    /// How much the changes since then have added to the cost of all copies.
    pub(super) fn added_since(&self, mark: Mark) -> f64 {
        self.added[mark.changes..].iter().sum()
    }

    fn release(&mut self, to: usize) {
        for node in self.holding.drain(to..) {
            self.held[node] = false;
        }
    }

    pub(super) fn is_held(&self, node: Node) -> bool {
        self.held[node]
    }

    /// Has the node keep its register for the rest of the attempt.
    pub(super) fn hold(&mut self, node: Node) {
        self.held[node] = true;
        self.holding.push(node);
    }

    /// The executions of copies of a node that is in a register, its partners being where they are.
    pub(super) fn cost(&self, node: Node, reg: Reg) -> f64 {
        let elsewhere = |&&(other, _): &&(Node, f64)| self.colours[other] != reg;
        let partners: f64 = self.affinities.of(node).iter().filter(elsewhere).map(|(_, weight)| weight).sum();
        let pins: f64 = self.affinities.pins(node).iter().filter(|&&(pin, _)| pin != reg).map(|(_, weight)| weight).sum();
        partners + pins
    }

    /// Changes a register without looking at neighbours.
    pub(super) fn set(&mut self, node: Node, reg: Reg) {
        let old = self.colours[node];
        self.added.push(self.cost(node, reg) - self.cost(node, old));
        self.journal.push((node, old));
        self.colours[node] = reg;
    }

    /// Takes from the attempt's patience.
    pub(super) fn spend(&mut self, node: Node) -> bool {
        let work = 1 + self.conflicts.neighbours(node).len() as u32;
        let left = self.patience.checked_sub(work);
        self.patience = left.unwrap_or(0);
        left.is_some()
    }

    /// Gives a node a register and makes its neighbours leave it, which may make theirs leave others, up to `depth` of them
    /// in a row. The node keeps the register for the rest of the attempt. If it cannot be, nothing changes.
    pub(super) fn bring(&mut self, node: Node, reg: Reg, depth: u32) -> bool {
        if self.colours[node] == reg {
            self.hold(node);
            return true;
        }
        if self.held[node] || !self.conflicts.allowed(node).contains(reg) || !self.spend(node) {
            return false;
        }
        let mark = self.mark();
        self.set(node, reg);
        self.hold(node);
        let left = self.clear(node, reg, depth);
        if !left {
            self.undo(mark);
        }
        left
    }

    /// Makes a node's neighbours leave a register; on failure, changes have to be undone.
    fn clear(&mut self, node: Node, reg: Reg, depth: u32) -> bool {
        let conflicts = self.conflicts;
        conflicts.neighbours(node).iter().all(|&other| self.colours[other] != reg || self.leave(other, reg, depth))
    }

    /// Moves a node out of a register, to where that costs least.
    fn leave(&mut self, node: Node, reg: Reg, depth: u32) -> bool {
        if self.held[node] || !self.spend(node) {
            return false;
        }
        let conflicts = self.conflicts;
        let elsewhere = conflicts.allowed(node) - RegSet::only(reg);
        let taken: RegSet = conflicts.neighbours(node).iter().map(|&other| self.colours[other]).collect();
        let cheapest = |among: RegSet| {
            let priced = among.iter().map(|reg| (self.cost(node, reg), reg));
            priced.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, reg)| reg)
        };
        if let Some(free) = cheapest(elsewhere - taken) {
            self.set(node, free);
            return true;
        }
        if depth == 0 {
            return false;
        }
        let mut candidates: Vec<Reg> = elsewhere.iter().collect();
        candidates.sort_by(|&a, &b| self.cost(node, a).total_cmp(&self.cost(node, b)));
        // A node that makes others leave does not leave for them.
        candidates.into_iter().any(|candidate| {
            let mark = self.mark();
            self.set(node, candidate);
            self.hold(node);
            let left = self.clear(node, candidate, depth - 1);
            if left {
                self.release(mark.held);
            } else {
                self.undo(mark);
            }
            left
        })
    }
}
