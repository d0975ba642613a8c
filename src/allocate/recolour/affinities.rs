//! Affinities: pairs of nodes that a copy relates, which disappears if both are in one register.

use super::conflicts::{Node, Nodes};
use crate::allocate::cost;
use crate::analysis::grouped::Grouped;
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Reg};
use smallvec::{SmallVec, smallvec};

/// A copy between two nodes: a φ argument, a parallel copy, or one of the program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Affinity {
    pub(super) ends: (Node, Node),
    /// The executions that are saved if both are in one register.
    pub(super) weight: f64,
}

/// A row of a φ matrix, or a copy: a node, and those whose content it takes.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) def: Node,
    pub(super) args: SmallVec<[(Node, f64); 2]>,
}

/// The copies of a function, with the executions that are saved where they disappear.
pub(super) struct Affinities {
    /// The φs and the copies.
    pub(super) rows: Vec<Row>,
    /// Each pair of nodes that the rows relate, once.
    pub(super) pairs: Vec<Affinity>,
    of: Grouped<Node, (Node, f64)>,
    /// Registers of the program that nodes are copied to or from, with the executions of these copies.
    pins: Grouped<Node, (Reg, f64)>,
}

impl Affinities {
    pub(super) fn new(function: &Function, nodes: &Nodes) -> Self {
        let mut gatherer = Gatherer { function, nodes, rows: Vec::new(), pins: Vec::new() };
        for block in function.blocks.keys() {
            gatherer.phis(block);
            let frequency = cost::copies(function, block) * function.blocks[block].frequency;
            function.block_insts(block).for_each(|inst| gatherer.instruction(inst, frequency));
        }
        let Gatherer { rows, pins, .. } = gatherer;
        Self::of_rows(nodes.colours.len(), rows, &pins)
    }

    /// The affinities of a graph with `nodes` nodes: rows for φs and copies, and pairs for copies to and from registers of the
    /// program.
    pub(super) fn of_rows(nodes: usize, rows: Vec<Row>, pins: &[(Node, (Reg, f64))]) -> Self {
        let affinity = |row: &Row, (arg, weight): (Node, f64)| Affinity { ends: (row.def.min(arg), row.def.max(arg)), weight };
        let mut pairs: Vec<Affinity> = rows.iter().flat_map(|row| row.args.iter().map(move |&arg| affinity(row, arg))).collect();
        pairs.sort_by_key(|pair| pair.ends);
        pairs.dedup_by(|next, pair| {
            let same = next.ends == pair.ends;
            pair.weight += if same { next.weight } else { 0.0 };
            same
        });
        Affinities { rows, ..Self::between(nodes, pairs, pins) }
    }

    /// The affinities of given copies, without rows.
    pub(super) fn between(nodes: usize, pairs: Vec<Affinity>, pins: &[(Node, (Reg, f64))]) -> Self {
        let both = |&Affinity { ends: (a, b), weight }: &Affinity| [(a, (b, weight)), (b, (a, weight))];
        let directed: Vec<_> = pairs.iter().flat_map(both).collect();
        Affinities { rows: Vec::new(), pairs, of: Grouped::new(nodes, &directed), pins: Grouped::new(nodes, pins) }
    }

    /// The nodes that a node is copied to or from.
    pub(super) fn of(&self, node: Node) -> &[(Node, f64)] {
        self.of.get(node)
    }

    /// The registers of the program that a node is copied to or from.
    pub(super) fn pins(&self, node: Node) -> &[(Reg, f64)] {
        self.pins.get(node)
    }

    /// The executions of copies to and from registers of the program that a node saves by being in this one.
    pub(super) fn saved_by_pin(&self, node: Node, reg: Reg) -> f64 {
        self.pins(node).iter().filter(|&&(pin, _)| pin == reg).map(|(_, weight)| weight).sum()
    }
}

/// Collects the copies, block by block.
struct Gatherer<'a> {
    function: &'a Function,
    nodes: &'a Nodes,
    rows: Vec<Row>,
    pins: Vec<(Node, (Reg, f64))>,
}

impl Gatherer<'_> {
    fn phis(&mut self, block: Block) {
        let data = &self.function.blocks[block];
        for phi in &data.phis {
            let def = self.nodes.node(phi.def).expect("a φ in a register has a colour");
            let mut args: SmallVec<[(Node, f64); 2]> = SmallVec::new();
            for (arg, &from) in phi.args.iter().zip(&data.preds) {
                let Some(arg) = arg.expand().and_then(|arg| self.nodes.node(arg)).filter(|&arg| arg != def) else { continue };
                args.push((arg, cost::copies(self.function, from) * cost::edge(self.function, from, block)));
            }
            args.sort_by_key(|&(arg, _)| arg);
            args.dedup_by(|(next, weight), (arg, sum)| {
                let same = next == arg;
                *sum += if same { *weight } else { 0.0 };
                same
            });
            self.rows.extend((!args.is_empty()).then_some(Row { def, args }));
        }
    }

    fn instruction(&mut self, inst: Inst, frequency: f64) {
        let operands = self.function.operands(inst);
        let node = |k: usize| self.nodes.node(operands[k].value).expect("an operand in a register has a colour");
        match self.function.insts[inst].kind {
            InstKind::Copy | InstKind::Inserted(Inserted::Parallel) => {
                let pairs = (0..operands.len()).step_by(2).map(|k| (node(k), node(k + 1)));
                let rows = pairs.filter(|(def, arg)| def != arg).map(|(def, arg)| Row { def, args: smallvec![(arg, frequency)] });
                self.rows.extend(rows);
            }
            InstKind::CopyTo(reg) | InstKind::CopyFrom(reg) => self.pins.push((node(0), (reg, frequency))),
            _ => {}
        }
    }
}
