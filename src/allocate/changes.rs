//! In what the program that is allocated differs from the imported one.

use crate::machine::{Inst, RegClass};
use std::collections::BTreeMap;

/// What the overlay has to say of a program that is not allocated as it was imported. Instructions are the imported ones.
#[derive(Default)]
pub struct Changes {
    /// Those that have moved, and whether they write no flags any more ([`super::sink`]).
    pub moved: BTreeMap<Inst, bool>,
    /// Copies from and to registers that are excluded, made elsewhere in the block, or not at all, and of which class what they
    /// copy is ([`super::park`]).
    pub parked: BTreeMap<Inst, RegClass>,
    /// Copies to registers of the program in whose place constants are computed, and by which instructions ([`super::copies`]).
    pub computed: BTreeMap<Inst, Inst>,
    /// Whether that is so wherever a constant is computed again right in front of such a copy.
    pub computes_in_place: bool,
}
