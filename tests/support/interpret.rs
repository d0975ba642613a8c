//! An interpreter: runs a function along a random path with symbolic contents, once with its SSA values and once through an
//! overlay with registers and slots, side by side, and compares what each instruction reads.
//!
//! Every execution of an instruction writes contents that nothing has held before, so that a value of a loop's last round is
//! not mistaken for this round's. A landing pad is entered from the instruction that throws.

use chordal::machine::{
    Block, Edit, Function, Inst, InstFlags, InstKind, Location, Operand, Overlay, Phi, PinSets, Point, Reg, RegClass, RegSet,
    Role, SwapKind, SwapSupport, Value,
};
use std::collections::BTreeMap;

/// Symbolic contents, of which perhaps only the lowest bytes are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    what: What,
    bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Found in a physical register when the function or a landing pad is entered.
    Given(Reg, u32),
    /// Written by the `nth` operand of an instruction when it is executed for the `visit`-th time.
    Written { inst: Inst, visit: u32, nth: usize },
    /// Written to a pinned register in that way.
    Pinned { inst: Inst, visit: u32, reg: Reg },
    /// Computed by a recomputable instruction from the content of this number.
    Computed { inst: Inst, from: usize },
    /// The content of an undefined φ argument: every place holds it.
    Anything,
}

const WHOLE: u32 = u32::MAX;

/// Where and how the run through the overlay differs.
#[derive(Debug)]
pub struct Difference {
    pub at: Point,
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, before instruction {}: {}", self.at.block, self.at.index, self.what)
    }
}

/// Statistics of a run.
pub struct Run {
    /// Reads that were compared.
    pub compared: usize,
    pub edits: usize,
}

/// Runs along the path that the seed chooses, until the function returns or has executed `steps` blocks.
pub fn compare(function: &Function, overlay: &Overlay, seed: u64, steps: usize) -> Result<Run, Difference> {
    let mut machine = Machine {
        function,
        overlay,
        values: BTreeMap::new(),
        pinned: BTreeMap::new(),
        places: BTreeMap::new(),
        visits: BTreeMap::new(),
        writes: 0,
        halfway: BTreeMap::new(),
        read: BTreeMap::new(),
        low: BTreeMap::new(),
        entries: 0,
        run: Run { compared: 0, edits: 0 },
    };
    for (slot, given) in overlay.given.iter().filter_map(|(slot, given)| Some((slot, given.expand()?))) {
        let content = machine.written(given, 0).narrowed(overlay.slots[slot].size);
        machine.places.insert(Location::Slot(slot), content);
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut block = function.entry();
    machine.receive(block);
    for _ in 0..steps {
        let next = rng.choice(&function.blocks[block].succs).copied();
        machine.block(block, next)?;
        let Some(next) = next else { break };
        machine.phis(block, next);
        if function.blocks[next].landing_pad {
            machine.receive(next);
        }
        block = next;
    }
    Ok(machine.run)
}

struct Machine<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    /// The state of the function itself: SSA values, and the physical registers that it names.
    values: BTreeMap<Value, Content>,
    pinned: BTreeMap<Reg, Content>,
    /// The overlay's registers and slots; a missing one holds garbage.
    places: BTreeMap<Location, Content>,
    visits: BTreeMap<Inst, u32>,
    /// How often memory has been written to and, for each instruction that is performed elsewhere in its block, how often when
    /// the first of the two points was passed: where it stands, and where it is performed.
    writes: u32,
    halfway: BTreeMap<Inst, u32>,
    /// Numbers for the contents that recomputable instructions have read.
    read: BTreeMap<What, usize>,
    /// The contents in the low parts of those that extend them.
    low: BTreeMap<What, Content>,
    /// How often pinned registers have received contents from outside.
    entries: u32,
    run: Run,
}

impl Machine<'_> {
    fn size(&self, class: RegClass) -> u32 {
        self.function.file.classes[class].slot_size
    }

    fn size_of(&self, value: Value) -> u32 {
        self.size(self.function.values[value].class)
    }

    /// Puts new contents into the registers that are live into the entry or a landing pad.
    fn receive(&mut self, block: Block) {
        self.entries += 1;
        for reg in self.function.blocks[block].live_in_pins.iter() {
            let content = Content { what: What::Given(reg, self.entries), bytes: WHOLE };
            self.pinned.insert(reg, content);
            self.places.insert(Location::Reg(reg), content);
        }
    }

    /// Executes a block: all of it, or until it throws to a landing pad.
    fn block(&mut self, block: Block, next: Option<Block>) -> Result<(), Difference> {
        let pad = next.is_some_and(|next| self.function.blocks[next].landing_pad);
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let at = Point { block, index: index as u32 };
            self.edits(at)?;
            self.debug_uses(at)?;
            let throws = pad && self.function.blocks[block].throws.expand() == Some(inst);
            self.inst(inst, throws).map_err(|what| Difference { at, what: format!("{inst}: {what}") })?;
            if throws {
                return Ok(());
            }
        }
        let end = Point { block, index: self.function.blocks[block].insts.len() as u32 };
        self.edits(end)?;
        self.debug_uses(end)
    }

    fn edits(&mut self, at: Point) -> Result<(), Difference> {
        let edits = &self.overlay.edits;
        let first = edits.partition_point(|(point, _)| *point < at);
        for (_, edit) in edits[first..].iter().take_while(|(point, _)| *point == at) {
            self.edit(edit).map_err(|what| Difference { at, what: format!("{edit:?}: {what}") })?;
            self.run.edits += 1;
        }
        Ok(())
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), String> {
        match *edit {
            Edit::Load { to, from, class } => self.transfer(Location::Reg(to), Location::Slot(from), self.size(class)),
            Edit::Store { from, to, class } => self.transfer(Location::Slot(to), Location::Reg(from), self.size(class)),
            Edit::Move { to, from, class } => self.transfer(Location::Reg(to), Location::Reg(from), self.size(class)),
            Edit::Swap { a, b, class, kind } => self.swap(Location::Reg(a), Location::Reg(b), class, kind),
            Edit::StoreConstant { to, inst } => {
                let bytes = self.size(self.function.values[self.function.operands(inst)[0].value].class);
                let content = self.written(inst, 0).narrowed(bytes.min(self.overlay.slots[to].size));
                self.places.insert(Location::Slot(to), content);
            }
            Edit::Rematerialise { to, inst, from } => {
                if from.is_none() {
                    self.destroy(written(self.function, inst));
                }
                let content = match from {
                    Some(_) if !self.function.insts[inst].is(InstFlags::RECOMPUTABLE) => None,
                    Some(from) => {
                        let value = self.values.get(&self.function.operands(inst)[1].value).copied();
                        let held = value.filter(|&value| self.agree(value, Location::Reg(from)).is_ok());
                        self.computed(inst, held)
                    }
                    None => Some(self.written(inst, 0)),
                };
                match content {
                    Some(content) => self.places.insert(Location::Reg(to), content),
                    None => self.places.remove(&Location::Reg(to)),
                };
            }
            Edit::Perform { inst, flagless } => {
                self.is_passed(inst)?;
                match self.function.insts[inst].kind {
                    InstKind::Copy => self.copy(inst)?,
                    _ => self.op(inst, PinSets::default(), false)?,
                }
                if !flagless {
                    self.destroy(written(self.function, inst));
                }
                self.copy_again(inst);
            }
        }
        Ok(())
    }

    /// Moves as many bytes as the access and the slot have.
    fn transfer(&mut self, to: Location, from: Location, bytes: u32) {
        let room = |place| if let Location::Slot(slot) = place { self.overlay.slots[slot].size } else { WHOLE };
        let bytes = bytes.min(room(to)).min(room(from));
        match self.places.get(&from).copied() {
            Some(content) => self.places.insert(to, content.narrowed(bytes)),
            None => self.places.remove(&to),
        };
    }

    fn swap(&mut self, a: Location, b: Location, class: RegClass, kind: SwapKind) {
        let (old_a, bytes) = (self.places.get(&a).copied(), self.size(class));
        self.transfer(a, b, bytes);
        match old_a {
            Some(content) => self.places.insert(b, content.narrowed(bytes)),
            None => self.places.remove(&b),
        };
        let file = &self.function.file;
        if kind == SwapKind::Xor && file.banks[file.classes[class].bank].swap == SwapSupport::Exchange {
            self.destroy(file.status);
        }
    }

    /// Destroys registers of the overlay.
    fn destroy(&mut self, regs: RegSet) {
        for reg in regs.iter() {
            self.places.remove(&Location::Reg(reg));
        }
    }

    /// The content that an operand of an instruction is written with; a constant is the same every time.
    fn written(&self, inst: Inst, nth: usize) -> Content {
        // An overlay may rematerialise an instruction that has never been executed.
        let visited = || self.visits.get(&inst).copied().unwrap_or_default();
        let visit = if self.function.insts[inst].is(InstFlags::REMATERIALISABLE) { 0 } else { visited() };
        Content { what: What::Written { inst, visit, nth }, bytes: WHOLE }
    }

    /// The content that a recomputable instruction computes from what it reads.
    fn computed(&mut self, inst: Inst, read: Option<Content>) -> Option<Content> {
        let what = read?.what;
        let next = self.read.len();
        let number = *self.read.entry(what).or_insert(next);
        let what = if what == What::Anything { what } else { What::Computed { inst, from: number } };
        self.extends(inst, what, read?);
        Some(Content { what, bytes: WHOLE })
    }

    /// Notes that the result of an instruction has what it reads in its low part, if it extends that.
    fn extends(&mut self, inst: Inst, what: What, read: Content) {
        if self.function.insts[inst].is(InstFlags::EXTENDS) && what != read.what {
            self.low.insert(what, read);
        }
    }

    fn visit(&mut self, inst: Inst) {
        *self.visits.entry(inst).or_default() += 1;
    }

    fn inst(&mut self, inst: Inst, throws: bool) -> Result<(), String> {
        if !self.overlay.is_performed(self.function, inst) {
            self.visit(inst);
        }
        if self.overlay.is_dropped(inst) {
            return self.dropped(inst);
        }
        self.writes += u32::from(self.function.insts[inst].is(InstFlags::WRITES));
        match self.function.insts[inst].kind {
            InstKind::Op => self.op(inst, *self.function.pins(inst), throws),
            InstKind::Copy | InstKind::CopyTo(_) | InstKind::CopyFrom(_) => self.copy(inst),
            kind => unreachable!("an imported function has no {kind:?}"),
        }
    }

    /// Passes the place of an instruction that is performed elsewhere, or the point where it is performed. Answers whether the
    /// other of the two has been passed. If so, and if it reads memory, nothing has written any in between.
    fn is_passed(&mut self, inst: Inst) -> Result<bool, String> {
        let Some(writes) = self.halfway.remove(&inst) else {
            self.halfway.insert(inst, self.writes);
            self.visit(inst);
            return Ok(false);
        };
        if self.function.insts[inst].is(InstFlags::READS) && writes != self.writes {
            return Err(format!("{inst} does not read what it reads where it stands"));
        }
        Ok(true)
    }

    /// Executes a dropped instruction on SSA values only. A constant is the same wherever it is computed, and so is a value
    /// recomputed from the same source; a copy equals its source; an instruction that is performed later has no result yet.
    fn dropped(&mut self, inst: Inst) -> Result<(), String> {
        let operands = self.function.operands(inst);
        let def = operands.iter().find(|o| o.is_def()).expect("it defines something").value;
        // A copy is no exception: its content is at its source already.
        if self.overlay.is_performed(self.function, inst) && self.function.insts[inst].kind != InstKind::Copy {
            if !self.is_passed(inst)? {
                self.values.remove(&def);
            }
            self.write_pins(inst, *self.function.pins(inst));
            self.destroy(written(self.function, inst));
            return Ok(());
        }
        let content = match operands.iter().find(|o| !o.is_def()) {
            Some(read) if self.function.insts[inst].is(InstFlags::RECOMPUTABLE) => {
                self.computed(inst, self.values.get(&read.value).copied())
            }
            Some(source) => self.values.get(&source.value).copied(),
            None => Some(self.written(inst, 0)),
        };
        match content {
            Some(content) => self.values.insert(def, content.narrowed(self.size_of(def))),
            // It will be performed later.
            None => self.values.remove(&def),
        };
        Ok(())
    }

    /// Gives the dropped copies of an instruction's definitions their values again.
    fn copy_again(&mut self, inst: Inst) {
        let mut defined: Vec<Value> = self.function.operands(inst).iter().filter(|o| o.is_def()).map(|o| o.value).collect();
        while let Some(value) = defined.pop() {
            for &copy in self.overlay.dropped.iter().filter(|&&copy| self.function.insts[copy].kind == InstKind::Copy) {
                let operands = self.function.operands(copy);
                if operands.iter().any(|o| !o.is_def() && o.value == value) {
                    let def = operands.iter().find(|o| o.is_def()).expect("a copy defines something").value;
                    self.values.insert(def, self.values[&value].narrowed(self.size_of(def)));
                    defined.push(def);
                }
            }
        }
    }

    /// The locations of the operands of an instruction that is executed.
    fn places_of(&self, inst: Inst) -> Vec<Location> {
        let places = self.overlay.operands(self.function, inst).iter();
        places.map(|place| place.expect("an operand has a location")).collect()
    }

    /// Executes a copy: it reads, then it writes; between equal places it is no instruction at all.
    fn copy(&mut self, inst: Inst) -> Result<(), String> {
        let function = self.function;
        let operands: Vec<(&Operand, Location)> = function.operands(inst).iter().zip(self.places_of(inst)).collect();
        let source = operands.iter().find(|(o, _)| !o.is_def());
        let target = operands.iter().find(|(o, _)| o.is_def());
        let bytes = operands.iter().map(|(o, _)| self.size_of(o.value)).min().expect("a copy has an operand");
        let (from, content) = match (function.insts[inst].kind, source) {
            (InstKind::CopyFrom(reg), _) => (Location::Reg(reg), self.read_pin(reg)?),
            (_, Some(&(operand, place))) => (place, self.read(operand.value, place)?),
            _ => unreachable!("a copy has a source"),
        };
        let to = match (function.insts[inst].kind, target) {
            (InstKind::CopyTo(reg), _) => {
                self.pinned.insert(reg, content.narrowed(bytes));
                Location::Reg(reg)
            }
            (_, Some(&(operand, place))) => {
                self.values.insert(operand.value, content.narrowed(bytes));
                place
            }
            _ => unreachable!("a copy has a target"),
        };
        if to != from {
            self.transfer(to, from, bytes);
        }
        Ok(())
    }

    /// Executes an instruction: early definitions are written before anything is read, and clobbers happen between reading
    /// and writing.
    fn op(&mut self, inst: Inst, pins: PinSets, throws: bool) -> Result<(), String> {
        let function = self.function;
        let operands = function.operands(inst);
        let places = self.places_of(inst);
        let of_role = |role: Role| (0..operands.len()).filter(move |&k| operands[k].role == role);
        for (k, operand) in operands.iter().enumerate() {
            let overwrites = |other: u8| places[usize::from(other)] == places[k];
            // Two-address code may overwrite nothing if it reads nothing from memory.
            let loose = operand.reuse_none && places.iter().all(|place| matches!(place, Location::Reg(_)));
            if operand.reuse.is_some() && !operand.overwritable().any(overwrites) && !loose {
                return Err(format!("operand {k} does not overwrite its use"));
            }
        }
        for k in of_role(Role::EarlyDef).filter(|&k| operands[k].reuse.is_none()) {
            self.places.remove(&places[k]);
        }
        self.destroy(pins.early_defs);
        for k in of_role(Role::Use) {
            self.read(operands[k].value, places[k])?;
        }
        for reg in pins.uses.iter() {
            self.read_pin(reg)?;
        }
        of_role(Role::EarlyDef).for_each(|k| self.write(inst, k, places[k]));
        self.destroy(pins.clobbers);
        for reg in pins.clobbers.iter() {
            self.pinned.remove(&reg);
        }
        if !throws {
            of_role(Role::Def).for_each(|k| self.write(inst, k, places[k]));
        }
        self.write_pins(inst, pins);
        Ok(())
    }

    fn write_pins(&mut self, inst: Inst, pins: PinSets) {
        for reg in (pins.defs | pins.early_defs).iter() {
            let content = Content { what: What::Pinned { inst, visit: self.visits[&inst], reg }, bytes: WHOLE };
            self.pinned.insert(reg, content);
            self.places.insert(Location::Reg(reg), content);
        }
    }

    fn write(&mut self, inst: Inst, k: usize, place: Location) {
        let operands = self.function.operands(inst);
        let value = operands[k].value;
        let content = match self.function.insts[inst].is(InstFlags::RECOMPUTABLE) {
            true => self.computed(inst, self.values.get(&operands[1].value).copied()),
            false => {
                let written = self.written(inst, k);
                let read = operands.iter().find(|o| !o.is_def()).and_then(|o| self.values.get(&o.value)).copied();
                read.into_iter().for_each(|read| self.extends(inst, written.what, read));
                Some(written)
            }
        };
        let content = content.expect("what an instruction reads has been compared").narrowed(self.size_of(value));
        self.values.insert(value, content);
        self.places.insert(place, content);
    }

    /// Reads a value, and compares it with the content of the place.
    fn read(&mut self, value: Value, place: Location) -> Result<Content, String> {
        let expected = *self.values.get(&value).ok_or_else(|| format!("{value} is not defined on this path"))?;
        self.agree(expected, place).map_err(|found| format!("{value} is {expected:?}, but {place:?} holds {found:?}"))?;
        Ok(expected)
    }

    fn read_pin(&mut self, reg: Reg) -> Result<Content, String> {
        let expected = *self.pinned.get(&reg).ok_or_else(|| format!("nothing was put into {reg:?}"))?;
        let place = Location::Reg(reg);
        self.agree(expected, place).map_err(|found| format!("{reg:?} should hold {expected:?}, not {found:?}"))?;
        Ok(expected)
    }

    fn agree(&mut self, expected: Content, place: Location) -> Result<(), Option<Content>> {
        self.run.compared += 1;
        let found = self.places.get(&place).copied();
        let low = |content: &Content| self.low.get(&content.what).map(|low| low.narrowed(content.bytes));
        let mut parts = std::iter::successors(found, low);
        let same = parts.any(|part| part.what == expected.what && part.bytes >= expected.bytes);
        if same || expected.what == What::Anything { Ok(()) } else { Err(found) }
    }

    /// Executes all φs at once; the overlay has nothing to do.
    fn phis(&mut self, from: Block, to: Block) {
        let phis = &self.function.blocks[to].phis;
        let column = if phis.is_empty() { 0 } else { self.function.column(from, to) };
        // An instruction that should have been performed may not have been.
        let received = |phi: &Phi| match phi.args[column].expand() {
            Some(value) => self.values.get(&value).map(|content| content.narrowed(self.size_of(phi.def))),
            None => Some(Content { what: What::Anything, bytes: WHOLE }),
        };
        let received: Vec<(Value, Option<Content>)> = phis.iter().map(|phi| (phi.def, received(phi))).collect();
        for (def, content) in received {
            match content {
                Some(content) => self.values.insert(def, content),
                None => self.values.remove(&def),
            };
        }
    }

    /// Checks that each value is where the debugger looks for it.
    fn debug_uses(&mut self, at: Point) -> Result<(), Difference> {
        for (debug, place) in self.function.debug_uses.iter().zip(&self.overlay.debug_locations) {
            if let (true, Some(place)) = (debug.at == at, place) {
                let read = self.read(debug.value, *place);
                read.map_err(|what| Difference { at, what: format!("for the debugger: {what}") })?;
            }
        }
        Ok(())
    }
}

impl Content {
    fn narrowed(self, bytes: u32) -> Self {
        Content { bytes: self.bytes.min(bytes), ..self }
    }
}

/// The physical registers that an instruction itself writes or destroys.
fn written(function: &Function, inst: Inst) -> RegSet {
    let pins = function.pins(inst);
    pins.defs | pins.early_defs | pins.clobbers
}
