//! The register file of a function as regalloc2 sees it.
//!
//! regalloc2 has three classes of registers, in each of which any register is as good as another. So a bank becomes a class,
//! and a function whose values are in more than three banks cannot be handed over. A class that leaves out registers of its
//! bank is described operand by operand. If its registers are those with the lowest numbers, a limit says so, and registers
//! are numbered to make this frequent. Otherwise one of its registers is named (`Demand::One`).

use crate::allocate::failure::Unsupported;
use crate::machine::{Bank, Function, Reg, RegSet};
use regalloc2::{MachineEnv, OperandConstraint, PReg, PRegSet, RegClass};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const CLASSES: [RegClass; 3] = [RegClass::Int, RegClass::Float, RegClass::Vector];

/// How regalloc2 is asked for one register of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demand {
    /// By this constraint.
    Constraint(OperandConstraint),
    /// By naming one of them.
    One,
}

/// The registers of a function with their numbers, and the sets that have constraints of their own.
pub(super) struct Registers {
    /// The banks of the function's values. The index of each is that of its class.
    banks: Vec<Bank>,
    /// The number of each register, by [`Reg::index`].
    numbers: Vec<Option<PReg>>,
    /// The register with each number, by [`PReg::index`].
    regs: Vec<Option<Reg>>,
    /// The registers of each class.
    whole: Vec<RegSet>,
    /// Sets of all registers of a class that have numbers below a limit.
    limits: Vec<(RegSet, usize)>,
}

impl Registers {
    /// Numbers the registers of a function's values, with as many limits as possible.
    ///
    /// # Errors
    /// If there are values in more than three banks.
    pub(super) fn new(function: &Function, with_limits: bool) -> Result<Self, Unsupported> {
        let uses = uses_of_sets(function);
        let banks: Vec<Bank> = uses.keys().copied().collect();
        if let Some(&bank) = banks.get(CLASSES.len()) {
            let name = &function.file.banks[bank].name;
            return Err(Unsupported(format!(
                "regalloc2 has three register classes, and the values of bank {name} would be in a fourth"
            )));
        }
        let mut registers = Registers {
            banks,
            numbers: vec![None; function.file.regs.len()],
            regs: vec![None; PReg::NUM_INDEX],
            whole: Vec::new(),
            limits: Vec::new(),
        };
        for (class, sets) in CLASSES.into_iter().zip(uses.values()) {
            let whole = sets.keys().fold(RegSet::EMPTY, |all, &set| all | set);
            registers.whole.push(whole);
            let chain = if with_limits { chain(sets, whole) } else { vec![whole] };
            registers.number(class, &chain);
        }
        Ok(registers)
    }

    /// Numbers the registers of a class, those of the smaller sets first.
    fn number(&mut self, class: RegClass, chain: &[RegSet]) {
        let mut numbered = RegSet::EMPTY;
        let mut next = 0usize;
        for &set in chain {
            for reg in (set - numbered).iter() {
                let preg = PReg::new(next, class);
                self.numbers[reg.index()] = Some(preg);
                self.regs[preg.index()] = Some(reg);
                next += 1;
            }
            numbered = set;
            if Some(&set) != chain.last() {
                next = next.next_power_of_two();
                self.limits.push((set, next));
            }
        }
    }

    /// The class of a bank that has values.
    pub(super) fn class(&self, bank: Bank) -> RegClass {
        CLASSES[self.banks.iter().position(|&b| b == bank).expect("a value's bank has a class")]
    }

    /// The number of a register, if a value can be in it.
    pub(super) fn preg(&self, reg: Reg) -> Option<PReg> {
        self.numbers[reg.index()]
    }

    /// The register of this number.
    pub(super) fn reg(&self, preg: PReg) -> Reg {
        self.regs[preg.index()].expect("regalloc2 names registers that it was given")
    }

    /// How regalloc2 is asked for one of these registers, which are all of one bank.
    pub(super) fn demand(&self, set: RegSet) -> Demand {
        if self.whole.contains(&set) {
            return Demand::Constraint(OperandConstraint::Reg);
        }
        let limit = self.limits.iter().find(|(limited, _)| *limited == set);
        limit.map_or(Demand::One, |&(_, limit)| Demand::Constraint(OperandConstraint::Limit(limit)))
    }

    /// The registers that regalloc2 may allocate; it prefers those that need not be saved.
    pub(super) fn environment(&self, function: &Function) -> MachineEnv {
        let callee_saved = function.file.callee_saved;
        let class = |at: usize, saved: bool| -> PRegSet {
            let whole = self.whole.get(at).copied().unwrap_or(RegSet::EMPTY);
            let regs = if saved { whole & callee_saved } else { whole - callee_saved };
            regs.iter().filter_map(|reg| self.preg(reg)).collect()
        };
        MachineEnv {
            preferred_regs_by_class: std::array::from_fn(|at| class(at, false)),
            non_preferred_regs_by_class: std::array::from_fn(|at| class(at, true)),
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        }
    }
}

/// The sets of registers that values are confined to, by bank, with the number of operands that are confined to each.
fn uses_of_sets(function: &Function) -> BTreeMap<Bank, BTreeMap<RegSet, u64>> {
    let mut uses: BTreeMap<Bank, BTreeMap<RegSet, u64>> = BTreeMap::new();
    let defined = function.blocks.values().flat_map(|data| &data.phis).map(|phi| phi.def);
    for value in function.operands.iter().map(|operand| operand.value).chain(defined) {
        let class = &function.file.classes[function.values[value].class];
        *uses.entry(class.bank).or_default().entry(class.regs).or_default() += 1;
    }
    uses
}

/// A chain of nested sets in ascending order; the last is the whole. Sets that most operands are confined to are preferred.
/// The chain has as many sets as can be numbered.
fn chain(sets: &BTreeMap<RegSet, u64>, whole: RegSet) -> Vec<RegSet> {
    let mut by_uses: Vec<RegSet> = sets.keys().copied().filter(|&set| set != whole && !set.is_empty()).collect();
    by_uses.sort_by_key(|set| (Reverse(sets[set]), *set));
    let mut chain = vec![whole];
    for set in by_uses {
        let at = chain.partition_point(|other| other.len() < set.len());
        let nested = chain[..at].iter().all(|smaller| smaller.is_subset(set)) && set.is_subset(chain[at]);
        if nested {
            chain.insert(at, set);
            if numbers(&chain) > PReg::MAX + 1 {
                chain.remove(at);
            }
        }
    }
    chain
}

/// How many numbers a chain takes, including those that are skipped below its limits.
fn numbers(chain: &[RegSet]) -> usize {
    let mut next = 0usize;
    let mut numbered = 0;
    for (at, set) in chain.iter().enumerate() {
        next += set.len() - numbered;
        numbered = set.len();
        if at + 1 < chain.len() {
            next = next.next_power_of_two();
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(range: std::ops::Range<usize>) -> RegSet {
        range.map(Reg::new).collect()
    }

    #[test]
    fn chains_are_nested_and_fit() {
        let whole = set(0..15);
        let sets = BTreeMap::from([(whole, 9), (set(0..4), 5), (set(2..8), 4), (set(0..7), 1)]);
        assert_eq!(chain(&sets, whole), [set(0..4), set(0..7), whole]);
        assert_eq!(numbers(&[set(0..4), set(0..7), whole]), 16);
        assert_eq!(numbers(&[set(0..3), set(0..4), whole]), 19);
    }

    #[test]
    fn sets_that_would_need_too_many_numbers_are_left_out() {
        let whole = set(0..33);
        let sets = BTreeMap::from([(whole, 9), (set(0..32), 2), (set(0..17), 1)]);
        assert_eq!(chain(&sets, whole), [set(0..32), whole]);
    }
}
