//! Location transfer graphs of registers, as sequences of instructions.
//!
//! The types in this file cannot name memory. Thus the compiler proves that φ elimination never spills.
//!
//! Relies on: [PP09, §4, Theorem 4] (the components of a spartan graph are paths and cycles) and [PP09, §5, Theorem 5] (a
//! path is implemented by moves from its end, a cycle by swaps). Here a value may also go to several registers; such a tree
//! is implemented from its leaves. `graph.rs` finds trees and cycles.

use super::graph::{Edge, Graph};
use crate::machine::{Reg, RegClass, RegSet, RegisterFile, SwapKind, SwapSupport};

/// A transfer: the content of one register goes to another, at the same time as along all other transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub from: Reg,
    pub to: Reg,
    /// Wide enough for the content.
    pub class: RegClass,
}

/// An instruction of the language that graphs are implemented in: Seq of [PP09, §5] without memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterStep {
    Move { to: Reg, from: Reg, class: RegClass },
    Swap { a: Reg, b: Reg, class: RegClass, kind: SwapKind },
}

/// How cycles are implemented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapPolicy {
    /// By moves through a free register if there is one, or else by swaps.
    Auto,
    /// By exchange instructions; of vectors, which have none, by three exclusive-ors.
    Exchange,
    /// By three exclusive-ors, or by an exchange where they would overwrite live flags.
    Xor,
}

/// The point at which a location transfer graph is implemented.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub file: &'a RegisterFile,
    /// Registers with values that stay where they are.
    pub kept: RegSet,
    /// Registers that may be overwritten once the graph does not need them any more.
    pub available: RegSet,
    /// Whether a status register is live.
    pub status_live: bool,
    pub policy: SwapPolicy,
}

/// Implements a graph: afterwards each `to` holds the old content of its `from`, and of all other registers only `available`
/// ones have changed.
///
/// # Panics
/// If two transfers go to one register. If a cycle in a bank without swaps finds no register available: spilling keeps one
/// free there.
pub fn sequentialise(transfers: &[Transfer], around: &Surroundings) -> Vec<RegisterStep> {
    let mut graph = Graph::new(transfers);
    let mut steps = Vec::with_capacity(transfers.len());
    let mut ready = graph.ready();
    while let Some(place) = ready.pop() {
        let (Transfer { from, to, class }, released) = graph.take(place);
        steps.push(RegisterStep::Move { to, from, class });
        ready.extend(released);
    }
    // Only cycles are left, which read nothing but their own registers.
    let targets: RegSet = transfers.iter().map(|transfer| transfer.to).collect();
    let unused = around.available - around.kept - targets;
    while let Some(cycle) = graph.next_cycle() {
        let carried = cycle[cycle.len() - 1].class;
        let free = (unused & around.file.classes[carried].regs).first();
        cycle_steps(&cycle, free, around, &mut steps);
    }
    steps
}

impl Edge for Transfer {
    type Place = Reg;

    fn source(self) -> Reg {
        self.from
    }

    fn target(self) -> Reg {
        self.to
    }
}

/// Implements one cycle. Its edges are given in backward order, from the one into its last register; `free` has to be in the
/// class of the edge that comes last.
///
/// # Panics
/// If the bank has no swaps, and no register is free.
pub(super) fn cycle_steps(cycle: &[Transfer], free: Option<Reg>, around: &Surroundings, steps: &mut Vec<RegisterStep>) {
    let file = around.file;
    let bank = file.bank(cycle[0].to).expect("values live in registers of a bank");
    let kind = match (file.banks[bank].swap, around.policy) {
        (SwapSupport::Never, _) => None,
        (SwapSupport::Exchange | SwapSupport::Xor, SwapPolicy::Auto) if free.is_some() => None,
        (SwapSupport::Xor, _) => Some(SwapKind::Xor),
        (SwapSupport::Exchange, SwapPolicy::Xor) if !around.status_live => Some(SwapKind::Xor),
        (SwapSupport::Exchange, _) => Some(SwapKind::Exchange),
    };
    let (first, rest) = cycle.split_first().expect("a cycle has edges");
    match kind {
        Some(kind) => {
            // A swap carries the contents of both registers, so it has to be as wide as the widest transfer of the cycle.
            let class = rest.iter().fold(first.class, |class, transfer| file.wider(class, transfer.class));
            let swap = |t: &Transfer| {
                let class = file.carrier(class, RegSet::from_iter([t.to, t.from]));
                RegisterStep::Swap { a: t.to, b: t.from, class, kind }
            };
            steps.extend(cycle[..cycle.len() - 1].iter().map(swap));
        }
        None => {
            let free = free.expect("a bank without swaps keeps a register free");
            let last = cycle[cycle.len() - 1];
            // The content of `first.to` goes to `last.to` by way of `free`; all others move directly.
            steps.push(RegisterStep::Move { to: free, from: first.to, class: last.class });
            let moves = cycle[..cycle.len() - 1].iter();
            steps.extend(moves.map(|transfer| RegisterStep::Move {
                to: transfer.to,
                from: transfer.from,
                class: transfer.class,
            }));
            steps.push(RegisterStep::Move { to: last.to, from: free, class: last.class });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::builtin;

    /// Executes the steps on registers that hold their own numbers at first.
    fn execute(steps: &[RegisterStep]) -> [usize; RegSet::CAPACITY] {
        let mut content: [usize; RegSet::CAPACITY] = std::array::from_fn(|index| index);
        for step in steps {
            match *step {
                RegisterStep::Move { to, from, .. } => content[to.index()] = content[from.index()],
                RegisterStep::Swap { a, b, .. } => content.swap(a.index(), b.index()),
            }
        }
        content
    }

    /// Tries every parallel copy among `n` registers: each register gets the content of any register, or nothing.
    fn exhaust(registers: &[Reg], available: RegSet, policy: SwapPolicy) {
        let file = builtin("tiny").expect("the file exists");
        let n = registers.len();
        let class = file.classes.iter().find(|(_, c)| c.regs.contains(registers[0])).expect("a class").0;
        for code in 0..(n + 1).pow(n as u32) {
            let choice = |index: usize| code / (n + 1).pow(index as u32) % (n + 1);
            let transfers: Vec<Transfer> = (0..n)
                .filter(|&index| choice(index) < n)
                .map(|index| Transfer { from: registers[choice(index)], to: registers[index], class })
                .collect();
            let targets: RegSet = transfers.iter().map(|t| t.to).collect();
            let kept: RegSet = registers.iter().copied().filter(|reg| !targets.contains(*reg)).collect();
            let around = Surroundings { file: &file, kept, available, status_live: false, policy };
            let content = execute(&sequentialise(&transfers, &around));
            for transfer in &transfers {
                assert_eq!(content[transfer.to.index()], transfer.from.index(), "{transfers:?}");
            }
            for (index, &held) in content.iter().enumerate() {
                let reg = Reg::new(index);
                assert!(targets.contains(reg) || available.contains(reg) || held == index, "{transfers:?}");
            }
        }
    }

    #[test]
    fn implements_every_parallel_copy_of_six_registers_by_swaps() {
        let registers: Vec<Reg> = (0..6).map(Reg::new).collect();
        exhaust(&registers, RegSet::EMPTY, SwapPolicy::Auto);
    }

    #[test]
    fn implements_every_parallel_copy_of_five_registers_under_every_policy() {
        let registers: Vec<Reg> = (0..5).map(Reg::new).collect();
        for policy in [SwapPolicy::Auto, SwapPolicy::Exchange, SwapPolicy::Xor] {
            exhaust(&registers, RegSet::only(Reg::new(5)), policy);
        }
    }
}
