//! The statistics that chordal writes: the schema `chordal-stats/1`.

use crate::allocate::cssa::ConversionCounts;
use crate::allocate::eliminate::EliminationCounts;
use crate::allocate::spill::Optimisations;
use crate::analysis::GraphSizes;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The name of the schema.
pub const SCHEMA: &str = "chordal-stats/1";

/// The statistics of one module under one allocator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of chordal that counted.
    pub chordal: String,
    /// Name of the allocator, as on the command line.
    pub allocator: String,
    /// The choices that the allocator worked by, named as on the command line; `null` for one that has none.
    pub options: Option<Options>,
    /// General-purpose registers that the allocator was held to; `null`: all of the target's.
    pub registers: Option<Vec<String>>,
    /// Name of the input file, as given.
    pub source: String,
    /// Target triple of the module.
    pub target: String,
    /// Time of code generation as a whole, from the module to the output. Absent with `--no-times`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compilation_ns: Option<u64>,
    /// Sums over all functions.
    pub total: Counts,
    /// The functions in the order of the output.
    pub functions: Vec<Function>,
}

/// The choices of an allocator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Options {
    /// One of chordal's.
    Own(OwnOptions),
    /// The switches of another one, by name.
    Other(IndexMap<String, bool>),
}

/// The choices of one of chordal's allocators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnOptions {
    /// `--eliminate`.
    pub eliminate: String,
    /// `--frugal`.
    pub frugal: bool,
    /// `--store-hoist`.
    pub store_hoist: bool,
    /// `--load-lower`.
    pub load_lower: String,
    /// `--memory-coalesce`.
    pub memory_coalesce: bool,
    /// `--fold`.
    pub fold: bool,
    /// `--rematerialise`.
    pub rematerialise: bool,
    /// `--pins`.
    pub pins: String,
    /// `--swap`.
    pub swap: String,
}

/// The statistics of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Name of the function's symbol.
    pub name: String,
    /// Why the function was left to the code generator's own allocator; `null` if it was not.
    pub fallback: Option<String>,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What is counted in a function, or summed over functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions in the output.
    #[serde(rename = "static")]
    pub fixed: Static,
    /// Instructions in the output, each times the estimated executions of its block per execution of its function.
    pub weighted: Weighted,
    /// LLVM's `RegAllocScore` of the final code: weighted loads, stores and rematerialisable instructions, the program's own
    /// included. It knows copies only as a pseudo-instruction, of which none is left by then. Lower is better.
    pub score: f64,
    /// By the same weights, what the allocator causes: accesses to spill slots, register copies, exchanges (as three copies).
    /// Exclusive-or swaps and rematerialised instructions cannot be told from the program's own and are left out.
    pub overhead: f64,
    /// What spilling came to.
    pub spill: Spill,
    /// Conversion to conventional SSA form (zero for allocators that do without, or do not tell; so are the next three).
    pub conversion: ConversionCounts,
    /// Sizes of interference graphs before spilling (Table 1 of the allocator paper).
    pub graphs: GraphSizes,
    /// What the optimisations of spill-free elimination removed.
    pub optimisations: Optimisations,
    /// What φ elimination had to do.
    pub elimination: EliminationCounts,
    /// Functions that were left to the code generator's own allocator.
    #[serde(default)]
    pub fallbacks: u64,
    /// Bytes of all stack frames.
    pub frame_bytes: u64,
    /// Time that allocation took. Absent with `--no-times`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<Times>,
    /// The most bytes of the heap that allocation had in use beyond those in use before, the checker apart; of several
    /// functions the largest number. Absent with `--no-times`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// By phase, in the order in which the phases first ran.
    #[serde(flatten)]
    pub phases: IndexMap<String, u64>,
    /// All phases.
    pub total: u64,
}

impl Times {
    /// Adds the time of a phase.
    pub fn add(&mut self, phase: &str, nanoseconds: u64) {
        self.total += nanoseconds;
        match self.phases.get_mut(phase) {
            Some(sum) => *sum += nanoseconds,
            None => _ = self.phases.insert(phase.to_owned(), nanoseconds),
        }
    }
}

/// Instructions counted once each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Static {
    /// Instructions that read memory; folded operands and `pop` included, calls and inline assembly not.
    pub loads: u64,
    /// Instructions that write memory; folded operands and `push` included, calls and inline assembly not.
    pub stores: u64,
    /// Copies from register to register.
    pub moves: u64,
    /// Exclusive-or instructions of any width.
    pub xors: u64,
    /// All instructions.
    pub instructions: u64,
    /// Bytes of machine code; `null` in a function without a symbol (private linkage, in an object file).
    pub bytes: Option<u64>,
}

/// Instructions counted by block frequency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// As [`Static::loads`].
    pub loads: f64,
    /// As [`Static::stores`].
    pub stores: f64,
    /// As [`Static::moves`].
    pub moves: f64,
    /// As [`Static::xors`].
    pub xors: f64,
    /// As [`Static::instructions`].
    pub instructions: f64,
}

/// What spilling came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spill {
    /// Spilled values (0 for allocators that do not tell).
    pub values: u64,
    /// Spill slots in the frame.
    pub slots: u64,
    /// Bytes of the spill slots.
    pub slot_bytes: u64,
    /// Instructions that write a spill slot, folded ones included.
    pub stores: u64,
    /// Instructions that read a spill slot, folded ones included.
    pub reloads: u64,
    /// Those of the above that do something else as well.
    pub folded: u64,
    /// Instructions executed again in place of a reload (0 for allocators that do not tell).
    pub remats: u64,
    /// Copies that the allocator added (0 for allocators that do not tell).
    pub copies: u64,
    /// Swaps of two registers: those that the allocator added, or, if it does not tell, exchanges in the output.
    pub swaps: u64,
}

/// The architecture in a target triple, by the name that chordal calls it.
pub fn architecture(triple: &str) -> &str {
    match triple.split('-').next().unwrap_or_default() {
        "x86_64" => "x86-64",
        "i386" | "i486" | "i586" | "i686" => "i386",
        other => other,
    }
}

/// The phase that checks an allocation, which is no part of it.
pub const CHECKER: &str = "check";

impl Counts {
    /// Time of allocation: all phases but the checker.
    pub fn allocation_ns(&self) -> Option<u64> {
        let times = self.time_ns.as_ref()?;
        Some(times.total - times.phases.get(CHECKER).copied().unwrap_or(0))
    }

    /// Leaves out what differs from run to run.
    pub fn forget_measurements(&mut self) {
        self.time_ns = None;
        self.memory_bytes = None;
    }

    /// The sum over functions.
    pub fn total<'f>(functions: impl IntoIterator<Item = &'f Function>) -> Counts {
        let mut total = Counts::default();
        for function in functions {
            total += &function.counts;
        }
        total
    }
}

macro_rules! add_fields {
    ($type:ty: $($field:ident),+) => {
        impl AddAssign<&$type> for $type {
            fn add_assign(&mut self, other: &$type) {
                $(self.$field += other.$field;)+
            }
        }
    };
}

add_fields!(Weighted: loads, stores, moves, xors, instructions);
add_fields!(Spill: values, slots, slot_bytes, stores, reloads, folded, remats, copies, swaps);
add_fields!(ConversionCounts: copies_before, copies_after, classes_before, classes_after);
add_fields!(GraphSizes: value_register, interference);
add_fields!(Optimisations: hoisted_stores, lowered_values, lowered_loads, coalesced_copies);
add_fields!(EliminationCounts: graphs, edges, memory_transfers, potential_spills, fixed_points, spills);

impl AddAssign<&Static> for Static {
    fn add_assign(&mut self, other: &Static) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.moves += other.moves;
        self.xors += other.xors;
        self.instructions += other.instructions;
        if let Some(bytes) = other.bytes {
            *self.bytes.get_or_insert_default() += bytes;
        }
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.fixed += &other.fixed;
        self.weighted += &other.weighted;
        self.score += other.score;
        self.overhead += other.overhead;
        self.spill += &other.spill;
        self.conversion += &other.conversion;
        self.graphs += &other.graphs;
        self.optimisations += &other.optimisations;
        self.elimination += &other.elimination;
        self.fallbacks += other.fallbacks;
        self.frame_bytes += other.frame_bytes;
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        if let Some(times) = &other.time_ns {
            let sums = self.time_ns.get_or_insert_default();
            for (phase, &time) in &times.phases {
                sums.add(phase, time);
            }
        }
    }
}
