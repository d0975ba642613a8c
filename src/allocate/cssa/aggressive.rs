//! Aggressive coalescing: source and target of a copy are merged wherever they do not interfere, even if the union is then
//! hard to find a register for ([PP05, §6], "(LLVM)").
//!
//! Requires: conventional SSA form, each of whose φ-webs can share a register.
//! Ensures: the values of a web do not interfere. φ-related values are in one web. So are the two sides of a copy or a
//! two-address operand, if a register is left that all values of the web may be in and that no pin or clobber takes from any
//! of them. Instructions stay as they are: a copy within a web disappears once the web has its register, or its slot.
//! Relies on: [`Classes`], which are merged for copies as they are for φs.

use super::classes::Classes;
use super::{Conventional, Sharing, Web};
use crate::analysis::grouped::of_each;
use crate::analysis::{Dominators, Interference, Liveness, PinLiveness, contested};
use crate::machine::{Function, InstKind, RegSet, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// Merges the webs of copies' sources and targets where that is possible, the most frequent copies first.
pub(super) fn coalesce(conventional: Conventional, dominators: &Dominators) -> Conventional {
    let function = &conventional.function;
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, dominators, &liveness);
    let contested = contested(function, &liveness, &PinLiveness::new(function));
    let mut merger = Merger {
        function,
        classes: Classes::new(function, dominators, &interference, Sharing::Register),
        allowed: function.values.keys().map(|value| (value, function.allowed(value) - contested[value])).collect(),
    };
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
            let conventional = merger.merge(phi.def, arg);
            debug_assert!(conventional, "{} and {arg} are of one web", phi.def);
        }
    }
    for Affinity { to, from, .. } in affinities(function) {
        if merger.have_a_register(to, from) {
            merger.merge(to, from);
        }
    }
    let (webs, web_count) = merger.webs();
    Conventional { webs, web_count, ..conventional }
}

/// Two values for which one register would save a copy.
struct Affinity {
    to: Value,
    from: Value,
    /// The executions of the copy that is saved.
    frequency: f64,
}

/// Copies between values of one width, and two-address operands, the most frequent first.
///
/// Copies to wider values are left out: such a copy leaves the rest of a register to chance, but not the rest of a slot. So
/// are those of values that terminators define, which cannot be spilled.
fn affinities(function: &Function) -> Vec<Affinity> {
    let mut affinities = Vec::new();
    let width = |value: Value| function.slot_for(value).size;
    let mut apart: SecondaryMap<Value, bool> = SecondaryMap::new();
    for value in function.blocks.keys().flat_map(|block| function.defined_by_terminators(block)) {
        apart[value] = true;
    }
    for (block, data) in &function.blocks {
        for inst in function.block_insts(block) {
            let operands = function.operands(inst);
            let mut relate = |to: Value, from: Value| {
                if width(to) == width(from) && !apart[to] && !apart[from] {
                    affinities.push(Affinity { to, from, frequency: data.frequency });
                }
            };
            if function.insts[inst].kind == InstKind::Copy {
                relate(operands[0].value, operands[1].value);
            }
            for operand in operands {
                if let Some(reused) = operand.reuse {
                    relate(operand.value, operands[usize::from(reused)].value);
                }
            }
        }
    }
    affinities.sort_by(|a, b| b.frequency.total_cmp(&a.frequency));
    affinities
}

struct Merger<'a> {
    function: &'a Function,
    classes: Classes<'a>,
    /// For each representative, the registers that every member of its class can have all its life.
    allowed: SecondaryMap<Value, RegSet>,
}

impl Merger<'_> {
    /// Whether there is a register that all values of both classes can have.
    fn have_a_register(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.classes.find(a), self.classes.find(b));
        self.allowed[a].intersects(self.allowed[b])
    }

    fn merge(&mut self, a: Value, b: Value) -> bool {
        let both = self.allowed[self.classes.find(a)] & self.allowed[self.classes.find(b)];
        let merged = self.classes.merge(a, b);
        if merged {
            self.allowed[self.classes.find(a)] = both;
        }
        merged
    }

    /// Numbers the classes of φ-related values, and all other classes of more than one value.
    fn webs(mut self) -> (SecondaryMap<Value, PackedOption<Web>>, usize) {
        let mut sizes: SecondaryMap<Value, u32> = of_each(self.function.values.len());
        for value in self.function.values.keys() {
            sizes[self.classes.find(value)] += 1;
        }
        for phi in self.function.blocks.values().flat_map(|data| &data.phis) {
            sizes[self.classes.find(phi.def)] += 1;
        }
        let mut by_root: SecondaryMap<Value, PackedOption<Web>> = SecondaryMap::new();
        let mut webs = of_each(self.function.values.len());
        let mut count = 0;
        for value in self.function.values.keys() {
            let root = self.classes.find(value);
            if sizes[root] > 1 && by_root[root].is_none() {
                by_root[root] = Web::new(count).into();
                count += 1;
            }
            webs[value] = by_root[root];
        }
        (webs, count)
    }
}
