//! The variants that are run: allocators with their options, machines, and numbers of registers.

use serde::Serialize;
use std::fmt;

/// A machine that programs are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// Stands in for SRA's PowerPC: many registers, of which allocators may use few.
    X86_64,
    /// SFE's own machine.
    I386,
}

/// A machine and the number of registers that allocators may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Setting {
    pub machine: Machine,
    /// As `--registers` takes it, or `all`.
    pub registers: &'static str,
}

/// SRA's register counts, on our machine.
pub const FOUR: Setting = Setting { machine: Machine::X86_64, registers: "4" };
pub const EIGHT: Setting = Setting { machine: Machine::X86_64, registers: "8" };
pub const TWELVE: Setting = Setting { machine: Machine::X86_64, registers: "12" };
/// For SRA's 16 (Figure 11) and 29 (Table 4).
pub const FIFTEEN: Setting = Setting { machine: Machine::X86_64, registers: "all" };
/// SFE's setting.
pub const I386: Setting = Setting { machine: Machine::I386, registers: "all" };
/// SFE's setting with one register fewer.
pub const I386_SIX: Setting = Setting { machine: Machine::I386, registers: "6" };

/// The settings in which claims of SFE are measured, the paper's own first.
pub const SFE_SETTINGS: &[Setting] = &[I386, FIFTEEN, EIGHT, FOUR];

/// An allocator with options, in a setting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// The allocator's name followed by its options, as on the command line.
    pub allocator: &'static str,
    pub setting: Setting,
}

pub const CH_O1: &str = "ch-o1";
pub const CH_O2: &str = "ch-o2";
pub const CH_O3: &str = "ch-o3";
pub const LINEAR_SCAN: &str = "linear-scan";
/// SRA's allocators, in the order of its tables: the SSA-based ones, then their rival.
pub const SRA_ALLOCATORS: [&str; 4] = [CH_O1, CH_O2, CH_O3, LINEAR_SCAN];

/// With a slot for each web, as SRA has it, which does not mention that slots are shared.
pub const CH_O3_OWN_SLOTS: &str = "ch-o3 --share-slots off";
pub const LINEAR_SCAN_OWN_SLOTS: &str = "linear-scan --share-slots off";
/// With what might be the reason for its few slots switched off.
pub const LINEAR_SCAN_UNFOLDED: &str = "linear-scan --share-slots off --memory-operands none";
/// With what might be the reason for its many slots switched off.
pub const CH_O3_REPAIRED: &str = "ch-o3 --share-slots off --pins repair";

/// An allocator with the optimisations of SFE 6 added one by one, in the paper's order.
pub struct Steps {
    pub not_optimised: &'static str,
    pub hoisted: &'static str,
    pub coalesced: &'static str,
    pub optimised: &'static str,
    /// With load lowering that considers how often blocks are executed, which SFE only speculates about.
    pub lowered_by_weight: &'static str,
}

impl Steps {
    pub const fn all(&self) -> [&'static str; 5] {
        [self.not_optimised, self.hoisted, self.coalesced, self.optimised, self.lowered_by_weight]
    }
}

/// The allocator of SFE 7. (Options are written without commas, which separate the columns of run times.)
pub const BIN_PACKING: &str = "bin-packing";
pub const BIN_PACKING_STEPS: Steps = Steps {
    not_optimised: "bin-packing --phi-memory store-hoist=off --phi-memory memory-coalesce=off --phi-memory load-lower=off",
    hoisted: "bin-packing --phi-memory memory-coalesce=off --phi-memory load-lower=off",
    coalesced: "bin-packing --phi-memory load-lower=off",
    optimised: BIN_PACKING,
    lowered_by_weight: "bin-packing --phi-memory load-lower=weighted",
};

/// With all copies of Method I left in, to see whether memory coalescing removes these.
pub const METHOD_I: &str = "bin-packing --cssa none --phi-memory memory-coalesce=off --phi-memory load-lower=off";
pub const METHOD_I_COALESCED: &str = "bin-packing --cssa none --phi-memory load-lower=off";

/// The same optimisations where values are spilled for life.
pub const SPILL_FREE: &str = "spill-free";
pub const SPILL_FREE_STEPS: Steps = Steps {
    not_optimised: "spill-free --phi-memory store-hoist=off --phi-memory memory-coalesce=off --phi-memory load-lower=off",
    hoisted: "spill-free --phi-memory memory-coalesce=off --phi-memory load-lower=off",
    coalesced: "spill-free --phi-memory load-lower=off",
    optimised: SPILL_FREE,
    lowered_by_weight: "spill-free --phi-memory load-lower=weighted",
};

/// The rivals of SFE 1: φs move memory to memory, through a register that is kept free or spilled for the purpose.
pub const SPARE_REGISTER: &str = "spill-free --phi-memory eliminate=spare-register";
pub const ON_DEMAND: &str = "spill-free --phi-memory eliminate=on-demand";
/// Spilling on demand in the plainest way.
pub const BRISK: &str = "spill-free --phi-memory eliminate=brisk";

impl Variant {
    pub const fn new(allocator: &'static str, setting: Setting) -> Self {
        Variant { allocator, setting }
    }
}

/// Every allocator in every setting.
pub fn product(allocators: &[&'static str], settings: &[Setting]) -> Vec<Variant> {
    settings.iter().flat_map(|&setting| allocators.iter().map(move |&allocator| Variant { allocator, setting })).collect()
}

impl Machine {
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86-64",
            Machine::I386 => "i386",
        }
    }

    /// The number of registers that `all` stands for.
    fn registers(self) -> u32 {
        match self {
            Machine::X86_64 => 15,
            Machine::I386 => 7,
        }
    }
}

impl Setting {
    /// The number of registers.
    pub fn count(&self) -> u32 {
        self.registers.parse().unwrap_or(self.machine.registers())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} registers", self.machine.name(), self.count())
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.allocator, self.setting)
    }
}

impl Serialize for Setting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
