//! Writing the copies that are left, in one traversal: those whose sides are in different classes ([Bo09, §21.3],
//! "Virtualizing φ-Related Copies").

use super::DestructionCounts;
use super::coalescing::Classes;
use super::isolation::{IsolatedOperand, IsolatingCopy, Isolation, read_copy};
use super::members::Members;
use super::sequence::{CopySource, CopyStep, sequence};
use crate::allocate::ssa::conventional::{Conventional, ConversionCounts, Web};
use crate::analysis::grouped::of_each;
use crate::machine::{Function, InstKind, Operand, RegClass, Rewriter, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::collections::BTreeMap;

/// Writes the function with the isolating copies that are left, and numbers its webs.
pub(super) fn write(
    function: &Function,
    isolation: &Isolation,
    members: &Members,
    classes: &mut Classes,
    counts: &mut DestructionCounts,
) -> Conventional {
    count_all(function, isolation, members, classes, counts);
    let mut rewriter = Rewriter::new(function);
    let mut webs = Webs::new(members, isolation, classes);
    function.values.keys().for_each(|value| webs.join(value, classes.of(value)));
    let mut writer = Writer { classes, webs, counts };
    isolation.write(function, &mut rewriter, |rewriter, parallel, operands| writer.parallel(rewriter, parallel, operands));
    let Webs { webs, count, .. } = writer.webs;
    let (without_code, counts) = (Vec::new(), ConversionCounts::default());
    Conventional { function: rewriter.new, webs, web_count: count, without_code, counts }
}

/// Counts the copies before and after coalescing.
fn count_all(
    function: &Function,
    isolation: &Isolation,
    members: &Members,
    classes: &mut Classes,
    counts: &mut DestructionCounts,
) {
    let mut left = |to, from| classes.of(to) != classes.of(from);
    for copy in &isolation.copies {
        let left = u64::from(left(copy.to, copy.from));
        let (all, remaining) = match copy.isolates {
            IsolatedOperand::Tie { .. } => (&mut counts.ties, &mut counts.ties_left),
            _ => (&mut counts.isolating, &mut counts.isolating_left),
        };
        *all += 1;
        *remaining += left;
    }
    for affinity in &members.affinities {
        let left = left(affinity.to, affinity.from);
        counts.weighted += affinity.weight;
        counts.weighted_left += if left { affinity.weight } else { 0.0 };
        if affinity.to.index() < isolation.values && affinity.from.index() < isolation.values {
            counts.program += 1;
            counts.program_left += u64::from(left);
        }
    }
    debug_assert!(function.values.len() == isolation.values);
}

/// The webs: classes of more than one variable, numbered as they come.
struct Webs {
    webs: SecondaryMap<Value, PackedOption<Web>>,
    of_class: Vec<PackedOption<Web>>,
    /// For each representative, the size of its class. The definition of a φ counts twice, so that even alone it is in a
    /// web.
    sizes: Vec<u32>,
    count: usize,
}

impl Webs {
    fn new(members: &Members, isolation: &Isolation, classes: &mut Classes) -> Self {
        let mut sizes = vec![0; members.count()];
        let phis = isolation
            .copies
            .iter()
            .filter(|copy| matches!(copy.isolates, IsolatedOperand::Definition { .. }))
            .map(|copy| copy.from);
        (0..members.count()).map(Value::new).chain(phis).for_each(|variable| sizes[classes.of(variable).index()] += 1);
        Webs { webs: of_each(members.count()), of_class: vec![None.into(); members.count()], sizes, count: 0 }
    }

    /// Puts a value of the new function into the web of a class.
    fn join(&mut self, value: Value, class: Value) {
        if self.sizes[class.index()] == 1 {
            return;
        }
        if self.of_class[class.index()].is_none() {
            self.of_class[class.index()] = Web::new(self.count).into();
            self.count += 1;
        }
        self.webs[value] = self.of_class[class.index()];
    }
}

struct Writer<'a, 'm> {
    classes: &'a mut Classes<'m>,
    webs: Webs,
    counts: &'a mut DestructionCounts,
}

/// One of a set of parallel copies that is left.
struct RemainingCopy {
    /// The classes of both sides.
    to: Value,
    from: Value,
    /// The values of the new function that it defines and reads.
    written: Value,
    read: Value,
    class: RegClass,
}

impl Writer<'_, '_> {
    /// Writes what is left of a set of parallel copies, and renames the operands that they isolate.
    fn parallel(&mut self, rewriter: &mut Rewriter, parallel: &[IsolatingCopy], operands: &mut [Operand]) {
        let sides: Vec<(Value, Value)> =
            parallel.iter().map(|copy| (self.classes.of(copy.to), self.classes.of(copy.from))).collect();
        // For each class, the value that holds what the copies bring there. Copies that bring the same are written once.
        let mut held: BTreeMap<Value, Value> = BTreeMap::new();
        let coalesced = parallel.iter().zip(&sides).filter(|(_, (to, from))| to == from);
        held.extend(coalesced.map(|(copy, &(to, _))| (to, copy.old())));
        let mut left: Vec<RemainingCopy> = Vec::new();
        for (copy, &(to, from)) in parallel.iter().zip(&sides).filter(|(_, (to, from))| to != from) {
            let Some(&name) = held.get(&to) else {
                let name = rewriter.value(copy.class);
                self.webs.join(name, self.classes.of(copy.fresh()));
                rename(rewriter, copy, name, operands);
                let (written, read) = if copy.fresh() == copy.to { (name, copy.from) } else { (copy.to, name) };
                held.insert(to, written);
                left.push(RemainingCopy { to, from, written, read, class: copy.class });
                continue;
            };
            rename(rewriter, copy, name, operands);
        }
        self.sequential(rewriter, &left);
    }

    fn sequential(&mut self, rewriter: &mut Rewriter, left: &[RemainingCopy]) {
        let variables: Vec<(Value, Value)> = left.iter().map(|copy| (copy.to, copy.from)).collect();
        let mut broken: Vec<Value> = Vec::new();
        for step in sequence(&variables) {
            let (to, from) = match step {
                CopyStep::Break { copy, .. } => {
                    broken.push(rewriter.value(left[copy].class));
                    self.counts.broken_cycles += 1;
                    (broken[broken.len() - 1], left[copy].read)
                }
                CopyStep::Write { copy, from } => {
                    let from = match from {
                        CopySource::Own(_) => left[copy].read,
                        CopySource::Written(other) => left[other].written,
                        CopySource::Broken(cycle) => broken[cycle],
                    };
                    (left[copy].written, from)
                }
            };
            rewriter.insert(InstKind::Copy, &[Operand::defining(to), Operand::using(from)]);
        }
    }
}

/// Makes the isolated operand name the value of its copy.
fn rename(rewriter: &mut Rewriter, copy: &IsolatingCopy, name: Value, operands: &mut [Operand]) {
    match copy.isolates {
        IsolatedOperand::Definition { block, row } => rewriter.new.blocks[block].phis[row].def = name,
        IsolatedOperand::Argument { block, row, column } => rewriter.new.blocks[block].phis[row].args[column] = name.into(),
        IsolatedOperand::Tie { operand, .. } => read_copy(operands, operand, name),
    }
}
