//! Conventional SSA form, as the phases that make it and the phases that rely on it know it.

use crate::machine::{Block, Function, Value};
use cranelift_entity::{SecondaryMap, entity_impl, packed_option::PackedOption};
use serde::{Deserialize, Serialize};

/// A φ-web: values related by φs (and copies, if those were coalesced too), none of which interferes with another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Web(u32);
entity_impl!(Web, "web");

/// A function in conventional SSA form.
pub struct Conventional {
    pub function: Function,
    /// The web of each value that a φ (or a coalesced copy) defines or takes.
    pub webs: SecondaryMap<Value, PackedOption<Web>>,
    /// The number of webs.
    pub web_count: usize,
    /// The values of the φs on edges that can take no code: what one of them is in, memory or a register, all those that an
    /// edge relates are in.
    pub without_code: Vec<Value>,
    /// What conversion came to.
    pub counts: ConversionCounts,
}

/// Copies and φ-related classes, before and after coalescing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversionCounts {
    /// Copies that isolate all φs: one an argument, and one a definition that another φ of its block takes.
    pub copies_before: u64,
    /// Copies that are inserted.
    pub copies_after: u64,
    /// Classes of φ-related values after isolation: one a φ.
    pub classes_before: u64,
    /// Classes that are left: φ-webs.
    pub classes_after: u64,
}

impl Conventional {
    /// With counts, when this function has been converted, whose φs (and whatever else) so many copies isolate.
    pub(in crate::allocate) fn counted(mut self, function: &Function, copies_before: u64) -> Self {
        self.counts = ConversionCounts {
            copies_before,
            copies_after: (self.function.insts.len() - function.insts.len()) as u64,
            classes_before: function.blocks.values().map(|data| data.phis.len() as u64).sum(),
            classes_after: self.related_classes(),
        };
        self
    }

    /// The number of webs that φs of the function relate.
    pub(in crate::allocate) fn related_classes(&self) -> u64 {
        let mut seen = vec![false; self.web_count];
        for phi in self.function.blocks.values().flat_map(|data| &data.phis) {
            let web = self.webs[phi.def].expand().expect("a φ's values are in a web");
            seen[web.as_u32() as usize] = true;
        }
        seen.iter().filter(|&&seen| seen).count() as u64
    }
}

/// What the members of a class are to share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allocate) enum Sharing {
    /// A memory location.
    Memory,
    /// A register.
    Register,
}

/// Whether an edge into the block can take no code, so that a φ and what it takes have to be in one place.
pub(in crate::allocate) fn is_entered_without_code(function: &Function, block: Block) -> bool {
    function.blocks[block].preds.iter().any(|&pred| function.takes_no_code(pred, block))
}
