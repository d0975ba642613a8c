//! Conventional SSA form, as the phases that produce it and those that rely on it share it.

use crate::machine::{Block, Function, Value};
use cranelift_entity::{SecondaryMap, entity_impl, packed_option::PackedOption};
use serde::{Deserialize, Serialize};

/// A φ-web: values related by φs, or by copies if those were coalesced too. No two of them interfere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Web(u32);
entity_impl!(Web, "web");

/// A function in conventional SSA form.
pub struct Conventional {
    pub function: Function,
    /// The web of each value that a φ or a coalesced copy defines or takes.
    pub webs: SecondaryMap<Value, PackedOption<Web>>,
    /// The number of webs.
    pub web_count: usize,
    /// The values of φs on edges that can take no code. An argument is where its φ's definition is: both are in memory, or
    /// both in one register.
    pub without_code: Vec<Value>,
    pub counts: ConversionCounts,
}

/// The numbers of copies and of φ-related classes, before and after coalescing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversionCounts {
    /// Copies that would isolate all φs: one for each argument and each definition (\[Sr99\], Method I). With φ-lifting, only
    /// those definitions count that another φ of the block takes, since no others are copied [PP05, §4.1].
    pub copies_before: u64,
    /// Copies that were inserted.
    pub copies_after: u64,
    /// Classes of φ-related values if all φs are isolated: one for each φ.
    pub classes_before: u64,
    /// Classes of φ-related values in the result: φ-webs.
    pub classes_after: u64,
}

impl Conventional {
    /// Adds the counts of the conversion. `function` is what was converted; `copies_before` copies isolate all of its φs,
    /// and its two-address operands if these are isolated, too.
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

/// The kind of location that the members of a class are to share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allocate) enum Sharing {
    /// A memory location.
    Memory,
    /// A register.
    Register,
}

/// Whether an edge into the block can take no code, so that a φ and its argument have to be in one place.
pub(in crate::allocate) fn is_entered_without_code(function: &Function, block: Block) -> bool {
    function.blocks[block].preds.iter().any(|&pred| function.takes_no_code(pred, block))
}
