//! The statistics that chordal writes: the schema `chordal-stats/1`.
//!
//! Each field's comment is its definition; the names are those of the JSON unless a field is renamed.

pub mod counters;
pub mod names;
pub mod read;

use crate::allocate::cssa::ConversionCounts;
use crate::allocate::degraded::Degraded;
use crate::allocate::destruct::DestructionCounts;
use crate::allocate::eliminate::{EliminationCounts, TransferGraphs};
use crate::allocate::recolour::RecolouringCounts;
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
    /// The options in effect, named as on the command line; `null` for an allocator that has none.
    pub options: Option<Options>,
    /// The general-purpose registers that the allocator might use; `null` for all of the target's.
    pub registers: Option<Vec<String>>,
    /// Name of the input file, as given.
    pub source: String,
    /// The working folder of the input's name, if it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
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

/// The options of an allocator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Options {
    /// Of one of chordal's allocators.
    Own(Box<OwnOptions>),
    /// The switches of another allocator, by name.
    Other(IndexMap<String, bool>),
}

/// The choices of one of chordal's allocators: the switches of its options, each as `--set` names it. A switch that the
/// allocator does not read is absent if its field is optional, and means nothing otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnOptions {
    pub eliminate: String,
    /// Whether values related by φs share slots, which follows from how φs are eliminated.
    pub frugal: bool,
    /// `requested` if only values that find no register are spilled.
    #[serde(default)]
    pub spill: String,
    pub store_hoist: bool,
    pub load_lower: String,
    pub memory_coalesce: bool,
    /// Whether spilled values that are not live at once share slots. (Before there was a switch, they did.)
    #[serde(default = "shares_slots")]
    pub share_slots: bool,
    pub fold: bool,
    #[serde(default)]
    pub read_in_place: bool,
    pub rematerialise: bool,
    /// Where prices say what is spilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// If integer programs are solved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver_seconds: Option<u64>,
    #[serde(default)]
    pub weigh_size: bool,
    #[serde(default)]
    pub merge_copies: bool,
    #[serde(default)]
    pub park: bool,
    #[serde(default)]
    pub sink: bool,
    #[serde(default)]
    pub delay: bool,
    #[serde(default)]
    pub forms: bool,
    #[serde(default)]
    pub spare_jumps: bool,
    #[serde(default)]
    pub register_slots: bool,
    #[serde(default)]
    pub separate_saves: bool,
    #[serde(default)]
    pub split_ties: bool,
    #[serde(default)]
    pub split_arguments: bool,
    /// Where registers are assigned in dominance order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_order: Option<String>,
    pub pins: String,
    #[serde(default)]
    pub coalesce: String,
    /// If φ-related values share memory but may each have a register of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cssa: Option<String>,
    /// Of allocators that leave SSA form before allocation.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub destruction: Option<DestructionOptions>,
    pub swap: String,
}

fn shares_slots() -> bool {
    true
}

/// How SSA form is left before allocation \[Bo09\].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestructionOptions {
    pub after: String,
    pub interference: String,
    pub virtualize: bool,
    pub liveness: String,
    pub merge: String,
}

/// The statistics of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Name of the function's symbol.
    pub name: String,
    /// Where it is defined; absent without debug information.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Why the function was left to the code generator's own allocator; `null` if it was not.
    pub fallback: Option<String>,
    /// The places where a phase did something other than it was asked to; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<Degraded>,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// With the folder that the compiler was started in, if the debug information has it.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// The counts of a function, or sums over functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions in the output.
    #[serde(rename = "static")]
    pub fixed: Static,
    /// Instructions after the insertion of prologues, each weighted by the executions of its block per call of its function,
    /// as estimated when allocation begins.
    pub weighted: Weighted,
    /// The code before allocation, the same for every allocator.
    #[serde(default)]
    pub selected: Selected,
    /// LLVM's `RegAllocScore` of the final code: weighted loads, stores and rematerialisable instructions, the program's own
    /// included. It knows copies only as a pseudo-instruction, none of which is left in final code. Lower is better.
    pub score: f64,
    /// The cost that the allocator causes, by the same costs and weighted as [`Self::weighted`]: the sum of the parts.
    pub overhead: f64,
    #[serde(default)]
    pub overhead_parts: OverheadParts,
    /// The overhead of a function divided by its weighted selected instructions; of several functions, the mean of their
    /// shares, each weighted by the function's selected instructions.
    #[serde(default)]
    pub overhead_share: f64,
    /// The result of spilling.
    pub spill: Spill,
    /// Conversion to conventional SSA form. Zero, like the next three, for allocators without this phase or that do not
    /// report it.
    pub conversion: ConversionCounts,
    /// Destruction of SSA form before allocation.
    #[serde(default)]
    pub destruction: DestructionCounts,
    /// Sizes of interference graphs before spilling [PP05, Table 1].
    pub graphs: GraphSizes,
    /// Code that the optimisations of spill-free elimination removed \[PP09\].
    pub optimisations: Optimisations,
    /// Copies before and after recolouring.
    #[serde(default)]
    pub recolouring: RecolouringCounts,
    /// The work of φ elimination.
    pub elimination: EliminationCounts,
    /// Functions that were left to the code generator's own allocator.
    #[serde(default)]
    pub fallbacks: u64,
    /// Functions in which a phase did something other than it was asked to.
    #[serde(default)]
    pub degraded_functions: u64,
    /// Bytes of all stack frames.
    pub frame_bytes: u64,
    /// Time that allocation took. Absent with `--no-times`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<Times>,
    /// The most bytes of the heap that allocation used at once beyond those in use before, the checker excepted; of several
    /// functions the largest. Absent with `--no-times`.
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
    /// Instructions that read memory, including `pop` and those with folded operands; not calls and inline assembly.
    pub loads: u64,
    /// Instructions that write memory, including `push` and those with folded operands; not calls and inline assembly.
    pub stores: u64,
    /// Copies from register to register.
    pub moves: u64,
    /// Exclusive-or instructions of any width.
    pub xors: u64,
    /// All instructions.
    pub instructions: u64,
    /// Bytes of machine code; `null` for a function without a symbol (private linkage, in an object file).
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

/// The code before allocation. Copies, φs and other pseudo-instructions that may emit no code do not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// As [`Static::instructions`].
    pub instructions: u64,
    /// As [`Weighted::instructions`].
    pub weighted_instructions: f64,
}

/// The cost that an allocator causes, by frequency and by the cost given for each part. Parts marked as a difference compare
/// with the selected code: they are negative where the allocator removed instructions, or moved them to where they are
/// executed less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverheadParts {
    /// Loads from spill slots: 4.
    pub reloads: f64,
    /// Stores to spill slots: 1.
    pub stores: f64,
    /// Saves of callee-saved registers: 1.
    pub saves: f64,
    /// Restores of callee-saved registers: 4.
    pub restores: f64,
    /// Copies from register to register, including those of the selected code that remain: 0.2.
    pub copies: f64,
    /// Exchanges of registers, by one instruction or by three exclusive-ors: 0.6.
    pub exchanges: f64,
    /// Rematerialised instructions: 0.2, or 1 where LLVM does not call them as cheap as a move. A difference.
    pub remats: f64,
    /// All other instructions that the selected code does not have: 0.2. A difference.
    pub other: f64,
}

impl OverheadParts {
    /// The sum of all parts.
    pub fn sum(&self) -> f64 {
        let OverheadParts { reloads, stores, saves, restores, copies, exchanges, remats, other } = self;
        reloads + stores + saves + restores + copies + exchanges + remats + other
    }
}

/// The result of spilling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spill {
    /// Spilled values (0 for allocators that do not report them).
    pub values: u64,
    /// Spill slots in the frame.
    pub slots: u64,
    /// Bytes of the spill slots.
    pub slot_bytes: u64,
    /// Instructions that write a spill slot, folded ones included.
    pub stores: u64,
    /// Instructions that read a spill slot, folded ones included.
    pub reloads: u64,
    /// Those of the stores and reloads that do something else as well.
    pub folded: u64,
    /// Rematerialisations and recomputations (0 for allocators that do not report them).
    pub remats: u64,
    /// Copies that the allocator added (0 for allocators that do not report them).
    pub copies: u64,
    /// Swaps of two registers: those that the allocator added or, if it does not report them, exchanges in the output.
    pub swaps: u64,
    /// The planned cost of reloads, stores and rematerialised instructions, and of saving and restoring callee-saved
    /// registers, by the weights of [`OverheadParts`]. Absent, like the next two fields, for allocators that do not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// A lower bound of that cost, under the assumptions of [`crate::allocate::spill::Certificate`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The number of functions for which some plan of the model may cost less than the bound, which is one of the plans
    /// considered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_bounds: Option<u64>,
}

/// The architecture of a target triple, by chordal's name for it.
pub fn architecture(triple: &str) -> &str {
    match triple.split('-').next().unwrap_or_default() {
        "x86_64" => "x86-64",
        "i386" | "i486" | "i586" | "i686" => "i386",
        other => other,
    }
}

/// The phase that checks an allocation, which is not part of allocation.
pub const CHECKER: &str = "check";

impl Counts {
    /// Time of allocation: all phases but the checker.
    pub fn allocation_ns(&self) -> Option<u64> {
        let times = self.time_ns.as_ref()?;
        Some(times.total - times.phases.get(CHECKER).copied().unwrap_or(0))
    }

    /// Sets the overhead of a function whose selected instructions are known.
    pub fn set_overhead(&mut self, parts: OverheadParts) {
        self.overhead = parts.sum();
        let program = self.selected.weighted_instructions;
        self.overhead_share = if program > 0.0 { self.overhead / program } else { 0.0 };
        self.overhead_parts = parts;
    }

    /// Removes the values that differ from run to run.
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
    ($type:ty: $($field:ident),+ $(; if known: $($known:ident),+)?) => {
        impl AddAssign<&$type> for $type {
            fn add_assign(&mut self, other: &$type) {
                $(self.$field += other.$field;)+
                $($(if let Some(known) = other.$known {
                    *self.$known.get_or_insert_default() += known;
                })+)?
            }
        }
    };
}

add_fields!(Weighted: loads, stores, moves, xors, instructions);
add_fields!(Selected: instructions, weighted_instructions);
add_fields!(OverheadParts: reloads, stores, saves, restores, copies, exchanges, remats, other);
add_fields!(Spill: values, slots, slot_bytes, stores, reloads, folded, remats, copies, swaps; if known: cost, bound, partial_bounds);
add_fields!(ConversionCounts: copies_before, copies_after, classes_before, classes_after);
impl AddAssign<&DestructionCounts> for DestructionCounts {
    fn add_assign(&mut self, other: &DestructionCounts) {
        self.isolating += other.isolating;
        self.ties += other.ties;
        self.program += other.program;
        self.isolating_left += other.isolating_left;
        self.ties_left += other.ties_left;
        self.program_left += other.program_left;
        self.broken_cycles += other.broken_cycles;
        self.weighted += other.weighted;
        self.weighted_left += other.weighted_left;
        self.tests += other.tests;
        // Functions are destructed one after the other, so the largest counts.
        self.bytes = self.bytes.max(other.bytes);
    }
}
add_fields!(GraphSizes: value_register, interference);
add_fields!(Optimisations: hoisted_stores, lowered_values, lowered_loads, coalesced_copies);
add_fields!(RecolouringCounts: copies_before, copies_after, cost_before, cost_after; if known: bound);
add_fields!(EliminationCounts: graphs, edges, memory_transfers, potential_spills, with_mock_phis, with_all_mock_phis, crowded, fixed_points, spills);
add_fields!(TransferGraphs: graphs, edges, memory_transfers, potential_spills);
impl AddAssign for TransferGraphs {
    fn add_assign(&mut self, other: TransferGraphs) {
        *self += &other;
    }
}

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

/// The mean of two shares, each weighted by the selected instructions.
fn mean((share, selected): (f64, &Selected), (other_share, other): (f64, &Selected)) -> f64 {
    let weights = (selected.instructions + other.instructions) as f64;
    // In this form the mean is exact if all the weight is on one side.
    if weights > 0.0 { share + (other_share - share) * (other.instructions as f64 / weights) } else { 0.0 }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.fixed += &other.fixed;
        self.weighted += &other.weighted;
        self.score += other.score;
        self.overhead_share = mean((self.overhead_share, &self.selected), (other.overhead_share, &other.selected));
        self.selected += &other.selected;
        self.overhead_parts += &other.overhead_parts;
        self.overhead = self.overhead_parts.sum();
        self.spill += &other.spill;
        self.conversion += &other.conversion;
        self.destruction += &other.destruction;
        self.graphs += &other.graphs;
        self.optimisations += &other.optimisations;
        self.recolouring += &other.recolouring;
        self.elimination += &other.elimination;
        self.fallbacks += other.fallbacks;
        self.degraded_functions += other.degraded_functions;
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
