//! Liveness by brute force: its equations over single instructions, iterated until nothing changes. Control leaves for a
//! landing pad at the instruction that throws.

use chordal::machine::{Block, Function, Inst, Operand, RegSet, Role, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use std::collections::BTreeSet;

/// The values that are in registers between instructions.
pub struct Live {
    /// Before the block's φs.
    pub into: SecondaryMap<Block, BTreeSet<Value>>,
    pub out: SecondaryMap<Block, BTreeSet<Value>>,
    pub before: SecondaryMap<Inst, BTreeSet<Value>>,
    pub after: SecondaryMap<Inst, BTreeSet<Value>>,
}

/// Values that are in registers at the same time.
pub struct Together {
    /// For messages.
    pub place: String,
    pub values: BTreeSet<Value>,
}

impl Live {
    pub fn new(function: &Function) -> Self {
        let mut live =
            Live { into: SecondaryMap::new(), out: SecondaryMap::new(), before: SecondaryMap::new(), after: SecondaryMap::new() };
        loop {
            let mut changed = false;
            for block in function.blocks.keys().rev() {
                changed |= live.scan(function, block);
            }
            if !changed {
                return live;
            }
        }
    }

    /// Applies the equations to a block once; returns whether the values live into it have changed.
    fn scan(&mut self, function: &Function, block: Block) -> bool {
        let throws = function.blocks[block].throws.expand();
        let mut now = self.along_edges(function, block, None);
        self.out[block] = now.clone();
        for inst in function.block_insts(block).rev() {
            self.after[inst] = now.clone();
            for def in in_registers(function, inst).filter(|o| o.is_def()) {
                now.remove(&def.value);
            }
            if throws == Some(inst) {
                now.extend(self.along_edges(function, block, throws));
            }
            now.extend(in_registers(function, inst).filter(|o| !o.is_def()).map(|o| o.value));
            self.before[inst] = now.clone();
        }
        for phi in &function.blocks[block].phis {
            now.remove(&phi.def);
        }
        std::mem::replace(&mut self.into[block], now.clone()) != now
    }

    /// The values needed by those successors for which control leaves at an instruction or, without one, at the block's end.
    fn along_edges(&self, function: &Function, from: Block, at: Option<Inst>) -> BTreeSet<Value> {
        let mut needed = BTreeSet::new();
        let leaves = |to: Block| match &function.blocks[to] {
            target if target.landing_pad => function.blocks[from].throws.expand(),
            _ => None,
        };
        for &to in function.blocks[from].succs.iter().filter(|&&to| leaves(to) == at) {
            needed.extend(&self.into[to]);
            let column = function.column(from, to);
            let args = function.blocks[to].phis.iter().map(|phi| phi.args[column]);
            needed.extend(args.filter_map(|arg| arg.expand()));
        }
        needed
    }

    /// Every set of values that are in registers at the same time; even dead definitions are there for a moment.
    pub fn together(&self, function: &Function) -> Vec<Together> {
        let mut all = Vec::new();
        for (block, data) in &function.blocks {
            let heads = self.into[block].iter().copied().chain(data.phis.iter().map(|phi| phi.def));
            all.push(Together { place: format!("at the head of {block}"), values: heads.collect() });
            for inst in function.block_insts(block) {
                let early = || in_registers(function, inst).filter(|o| o.role == Role::EarlyDef);
                let free = early().filter(|o| o.reuse.is_none()).map(|o| o.value);
                let values: BTreeSet<Value> = self.before[inst].iter().copied().chain(free).collect();
                // A definition that overwrites a use takes its place.
                for overwriting in early() {
                    let Some(reused) = overwriting.reuse.map(|reuse| function.operands(inst)[usize::from(reuse)].value) else {
                        continue;
                    };
                    let others = values.iter().copied().filter(|&value| value != reused);
                    let values = others.chain([overwriting.value]).collect();
                    all.push(Together { place: format!("while {inst} of {block} overwrites"), values });
                }
                all.push(Together { place: format!("before {inst} of {block}"), values });
                let defs = in_registers(function, inst).filter(|o| o.is_def()).map(|o| o.value);
                let values = self.after[inst].iter().copied().chain(defs).collect();
                all.push(Together { place: format!("after {inst} of {block}"), values });
            }
            all.push(Together { place: format!("at the end of {block}"), values: self.out[block].clone() });
        }
        all
    }
}

/// The operands of an instruction that are not folded.
pub fn in_registers(function: &Function, inst: Inst) -> impl Iterator<Item = &Operand> {
    function.operands(inst).iter()
}

/// The physical registers that hold something for the program.
pub struct Pinned {
    pub before: PrimaryMap<Inst, RegSet>,
    pub after: PrimaryMap<Inst, RegSet>,
    /// Before the block's first instruction, or at its end if it has none.
    pub head: SecondaryMap<Block, RegSet>,
}

impl Pinned {
    pub fn new(function: &Function) -> Self {
        let empty: PrimaryMap<Inst, RegSet> = function.insts.keys().map(|_| RegSet::EMPTY).collect();
        let mut pinned = Pinned { before: empty.clone(), after: empty, head: SecondaryMap::with_default(RegSet::EMPTY) };
        for (block, data) in &function.blocks {
            // The unwinder writes the registers that are live into a landing pad.
            let succs = data.succs.iter().map(|&succ| &function.blocks[succ]).filter(|succ| !succ.landing_pad);
            let mut live = succs.fold(RegSet::EMPTY, |live, succ| live | succ.live_in_pins);
            for inst in function.block_insts(block).rev() {
                pinned.after[inst] = live;
                let pins = function.pins(inst);
                live = (live - (pins.defs | pins.early_defs | pins.clobbers)) | pins.uses;
                pinned.before[inst] = live;
            }
            pinned.head[block] = live | data.live_in_pins;
        }
        pinned
    }
}
