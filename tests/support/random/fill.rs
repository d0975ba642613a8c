//! Random φs and instructions for a given control-flow graph.

use super::Shape;
use super::cfg::{self, throws};
use super::steps::Draft;
use chordal::machine::{
    Block, DebugUse, Function, InstData, InstFlags, InstKind, Operand, Phi, PinSets, Pins, Point, Reg, RegClass, RegSet,
    RegisterFile, Role, Value,
};
use cranelift_entity::EntityRef;
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::Arc;

/// A function whose blocks are being filled, and the state in the current block.
pub struct Filler<'a> {
    pub function: &'a mut Function,
    pub shape: &'a Shape,
    pub rng: &'a mut Rng,
    /// The values defined on every path here, in the order of definition.
    pub pool: Vec<Value>,
    /// The instructions of the block so far.
    pub drafts: Vec<Draft>,
    /// The physical registers that are live here.
    pub live: RegSet,
    /// Values for the debugger, each with the draft that it precedes.
    pub debug: Vec<(usize, Value)>,
}

/// Gives every block φs and instructions.
pub fn fill_blocks(function: &mut Function, shape: &Shape, rng: &mut Rng) {
    let dominators = cfg::dominators(function);
    let mut pools: Vec<Vec<Value>> = vec![Vec::new(); dominators.idom.len()];
    let mut bodies: Vec<Body> = function.blocks.keys().map(|_| Body::default()).collect();
    let live_outs = choose_live_ins(function, shape, rng);
    for block in dominators.order {
        let first_half = 2 * block.index();
        let pool = dominators.idom[first_half].map_or(Vec::new(), |idom| pools[idom].clone());
        let live = function.blocks[block].live_in_pins;
        let mut filler = Filler { function, shape, rng, pool, drafts: Vec::new(), live, debug: Vec::new() };
        pools[first_half] = filler.first_half(block);
        filler.second_half(block, live_outs[block.index()]);
        pools[first_half + 1] = filler.pool;
        bodies[block.index()] = Body { drafts: filler.drafts, debug: filler.debug };
    }
    let reserved = reserved(&function.file);
    function.blocks.values_mut().for_each(|data| data.live_in_pins |= reserved);
    add_arguments(function, &pools, rng);
    number_instructions(function, bodies);
}

/// Registers that always hold something and are never allocated.
pub fn reserved(file: &RegisterFile) -> RegSet {
    (0..file.regs.len()).map(Reg::new).filter(|&reg| file.bank(reg).is_none() && !file.status.contains(reg)).collect()
}

/// Chooses the registers live into blocks; returns, by block, those that must therefore be live at its end.
fn choose_live_ins(function: &mut Function, shape: &Shape, rng: &mut Rng) -> Vec<RegSet> {
    let mut live_outs = vec![RegSet::EMPTY; function.blocks.len()];
    if !shape.pins {
        return live_outs;
    }
    let file = function.file.clone();
    let arguments = ["", "a", "a b", "a s", "d c t", "x0", "b x1 s", "a b s x0 x1"][rng.usize(..8)];
    let entry = function.entry();
    function.blocks[entry].live_in_pins = shape.registers(&file, arguments);
    for block in function.blocks.keys().skip(1) {
        let data = &function.blocks[block];
        if data.landing_pad {
            function.blocks[block].live_in_pins = shape.registers(&file, ["a d", "a d", ""][rng.usize(..3)]);
        } else if !data.on_edge && rng.u8(..6) == 0 {
            let live = if rng.u8(..6) == 0 { shape.registers(&file, "s") } else { file.status };
            function.blocks[block].live_in_pins |= live;
            for mut pred in function.blocks[block].preds.clone() {
                if function.blocks[pred].on_edge {
                    function.blocks[pred].live_in_pins |= live;
                    pred = function.blocks[pred].preds[0];
                }
                live_outs[pred.index()] |= live;
            }
        }
    }
    live_outs
}

impl Filler<'_> {
    /// Makes the φs and the instructions before the block throws; returns the values defined until then.
    fn first_half(&mut self, block: Block) -> Vec<Value> {
        let data = &self.function.blocks[block];
        let (joins, pad, on_edge) = (data.preds.len(), data.landing_pad, data.on_edge);
        if on_edge {
            return self.pool.clone();
        }
        let phis = match joins {
            0 => 0,
            // They would have to take what inline assembly defines from the end of its block.
            1 if self.shape.jumps => 0,
            1 => usize::from(self.rng.u8(..8) == 0),
            _ => self.rng.usize(..=self.shape.phis_per_block),
        };
        for _ in 0..phis {
            let class = self.class();
            let def = self.define(class);
            self.function.blocks[block].phis.push(Phi { def, args: Default::default() });
        }
        if pad || self.rng.u8(..8) == 0 {
            self.drafts.push(Draft { flags: InstFlags::LABEL, ..Draft::default() });
        }
        self.steps();
        if throws(self.function, block) {
            self.end_intervals(self.live);
            self.call(true)
        } else {
            self.pool.clone()
        }
    }

    fn second_half(&mut self, block: Block, live_out: RegSet) {
        let data = &self.function.blocks[block];
        if data.on_edge {
            return;
        }
        let succs = data.succs.len();
        let has_one_pred = |&succ: &Block| self.function.blocks[succ].preds.len() == 1;
        let may_jump = self.shape.jumps && !throws(self.function, block) && data.succs.iter().all(has_one_pred);
        if throws(self.function, block) {
            self.steps();
        }
        let flags = self.function.file.status;
        self.end_intervals(self.live - (live_out - flags));
        self.begin_intervals(live_out - flags - self.live);
        if live_out.intersects(flags) || (self.shape.pins && succs > 1 && self.rng.bool()) {
            self.compare();
        }
        match succs > 1 && may_jump && self.rng.u8(..3) != 0 {
            true => self.jump(),
            false => self.terminators(succs),
        }
    }

    fn steps(&mut self) {
        for _ in 0..self.rng.usize(..=2 * self.shape.insts_per_block) {
            self.step();
        }
    }

    fn terminators(&mut self, succs: usize) {
        match succs {
            0 => self.return_value(),
            // It falls through.
            1 if self.rng.u8(..3) == 0 => {}
            1 => self.drafts.push(Draft { flags: InstFlags::TERMINATOR, ..Draft::default() }),
            _ => {
                let pins = PinSets { uses: self.live, ..PinSets::default() };
                // Only the first terminator reads values, since nothing can be loaded between terminators.
                let uses = self.rng.usize(..3);
                self.op(pins, uses, 0).flags.insert(InstFlags::TERMINATOR);
                for _ in 0..[0, 0, 1, 1, 1, 2][self.rng.usize(..6)] {
                    self.op(pins, 0, 0).flags.insert(InstFlags::TERMINATOR);
                }
            }
        }
    }

    /// A random class, more often an early one of the shape.
    pub fn class(&mut self) -> RegClass {
        let classes = self.shape.classes(&self.function.file);
        classes[self.rng.usize(..classes.len()).min(self.rng.usize(..classes.len()))]
    }

    pub fn define(&mut self, class: RegClass) -> Value {
        let value = self.function.values.push(class.into());
        self.pool.push(value);
        value
    }
}

/// Draws every φ's arguments from the values defined at the start of the edge.
fn add_arguments(function: &mut Function, pools: &[Vec<Value>], rng: &mut Rng) {
    for block in function.blocks.keys() {
        let defs: Vec<Value> = function.blocks[block].phis.iter().map(|phi| phi.def).collect();
        if let Some(other) = alike(function, block).filter(|_| rng.u8(..4) != 0) {
            let args: Vec<_> = function.blocks[other].phis.iter().map(|phi| phi.args.clone()).collect();
            function.blocks[block].phis.iter_mut().zip(args).for_each(|(phi, args)| phi.args = args);
            continue;
        }
        for pred in function.blocks[block].preds.clone() {
            let pool = &pools[cfg::exit(function, pred, block)];
            let mut previous = None;
            for (row, &def) in defs.iter().enumerate() {
                let value = argument(function, pool, &defs, def, previous, rng);
                previous = value;
                function.blocks[block].phis[row].args.push(value.into());
            }
        }
    }
}

/// An earlier block with the same predecessors and φs of the same classes: both may take the same arguments, as after
/// computed goto.
fn alike(function: &Function, block: Block) -> Option<Block> {
    let classes = |block: Block| function.blocks[block].phis.iter().map(|phi| function.values[phi.def].class);
    let leaves = |block: Block| function.blocks[block].preds.iter().map(move |&pred| cfg::exit(function, pred, block));
    (0..block.index()).map(Block::new).find(|&other| leaves(other).eq(leaves(block)) && classes(other).eq(classes(block)))
}

/// A random argument: often another φ of the block (the swap and lost-copy problems) or the previous φ's argument, sometimes
/// none.
fn argument(f: &Function, pool: &[Value], defs: &[Value], def: Value, previous: Option<Value>, rng: &mut Rng) -> Option<Value> {
    let class = |value: Value| f.values[value].class;
    let bank = |value: Value| f.file.classes[class(value)].bank;
    let same_class = rng.u8(..8) != 0;
    let fits = |value: &Value| if same_class { class(*value) == class(def) } else { bank(*value) == bank(def) };
    let candidates: Vec<Value> = match rng.u8(..12) {
        0 => return None,
        1..=4 => defs.iter().copied().filter(|d| pool.contains(d) && fits(d)).collect(),
        5..=6 => previous.into_iter().filter(fits).collect(),
        _ => Vec::new(),
    };
    let recent = pool.iter().rev().copied().filter(fits).take(6).collect::<Vec<_>>();
    let any = pool.iter().copied().filter(|&value| bank(value) == bank(def)).collect::<Vec<_>>();
    [candidates, recent, any].into_iter().find_map(|values| rng.choice(values))
}

/// The parts of a block before its instructions have numbers.
#[derive(Default)]
struct Body {
    drafts: Vec<Draft>,
    debug: Vec<(usize, Value)>,
}

fn number_instructions(function: &mut Function, bodies: Vec<Body>) {
    let mut interned: HashMap<PinSets, Pins> = function.pins.iter().map(|(pins, sets)| (*sets, pins)).collect();
    for (block, body) in function.blocks.keys().zip(bodies) {
        let start = function.insts.len() as u32;
        for draft in body.drafts {
            let first = function.operands.len() as u32;
            let inst = function.insts.next_key();
            let mut operands = draft.operands;
            if !draft.flags.contains(InstFlags::RECOMPUTABLE) {
                offer_forms(function, &mut operands, &mut Rng::with_seed(inst.index() as u64));
            }
            function.operands.extend(operands);
            if draft.throws {
                function.blocks[block].throws = inst.into();
            }
            let pins = *interned.entry(draft.pins).or_insert_with(|| Arc::make_mut(&mut function.pins).push(draft.pins));
            let mut flags = flags(draft.flags, draft.kind, inst.index());
            let operands = first..function.operands.len() as u32;
            let extends = may_extend(function, &function.operands[first as usize..], flags);
            flags.set(InstFlags::EXTENDS, extends && pins == Pins::NOTHING && !inst.index().is_multiple_of(3));
            function.insts.push(InstData { origin: inst.into(), pins, flags, ..InstData::new(draft.kind, operands) });
        }
        function.blocks[block].insts = start..function.insts.len() as u32;
        let uses = body.debug.into_iter().map(|(index, value)| DebugUse { value, at: Point { block, index: index as u32 } });
        function.debug_uses.extend(uses);
    }
}

/// Whether an instruction could extend the value that it reads.
fn may_extend(function: &Function, operands: &[Operand], flags: InstFlags) -> bool {
    let class = |operand: &Operand| &function.file.classes[function.values[operand.value].class];
    match operands {
        [def, read] if flags.contains(InstFlags::RECOMPUTABLE) && def.reuse.is_none() => {
            class(def).bank == class(read).bank
                && class(def).slot_size >= class(read).slot_size
                && function.has_one_form(def.value)
        }
        _ => false,
    }
}

/// An instruction's properties: by its number, some that it could have.
fn flags(draft: InstFlags, kind: InstKind, number: usize) -> InstFlags {
    let repeated = draft.intersects(InstFlags::REMATERIALISABLE | InstFlags::RECOMPUTABLE);
    let constant = draft.contains(InstFlags::REMATERIALISABLE);
    let is_elsewhere = repeated || draft.contains(InstFlags::MOVABLE);
    let mut flags = draft;
    flags.set(InstFlags::DEAR, number.is_multiple_of(3));
    flags.set(InstFlags::STORABLE, constant && !number.is_multiple_of(5));
    flags.set(InstFlags::GIVEN, constant && number % 4 < 2);
    flags.set(InstFlags::MOVABLE, draft.contains(InstFlags::MOVABLE) && number.is_multiple_of(2));
    flags.set(InstFlags::READS, kind == InstKind::Op && !constant && number.is_multiple_of(3));
    flags.set(InstFlags::WRITES, kind == InstKind::Op && !is_elsewhere && number % 5 < 2);
    flags
}

/// Has some definitions overwrite another use instead, or none, if that is chosen.
fn offer_forms(function: &Function, operands: &mut [Operand], rng: &mut Rng) {
    let class = |value: Value| function.values[value].class;
    let may = |o: &Operand| o.reuse.is_some() && o.role == Role::Def;
    for k in (0..operands.len()).filter(|&k| may(&operands[k])).collect::<Vec<_>>() {
        let others = (0..operands.len().min(16)).filter(|&other| {
            let Operand { value, role, .. } = operands[other];
            let taken = |o: &Operand| o.overwritable().any(|it| it == other as u8);
            role == Role::Use && !operands.iter().any(taken) && class(value) == class(operands[k].value)
        });
        let others: Vec<usize> = others.collect();
        operands[k].reuse_instead = others.iter().filter(|_| rng.bool()).map(|&other| other as u8).collect();
        if let Some(reused) = operands[k].reuse.filter(|_| !operands[k].reuse_instead.is_empty()) {
            operands[usize::from(reused)].foldable = rng.bool();
        }
        operands[k].reuse_none = rng.u8(..4) == 0;
    }
}
