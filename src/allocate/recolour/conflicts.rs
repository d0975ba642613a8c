//! The interference graph of a coloured function, and the registers that each node may have.
//!
//! Requires: a coloured function.
//! Ensures: names that have to be in one register are one node: a two-address definition and the use that it overwrites, or
//! a φ and its arguments where no code can stand on the edge. Two nodes are neighbours if names of theirs cannot share a
//! register. A node may have the registers of its classes that the program does not occupy anywhere in its life.
//! Relies on: after spilling, no more names are live at a definition than there are registers. So the graph has at most R
//! edges for each definition and is linear in the function. Recolouring asks for neighbours so often that storing them is
//! cheaper than asking liveness each time.

use crate::allocate::assign::{Coloured, Colours};
use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Liveness, Occupancy, Partition, PinLiveness};
use crate::machine::{Block, Function, Inst, Reg, RegSet, Role, Value};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use std::ops::Range;

/// Names that have to be in one register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Node(u32);
entity_impl!(Node, "node");

/// The nodes of a function.
pub(super) struct Nodes {
    of: SecondaryMap<Value, PackedOption<Node>>,
    /// The register of each node before recolouring.
    pub(super) colours: PrimaryMap<Node, Reg>,
}

/// The neighbours of each node, and the registers that it may have.
pub(super) struct Conflicts {
    of: SecondaryMap<Value, PackedOption<Node>>,
    /// The register of each node before recolouring.
    pub(super) colours: PrimaryMap<Node, Reg>,
    allowed: PrimaryMap<Node, RegSet>,
    neighbours: Grouped<Node, Node>,
}

impl Conflicts {
    pub(super) fn new(nodes: Nodes, coloured: &Coloured, liveness: &Liveness, pins: &PinLiveness) -> Self {
        let function = &coloured.function;
        let Nodes { of, colours } = nodes;
        let everything = RegSet::from_bits(u128::MAX);
        let mut allowed: PrimaryMap<Node, RegSet> = colours.values().map(|_| everything).collect();
        for (value, node) in of.iter().filter_map(|(value, node)| Some((value, node.expand()?))) {
            allowed[node] = allowed[node] & function.allowed(value);
        }
        let (live, place) = (vec![Vec::new(); function.file.banks.len()], of_each(colours.len()));
        let (meetings, met) = Default::default();
        let mut walk = BlockWalker { function, liveness, pins, of: &of, allowed, live, place, meetings, met };
        let blocks = function.blocks.keys().filter(|&block| !is_idle(function, pins, block));
        blocks.for_each(|block| walk.block(block));
        let BlockWalker { mut allowed, meetings, met, .. } = walk;
        let of_meeting = |(node, range): &(Node, Range<u32>)| {
            let node = *node;
            met[range.start as usize..range.end as usize].iter().map(move |&other| (node, other))
        };
        let edges = meetings.iter().flat_map(of_meeting);
        let both_ways = edges.clone().chain(edges.map(|(a, b)| (b, a)));
        // Taking a callee-saved register that is not in use yet would mean saving it.
        let untouched = function.file.callee_saved - coloured.used;
        for (node, registers) in allowed.iter_mut() {
            // A held value is in a register that no other node could have there, and may come back to it.
            *registers = (*registers - untouched) | RegSet::only(colours[node]);
        }
        Conflicts { of, neighbours: Grouped::from_pairs(colours.len(), both_ways), colours, allowed }
    }

    /// A graph without a function: nodes with their registers and those that they may have.
    #[cfg(test)]
    pub(super) fn of_graph(nodes: &[(Reg, RegSet)], edges: &[(Node, Node)]) -> Self {
        let both_ways = edges.iter().copied().chain(edges.iter().map(|&(a, b)| (b, a)));
        Conflicts {
            of: SecondaryMap::new(),
            colours: nodes.iter().map(|&(reg, _)| reg).collect(),
            allowed: nodes.iter().map(|&(_, allowed)| allowed).collect(),
            neighbours: Grouped::from_pairs(nodes.len(), both_ways),
        }
    }

    /// The node of a name.
    pub(super) fn node(&self, name: Value) -> Option<Node> {
        self.of[name].expand()
    }

    /// The nodes that cannot share a register with this one. A node may be listed twice.
    pub(super) fn neighbours(&self, node: Node) -> &[Node] {
        self.neighbours.get(node)
    }

    /// The registers that a node may have, whatever its neighbours have.
    pub(super) fn allowed(&self, node: Node) -> RegSet {
        self.allowed[node]
    }
}

impl Nodes {
    /// Unites names that have to be in one register.
    pub(super) fn new(function: &Function, colours: &Colours) -> Self {
        let mut together: Partition<Value> = Partition::discrete(function.values.len());
        let mut unite = |a: Value, b: Value| {
            let (a, b) = (together.find(a), together.find(b));
            if a != b {
                together.attach(a, b);
            }
        };
        for inst in function.insts.keys() {
            let operands = function.operands(inst);
            for operand in operands {
                if let Some(reused) = operand.reuse {
                    unite(operand.value, operands[usize::from(reused)].value);
                }
            }
        }
        for (to, data) in function.blocks.iter().filter(|(_, data)| !data.phis.is_empty()) {
            let fixed = |from: &Block| function.takes_no_code(*from, to);
            for (column, _) in data.preds.iter().enumerate().filter(|(_, from)| fixed(from)) {
                for phi in &data.phis {
                    phi.args[column].expand().into_iter().for_each(|arg| unite(phi.def, arg));
                }
            }
        }
        let mut of: SecondaryMap<Value, PackedOption<Node>> = of_each(function.values.len());
        let mut registers: PrimaryMap<Node, Reg> = PrimaryMap::new();
        for name in function.values.keys() {
            let Some(reg) = colours.get(name) else { continue };
            let root = together.find(name);
            if of[root].is_none() {
                of[root] = registers.push(reg).into();
            }
            of[name] = of[root];
        }
        Nodes { of, colours: registers }
    }

    /// The node of a name.
    pub(super) fn node(&self, name: Value) -> Option<Node> {
        self.of[name].expand()
    }
}

/// Whether a block defines nothing and the program occupies no register in it.
fn is_idle(function: &Function, pins: &PinLiveness, block: Block) -> bool {
    let data = &function.blocks[block];
    let defines = || function.block_operands(block).iter().any(|operand| operand.is_def());
    data.phis.is_empty() && data.live_in_pins.is_empty() && pins.is_free_in(block) && !defines()
}

/// A walk through each block that knows which nodes are live.
struct BlockWalker<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    of: &'a SecondaryMap<Value, PackedOption<Node>>,
    allowed: PrimaryMap<Node, RegSet>,
    /// The nodes of live names, by bank: nodes of different banks never conflict.
    live: Vec<Vec<Node>>,
    /// The index of each live node in its list.
    place: SecondaryMap<Node, u32>,
    /// For each definition, its node and the range in `met` of the nodes that are live there.
    meetings: Vec<(Node, Range<u32>)>,
    met: Vec<Node>,
}

impl BlockWalker<'_> {
    fn node(&self, name: Value) -> Node {
        self.of[name].expect("what is live in a register has a colour")
    }

    fn bank(&self, name: Value) -> usize {
        self.function.file.classes[self.function.values[name].class].bank.index()
    }

    fn block(&mut self, block: Block) {
        let data = &self.function.blocks[block];
        self.live.iter_mut().for_each(Vec::clear);
        for &name in self.liveness.live_in(block) {
            self.enter(name);
        }
        for phi in &data.phis {
            self.define(phi.def);
        }
        let occupied = data.live_in_pins | self.pins.at(self.function, self.function.head(block));
        self.live.iter().flatten().for_each(|&node| self.allowed[node] = self.allowed[node] - occupied);
        for phi in data.phis.iter().filter(|phi| self.liveness.is_dead(phi.def)) {
            self.kill(phi.def);
        }
        for inst in self.function.block_insts(block) {
            self.instruction(block, inst);
        }
    }

    fn instruction(&mut self, block: Block, inst: Inst) {
        let function = self.function;
        let occupancy = self.pins.occupancy(function, block, inst);
        let Occupancy { before, after, clobbers } = occupancy;
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        for operand in operands.iter().filter(|o| o.role == Role::EarlyDef || o.reuse.is_some()) {
            self.meet(operand.value);
            let node = self.node(operand.value);
            self.allowed[node] = self.allowed[node] - before;
        }
        for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| !operand.is_def()) {
            if self.liveness.kills(first + k) {
                let node = self.node(operand.value);
                self.allowed[node] = self.allowed[node] - before;
                self.kill(operand.value);
            }
        }
        if !occupancy.is_empty() {
            self.forbid(inst, before | after | clobbers);
        }
        for operand in operands.iter().filter(|operand| operand.is_def()) {
            self.define(operand.value);
            let node = self.node(operand.value);
            self.allowed[node] = self.allowed[node] - after;
        }
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() && self.liveness.kills(first + k) {
                self.kill(operand.value);
            }
        }
    }

    /// Notes that a name cannot share a register with any live node.
    fn meet(&mut self, name: Value) {
        let (bank, node) = (self.bank(name), self.node(name));
        let start = self.met.len() as u32;
        self.met.extend(self.live[bank].iter().filter(|&&other| other != node));
        self.meetings.push((node, start..self.met.len() as u32));
    }

    fn define(&mut self, name: Value) {
        self.meet(name);
        self.enter(name);
    }

    fn enter(&mut self, name: Value) {
        let (bank, node) = (self.bank(name), self.node(name));
        self.place[node] = self.live[bank].len() as u32;
        self.live[bank].push(node);
    }

    /// Takes a name out of the live ones, if it is among them: an instruction may read it several times.
    fn kill(&mut self, name: Value) {
        let (bank, node) = (self.bank(name), self.node(name));
        let (live, place) = (&mut self.live[bank], self.place[node] as usize);
        if live.get(place) == Some(&node) {
            live.swap_remove(place);
            if let Some(&moved) = live.get(place) {
                self.place[moved] = place as u32;
            }
        }
    }

    /// Forbids these registers to nodes that live past an instruction, except to a value that the register holds.
    fn forbid(&mut self, inst: Inst, registers: RegSet) {
        let held = self.pins.held(inst);
        for node in self.live.iter().flatten() {
            let own = held.iter().filter(|it| self.of[it.value] == (*node).into()).map(|it| it.reg).collect();
            self.allowed[*node] = self.allowed[*node] - (registers - own);
        }
    }
}
