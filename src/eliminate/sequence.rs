//! Location transfer graphs of registers, one after the other as instructions.
//!
//! The types here cannot name memory: that φ elimination never spills is a fact of the types.
//! Relies on: `spill-free-ssa-elimination.txt`, section 4 (Theorem 4: the components of a spartan graph are paths and cycles)
//! and section 5 (Theorem 5: a path is implemented by moves from its end, a cycle by swaps). A value may also go to several
//! registers; such a tree is implemented from its leaves.

use crate::assign::Transfer;
use clap::ValueEnum;
use crate::machine::{Reg, RegClass, RegSet, RegisterFile, SwapKind, SwapSupport};

/// An instruction of the language that graphs are implemented in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterStep {
    Move { to: Reg, from: Reg, class: RegClass },
    Swap { a: Reg, b: Reg, class: RegClass, kind: SwapKind },
}

/// How cycles are implemented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SwapPolicy {
    /// By moves through a free register if there is one, else by swaps
    Auto,
    /// By exchange instructions; vectors, which have none, by three exclusive-ors
    #[value(name = "xchg")]
    Exchange,
    /// By three exclusive-ors; by an exchange where they would overwrite live flags
    Xor,
}

/// What surrounds a location transfer graph.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub file: &'a RegisterFile,
    /// Registers that hold values which stay where they are.
    pub kept: RegSet,
    /// Registers that may be overwritten once nothing in the graph needs them.
    pub available: RegSet,
    /// Whether a status register is live.
    pub status_live: bool,
    pub policy: SwapPolicy,
}

/// Implements a graph: afterwards each `to` holds what its `from` held before, and no register but those and `available`
/// ones has changed.
///
/// # Panics
/// If two transfers go to one register, or if a cycle in a bank without swaps finds no register available: the spilling
/// phase keeps one free there.
pub fn sequentialise(transfers: &[Transfer], around: &Surroundings) -> Vec<RegisterStep> {
    let mut graph = Graph::new(transfers);
    let mut steps = Vec::with_capacity(transfers.len());
    graph.paths(&mut steps);
    graph.cycles(around, &mut steps);
    steps
}

struct Graph {
    /// The edge into each register, by the register's index.
    into: [Option<Transfer>; RegSet::CAPACITY],
    /// The number of edges out of each register that are still to be implemented.
    readers: [u8; RegSet::CAPACITY],
    /// Registers whose edge is still to be implemented.
    pending: RegSet,
    /// All registers with an edge into them.
    targets: RegSet,
}

impl Graph {
    fn new(transfers: &[Transfer]) -> Self {
        let mut graph = Graph {
            into: [None; RegSet::CAPACITY],
            readers: [0; RegSet::CAPACITY],
            pending: RegSet::EMPTY,
            targets: RegSet::EMPTY,
        };
        for &transfer in transfers {
            assert!(!graph.targets.contains(transfer.to), "a parallel copy writes {:?} twice", transfer.to);
            graph.targets.insert(transfer.to);
            if transfer.from != transfer.to {
                graph.into[transfer.to.index()] = Some(transfer);
                graph.readers[transfer.from.index()] += 1;
                graph.pending.insert(transfer.to);
            }
        }
        graph
    }

    /// Implements everything that is not on a cycle, and the trees that hang on cycles.
    fn paths(&mut self, steps: &mut Vec<RegisterStep>) {
        let mut ready: Vec<Reg> = self.pending.iter().filter(|reg| self.readers[reg.index()] == 0).collect();
        while let Some(to) = ready.pop() {
            let Transfer { from, class, .. } = self.into[to.index()].expect("a pending register has an edge");
            self.pending.remove(to);
            steps.push(RegisterStep::Move { to, from, class });
            self.readers[from.index()] -= 1;
            if self.readers[from.index()] == 0 && self.pending.contains(from) {
                ready.push(from);
            }
        }
    }

    /// Implements what is left: cycles, in which each register is read once.
    fn cycles(&mut self, around: &Surroundings, steps: &mut Vec<RegisterStep>) {
        while let Some(start) = self.pending.first() {
            // Against the direction of the edges: each register and the one whose content it gets.
            let mut cycle = Vec::new();
            let mut at = start;
            while self.pending.contains(at) {
                self.pending.remove(at);
                let transfer = self.into[at.index()].expect("a pending register has an edge");
                cycle.push(transfer);
                at = transfer.from;
            }
            let carried = cycle[cycle.len() - 1].class;
            let free = self.free_register(around.file.classes[carried].regs, around);
            cycle_steps(&cycle, free, around, steps);
        }
    }

    /// One of these registers that nothing needs any more.
    fn free_register(&self, among: RegSet, around: &Surroundings) -> Option<Reg> {
        let candidates = (around.available & among) - around.kept - self.targets;
        candidates.iter().find(|reg| self.readers[reg.index()] == 0)
    }
}

/// Implements one cycle, given as the edges from its last register backwards.
fn cycle_steps(cycle: &[Transfer], free: Option<Reg>, around: &Surroundings, steps: &mut Vec<RegisterStep>) {
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
            // A swap carries the contents of both registers, so it is as wide as the widest on the cycle.
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
            // The content of `first.to` goes to `last.to`; everything else moves up.
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

    /// Executes the steps on registers that hold their own numbers.
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
