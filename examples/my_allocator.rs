//! An allocator of one's own, from nothing: every value is in memory, and in a register only while an instruction accesses
//! it.
//!
//! It shows everything that an allocator has to say: where every operand is, and which loads and stores stand where. The
//! checker finds out whether that is right.
//!
//! ```text
//! cargo run --release --example my_allocator testdata/functions/lost_copy.txt
//! ```

use anyhow::{Context as _, anyhow};
use chordal::allocate::failure::{Failure, Unsupported};
use chordal::allocate::pipeline::{self, Allocate, Report};
use chordal::analysis::{GraphSizes, PinLiveness};
use chordal::machine::{Block, Edit, Function, Inst, InstKind, Location, Overlay, Point, Reg, RegSet, Role, Slot, Value, parse};
use cranelift_entity::SecondaryMap;

pub struct InMemory;

impl Allocate for InMemory {
    fn allocate(&self, function: &Function) -> Result<(Overlay, Report), Failure> {
        let mut writer = Writer::new(function);
        for block in function.blocks.keys() {
            writer.block(block)?;
        }
        // Where a store after one instruction meets a load for the next one, the store stays first.
        writer.overlay.edits.sort_by_key(|&(point, _)| point);
        Ok((writer.overlay, Report::default()))
    }

    fn graphs(&self, _function: &Function) -> GraphSizes {
        GraphSizes::default()
    }
}

struct Writer<'a> {
    function: &'a Function,
    pins: PinLiveness,
    overlay: Overlay,
    /// The slot of each value.
    slots: SecondaryMap<Value, Slot>,
    /// For each φ, the slot into which predecessors put its arguments. It is another one than the φ's own, because all φs of
    /// a block are read before any is written.
    incoming: SecondaryMap<Value, Slot>,
}

impl<'a> Writer<'a> {
    fn new(function: &'a Function) -> Self {
        let mut overlay = Overlay {
            locations: vec![None; function.operands.len()],
            debug_locations: vec![None; function.debug_uses.len()],
            ..Overlay::default()
        };
        let mut slot = |value: Value| overlay.slots.push(function.slot_for(value));
        let mut slots = SecondaryMap::with_default(Slot::from_u32(0));
        function.values.keys().for_each(|value| slots[value] = slot(value));
        let mut incoming = slots.clone();
        function.blocks.values().flat_map(|data| &data.phis).for_each(|phi| incoming[phi.def] = slot(phi.def));
        Writer { function, pins: PinLiveness::new(function), overlay, slots, incoming }
    }

    fn block(&mut self, block: Block) -> Result<(), Unsupported> {
        let function = self.function;
        if function.defined_by_terminators(block).next().is_some() {
            return Err(Unsupported(format!("a terminator of {block} defines a value")));
        }
        let (head, tail) = (function.head(block), function.before_terminators(block));
        // No code can stand between terminators. So the values that they read are all loaded before the first of them, and
        // stay.
        let mut kept = RegSet::EMPTY;
        for (index, inst) in function.block_insts(block).enumerate() {
            let at = Point { block, index: index as u32 };
            self.arrive(at, head)?;
            self.depart(at)?;
            self.instruction(at.min(tail), inst, &mut kept)?;
        }
        let end = Point { block, index: function.blocks[block].insts.len() as u32 };
        self.arrive(end, head)?;
        self.depart(end)
    }

    /// Moves arguments that have arrived to the slots of their φs, if the block begins here.
    fn arrive(&mut self, at: Point, head: Point) -> Result<(), Unsupported> {
        let function = self.function;
        for phi in function.blocks[at.block].phis.iter().filter(|_| at == head) {
            self.move_slot(at, phi.def, self.incoming[phi.def], self.slots[phi.def])?;
        }
        Ok(())
    }

    /// Puts the arguments of φs where those look for them, if control leaves the block from here.
    fn depart(&mut self, at: Point) -> Result<(), Unsupported> {
        let function = self.function;
        for &to in function.blocks[at.block].succs.iter().filter(|&&to| function.departure(at.block, to) == at) {
            let column = function.column(at.block, to);
            for phi in &function.blocks[to].phis {
                if let Some(arg) = phi.args[column].expand() {
                    if function.slot_for(arg) != function.slot_for(phi.def) {
                        return Err(Unsupported(format!("a φ of {to} takes a value of another width")));
                    }
                    self.move_slot(at, arg, self.slots[arg], self.incoming[phi.def])?;
                }
            }
        }
        Ok(())
    }

    /// Moves a value from memory to memory, through a register that is free here.
    fn move_slot(&mut self, at: Point, value: Value, from: Slot, to: Slot) -> Result<(), Unsupported> {
        let function = self.function;
        let class = function.values[value].class;
        let occupied = self.pins.at(function, at) | function.blocks[at.block].live_in_pins;
        let free = (function.file.classes[class].regs - occupied).first();
        let reg = free.ok_or_else(|| Unsupported(format!("no register is free at {} {}", at.block, at.index)))?;
        self.overlay.edits.push((at, Edit::Load { to: reg, from, class }));
        self.overlay.edits.push((at, Edit::Store { from: reg, to, class }));
        Ok(())
    }

    fn instruction(&mut self, at: Point, inst: Inst, kept: &mut RegSet) -> Result<(), Unsupported> {
        let function = self.function;
        let (operands, data) = (function.operands(inst), &function.insts[inst]);
        let first = data.operands.start as usize;
        if let InstKind::CopyTo(_) | InstKind::CopyFrom(_) = data.kind {
            // Copies from and to registers of the program become loads and stores.
            self.overlay.locations[first] = Some(Location::Slot(self.slots[operands[0].value]));
            return Ok(());
        }
        let registers = self.registers(at.block, inst, *kept)?;
        for (k, operand) in operands.iter().enumerate() {
            let (value, reg) = (operand.value, registers[k]);
            let class = function.values[value].class;
            self.overlay.locations[first + k] = Some(Location::Reg(reg));
            if !operand.is_def() {
                self.overlay.edits.push((at, Edit::Load { to: reg, from: self.slots[value], class }));
                kept.insert(reg);
            } else if at < function.before_terminators(at.block) {
                let after = Point { index: at.index + 1, ..at };
                self.overlay.edits.push((after, Edit::Store { from: reg, to: self.slots[value], class }));
            } else {
                return Err(Unsupported(format!("a terminator of {} defines {value}", at.block)));
            }
        }
        if at < function.before_terminators(at.block) {
            *kept = RegSet::EMPTY;
        }
        Ok(())
    }

    /// A register for each operand: first for uses, each in a register of its own, then for definitions, which may overwrite
    /// uses.
    fn registers(&self, block: Block, inst: Inst, kept: RegSet) -> Result<Vec<Reg>, Unsupported> {
        let function = self.function;
        let operands = function.operands(inst);
        let occupancy = self.pins.occupancy(function, block, inst);
        let mut registers: Vec<Option<Reg>> = vec![None; operands.len()];
        let mut read = kept;
        let tied = |k: usize| operands.iter().find(|operand| operand.reuse.map(usize::from) == Some(k));
        let mut uses: Vec<(RegSet, usize)> = (0..operands.len())
            .filter(|&k| !operands[k].is_def())
            .map(|k| {
                let overwritten = tied(k).map(|def| function.allowed(def.value) - occupancy.after);
                let domain = function.allowed(operands[k].value) - occupancy.before;
                (overwritten.map_or(domain, |also| domain & also), k)
            })
            .collect();
        uses.sort_by_key(|(domain, _)| domain.len());
        let none = |k: usize| Unsupported(format!("{inst} of {block} finds no register for {}", operands[k].value));
        for (domain, k) in uses {
            let reg = (domain - read).first().ok_or_else(|| none(k))?;
            registers[k] = Some(reg);
            read.insert(reg);
        }
        let mut written: RegSet = (0..operands.len()).filter(|&k| tied(k).is_some()).filter_map(|k| registers[k]).collect();
        let mut defs: Vec<usize> = (0..operands.len()).filter(|&k| operands[k].is_def()).collect();
        defs.sort_by_key(|&k| function.allowed(operands[k].value).len());
        for k in defs {
            let unread = if operands[k].role == Role::EarlyDef { read | occupancy.before } else { RegSet::EMPTY };
            let free = || (function.allowed(operands[k].value) - occupancy.after - written - unread).first();
            let reg = operands[k].reuse.map_or_else(free, |reused| registers[usize::from(reused)]).ok_or_else(|| none(k))?;
            registers[k] = Some(reg);
            written.insert(reg);
        }
        Ok(registers.into_iter().flatten().collect())
    }
}

fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(1).context("usage: my_allocator FILE (a function in text form, as in testdata/functions)")?;
    let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
    let function = parse(&text).map_err(|error| anyhow!("{file}: {error}"))?;
    let (overlay, _) = InMemory.allocate(&function)?;
    pipeline::check(&function, &overlay)?;
    println!("{}: {} loads and stores, and the checker accepts the allocation", function.name, overlay.edits.len());
    Ok(())
}
