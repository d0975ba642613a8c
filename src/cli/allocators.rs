//! The allocators by name.

use super::options::AllocatorOptions;
use crate::baseline::regalloc2::Algorithm;
use crate::llvm::Allocator;
use crate::pipeline::Strategy;
use crate::preset::Preset;

/// An allocator that exists.
pub struct Entry {
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its phases in order; none for LLVM's own.
    pub phases: &'static [&'static str],
}

pub const DEFAULT: &str = "spill-free";
const LLVM_GREEDY: &str = "llvm-greedy";

const PHASES: &[&str] = &["cssa", "spill", "assign", "eliminate", "check"];
const REGALLOC2: &[&str] = &["regalloc2", "check"];

pub const ALL: &[Entry] = &[
    Entry { name: DEFAULT, about: "SSA-based, with spill-free elimination of phis (Pereira and Palsberg)", phases: PHASES },
    Entry {
        name: "ch-o1",
        about: "SSA-based (Pereira): phi-lifting, colouring in dominance order, no heuristics",
        phases: PHASES,
    },
    Entry { name: "ch-o2", about: "ch-o1 with register coalescing", phases: PHASES },
    Entry { name: "ch-o3", about: "ch-o2 with coalescing of phi-related values in memory", phases: PHASES },
    Entry {
        name: "linear-scan",
        about: "aggressive coalescing, then linear scan with holes and restarts (Evlogimenos)",
        phases: PHASES,
    },
    Entry { name: "local", about: "values stay in registers within a block only", phases: PHASES },
    Entry { name: "simple", about: "every value is in memory", phases: PHASES },
    Entry { name: "regalloc2", about: "Cranelift's allocator: backtracking over split live ranges", phases: REGALLOC2 },
    Entry {
        name: "regalloc2-fast",
        about: "Cranelift's fast allocator: one pass, values in memory between blocks",
        phases: REGALLOC2,
    },
    Entry { name: LLVM_GREEDY, about: "LLVM's default allocator, counted in the same way", phases: &[] },
];

/// The allocator of this name, as a command-line argument.
///
/// # Errors
/// If there is none; the message names the nearest one.
pub fn parse(name: &str) -> Result<&'static Entry, String> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let likeness = |entry: &Entry| strsim::jaro(entry.name, name) + f64::from(u8::from(entry.name.contains(name)));
        let nearest = ALL.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let nearest = nearest.expect("there are allocators").name;
        format!("there is no such allocator; the nearest is `{nearest}` (`chordal list` shows all)")
    })
}

impl Entry {
    /// Whether it is one of LLVM's.
    pub fn is_llvm(&self) -> bool {
        self.name == LLVM_GREEDY
    }

    /// What the compiler is to use, with the checker or without; interference graphs are measured for statistics only.
    ///
    /// # Errors
    /// If an option is not for this allocator, or the options contradict each other.
    pub fn allocator(&self, options: &AllocatorOptions, check: bool, graphs: bool) -> Result<Allocator, String> {
        if let Some(preset) = Preset::named(self.name) {
            return Ok(Allocator::Ours(Preset { check, graphs, ..options.apply(preset)? }.into()));
        }
        if let Some(option) = options.given() {
            return Err(format!("{option} is for chordal's own allocators, not for {}", self.name));
        }
        Ok(match Algorithm::named(self.name) {
            Some(algorithm) => Allocator::Ours(Strategy::Regalloc2 { algorithm, check }),
            None => Allocator::LlvmGreedy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_pipeline() {
        let ours: Vec<_> = ALL.iter().filter(|entry| !entry.is_llvm()).map(|entry| entry.name).collect();
        let presets = crate::preset::PRESETS.iter().map(|preset| preset.name);
        let theirs = Algorithm::ALL.into_iter().map(|(name, _)| name);
        assert_eq!(ours, presets.chain(theirs).collect::<Vec<_>>());
    }

    #[test]
    fn the_nearest_allocator_is_named() {
        let message = parse("lvm-gredy").err().expect("there is none");
        assert!(message.contains("`llvm-greedy`"), "{message}");
    }
}
