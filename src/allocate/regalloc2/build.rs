//! The translation of a function into regalloc2's program.

use super::constraints::{Constraints, Taken};
use super::homes::{Homes, live_phis, takes_no_code};
use super::program::{Content, Item, Piece, Program};
use super::registers::Registers;
use crate::allocate::failure::Unsupported;
use crate::analysis::{Liveness, Order, PinLiveness};
use crate::machine::{Block, BlockData, Function, Inst, Operand, Phi, Point, RegSet, Slot, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use regalloc2::{self as ra, OperandConstraint, OperandKind, OperandPos, PRegSet, VReg};

/// The number of a successor, and the arguments for its parameters.
type Exit = (usize, Vec<VReg>);

/// The function to translate, with its analyses.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) function: &'a Function,
    pub(super) order: &'a Order,
    pub(super) liveness: &'a Liveness,
    pub(super) pins: &'a PinLiveness,
    pub(super) registers: &'a Registers,
    pub(super) homes: &'a Homes,
}

impl Program {
    /// Translates a function.
    ///
    /// # Errors
    /// If it contains something that regalloc2 has no word for.
    pub(super) fn new(context: Context<'_>) -> Result<Self, Unsupported> {
        let program = Program { num_vregs: context.function.values.len(), ..Program::default() };
        let constraints = Constraints::new(context.function, context.registers);
        let mut builder = Builder { context, numbers: Numbers::new(context), constraints, program };
        for &block in context.order.blocks() {
            builder.block(block)?;
        }
        Ok(builder.finish())
    }
}

/// The numbers of regalloc2's blocks.
struct Numbers {
    /// The number at which each block is entered.
    head: SecondaryMap<Block, usize>,
    /// The edges from each block that can take no code: their targets, and the numbers of their own blocks.
    on_edges: SecondaryMap<Block, Vec<(Block, usize)>>,
}

impl Numbers {
    fn new(context: Context<'_>) -> Self {
        let Context { function, order, pins, registers, .. } = context;
        let mut numbers = Numbers { head: SecondaryMap::new(), on_edges: SecondaryMap::new() };
        let mut next = 0;
        for &block in order.blocks() {
            numbers.head[block] = next;
            next += 1 + usize::from(function.blocks[block].throws.is_some());
            for &to in &function.blocks[block].succs {
                if takes_no_code(function, pins, registers, block, to) {
                    numbers.on_edges[block].push((to, next));
                    next += 1;
                }
            }
        }
        numbers
    }

    /// The block that control enters first on its way from one block to another.
    fn target(&self, from: Block, to: Block) -> usize {
        let between = self.on_edges[from].iter().find(|(target, _)| *target == to);
        between.map_or(self.head[to], |&(_, number)| number)
    }
}

struct Builder<'a> {
    context: Context<'a>,
    numbers: Numbers,
    constraints: Constraints<'a>,
    program: Program,
}

impl Builder<'_> {
    fn block(&mut self, block: Block) -> Result<(), Unsupported> {
        let Context { function, liveness, homes, .. } = self.context;
        let data = &function.blocks[block];
        let (head, tail) = (function.head(block).index, function.before_terminators(block).index);
        let phis: Vec<&Phi> = live_phis(function, liveness, block).collect();
        let params = phis.iter().filter(|phi| homes.cells[phi.def].is_none()).map(|phi| self.name(phi.def)).collect();
        self.begin(params);
        for index in 0..tail {
            let at = Point { block, index };
            if index == head {
                self.define_phis(&phis, at)?;
            }
            let inst = Inst::from_u32(data.insts.start + index);
            if data.throws == inst.into() {
                self.throwing(at)?;
            } else {
                self.instructions(at, 1)?;
            }
            for operand in function.operands(inst).iter().filter(|operand| operand.is_def()) {
                self.store_home(operand.value, Point { block, index: index + 1 })?;
            }
        }
        let at = Point { block, index: tail };
        if head >= tail {
            self.define_phis(&phis, at)?;
        }
        if function.defined_by_terminators(block).next().is_some() {
            return Err(Unsupported("regalloc2 has no word for a terminator that defines a value".into()));
        }
        let exits = self.leave(at, |to| !to.landing_pad)?;
        self.instructions(at, data.insts.len() as u32 - tail)?;
        self.end(exits);
        self.edges(block);
        Ok(())
    }

    /// A call from which landing pads are entered ends a block of regalloc2's.
    fn throwing(&mut self, at: Point) -> Result<(), Unsupported> {
        let mut exits = self.leave(at, |to| to.landing_pad)?;
        self.instructions(at, 1)?;
        exits.insert(0, (self.program.pieces.len(), Vec::new()));
        self.end(exits);
        self.begin(Vec::new());
        Ok(())
    }

    fn begin(&mut self, params: Vec<VReg>) {
        let first = self.program.items.len();
        self.program.pieces.push(Piece { items: first..first, params, ..Piece::default() });
    }

    fn end(&mut self, exits: Vec<Exit>) {
        let end = self.program.items.len();
        let piece = self.program.pieces.last_mut().expect("a block was begun");
        piece.items.end = end;
        for (to, args) in exits {
            piece.succs.push(ra::Block::new(to));
            piece.args.push(args);
        }
    }

    /// Adds the blocks on the edges that can take no code.
    fn edges(&mut self, block: Block) {
        for (to, _) in std::mem::take(&mut self.numbers.on_edges[block]) {
            self.begin(Vec::new());
            self.item(Content::Instructions(0), None, &[], Taken::default());
            self.end(vec![(self.numbers.head[to], Vec::new())]);
        }
    }

    /// Reads the cells of the φs, and writes the homes of their definitions.
    fn define_phis(&mut self, phis: &[&Phi], at: Point) -> Result<(), Unsupported> {
        for phi in phis {
            if let Some(cell) = self.context.homes.cells[phi.def].expand() {
                self.load(cell, self.name(phi.def), phi.def, at)?;
            }
            self.store_home(phi.def, at)?;
        }
        Ok(())
    }

    fn store_home(&mut self, value: Value, at: Point) -> Result<(), Unsupported> {
        match self.context.homes.of[value].expand() {
            Some(home) => self.store(home, self.name(value), value, at),
            None => Ok(()),
        }
    }

    /// Writes cells and names φ arguments before a block is left for some of its successors.
    fn leave(&mut self, at: Point, wanted: fn(&BlockData) -> bool) -> Result<Vec<Exit>, Unsupported> {
        let Context { function, liveness, .. } = self.context;
        let mut exits = Vec::new();
        for &to in function.blocks[at.block].succs.iter().filter(|&&to| wanted(&function.blocks[to])) {
            let column = function.column(at.block, to);
            let mut args = Vec::new();
            for phi in live_phis(function, liveness, to) {
                args.extend(self.argument(phi, column, at)?);
            }
            exits.push((self.numbers.target(at.block, to), args));
        }
        Ok(exits)
    }

    /// The name of a φ's argument; if the φ has a cell, the argument goes there.
    fn argument(&mut self, phi: &Phi, column: usize, at: Point) -> Result<Option<VReg>, Unsupported> {
        let value = phi.args[column].expand();
        match (self.context.homes.cells[phi.def].expand(), value) {
            (Some(cell), Some(value)) => {
                let source = self.read(value, at)?;
                self.store(cell, source, value, at)?;
                Ok(None)
            }
            (Some(_), None) => Ok(None),
            (None, Some(value)) => Ok(Some(self.read(value, at)?)),
            (None, None) => Ok(Some(self.undefined(phi.def, at))),
        }
    }

    /// A name for a value that is used at a point: of a load, if it has a home.
    fn read(&mut self, value: Value, at: Point) -> Result<VReg, Unsupported> {
        let Some(home) = self.context.homes.of[value].expand() else { return Ok(self.name(value)) };
        let name = self.fresh(value);
        self.load(home, name, value, at)?;
        Ok(name)
    }

    /// A name in the class of this value, with arbitrary content.
    fn undefined(&mut self, like: Value, at: Point) -> VReg {
        let name = self.fresh(like);
        let operand = ra::Operand::new(name, OperandConstraint::Any, OperandKind::Def, OperandPos::Late);
        self.item(Content::Instructions(0), Some(at), &[(operand, None)], self.occupied(at));
        name
    }

    fn load(&mut self, home: Slot, name: VReg, value: Value, at: Point) -> Result<(), Unsupported> {
        let mut taken = self.occupied(at);
        let constraint = self.constraints.of_transfer(value, &mut taken)?;
        let operand = ra::Operand::new(name, constraint, OperandKind::Def, OperandPos::Late);
        self.item(Content::Load(home), Some(at), &[(operand, None)], self.occupied(at));
        Ok(())
    }

    fn store(&mut self, home: Slot, name: VReg, value: Value, at: Point) -> Result<(), Unsupported> {
        let mut taken = self.occupied(at);
        let constraint = self.constraints.of_transfer(value, &mut taken)?;
        let operand = ra::Operand::new(name, constraint, OperandKind::Use, OperandPos::Early);
        self.item(Content::Store(home), Some(at), &[(operand, None)], self.occupied(at));
        Ok(())
    }

    /// The physical registers in which the program keeps something at a point.
    fn occupied(&self, at: Point) -> Taken {
        let live = self.context.pins.at(self.context.function, at);
        Taken { early: live, late: live, clobbered: RegSet::EMPTY }
    }

    /// Translates instructions that are one for regalloc2.
    fn instructions(&mut self, at: Point, count: u32) -> Result<(), Unsupported> {
        let Context { function, pins, .. } = self.context;
        let first = function.blocks[at.block].insts.start + at.index;
        let insts = (first..first + count).map(Inst::from_u32);
        let mut names = Vec::new();
        let mut taken = self.occupied(at);
        for inst in insts.clone() {
            names.push(self.names(inst, at)?);
            let occupancy = pins.occupancy(function, at.block, inst);
            taken.early |= function.pins(inst).early_defs;
            taken.late |= occupancy.after | taken.early;
            taken.clobbered |= occupancy.clobbers;
            if let Some(reg) = self.constraints.arrival(inst) {
                taken.early.remove(reg);
                taken.late.remove(reg);
            }
        }
        let occupied = taken;
        let mut operands: Vec<(ra::Operand, Option<u32>)> = Vec::new();
        let last = function.blocks[at.block].throws == Inst::from_u32(first).into();
        for (inst, names) in insts.zip(names) {
            self.operands(inst, &names, last, &mut taken, &mut operands)?;
        }
        self.item(Content::Instructions(count), Some(at), &operands, occupied);
        Ok(())
    }

    /// Adds an instruction's operands.
    fn operands(
        &mut self,
        inst: Inst,
        names: &[Option<VReg>],
        last: bool,
        taken: &mut Taken,
        to: &mut Vec<(ra::Operand, Option<u32>)>,
    ) -> Result<(), Unsupported> {
        let function = self.context.function;
        let mut next = to.len();
        let present: Vec<Option<usize>> = names
            .iter()
            .map(|name| {
                let at = name.map(|_| next);
                next += usize::from(name.is_some());
                at
            })
            .collect();
        let wishes = self.constraints.of_instruction(inst, &present, last, taken)?;
        let start = function.insts[inst].operands.start;
        for (k, (name, wish)) in names.iter().zip(wishes).enumerate() {
            let (Some(name), Some(wish)) = (*name, wish) else { continue };
            let kind = if function.operands(inst)[k].is_def() { OperandKind::Def } else { OperandKind::Use };
            to.push((ra::Operand::new(name, wish.constraint, kind, wish.pos), Some(start + k as u32)));
        }
        Ok(())
    }

    /// The names of an instruction's operands; none for those that repeat another or are accessed in their homes. Others that
    /// have a home are loaded.
    fn names(&mut self, inst: Inst, at: Point) -> Result<Vec<Option<VReg>>, Unsupported> {
        let Context { function, homes, .. } = self.context;
        let foldable = self.constraints.foldable(inst);
        let operands = function.operands(inst);
        let number = |k: usize| function.insts[inst].operands.start + k as u32;
        let mut names = Vec::new();
        for (k, operand) in operands.iter().enumerate() {
            let home = homes.of[operand.value].expand().filter(|_| !operand.is_def());
            names.push(match (home, first_read(operands, k)) {
                (_, Some(first)) => {
                    self.program.repeated.push((number(k), number(first)));
                    None
                }
                (Some(home), _) if foldable == Some(k) => {
                    self.program.in_homes.push((number(k), home));
                    None
                }
                (Some(_), _) => Some(self.read(operand.value, at)?),
                (None, _) => Some(self.name(operand.value)),
            });
        }
        Ok(names)
    }

    fn name(&self, value: Value) -> VReg {
        VReg::new(value.index(), self.class(value))
    }

    /// A new name in the class of this value.
    fn fresh(&mut self, like: Value) -> VReg {
        let class = self.class(like);
        self.program.num_vregs += 1;
        VReg::new(self.program.num_vregs - 1, class)
    }

    fn class(&self, value: Value) -> ra::RegClass {
        let function = self.context.function;
        self.context.registers.class(function.file.classes[function.values[value].class].bank)
    }

    /// Adds an item at which these registers are not available.
    fn item(&mut self, content: Content, at: Option<Point>, operands: &[(ra::Operand, Option<u32>)], occupied: Taken) {
        let program = &mut self.program;
        let first = program.operands.len();
        for &(operand, origin) in operands {
            program.operands.push(operand);
            program.origins.push(origin);
        }
        for preg in occupied.early.iter().filter_map(|reg| self.context.registers.preg(reg)) {
            let name = VReg::new(program.num_vregs, preg.class());
            program.num_vregs += 1;
            program.operands.push(ra::Operand::reg_fixed_def_at_start(name, preg));
            program.origins.push(None);
        }
        // A register that a definition names is occupied by the definition itself.
        let named = |operand: &ra::Operand| match operand.constraint() {
            OperandConstraint::FixedReg(preg) if operand.kind() == OperandKind::Def => Some(preg),
            _ => None,
        };
        let named: PRegSet = program.operands[first..].iter().filter_map(named).collect();
        let destroyed = (occupied.late | occupied.clobbered).iter().filter_map(|reg| self.context.registers.preg(reg));
        let clobbers = destroyed.filter(|&preg| !named.contains(preg)).collect();
        program.items.push(Item { content, at, operands: first..program.operands.len(), clobbers });
    }

    /// Fills in the predecessors.
    fn finish(mut self) -> Program {
        for from in 0..self.program.pieces.len() {
            for to in self.program.pieces[from].succs.clone() {
                self.program.pieces[to.index()].preds.push(ra::Block::new(from));
            }
        }
        self.program
    }
}

/// The first operand that reads the same value as this one, if neither is tied to a definition.
fn first_read(operands: &[Operand], k: usize) -> Option<usize> {
    let untied = |k: usize| !operands[k].is_def() && operands.iter().all(|o| o.reuse.map(usize::from) != Some(k));
    (0..k).find(|&first| operands[first].value == operands[k].value && untied(first) && untied(k))
}
