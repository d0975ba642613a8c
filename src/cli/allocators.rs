//! The allocators by name.

use crate::eliminate::SwapPolicy;
use crate::llvm::Allocator;
use crate::pipeline::Preset;

/// An allocator that exists.
pub struct Entry {
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its phases in order; none for LLVM's.
    pub phases: &'static [&'static str],
}

pub const DEFAULT: &str = "spill-free";
const LLVM_GREEDY: &str = "llvm-greedy";

pub const ALL: &[Entry] = &[
    Entry {
        name: DEFAULT,
        about: "SSA-based, with spill-free elimination of phis (Pereira and Palsberg)",
        phases: &["cssa", "spill", "assign", "eliminate", "check"],
    },
    Entry { name: LLVM_GREEDY, about: "LLVM's default allocator, counted in the same way", phases: &[] },
];

/// The allocator of this name, as a command-line argument.
///
/// # Errors
/// If there is none; the message names the nearest one.
pub fn parse(name: &str) -> Result<&'static Entry, String> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let nearest = ALL.iter().max_by(|a, b| strsim::jaro(a.name, name).total_cmp(&strsim::jaro(b.name, name)));
        let nearest = nearest.expect("there are allocators").name;
        format!("there is no such allocator; the nearest is `{nearest}` (`chordal list` shows all)")
    })
}

impl Entry {
    /// Whether it is one of LLVM's.
    pub fn is_llvm(&self) -> bool {
        self.name == LLVM_GREEDY
    }

    /// What the compiler is to use. Only chordal's allocators have a swap policy and a checker.
    pub fn allocator(&self, swap: SwapPolicy, check: bool) -> Allocator {
        if self.is_llvm() { Allocator::LlvmGreedy } else { Allocator::Ours(Preset { name: self.name, swap, check }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_pipeline() {
        let ours: Vec<_> = ALL.iter().filter(|entry| !entry.is_llvm()).map(|entry| entry.name).collect();
        assert_eq!(ours, crate::pipeline::ALLOCATORS);
    }

    #[test]
    fn the_nearest_allocator_is_named() {
        let message = parse("lvm-gredy").err().expect("there is none");
        assert!(message.contains("`llvm-greedy`"), "{message}");
    }
}
