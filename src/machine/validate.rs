//! The validator: does a function keep every promise that the documentation of the model makes?
//!
//! There are three rounds, each of which relies on the previous ones. All indices are valid ([`Scan::numbers`]). The
//! register file, blocks and instructions are well-formed, one by one. The whole is in strict SSA form ([`dominance`]).

mod dominance;

use super::function::{Block, Function, Inserted, Inst, InstFlags, InstKind, Operand, Phi, PinSets, Role, Value};
use super::registers::{Bank, BankInfo, Reg, RegClass, RegSet, RegisterFile, SwapSupport};
use dominance::{Dominance, Position};
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// A promise that is broken, and where.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct Violation {
    pub place: Place,
    pub rule: Rule,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Function,
    File,
    Block(Block),
    Inst(Block, Inst),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Function => write!(f, "function"),
            Place::File => write!(f, "register file"),
            Place::Block(block) => write!(f, "{block}"),
            Place::Inst(block, inst) => write!(f, "{block}, {inst}"),
        }
    }
}

/// A promise that is broken. The messages say what is wrong instead.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Rule {
    #[error("class {0} lists a register twice, outside its bank or excluded, or differs from its set")]
    ClassRegisters(String),
    #[error("class {0} has a slot without a size, or an alignment that is not a power of two")]
    SlotSize(String),
    #[error("bank {0} does not swap, and its classes of {1} bytes have not all its registers between them in one")]
    MemoryForm(String, u32),
    #[error("status register {0} is in a bank")]
    StatusBank(String),

    #[error("there is no entry block")]
    NoEntry,
    #[error("its instructions do not begin where those of the block before end, at {0}")]
    InstRange(u32),
    #[error("instructions from {0} on belong to no block")]
    InstOutside(u32),
    #[error("the operands of {0} do not begin where those of the instruction before end")]
    OperandRange(Inst),
    #[error("{0} does not exist")]
    Missing(String),
    #[error("the pin sets are not interned after the empty one")]
    PinsNotInterned,

    #[error("no way leads there from the entry")]
    Unreachable,
    #[error("the entry has predecessors")]
    EntryHasPreds,
    #[error("{0} is a predecessor or a successor twice")]
    NeighbourTwice(Block),
    #[error("the edge to {0} is not among the target's predecessors")]
    EdgeWithoutPred(Block),
    #[error("the edge from {0} is not among the source's successors")]
    EdgeWithoutSucc(Block),
    #[error("a block on an edge has to have one predecessor, one successor, and only its like after it")]
    OnEdge,
    #[error("frequency {0} is negative or not finite")]
    Frequency(f64),
    #[error("{0}, which throws, is not an instruction of the block")]
    ThrowsElsewhere(Inst),
    #[error("an instruction throws, but no landing pad follows")]
    ThrowsNowhere,
    #[error("a landing pad follows, but no instruction throws")]
    NothingThrows,
    #[error("a register is live in a landing pad that {0}, which throws, does not overwrite")]
    LiveInPad(Inst),

    #[error("a terminator is followed by another instruction")]
    TerminatorInside,
    #[error("a label follows another instruction")]
    LabelInside,
    #[error("a label accesses a value, for which no code could stand before it")]
    LabelAccesses,
    #[error("operand {0} reuses something other than a use in a register of the same bank")]
    Reuse(usize),
    #[error("operand {0} reuses what another operand reuses")]
    ReuseTwice(usize),
    #[error("operand {0} overwrites early what another operand reads")]
    ReadWhileOverwritten(usize),
    #[error("operand {0} may reuse another operand, or none, in place of what it cannot reuse in the first place")]
    ReuseInstead(usize),
    #[error("is storable, but not rematerialisable")]
    Storable,
    #[error("is given, but not rematerialisable")]
    Given,
    #[error("is movable, but writes memory")]
    MovableWriter,
    #[error("can be executed again elsewhere, but writes memory")]
    RepeatableWriter,
    #[error("is movable, but rematerialisable, of which nobody says whether it writes flags")]
    MovableConstant,
    #[error("operand {0} is foldable, but is no operation's, or is a definition that overwrites nothing")]
    Foldable(usize),
    #[error("a {0} does not have the operands of one")]
    Operands(&'static str),
    #[error("no instruction follows that could record the operand")]
    NothingRecords,
    #[error("the copied register is not among the pins")]
    CopyWithoutPin,

    #[error("the φ of {0} does not have one argument per predecessor")]
    PhiColumns(Value),
    #[error("the φ of {0} has an argument of another bank")]
    PhiBank(Value),
    #[error("{0} has a second definition")]
    DefinedTwice(Value),
    #[error("{0} has no definition")]
    NotDefined(Value),
    #[error("{0} is not defined on every path to here")]
    NotDominated(Value),
    #[error("the debug use of {0} is not at a point of the block")]
    DebugPoint(Value),
    #[error("the debug use of {0} is not in program order")]
    DebugOrder(Value),
}

/// Checks a function. Returns all violations of the first round that finds any.
pub fn validate(function: &Function) -> Result<(), Vec<Violation>> {
    let mut scan = Scan { function, edges: Edges::new(function), found: Vec::new() };
    scan.numbers();
    if scan.found.is_empty() {
        scan.file(&function.file);
        scan.pin_sets();
        function.blocks.keys().for_each(|block| scan.block(block));
        scan.debug_uses();
    }
    if scan.found.is_empty() {
        scan.ssa();
    }
    if scan.found.is_empty() { Ok(()) } else { Err(scan.found) }
}

/// A function's edges, as pairs of source and target.
#[derive(Default)]
struct Edges {
    /// As the sources list them.
    from: HashSet<(Block, Block)>,
    /// As the targets list them.
    to: HashSet<(Block, Block)>,
}

impl Edges {
    fn new(function: &Function) -> Self {
        let blocks = &function.blocks;
        let from = blocks.iter().flat_map(|(block, data)| data.succs.iter().map(move |&succ| (block, succ)));
        let to = blocks.iter().flat_map(|(block, data)| data.preds.iter().map(move |&pred| (pred, block)));
        Edges { from: from.collect(), to: to.collect() }
    }
}

struct Scan<'a> {
    function: &'a Function,
    edges: Edges,
    found: Vec<Violation>,
}

impl Scan<'_> {
    fn require(&mut self, holds: bool, place: Place, rule: Rule) {
        if !holds {
            self.found.push(Violation { place, rule });
        }
    }

    /// Everything that is named exists, so that later checks may index freely.
    fn numbers(&mut self) {
        let function = self.function;
        self.require(!function.blocks.is_empty(), Place::Function, Rule::NoEntry);
        self.ranges();
        for (value, data) in &function.values {
            let known = function.file.classes.is_valid(data.class);
            self.require(known, Place::Function, Rule::Missing(format!("the class of {value}")));
        }
        let values = function.operands.iter().map(|o| o.value).chain(function.debug_uses.iter().map(|d| d.value));
        for value in values {
            self.value_exists(value, Place::Function);
        }
        for (inst, data) in &function.insts {
            self.require(function.pins.is_valid(data.pins), Place::Function, Rule::Missing(format!("the pin set of {inst}")));
            if let InstKind::CopyTo(reg) | InstKind::CopyFrom(reg) = data.kind {
                self.registers_exist(RegSet::only(reg), Place::Function);
            }
        }
        for pins in function.pins.values() {
            self.registers_exist(pins.uses | pins.defs | pins.early_defs | pins.clobbers, Place::Function);
        }
        for (block, data) in &function.blocks {
            let place = Place::Block(block);
            for &other in data.preds.iter().chain(&data.succs) {
                self.require(function.blocks.is_valid(other), place, Rule::Missing(other.to_string()));
            }
            for Phi { def, args } in &data.phis {
                let named = args.iter().filter_map(|arg| arg.expand());
                named.chain([*def]).for_each(|value| self.value_exists(value, place));
            }
            self.registers_exist(data.live_in_pins, place);
        }
    }

    /// Blocks partition the instructions in layout order, and instructions partition the operands.
    fn ranges(&mut self) {
        let function = self.function;
        let mut end = 0;
        for (block, data) in &function.blocks {
            let fits = data.insts.start == end && data.insts.end >= end && data.insts.end as usize <= function.insts.len();
            self.require(fits, Place::Block(block), Rule::InstRange(end));
            end = data.insts.end.max(end);
        }
        self.require(end as usize == function.insts.len(), Place::Function, Rule::InstOutside(end));

        let mut end = 0;
        for (inst, data) in &function.insts {
            let Range { start, end: after } = data.operands;
            let fits = start == end && after >= end && after as usize <= function.operands.len();
            self.require(fits, Place::Function, Rule::OperandRange(inst));
            end = after.max(end);
        }
    }

    fn value_exists(&mut self, value: Value, place: Place) {
        self.require(self.function.values.is_valid(value), place, Rule::Missing(value.to_string()));
    }

    fn registers_exist(&mut self, set: RegSet, place: Place) {
        for reg in set.iter().filter(|reg| reg.index() >= self.function.file.regs.len()) {
            self.require(false, place, Rule::Missing(format!("register {reg:?}")));
        }
    }

    fn file(&mut self, file: &RegisterFile) {
        for class in file.classes.values() {
            let set: RegSet = class.order.iter().copied().collect();
            let distinct = set.len() == class.order.len() && set == class.regs;
            let in_bank = class.order.iter().all(|reg| file.regs.get(reg.index()).is_some_and(|r| r.bank == Some(class.bank)));
            let usable = !set.intersects(file.excluded);
            self.require(distinct && in_bank && usable, Place::File, Rule::ClassRegisters(class.name.clone()));
            let slot = class.slot_size > 0 && class.slot_align.is_power_of_two();
            self.require(slot, Place::File, Rule::SlotSize(class.name.clone()));
        }
        for (bank, info) in file.banks.iter().filter(|(_, info)| info.swap == SwapSupport::Never) {
            self.memory_forms(file, bank, info);
        }
        self.registers_exist(file.callee_saved | file.prefixed | file.excluded | file.status, Place::File);
        for (index, info) in file.regs.iter().enumerate() {
            let allocatable_status = file.status.contains(Reg::new(index)) && info.bank.is_some();
            self.require(!allocatable_status, Place::File, Rule::StatusBank(info.name.clone()));
        }
    }

    /// If registers of a bank hold more than memory does, each of them has every form in memory
    /// ([`RegisterFile::memory_form`]).
    fn memory_forms(&mut self, file: &RegisterFile, bank: Bank, info: &BankInfo) {
        let all = file.allocatable(bank);
        let classes = || file.classes.values().filter(|class| class.bank == bank);
        for size in classes().map(|class| class.slot_size) {
            let one_has_all = classes().any(|class| class.slot_size == size && class.regs == all);
            self.require(one_has_all, Place::File, Rule::MemoryForm(info.name.clone(), size));
        }
    }

    fn pin_sets(&mut self) {
        let pins = &self.function.pins;
        let distinct: HashSet<&PinSets> = pins.values().collect();
        let empty_first = pins.values().next() == Some(&PinSets::default());
        self.require(empty_first && distinct.len() == pins.len(), Place::Function, Rule::PinsNotInterned);
    }

    fn block(&mut self, block: Block) {
        let function = self.function;
        let data = &function.blocks[block];
        let place = Place::Block(block);
        self.edges(block);
        self.require(data.frequency.is_finite() && data.frequency >= 0.0, place, Rule::Frequency(data.frequency));
        if data.on_edge {
            let alone = data.preds.len() == 1 && data.succs.len() == 1;
            let like_after = function.blocks.get(Block::from_u32(block.as_u32() + 1)).is_none_or(|next| next.on_edge);
            self.require(alone && like_after, place, Rule::OnEdge);
        }
        self.throws(block);
        for phi in &data.phis {
            self.require(phi.args.len() == data.preds.len(), place, Rule::PhiColumns(phi.def));
            let banks = phi.args.iter().filter_map(|arg| arg.expand()).all(|value| self.same_bank(phi.def, value));
            self.require(banks, place, Rule::PhiBank(phi.def));
        }
        let insts: Vec<Inst> = function.block_insts(block).collect();
        for pair in insts.windows(2) {
            let (first, second) = (&function.insts[pair[0]], &function.insts[pair[1]]);
            let place = |at: usize| Place::Inst(block, pair[at]);
            self.require(!first.is(InstFlags::TERMINATOR) || second.is(InstFlags::TERMINATOR), place(0), Rule::TerminatorInside);
            self.require(!second.is(InstFlags::LABEL) || first.is(InstFlags::LABEL), place(1), Rule::LabelInside);
        }
        insts.into_iter().for_each(|inst| self.inst(block, inst));
    }

    fn edges(&mut self, block: Block) {
        let function = self.function;
        let data = &function.blocks[block];
        let place = Place::Block(block);
        self.require(block != function.entry() || data.preds.is_empty(), place, Rule::EntryHasPreds);
        for neighbours in [&data.preds, &data.succs] {
            let mut seen = HashSet::new();
            for &other in neighbours {
                self.require(seen.insert(other), place, Rule::NeighbourTwice(other));
            }
        }
        for &succ in &data.succs {
            self.require(self.edges.to.contains(&(block, succ)), place, Rule::EdgeWithoutPred(succ));
        }
        for &pred in &data.preds {
            self.require(self.edges.from.contains(&(pred, block)), place, Rule::EdgeWithoutSucc(pred));
        }
    }

    /// A block throws if and only if a landing pad follows it.
    fn throws(&mut self, block: Block) {
        let data = &self.function.blocks[block];
        let pad = data.succs.iter().any(|&succ| self.function.blocks[succ].landing_pad);
        match data.throws.expand() {
            Some(inst) => {
                let inside = data.insts.contains(&inst.as_u32());
                self.require(inside, Place::Block(block), Rule::ThrowsElsewhere(inst));
                self.require(pad, Place::Block(block), Rule::ThrowsNowhere);
                self.require(!inside || self.unwinder_writes(block, inst), Place::Block(block), Rule::LiveInPad(inst));
            }
            None => self.require(!pad, Place::Block(block), Rule::NothingThrows),
        }
    }

    /// Whether the throwing instruction overwrites all registers in which the unwinder passes something to the landing pads.
    fn unwinder_writes(&self, block: Block, throws: Inst) -> bool {
        let succs = self.function.blocks[block].succs.iter().map(|&succ| &self.function.blocks[succ]);
        let mut pads = succs.filter(|data| data.landing_pad);
        let pins = self.function.pins(throws);
        pads.all(|pad| pad.live_in_pins.is_subset(pins.defs | pins.early_defs | pins.clobbers))
    }

    fn inst(&mut self, block: Block, inst: Inst) {
        let data = &self.function.insts[inst];
        let operands = self.function.operands(inst);
        let place = Place::Inst(block, inst);
        self.require(!data.is(InstFlags::LABEL) || operands.is_empty(), place, Rule::LabelAccesses);
        self.reuses(operands, place);
        self.folds(data.kind, operands, place);
        let roles: Vec<Role> = operands.iter().map(|o| o.role).collect();
        let pins = self.function.pins(inst);
        let (name, well_formed) = match data.kind {
            InstKind::Op => ("op", true),
            InstKind::Copy => {
                let pair = roles == [Role::Def, Role::Use] || roles == [Role::Use, Role::Def];
                // A copy may share a register with its source, but need not.
                let is_free = operands.iter().all(|operand| operand.reuse.is_none());
                ("copy", pair && is_free && self.same_bank(operands[0].value, operands[1].value))
            }
            InstKind::CopyTo(_) => ("copy-to", roles == [Role::Use]),
            InstKind::CopyFrom(_) => ("copy-from", roles == [Role::Def]),
            InstKind::Inserted(Inserted::Load(_)) => ("load", roles == [Role::Def]),
            InstKind::Inserted(Inserted::Store(_)) => ("store", roles == [Role::Use]),
            InstKind::Inserted(Inserted::StoreConstant(..)) => ("store-constant", roles.is_empty()),
            InstKind::Inserted(Inserted::Rematerialise(_)) => {
                ("rematerialise", roles == [Role::Def] || roles == [Role::Def, Role::Use])
            }
            InstKind::Inserted(Inserted::Parallel) => ("parallel", self.is_parallel(operands)),
        };
        self.require(well_formed, place, Rule::Operands(name));
        let pinned = match data.kind {
            InstKind::CopyTo(reg) => pins.defs.contains(reg),
            InstKind::CopyFrom(reg) => pins.uses.contains(reg),
            _ => true,
        };
        self.require(pinned, place, Rule::CopyWithoutPin);
        let repeatable = !data.is(InstFlags::REMATERIALISABLE) || (roles.len() == 1 && operands[0].is_def());
        self.require(repeatable, place, Rule::Operands("rematerialisable instruction"));
        // When it is executed again, it writes no flags.
        let flags = PinSets { defs: pins.defs & self.function.file.status, ..PinSets::default() };
        let computes = roles == [Role::Def, Role::Use] && *pins == flags;
        self.require(!data.is(InstFlags::RECOMPUTABLE) || computes, place, Rule::Operands("recomputable instruction"));
        let extends = data.kind == InstKind::Op && roles == [Role::Def, Role::Use] && *pins == PinSets::default();
        let is_loose = operands.iter().all(|operand| operand.reuse.is_none());
        self.require(!data.is(InstFlags::EXTENDS) || extends && is_loose, place, Rule::Operands("extension"));
        let size = |operand: &Operand| self.function.file.classes[self.function.values[operand.value].class].slot_size;
        let widens = data.kind == InstKind::Copy && matches!(operands, [def, read] if def.is_def() && size(def) > size(read));
        self.require(!data.is(InstFlags::WIDENS) || widens, place, Rule::Operands("copy to a wider class"));
        let recorded = data.kind == InstKind::Op && roles == [Role::Use] && *pins == PinSets::default();
        self.require(!data.is(InstFlags::RECORDED) || recorded, place, Rule::Operands("recorded operand"));
        let is_last = self.function.block_insts(block).next_back() == Some(inst);
        self.require(!data.is(InstFlags::RECORDED) || !is_last, place, Rule::NothingRecords);
        self.require(!data.is(InstFlags::STORABLE) || data.is(InstFlags::REMATERIALISABLE), place, Rule::Storable);
        self.require(!data.is(InstFlags::GIVEN) || data.is(InstFlags::REMATERIALISABLE), place, Rule::Given);
        self.require(!data.is(InstFlags::MOVABLE) || !data.is(InstFlags::WRITES), place, Rule::MovableWriter);
        self.require(!data.is_repeatable() || !data.is(InstFlags::WRITES), place, Rule::RepeatableWriter);
        self.require(!data.is(InstFlags::MOVABLE) || !data.is(InstFlags::REMATERIALISABLE), place, Rule::MovableConstant);
    }

    fn reuses(&mut self, operands: &[Operand], place: Place) {
        for (index, operand) in operands.iter().enumerate() {
            let can_reuse = |reuse: u8| {
                let of_bank = |source: &Operand| !source.is_def() && self.same_bank(operand.value, source.value);
                operand.is_def() && operands.get(usize::from(reuse)).is_some_and(of_bank)
            };
            let loose = !operand.reuse_instead.is_empty() || operand.reuse_none;
            let taken =
                |use_: u8| (operands.iter().enumerate()).any(|(k, o)| k != index && o.overwritable().any(|it| it == use_));
            let mut others = operand.reuse_instead.iter();
            let instead = others.all(|use_| can_reuse(use_) && operand.reuse != Some(use_) && !taken(use_));
            let sensible = !loose || operand.role == Role::Def && operand.reuse.is_some() && instead;
            let holds = operand.reuse.is_none_or(can_reuse);
            self.require(sensible, place, Rule::ReuseInstead(index));
            self.require(holds, place, Rule::Reuse(index));
            let Some(reuse) = operand.reuse else { continue };
            let again = operands[..index].iter().any(|other| other.reuse == Some(reuse));
            self.require(!again, place, Rule::ReuseTwice(index));
            let source = usize::from(reuse);
            let reads = |k: usize| operands[k].value == operands[source].value && !operands[k].is_def() && k != source;
            let early = operand.role == Role::EarlyDef && holds;
            self.require(!early || !(0..operands.len()).any(reads), place, Rule::ReadWhileOverwritten(index));
        }
    }

    fn folds(&mut self, kind: InstKind, operands: &[Operand], place: Place) {
        for (index, operand) in operands.iter().enumerate() {
            let may_be = match operand.role {
                Role::Use => true,
                Role::Def => operand.reuse.is_some(),
                Role::EarlyDef => false,
            };
            self.require(!operand.foldable || kind == InstKind::Op && may_be, place, Rule::Foldable(index));
        }
    }

    /// Whether the operands are pairs of a definition and a use of names of one value.
    fn is_parallel(&self, operands: &[Operand]) -> bool {
        let names = |a: Value, b: Value| self.function.original(a) == self.function.original(b);
        let pair = |pair: &[Operand]| matches!(pair, [def, used] if def.role == Role::Def && used.role == Role::Use && names(def.value, used.value));
        operands.chunks(2).all(pair)
    }

    fn same_bank(&self, a: Value, b: Value) -> bool {
        let bank = |class: RegClass| self.function.file.classes[class].bank;
        bank(self.function.values[a].class) == bank(self.function.values[b].class)
    }

    fn debug_uses(&mut self) {
        let uses = &self.function.debug_uses;
        for debug in uses {
            let exists = self.function.blocks.get(debug.at.block).is_some_and(|b| debug.at.index as usize <= b.insts.len());
            self.require(exists, Place::Block(debug.at.block), Rule::DebugPoint(debug.value));
        }
        for pair in uses.windows(2) {
            self.require(pair[0].at <= pair[1].at, Place::Block(pair[1].at.block), Rule::DebugOrder(pair[1].value));
        }
    }

    /// Strict SSA form: each value has one definition, which is on every path from the entry to a use.
    fn ssa(&mut self) {
        let function = self.function;
        let mut dominance = Dominance::new(function);
        for block in function.blocks.keys() {
            self.require(dominance.is_reached(block), Place::Block(block), Rule::Unreachable);
            for phi in &function.blocks[block].phis {
                let first = dominance.define(phi.def, Position::head(block));
                self.require(first, Place::Block(block), Rule::DefinedTwice(phi.def));
            }
            for inst in function.block_insts(block) {
                for operand in function.operands(inst).iter().filter(|o| o.is_def()) {
                    let first = dominance.define(operand.value, Position::written(block, inst));
                    self.require(first, Place::Inst(block, inst), Rule::DefinedTwice(operand.value));
                }
            }
        }
        for block in function.blocks.keys() {
            for inst in function.block_insts(block) {
                for operand in function.operands(inst).iter().filter(|o| !o.is_def()) {
                    self.reaches(&dominance, operand.value, Position::read(block, inst), Place::Inst(block, inst));
                }
            }
            self.arguments(&dominance, block);
        }
        for debug in &function.debug_uses {
            let defined = dominance.is_defined(debug.value);
            self.require(defined, Place::Block(debug.at.block), Rule::NotDefined(debug.value));
        }
    }

    /// A φ uses its argument where the edge leaves the predecessor.
    fn arguments(&mut self, dominance: &Dominance, block: Block) {
        let data = &self.function.blocks[block];
        for phi in &data.phis {
            for (&pred, arg) in data.preds.iter().zip(&phi.args) {
                if let Some(value) = arg.expand() {
                    let exit = dominance.exit(pred, block);
                    self.reaches(dominance, value, exit, Place::Block(block));
                }
            }
        }
    }

    fn reaches(&mut self, dominance: &Dominance, value: Value, at: Position, place: Place) {
        if dominance.is_defined(value) {
            self.require(dominance.reaches(value, at), place, Rule::NotDominated(value));
        } else {
            self.require(false, place, Rule::NotDefined(value));
        }
    }
}

#[cfg(test)]
mod tests;
