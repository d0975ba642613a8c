//! The phases' results, laid over the imported function.

use super::{EdgeCode, SwapPolicy, Transfer, sequentialise, surroundings};
use crate::allocate::assign::Coloured;
use crate::allocate::changes::Changes;
use crate::allocate::spill::{Fold, Memory};
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{
    Block, Edit, Function, Inserted, Inst, InstFlags, InstKind, Location, Overlay, Point, Reg, RegClass, RegSet, Slot, Value,
};
use smallvec::SmallVec;

/// The overlay of `imported` that the phases' results amount to. The program that was allocated differs from it by
/// `changes`.
pub fn overlay(
    (imported, changes): (&Function, &Changes),
    memory: &Memory,
    coloured: &Coloured,
    liveness: &Liveness,
    pins: &PinLiveness,
    code: &EdgeCode,
    policy: SwapPolicy,
) -> Overlay {
    let mut layer = Layer {
        imported,
        changes,
        coloured,
        liveness,
        pins,
        policy,
        counts_names: false,
        names_in: [0; RegSet::CAPACITY],
        next_fold: 0,
        next_debug: 0,
        overlay: Overlay {
            locations: vec![None; imported.operands.len()],
            edits: Vec::new(),
            slots: code.slots.clone(),
            given: memory.given.clone(),
            dropped: Vec::new(),
            debug_locations: Vec::new(),
        },
    };
    // A program that was taken out of SSA form before allocation has no blocks on edges, and no code for them.
    for block in coloured.function.blocks.keys() {
        layer.block(block, code);
    }
    let debug_locations = debug_locations(&layer, memory, code);
    Overlay { debug_locations, ..layer.overlay }
}

struct Layer<'a> {
    imported: &'a Function,
    changes: &'a Changes,
    coloured: &'a Coloured,
    /// Liveness of the coloured function.
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    policy: SwapPolicy,
    /// Whether the current block has parallel copies. Only for these are names counted.
    counts_names: bool,
    /// How many names that are live at the current point are in each register. There may be several if they are copies of
    /// one another, and so one variable.
    names_in: [u32; RegSet::CAPACITY],
    /// How many folded operands have been located.
    next_fold: usize,
    /// How many debug uses come before the current point.
    next_debug: usize,
    overlay: Overlay,
}

impl Layer<'_> {
    fn block(&mut self, block: Block, code: &EdgeCode) {
        let function = &self.coloured.function;
        let head = self.imported.head(block).index;
        let tail = self.imported.before_terminators(block).index;
        let mut point = Point { block, index: 0 };
        let mut started = false;
        let mut ended = false;
        let start = self.imported.blocks[block].insts.start;
        self.enter(block);
        for inst in function.block_insts(block) {
            self.read(inst);
            let origin = function.insts[inst].origin.expand();
            let movable = origin.filter(|&origin| self.imported.insts[origin].is(InstFlags::MOVABLE));
            let moved = movable.and_then(|origin| Some((origin, *self.changes.moved.get(&origin)?)));
            let parked = origin.filter(|origin| self.changes.parked.contains_key(origin));
            let passed = match parked {
                // A parked copy to a register has moved up, so the instructions that it has overtaken come after it.
                Some(origin) if matches!(self.imported.insts[origin].kind, InstKind::CopyTo(_)) => None,
                // The instructions that it has moved past may be dropped.
                Some(origin) => Some(origin.as_u32() + 1).filter(|&passed| passed > start + point.index),
                None if moved.is_some() => None,
                None => match origin {
                    Some(origin) => Some(origin.as_u32()),
                    None => self.passed(block, inst, start + point.index),
                },
            };
            let index = passed.map_or(point.index, |passed| passed - start);
            if !started && index >= head {
                started = true;
                self.skip_to(&mut point, head);
                self.add(point, &code.head[block]);
            }
            self.skip_to(&mut point, index);
            if let Some((origin, flagless)) = moved {
                self.locate(origin, inst);
                self.push(point, Edit::Perform { inst: origin, flagless });
                self.define(inst);
                continue;
            }
            if let Some(origin) = parked {
                self.park(origin, inst, point);
                self.define(inst);
                continue;
            }
            match origin {
                Some(origin) => {
                    if !ended && point.index >= tail {
                        ended = true;
                        self.add(point, &code.tail[block]);
                    }
                    let copied = Some(origin).filter(|&copy| matches!(self.imported.insts[copy].kind, InstKind::CopyTo(_)));
                    match copied.and_then(|copy| self.changes.computed.get(&copy)) {
                        Some(&constant) => self.compute(origin, constant, point),
                        None => {
                            self.locate(origin, inst);
                            if self.changes.computes_in_place {
                                self.compute_in_place(point, origin, inst);
                            }
                        }
                    }
                    point.index += 1;
                }
                None => self.inserted(inst, point),
            }
            self.define(inst);
        }
        if !started {
            self.skip_to(&mut point, head);
            self.add(point, &code.head[block]);
        }
        self.skip_to(&mut point, self.imported.blocks[block].insts.len() as u32);
        if !ended {
            self.add(point, &code.tail[block]);
        }
    }

    /// The end of the imported instructions that come before an inserted one; `None` if it comes before all from `next` on.
    /// There are two reasons to put it later. A recomputation comes after the definition that it repeats, which is not
    /// executed where it stands. And debug uses that come before an inserted instruction, next to instructions that are not
    /// executed there, stay before it.
    fn passed(&mut self, block: Block, inst: Inst, next: u32) -> Option<u32> {
        let function = &self.coloured.function;
        let start = self.imported.blocks[block].insts.start;
        let to_come = next..self.imported.blocks[block].insts.end;
        let at = Point { block, index: inst.as_u32() - function.blocks[block].insts.start };
        let debug_uses = function.debug_uses[self.next_debug..].iter().take_while(|debug| debug.at <= at).count();
        self.next_debug += debug_uses;
        let noted = self.imported.debug_uses[..self.next_debug].last().filter(|debug| debug.at.block == block);
        let noted = noted.map(|debug| start + debug.at.index);
        let again = match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Rematerialise(again)) if function.operands(inst).len() > 1 => Some(again.as_u32()),
            _ => None,
        };
        noted.into_iter().chain(again).filter(|passed| to_come.contains(passed)).max().map(|passed| passed + 1)
    }

    /// Passes imported instructions up to an index, which are not executed where they stand. A parked copy becomes a no-op
    /// there: its value is in the register that it copies from or to. All others are dropped.
    fn skip_to(&mut self, point: &mut Point, index: u32) {
        let start = self.imported.blocks[point.block].insts.start;
        for inst in (start + point.index..start + index).map(Inst::from_u32) {
            match self.imported.insts[inst].kind {
                InstKind::CopyTo(reg) | InstKind::CopyFrom(reg) if self.changes.parked.contains_key(&inst) => {
                    self.overlay.locations[self.imported.insts[inst].operands.start as usize] = Some(Location::Reg(reg));
                }
                _ => self.overlay.dropped.push(inst),
            }
        }
        point.index = index;
    }

    /// Adds the edit that a parked copy has become, where it stands now.
    fn park(&mut self, origin: Inst, inst: Inst, point: Point) {
        let class = self.changes.parked[&origin];
        let slot = self.folds(inst).first().map(|fold| fold.slot);
        let edit = match (self.imported.insts[origin].kind, slot) {
            (InstKind::CopyTo(to), Some(from)) => Edit::Load { to, from, class },
            (InstKind::CopyTo(to), None) => Edit::Move { to, from: self.operand(inst), class },
            (InstKind::CopyFrom(from), Some(to)) => Edit::Store { from, to, class },
            (InstKind::CopyFrom(from), None) => Edit::Move { to: self.operand(inst), from, class },
            _ => unreachable!("only copies of the program's registers are parked"),
        };
        self.push(point, edit);
    }

    /// The register of an instruction's first operand.
    fn operand(&self, inst: Inst) -> Reg {
        self.colour(self.coloured.function.operands(inst)[0].value)
    }

    fn add(&mut self, point: Point, edits: &[Edit]) {
        edits.iter().for_each(|&edit| self.push(point, edit));
    }

    fn colour(&self, name: Value) -> Reg {
        self.coloured.colours.of(name)
    }

    /// Counts the names that are live at a block's head, if the block needs the counts.
    fn enter(&mut self, block: Block) {
        let function = &self.coloured.function;
        let is_parallel = |inst: Inst| matches!(function.insts[inst].kind, InstKind::Inserted(Inserted::Parallel));
        self.counts_names = function.block_insts(block).any(is_parallel);
        if self.counts_names {
            self.names_in = [0; RegSet::CAPACITY];
            let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !self.liveness.is_dead(def));
            let live = self.liveness.live_in(block).iter().copied().chain(phis);
            live.for_each(|name| self.names_in[self.colour(name).index()] += 1);
        }
    }

    /// Takes the names that an instruction reads last out of the counts.
    fn read(&mut self, inst: Inst) {
        if !self.counts_names {
            return;
        }
        let function = &self.coloured.function;
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            let ends = !operand.is_def() && self.liveness.kills(first + k);
            // If a name dies, all its uses say so; it is counted once.
            if ends && operands[..k].iter().all(|other| other.is_def() || other.value != operand.value) {
                self.names_in[self.colour(operand.value).index()] -= 1;
            }
        }
    }

    /// Adds the names that an instruction defines to the counts.
    fn define(&mut self, inst: Inst) {
        if !self.counts_names {
            return;
        }
        let function = &self.coloured.function;
        let first = function.insts[inst].operands.start as usize;
        for (k, operand) in function.operands(inst).iter().enumerate() {
            if operand.is_def() && !self.liveness.kills(first + k) {
                self.names_in[self.colour(operand.value).index()] += 1;
            }
        }
    }

    /// The folds of an instruction. Instructions ask for them in order.
    fn folds(&mut self, inst: Inst) -> SmallVec<[Fold; 2]> {
        let rest = &self.coloured.folds[self.next_fold..];
        let folds: SmallVec<[Fold; 2]> = rest.iter().take_while(|fold| fold.inst == inst).copied().collect();
        self.next_fold += folds.len();
        folds
    }

    /// Computes a constant in the register to which an imported instruction would copy it.
    fn compute(&mut self, origin: Inst, constant: Inst, point: Point) {
        let InstKind::CopyTo(to) = self.imported.insts[origin].kind else { unreachable!("only copies are computed") };
        self.push(point, Edit::Rematerialise { to, inst: constant, from: None });
        self.overlay.locations[self.imported.insts[origin].operands.start as usize] = Some(Location::Reg(to));
    }

    /// A constant that is rematerialised right before a copy to a register of the program, and only for it, is computed in
    /// that register.
    fn compute_in_place(&mut self, point: Point, origin: Inst, copy: Inst) {
        let InstKind::CopyTo(to) = self.imported.insts[origin].kind else { return };
        if self.is_computed_for(point.block, copy)
            && let Some((stands, Edit::Rematerialise { to: computed, .. })) = self.overlay.edits.last_mut()
        {
            // Instructions in between are dropped.
            (*stands, *computed) = (point, to);
            self.overlay.locations[self.imported.insts[origin].operands.start as usize] = Some(Location::Reg(to));
        }
    }

    /// Whether the instruction before a copy rematerialises a constant that nothing else reads.
    fn is_computed_for(&self, block: Block, copy: Inst) -> bool {
        let function = &self.coloured.function;
        let insts = &function.insts;
        let before = copy.as_u32().checked_sub(1).filter(|before| function.blocks[block].insts.contains(before));
        let Some(before) = before.map(Inst::from_u32) else { return false };
        let again = matches!(insts[before].kind, InstKind::Inserted(Inserted::Rematerialise(_)));
        match (function.operands(before), function.operands(copy)) {
            ([computed], [read]) => {
                let dies = self.liveness.kills(insts[copy].operands.start as usize);
                again && computed.value == read.value && dies && function.has_one_form(read.value)
            }
            _ => false,
        }
    }

    /// Notes the locations of an imported instruction's operands.
    fn locate(&mut self, origin: Inst, inst: Inst) {
        let folds = self.folds(inst);
        let mut in_registers = self.coloured.function.operands(inst).iter();
        for (k, place) in self.imported.insts[origin].operands.clone().enumerate() {
            let location = match folds.iter().find(|fold| fold.operand == k) {
                Some(fold) => Location::Slot(fold.slot),
                None => Location::Reg(self.colour(in_registers.next().expect("what is not folded is in a register").value)),
            };
            self.overlay.locations[place as usize] = Some(location);
        }
    }

    /// Adds the edits that an inserted instruction becomes.
    fn inserted(&mut self, inst: Inst, point: Point) {
        let function = &self.coloured.function;
        let operands = function.operands(inst);
        let reg = |k: usize| self.colour(operands[k].value);
        let class = |k: usize| function.values[operands[k].value].class;
        let edit = match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Parallel) => return self.parallel(inst, point),
            InstKind::Inserted(Inserted::Load(_)) if self.coloured.redundant.contains(operands[0].value) => return,
            InstKind::Inserted(Inserted::Load(from)) => Edit::Load { to: reg(0), from, class: class(0) },
            InstKind::Inserted(Inserted::Store(to)) => Edit::Store { from: reg(0), to, class: class(0) },
            InstKind::Inserted(Inserted::StoreConstant(to, inst)) => Edit::StoreConstant { to, inst },
            InstKind::Inserted(Inserted::Rematerialise(inst)) => {
                Edit::Rematerialise { to: reg(0), inst, from: (operands.len() > 1).then(|| reg(1)) }
            }
            InstKind::Copy if reg(0) == reg(1) => return,
            InstKind::Copy => {
                let (to, from) = (reg(0), reg(1));
                Edit::Move { to, from, class: function.file.carrier_between(class(1), class(0), RegSet::from_iter([to, from])) }
            }
            // A copy that isolates a φ, one side of which is in memory.
            InstKind::Op => {
                let (from, class) = (reg(0), class(0));
                let [fold] = self.folds(inst)[..] else { unreachable!("no phase inserts operations") };
                if fold.writes {
                    Edit::Store { from, to: fold.slot, class }
                } else {
                    Edit::Load { to: from, from: fold.slot, class }
                }
            }
            InstKind::CopyTo(_) | InstKind::CopyFrom(_) => unreachable!("no phase inserts copies of the program's registers"),
        };
        self.push(point, edit);
    }

    /// Adds the moves and swaps that implement a parallel copy.
    fn parallel(&mut self, inst: Inst, point: Point) {
        let function = &self.coloured.function;
        let index = inst.as_u32() - function.blocks[point.block].insts.start;
        let pairs = function.operands(inst).chunks(2);
        let transfers: Vec<Transfer> = pairs
            .map(|pair| {
                let (to, from) = (self.colour(pair[0].value), self.colour(pair[1].value));
                Transfer { from, to, class: function.values[pair[1].value].class }
            })
            .collect();
        let kept = (0..RegSet::CAPACITY).filter(|&index| self.names_in[index] > 0).map(Reg::new).collect();
        let around = surroundings(self.coloured, self.pins, Point { index, ..point }, kept, self.policy);
        let steps = sequentialise(&transfers, &around);
        self.overlay.edits.extend(steps.into_iter().map(|step| (point, Edit::from(step))));
    }

    /// Adds an edit. Where registers have another form in memory for each width (x87), a slot is accessed in its full width:
    /// its web may have values of several widths.
    fn push(&mut self, point: Point, edit: Edit) {
        let in_form = |slot: Slot, class: RegClass| self.imported.file.memory_form(class, self.overlay.slots[slot].size);
        let edit = match edit {
            Edit::Load { to, from, class } => Edit::Load { to, from, class: in_form(from, class) },
            Edit::Store { from, to, class } => Edit::Store { from, to, class: in_form(to, class) },
            other => other,
        };
        self.overlay.edits.push((point, edit));
    }
}

/// The locations of debug uses: the register that the value is in, unless an edge's code overwrites it before that point, or
/// else the slot.
fn debug_locations(layer: &Layer, memory: &Memory, code: &EdgeCode) -> Vec<Option<Location>> {
    let Layer { imported, coloured, .. } = layer;
    let found = imported.debug_uses.iter().zip(&coloured.debug).zip(&memory.debug_slots).map(|((debug, name), slot)| {
        let block = debug.at.block;
        let at_tail = debug.at.index >= imported.before_terminators(block).index;
        let moved = |reg: &Reg| {
            (debug.at.index < imported.head(block).index && writes(&code.head[block], *reg))
                || (at_tail && writes(&code.tail[block], *reg))
        };
        name.map(|name| coloured.colours.of(name)).filter(|reg| !moved(reg)).map(Location::Reg).or(slot.map(Location::Slot))
    });
    found.collect()
}

fn writes(edits: &[Edit], reg: Reg) -> bool {
    edits.iter().any(|edit| match *edit {
        Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. } => to == reg,
        Edit::Swap { a, b, .. } => a == reg || b == reg,
        Edit::Store { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => false,
    })
}
