//! Copies from and to registers of the program that are made in any case.
//!
//! A value that comes in a register, or goes to one, had better be in that register all its life. It cannot be if the program
//! takes the register for something else meanwhile.

use crate::analysis::Liveness;
use crate::machine::{Block, Function, Inst, InstKind, Reg, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Finds the copies whose value cannot be in the register all its life, as far as their own blocks tell. `defined` has the
/// number of each value's definition.
pub(super) fn copies(function: &Function, liveness: &Liveness, defined: &SecondaryMap<Value, u32>) -> EntitySet<Inst> {
    let mut search = Search {
        function,
        defined,
        found: EntitySet::with_capacity(function.insts.len()),
        arrived: Vec::new(),
        displaced: Vec::new(),
        displaced_by: SecondaryMap::new(),
        last: vec![PackedOption::default(); RegSet::CAPACITY],
    };
    for block in function.blocks.keys() {
        search.block(block, liveness.live_out(block));
    }
    search.found
}

struct Search<'a> {
    function: &'a Function,
    defined: &'a SecondaryMap<Value, u32>,
    found: EntitySet<Inst>,
    /// The copies of the current block from registers that have not been taken since.
    arrived: Vec<(Inst, Value, Reg)>,
    /// Values of the current block whose registers have been taken since they were copied from there; by which copies.
    displaced: Vec<Value>,
    displaced_by: SecondaryMap<Value, PackedOption<Inst>>,
    /// The last instruction that has named each register.
    last: Vec<PackedOption<Inst>>,
}

impl Search<'_> {
    fn block(&mut self, block: Block, live_out: &[Value]) {
        self.arrived.clear();
        for inst in self.function.block_insts(block) {
            for operand in self.function.operands(inst).iter().filter(|operand| !operand.is_def()) {
                self.found.extend(self.displaced_by[operand.value].expand());
            }
            if self.function.names_registers(inst) {
                self.instruction(block, inst);
            }
        }
        for value in self.displaced.drain(..) {
            let copy = self.displaced_by[value].take();
            self.found.extend(copy.filter(|_| live_out.binary_search(&value).is_ok()));
        }
    }

    /// Passes an instruction that names registers.
    fn instruction(&mut self, block: Block, inst: Inst) {
        let pins = self.function.pins(inst);
        if let InstKind::CopyTo(reg) = self.function.insts[inst].kind {
            let defined = self.defined[self.function.operands(inst)[0].value];
            let first = self.function.blocks[block].insts.start;
            let last = self.last[reg.index()].expand().map(Inst::as_u32);
            if last.is_some_and(|last| last >= first && last > defined) {
                self.found.insert(inst);
            }
        }
        let written = pins.defs | pins.early_defs | pins.clobbers;
        (written | pins.uses).iter().for_each(|reg| self.last[reg.index()] = inst.into());
        let (displaced, displaced_by) = (&mut self.displaced, &mut self.displaced_by);
        self.arrived.retain(|&(copy, value, reg)| {
            let stays = !written.contains(reg);
            if !stays {
                displaced.push(value);
                displaced_by[value] = copy.into();
            }
            stays
        });
        if let InstKind::CopyFrom(reg) = self.function.insts[inst].kind {
            self.arrived.push((inst, self.function.operands(inst)[0].value, reg));
        }
    }
}
