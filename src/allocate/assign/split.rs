//! Splitting live ranges at repairs: afterwards each name has one register, and nothing else says where values are.
//!
//! Requires: an assignment.
//! Ensures: SSA form with one register for each name. A repair has become a parallel copy ([`Inserted::Parallel`]) that
//! defines new names. There is a φ where names of one value meet, or where a block expects a value elsewhere than a
//! predecessor left it. So φs say everything that remains to be done on edges.
//! Relies on: SSA repair ([`crate::allocate::ssa`]).

use super::{Assignment, Split};
use crate::allocate::spill::{Fold, Spilled};
use crate::allocate::ssa::{Pieces, repair};
use crate::analysis::grouped::of_each;
use crate::analysis::{Dominators, Liveness, Order, PinLiveness};
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, Reg, RegSet, Rewriter, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// A register for each name.
#[derive(Clone, Debug, Default)]
pub struct Colours(SecondaryMap<Value, Option<Reg>>);

impl Colours {
    /// The register of a name.
    ///
    /// # Panics
    /// If nothing defines the name.
    pub fn of(&self, name: Value) -> Reg {
        self.get(name).unwrap_or_else(|| panic!("{name} has no register"))
    }

    /// The register of a name, if anything defines it.
    pub fn get(&self, name: Value) -> Option<Reg> {
        self.0[name]
    }

    /// Gives each name the register that `register` says.
    pub fn change(&mut self, register: impl Fn(Value) -> Option<Reg>) {
        for (name, reg) in self.0.iter_mut() {
            *reg = register(name);
        }
    }

    /// The registers of all names.
    pub fn registers(&self) -> RegSet {
        self.0.values().flatten().copied().collect()
    }
}

/// A function whose names have registers.
pub struct Coloured {
    pub function: Function,
    pub colours: Colours,
    /// [`Spilled::folds`], of this function's instructions.
    pub folds: Vec<Fold>,
    /// The names of reloads that are superfluous, because the register has the slot's content already.
    pub redundant: EntitySet<Value>,
    /// All registers that names or the program itself use anywhere.
    pub used: RegSet,
    /// For each debug use, the name of its value then, if it is in a register.
    pub debug: Vec<Option<Value>>,
}

impl Coloured {
    /// Forgets the names of debug uses that are dead by then, whose registers other names may have from now on.
    ///
    /// They arise in blocks that a value leaves only in the middle, for a landing pad or for a target of inline assembly.
    /// The assignment has a register for it to the block's end, but a name that it gets after that place dies with its last
    /// use.
    pub fn forget_dead_debug_uses(&mut self, liveness: &Liveness) {
        for (name, live) in self.debug.iter_mut().zip(liveness.at_debug_uses(&self.function)) {
            *name = name.filter(|_| live);
        }
    }
}

/// Splits live ranges where the assignment moves values to other registers.
pub fn split_at_repairs(
    spilled: &Spilled,
    order: &Order,
    dominators: &Dominators,
    liveness: &Liveness,
    assignment: Assignment,
) -> Coloured {
    let function = &spilled.function;
    let mut splitter = Splitter {
        operands: Vec::new(),
        function,
        assignment: &assignment,
        rewriter: Rewriter::new(function),
        colours: colours(function, &assignment),
        pieces: Pieces::new(function),
        name: of_each(function.values.len()),
        named: Vec::new(),
        folds: Vec::with_capacity(spilled.folds.len()),
        old_folds: &spilled.folds,
        next_repair: 0,
        next_debug: 0,
    };
    for block in function.blocks.keys() {
        splitter.joins(liveness, block);
        splitter.block(liveness, block);
    }
    let Splitter { rewriter, mut colours, pieces, folds, .. } = splitter;
    let mut split = rewriter.new;
    for join in repair(&mut split, order, dominators, &pieces) {
        let place = liveness.live_in(join.block).binary_search(&join.base).expect("the value is live where names of it meet");
        colours[join.name] = Some(assignment.entry.get(join.block)[place]);
    }
    let names = split.debug_uses.iter().zip(&assignment.debug).map(|(debug, reg)| reg.map(|_| debug.value));
    let debug: Vec<Option<Value>> = names.collect();
    debug_assert!(debug.iter().zip(&assignment.debug).all(|(name, &reg)| name.and_then(|name| colours[name]) == reg));
    let colours = Colours(colours);
    let used = colours.registers() | PinLiveness::written(&split);
    Coloured { function: split, used, colours, folds, redundant: assignment.redundant, debug }
}

/// The registers of the names that exist before any split.
fn colours(function: &Function, assignment: &Assignment) -> SecondaryMap<Value, Option<Reg>> {
    let mut colours: SecondaryMap<Value, Option<Reg>> = of_each(function.values.len());
    for (operand, &reg) in function.operands.iter().zip(&assignment.operands).filter(|(operand, _)| operand.is_def()) {
        colours[operand.value] = reg;
    }
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        colours[phi.def] = assignment.phi_register[phi.def];
    }
    colours
}

struct Splitter<'a> {
    function: &'a Function,
    assignment: &'a Assignment,
    rewriter: Rewriter<'a>,
    colours: SecondaryMap<Value, Option<Reg>>,
    pieces: Pieces,
    /// The latest names of the values that have moved in the current block.
    name: SecondaryMap<Value, PackedOption<Value>>,
    /// The values that have an entry in `name`.
    named: Vec<Value>,
    folds: Vec<Fold>,
    old_folds: &'a [Fold],
    next_repair: usize,
    next_debug: usize,
    /// The operands of the instruction that is being written. Kept for their memory.
    operands: Vec<Operand>,
}

impl Splitter<'_> {
    /// Requires φs for the values that a block expects elsewhere than a predecessor leaves them.
    fn joins(&mut self, liveness: &Liveness, block: Block) {
        for &pred in &self.function.blocks[block].preds {
            let live = liveness.live_in(block);
            let arriving = self.assignment.on_exit(self.function, liveness, pred, block, live.iter().copied());
            for ((&value, &expected), found) in live.iter().zip(self.assignment.entry.get(block)).zip(arriving) {
                if expected != found {
                    self.pieces.join(value, block);
                }
            }
        }
    }

    fn block(&mut self, liveness: &Liveness, block: Block) {
        let end = self.function.blocks[block].insts.end;
        if self.assignment.repairs.get(self.next_repair).is_none_or(|repair| repair.before.as_u32() >= end) {
            return self.unchanged(block);
        }
        self.rewriter.begin(block);
        for inst in self.function.block_insts(block) {
            self.instruction(inst);
        }
        self.rewriter.end();
        self.debug_uses();
        for value in std::mem::take(&mut self.named) {
            self.name[value] = None.into();
            if liveness.live_out(block).binary_search(&value).is_ok() {
                self.pieces.reaches_from_outside(value);
            }
        }
    }

    /// Copies a block in which nothing moves.
    fn unchanged(&mut self, block: Block) {
        let insts = &self.function.blocks[block].insts;
        let first = self.rewriter.copy_block(block, |operand| *operand);
        while let Some(fold) = self.old_folds.get(self.folds.len()).filter(|fold| fold.inst.as_u32() < insts.end) {
            self.folds.push(Fold { inst: Inst::from_u32(fold.inst.as_u32() - insts.start + first), ..*fold });
        }
        self.next_debug = self.rewriter.new.debug_uses.len();
    }

    fn instruction(&mut self, inst: Inst) {
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        operands.extend_from_slice(self.function.operands(inst));
        let repair = self.assignment.repairs.get(self.next_repair).filter(|repair| repair.before == inst);
        let overwritten = repair.map_or(Vec::new(), |repair| self.parallel(&repair.splits));
        if !self.named.is_empty() {
            for operand in operands.iter_mut().filter(|operand| !operand.is_def()) {
                operand.value = self.latest(operand.value);
            }
        }
        for (operand, name) in overwritten {
            operands[operand].value = name;
        }
        let new = self.rewriter.copy(inst, &operands);
        self.debug_uses();
        self.operands = operands;
        while let Some(fold) = self.old_folds.get(self.folds.len()).filter(|fold| fold.inst == inst) {
            self.folds.push(Fold { inst: new, ..*fold });
        }
    }

    /// Makes the debug uses that were written last name the latest pieces of their values.
    fn debug_uses(&mut self) {
        let total = self.rewriter.new.debug_uses.len();
        for number in std::mem::replace(&mut self.next_debug, total)..total {
            let latest = self.latest(self.rewriter.new.debug_uses[number].value);
            self.rewriter.new.debug_uses[number].value = latest;
        }
    }

    /// Writes a parallel copy. Returns the operands of the next instruction for which it copies a value that stays, with the
    /// copies.
    fn parallel(&mut self, splits: &[Split]) -> Vec<(usize, Value)> {
        self.next_repair += 1;
        let mut pairs = Vec::with_capacity(2 * splits.len());
        let mut overwritten = Vec::new();
        let mut moved = Vec::new();
        for split in splits {
            let name = self.rewriter.name(split.value);
            self.colours[name] = Some(split.to);
            pairs.extend([Operand::defining(name), Operand::using(self.latest(split.value))]);
            match split.operand {
                Some(operand) => overwritten.push((operand, name)),
                None => moved.push((split.value, name)),
            }
        }
        self.rewriter.insert(InstKind::Inserted(Inserted::Parallel), &pairs);
        for (value, name) in moved {
            self.pieces.add(name, value);
            self.name[value] = name.into();
            self.named.push(value);
        }
        overwritten
    }

    fn latest(&self, value: Value) -> Value {
        self.name[value].expand().unwrap_or(value)
    }
}
