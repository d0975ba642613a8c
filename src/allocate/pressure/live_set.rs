//! The values in registers at the current point of a walk, with their counts.

use super::limits::{Counts, Limits};
use crate::analysis::Liveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Function, Inst, Value};
use cranelift_entity::SecondaryMap;

/// A set of values that can be listed, in no particular order, and whose counts are at hand.
pub(in crate::allocate) struct LiveSet<'a> {
    function: &'a Function,
    limits: &'a Limits,
    values: Vec<Value>,
    /// The index of each member in `values`.
    place: SecondaryMap<Value, u32>,
    counts: Counts,
}

impl<'a> LiveSet<'a> {
    pub(in crate::allocate) fn new(function: &'a Function, limits: &'a Limits) -> Self {
        let place = of_each(function.values.len());
        LiveSet { function, limits, values: Vec::new(), place, counts: Counts::default() }
    }

    pub(in crate::allocate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(in crate::allocate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(in crate::allocate) fn clear(&mut self) {
        self.values.clear();
        self.counts = Counts::default();
    }

    /// Adds a value that is no member.
    pub(in crate::allocate) fn add(&mut self, value: Value) {
        self.place[value] = self.values.len() as u32;
        self.values.push(value);
        self.limits.count(&mut self.counts, self.function.values[value].class, 1);
    }

    /// Removes a value if it is a member.
    pub(in crate::allocate) fn remove(&mut self, value: Value) {
        if self.contains(value) {
            let place = self.place[value] as usize;
            self.values.swap_remove(place);
            if let Some(&moved) = self.values.get(place) {
                self.place[moved] = place as u32;
            }
            self.limits.count(&mut self.counts, self.function.values[value].class, -1);
        }
    }

    pub(in crate::allocate) fn contains(&self, value: Value) -> bool {
        self.values.get(self.place[value] as usize) == Some(&value)
    }

    /// The counts without `leaving`, which are among them.
    pub(in crate::allocate) fn counts_without(&self, leaving: &Counts) -> Counts {
        let mut rest = self.counts;
        rest.iter_mut().zip(leaving).for_each(|(count, leaving)| *count -= leaving);
        rest
    }

    /// Passes an instruction: values that die there leave, and those that it defines come in, if they are `in_register`.
    pub(in crate::allocate) fn advance(&mut self, liveness: &Liveness, inst: Inst, in_register: impl Fn(Value) -> bool) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            let ends = liveness.kills(first + k);
            if !operand.is_def() && ends {
                self.remove(operand.value);
            } else if operand.is_def() && !ends && in_register(operand.value) {
                self.add(operand.value);
            }
        }
    }
}
