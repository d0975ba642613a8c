//! Laying the result over the imported function.

use super::{EdgeCode, SwapPolicy, sequentialise, surroundings};
use crate::allocate::assign::Assignment;
use crate::allocate::spill::Spilled;
use crate::analysis::PinLiveness;
use crate::machine::{Block, Edit, Function, Inst, InstKind, Location, Overlay, Point, Reg, RegClass, Slot};

/// The overlay of `imported` that the phases' results amount to.
pub fn overlay(imported: &Function, spilled: &Spilled, assignment: &Assignment, code: &EdgeCode, policy: SwapPolicy) -> Overlay {
    let pins = PinLiveness::new(&spilled.function);
    let unused = Location::Reg(Reg::new(0));
    let mut layer = Layer {
        imported,
        spilled,
        assignment,
        pins,
        policy,
        repairs: 0,
        overlay: Overlay {
            locations: vec![unused; imported.operands.len()],
            edits: Vec::new(),
            slots: code.slots.clone(),
            dropped: Vec::new(),
            debug_locations: Vec::new(),
        },
    };
    for block in imported.blocks.keys() {
        layer.block(block, code);
    }
    let debug_locations = debug_locations(&layer, code);
    Overlay { debug_locations, ..layer.overlay }
}

struct Layer<'a> {
    imported: &'a Function,
    spilled: &'a Spilled,
    assignment: &'a Assignment,
    pins: PinLiveness,
    policy: SwapPolicy,
    /// The next of the assignment's repairs.
    repairs: usize,
    overlay: Overlay,
}

impl Layer<'_> {
    fn block(&mut self, block: Block, code: &EdgeCode) {
        let function = &self.spilled.function;
        let head = self.imported.head(block).index;
        let tail = self.imported.before_terminators(block).index;
        let mut point = Point { block, index: 0 };
        let mut started = false;
        let mut ended = false;
        let start = self.imported.blocks[block].insts.start;
        for inst in function.block_insts(block) {
            if let Some(origin) = function.insts[inst].origin.expand() {
                self.overlay.dropped.extend((start + point.index..origin.as_u32()).map(Inst::from_u32));
                point.index = origin.as_u32() - start;
            }
            if !started && point.index >= head {
                started = true;
                self.add(point, &code.head[block]);
            }
            self.repair(inst, point);
            match function.insts[inst].origin.expand() {
                Some(origin) => {
                    if !ended && point.index >= tail {
                        ended = true;
                        self.add(point, &code.tail[block]);
                    }
                    self.locate(origin, inst);
                    point.index += 1;
                }
                None => self.inserted(inst, point),
            }
        }
        self.overlay.dropped.extend((start + point.index..self.imported.blocks[block].insts.end).map(Inst::from_u32));
        point.index = self.imported.blocks[block].insts.len() as u32;
        if !started {
            self.add(point, &code.head[block]);
        }
        if !ended {
            self.add(point, &code.tail[block]);
        }
    }

    fn add(&mut self, point: Point, edits: &[Edit]) {
        edits.iter().for_each(|&edit| self.push(point, edit));
    }

    /// The moves before an instruction of the spilled function.
    fn repair(&mut self, inst: Inst, point: Point) {
        let function = &self.spilled.function;
        while let Some(repair) = self.assignment.repairs.get(self.repairs)
            && repair.before == inst
        {
            let index = inst.as_u32() - function.blocks[point.block].insts.start;
            let here = Point { block: point.block, index };
            let around = surroundings(function, &self.pins, self.assignment, here, repair.kept, self.policy);
            let steps = sequentialise(&repair.transfers, &around);
            self.overlay.edits.extend(steps.into_iter().map(|step| (point, Edit::from(step))));
            self.repairs += 1;
        }
    }

    /// The places of an imported instruction's operands.
    fn locate(&mut self, origin: Inst, inst: Inst) {
        let function = &self.spilled.function;
        let to = self.imported.insts[origin].operands.start as usize;
        for (k, location) in self.locations(inst).enumerate() {
            self.overlay.locations[to + k] = location;
        }
        debug_assert_eq!(self.imported.operands(origin).len(), function.operands(inst).len());
    }

    fn locations(&self, inst: Inst) -> impl Iterator<Item = Location> + use<> {
        let function = &self.spilled.function;
        let first = function.insts[inst].operands.start as usize;
        let places: Vec<Location> = function
            .operands(inst)
            .iter()
            .enumerate()
            .map(|(k, operand)| match operand.slot.expand() {
                Some(slot) => Location::Slot(slot),
                None => Location::Reg(self.assignment.operands[first + k].expect("an operand in a register was assigned one")),
            })
            .collect();
        places.into_iter()
    }

    /// The edit that an inserted instruction is.
    fn inserted(&mut self, inst: Inst, point: Point) {
        if self.assignment.redundant.binary_search(&inst).is_ok() {
            return;
        }
        let function = &self.spilled.function;
        let classes = function.operands(inst).iter().map(|operand| function.values[operand.value].class);
        let class = classes.reduce(|a, b| function.file.wider(a, b)).expect("an inserted instruction has operands");
        let places: Vec<Location> = self.locations(inst).collect();
        let edit = match (function.insts[inst].kind, &places[..]) {
            (InstKind::Load(from), &[Location::Reg(to)]) => Edit::Load { to, from, class },
            (InstKind::Store(to), &[Location::Reg(from)]) => Edit::Store { from, to, class },
            (InstKind::Rematerialise(inst), &[Location::Reg(to)]) => Edit::Rematerialise { to, inst },
            (InstKind::Copy, &[Location::Reg(to), Location::Slot(from)]) => Edit::Load { to, from, class },
            (InstKind::Copy, &[Location::Slot(to), Location::Reg(from)]) => Edit::Store { from, to, class },
            (InstKind::Copy, &[Location::Reg(to), Location::Reg(from)]) if to == from => return,
            (InstKind::Copy, &[Location::Reg(to), Location::Reg(from)]) => Edit::Move { to, from, class },
            (kind, _) => unreachable!("no phase inserts {kind:?} with operands {places:?}"),
        };
        self.push(point, edit);
    }

    /// Adds an edit. A slot is accessed as wide as it is where registers have another form in memory for each width (x87):
    /// its web may have several.
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

/// Where debug uses find their values: in the register of the moment, unless an edge's code comes between, or in the slot.
fn debug_locations(layer: &Layer, code: &EdgeCode) -> Vec<Option<Location>> {
    let Layer { imported, spilled, assignment, overlay, .. } = layer;
    let found = imported.debug_uses.iter().zip(&assignment.debug).zip(&spilled.debug_slots).map(|((debug, reg), slot)| {
        let block = debug.at.block;
        let at_tail = debug.at.index >= imported.before_terminators(block).index;
        let moved = |reg: &Reg| {
            (debug.at.index < imported.head(block).index && writes(&code.head[block], *reg))
                || (at_tail && writes(&code.tail[block], *reg))
                // The register was noted at the next instruction that is executed.
                || overlay.is_dropped(Inst::from_u32(imported.blocks[block].insts.start + debug.at.index))
        };
        reg.filter(|reg| !moved(reg)).map(Location::Reg).or(slot.map(Location::Slot))
    });
    found.collect()
}

fn writes(edits: &[Edit], reg: Reg) -> bool {
    edits.iter().any(|edit| match *edit {
        Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. } => to == reg,
        Edit::Swap { a, b, .. } => a == reg || b == reg,
        Edit::Store { .. } => false,
    })
}
