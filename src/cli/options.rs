//! The options of chordal's allocators.

use crate::allocate::allocators::{Elimination, Preset};
use crate::allocate::assign::{Colouring, PinPolicy};
use crate::allocate::eliminate::SwapPolicy;
use crate::allocate::pipeline::Strategy;
use crate::allocate::spill::LoadLowering;
use crate::llvm::{Algorithm, Allocator, Stock};
use crate::measure::stats::{Options, OwnOptions};
use clap::{Args, ValueEnum};
use indexmap::IndexMap;

/// Choices that override an allocator's own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of chordal's allocators (each has its own defaults; see `chordal list`)")]
pub struct AllocatorOptions {
    /// How phis are eliminated after allocation
    #[arg(long, value_enum, value_name = "HOW")]
    eliminate: Option<Elimination>,

    /// Whether spilled values related by phis share one slot; if not, phis move memory to memory
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    frugal: Option<Switch>,

    /// Whether a phi argument that goes to memory is stored once, after its definition
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    store_hoist: Option<Switch>,

    /// When a phi whose arguments are in memory is put there too, and loaded before its uses
    #[arg(long, value_enum, value_name = "WHEN")]
    load_lower: Option<LoadLowering>,

    /// Whether copies from a spill slot to the same slot are dropped
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    memory_coalesce: Option<Switch>,

    /// Whether instructions read spilled operands directly from memory; if not, only copies do
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    fold: Option<Switch>,

    /// Whether constants and addresses are computed again instead of being spilled
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    rematerialise: Option<Switch>,

    /// What happens to values whose registers are taken by calls, the ABI or instructions
    #[arg(long, value_enum, value_name = "HOW")]
    pins: Option<PinPolicy>,

    /// How registers trade contents when a parallel copy forms a cycle
    #[arg(long, value_enum, value_name = "HOW")]
    swap: Option<SwapPolicy>,
}

/// Choices about LLVM's allocators.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of LLVM's allocators")]
pub struct StockOptions {
    /// Whether LLVM's scheduler runs before its allocator, as it does in llc; chordal's allocators do without [default: on]
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    llvm_schedule: Option<Switch>,
}

impl StockOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If an option is not for this allocator.
    pub fn apply(&self, algorithm: Algorithm) -> Result<Stock, String> {
        if algorithm != Algorithm::Fast {
            return Ok(Stock { algorithm, schedule: self.llvm_schedule != Some(Switch::Off) });
        }
        match self.given() {
            Some(option) => Err(format!("{option} is not for LLVM's fast allocator, which is never scheduled for")),
            None => Ok(Stock { algorithm, schedule: false }),
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        self.llvm_schedule.map(|_| "--llvm-schedule")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl AllocatorOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If the choices contradict each other.
    pub fn apply(&self, mut preset: Preset) -> Result<Preset, String> {
        set(&mut preset.elimination, self.eliminate);
        set(&mut preset.spill.frugal, self.frugal.map(Switch::is_on));
        set(&mut preset.spill.store_hoist, self.store_hoist.map(Switch::is_on));
        set(&mut preset.spill.load_lower, self.load_lower);
        set(&mut preset.spill.memory_coalesce, self.memory_coalesce.map(Switch::is_on));
        set(&mut preset.spill.fold, self.fold.map(Switch::is_on));
        set(&mut preset.spill.rematerialise, self.rematerialise.map(Switch::is_on));
        set(&mut preset.assign.pins, self.pins);
        set(&mut preset.swap, self.swap);
        if preset.elimination == Elimination::SpillFree && !preset.spill.frugal {
            return Err("spill-free elimination of phis needs frugal slots: \
                        with `--frugal off`, choose `--eliminate spare-register` or `--eliminate on-demand`"
                .into());
        }
        let whole = preset.assign.colouring == Colouring::Linear;
        if whole && (preset.elimination != Elimination::SpillFree || preset.assign.pins != PinPolicy::Avoid) {
            return Err(format!(
                "{} keeps each variable in one place: nothing moves for phis or pins, so `--eliminate` and `--pins` do not apply",
                preset.name
            ));
        }
        Ok(preset)
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--eliminate", self.eliminate.is_some()),
            ("--frugal", self.frugal.is_some()),
            ("--store-hoist", self.store_hoist.is_some()),
            ("--load-lower", self.load_lower.is_some()),
            ("--memory-coalesce", self.memory_coalesce.is_some()),
            ("--fold", self.fold.is_some()),
            ("--rematerialise", self.rematerialise.is_some()),
            ("--pins", self.pins.is_some()),
            ("--swap", self.swap.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

fn set<T>(choice: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *choice = given;
    }
}

/// The choices that an allocator works by, as the command line names them.
pub fn of(allocator: &Allocator) -> Option<Options> {
    match allocator {
        Allocator::Ours(Strategy::Phases(preset)) => Some(Options::Own(describe(preset))),
        Allocator::Ours(Strategy::Regalloc2 { .. }) => None,
        Allocator::Llvm(stock) => Some(Options::Other(IndexMap::from([("llvm_schedule".to_owned(), stock.schedule)]))),
    }
}

fn describe(preset: &Preset) -> OwnOptions {
    OwnOptions {
        eliminate: name(preset.elimination),
        frugal: preset.spill.frugal,
        store_hoist: preset.spill.store_hoist,
        load_lower: name(preset.spill.load_lower),
        memory_coalesce: preset.spill.memory_coalesce,
        fold: preset.spill.fold,
        rematerialise: preset.spill.rematerialise,
        pins: name(preset.assign.pins),
        swap: name(preset.swap),
    }
}

/// The choices of one of chordal's allocators as arguments, one an option.
pub fn arguments(preset: &Preset) -> Vec<String> {
    let switch = |on: bool| if on { "on" } else { "off" };
    let OwnOptions { eliminate, frugal, store_hoist, load_lower, memory_coalesce, fold, rematerialise, pins, swap } =
        describe(preset);
    vec![
        format!("--eliminate {eliminate}"),
        format!("--frugal {}", switch(frugal)),
        format!("--store-hoist {}", switch(store_hoist)),
        format!("--load-lower {load_lower}"),
        format!("--memory-coalesce {}", switch(memory_coalesce)),
        format!("--fold {}", switch(fold)),
        format!("--rematerialise {}", switch(rematerialise)),
        format!("--pins {pins}"),
        format!("--swap {swap}"),
    ]
}

fn name(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
