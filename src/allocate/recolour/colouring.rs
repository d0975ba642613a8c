//! A colouring that is changed step by step; every step can be undone.

use super::affinities::Affinities;
use super::conflicts::{Conflicts, Node};
use crate::analysis::grouped::of_each;
use crate::machine::{Reg, RegSet};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// How many neighbours one attempt to change registers may look at. This keeps recolouring linear.
const PATIENCE: u32 = 1_000;

/// A cost that counts as none: sums of floating-point numbers differ by this much.
pub(super) const SIGNIFICANT: f64 = 1e-9;

/// A register for each node that none of its neighbours has. (A few neighbours may share one from the start, because values
/// that live into landing pads count as live for longer than they are. No change adds such a pair.)
pub(super) struct Colouring<'a> {
    conflicts: &'a Conflicts,
    affinities: &'a Affinities,
    colours: PrimaryMap<Node, Reg>,
    /// The changed nodes with the registers that they had before, the latest last.
    journal: Vec<(Node, Reg)>,
    /// By how much each change in the journal has raised the cost of all copies.
    added: Vec<f64>,
    /// Nodes that keep their registers for the rest of the current attempt.
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

    /// Starts an attempt. Earlier changes become final.
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

    /// Undoes everything since the mark.
    pub(super) fn undo(&mut self, mark: Mark) {
        while self.journal.len() > mark.changes {
            let (node, reg) = self.journal.pop().expect("the journal is longer");
            self.colours[node] = reg;
            self.added.pop();
        }
        self.release(mark.held);
    }

    /// By how much the changes since the mark have raised the cost of all copies.
    pub(super) fn added_since(&self, mark: Mark) -> f64 {
        self.added[mark.changes..].iter().sum()
    }

    /// Lets nodes change again that have been held since the mark.
    pub(super) fn release_since(&mut self, mark: Mark) {
        self.release(mark.held);
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

    /// The executions of a node's copies if it is in this register and its partners stay where they are.
    pub(super) fn cost(&self, node: Node, reg: Reg) -> f64 {
        let elsewhere = |&&(other, _): &&(Node, f64)| self.colours[other] != reg;
        let partners: f64 = self.affinities.of(node).iter().filter(elsewhere).map(|(_, weight)| weight).sum();
        let pins: f64 = self.affinities.pins(node).iter().filter(|&&(pin, _)| pin != reg).map(|(_, weight)| weight).sum();
        partners + pins
    }

    /// Changes a node's register without looking at its neighbours.
    pub(super) fn set(&mut self, node: Node, reg: Reg) {
        let old = self.colours[node];
        self.added.push(self.cost(node, reg) - self.cost(node, old));
        self.journal.push((node, old));
        self.colours[node] = reg;
    }

    /// Spends some of the attempt's patience on a node and its neighbours; false if there is not enough.
    pub(super) fn spend(&mut self, node: Node) -> bool {
        let work = 1 + self.conflicts.neighbours(node).len() as u32;
        let left = self.patience.checked_sub(work);
        self.patience = left.unwrap_or(0);
        left.is_some()
    }

    /// Gives a node a register and makes its neighbours leave it. They may make theirs leave others, in chains of at most
    /// `depth`. The node keeps the register for the rest of the attempt. If this is impossible, nothing changes.
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

    /// Makes a node's neighbours leave a register. On failure, the caller has to undo the changes.
    fn clear(&mut self, node: Node, reg: Reg, depth: u32) -> bool {
        let conflicts = self.conflicts;
        conflicts.neighbours(node).iter().all(|&other| self.colours[other] != reg || self.leave(other, reg, depth))
    }

    /// Moves a node out of a register, to the one where it costs least.
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
        // A node that makes others leave does not leave for them in turn.
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
