//! The allocators by name.

use super::options::{AllocatorOptions, StockOptions};
use crate::allocate::allocators::Preset;
use crate::allocate::observe::Phase;
use crate::allocate::pipeline::Strategy;
use crate::allocate::regalloc2;
use crate::llvm::{Algorithm, Allocator, Ours, Stock};
use crate::measure::stats;
use clap::Parser as _;

/// An allocator that exists.
pub struct Entry {
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
}

/// An allocator with its options.
#[derive(Clone, Copy, Debug)]
pub enum Configured {
    /// One that allocates outside of LLVM.
    Ours(Strategy),
    /// One of LLVM's.
    Llvm(Stock),
}

impl Configured {
    /// What the compiler is to use, with the checker or without; interference graphs are measured for statistics only.
    pub fn allocator(&self, check: bool, graphs: bool) -> Allocator<'_> {
        match self {
            Configured::Ours(strategy) => {
                let separate_saves = strategy.separate_saves();
                Allocator::Ours(Ours { allocator: strategy, check, graphs, separate_saves })
            }
            Configured::Llvm(stock) => Allocator::Llvm(*stock),
        }
    }
}

pub const DEFAULT: &str = "tuned";
pub const LLVM_GREEDY: &str = "llvm-greedy";
/// It may take minutes a function.
pub const OPTIMAL: &str = "optimal";

/// LLVM's allocators.
const STOCK: &[(&str, Algorithm)] = &[
    (LLVM_GREEDY, Algorithm::Greedy),
    ("llvm-basic", Algorithm::Basic),
    ("llvm-pbqp", Algorithm::Pbqp),
    ("llvm-fast", Algorithm::Fast),
];

pub const ALL: &[Entry] = &[
    Entry { name: DEFAULT, about: "the best that chordal can do: spilling by prices, recolouring, three-address forms" },
    Entry { name: "spill-free", about: "SSA-based, with spill-free elimination of phis (Pereira and Palsberg)" },
    Entry { name: "ch-o1", about: "SSA-based (Pereira): phi-lifting, colouring in dominance order, no heuristics" },
    Entry { name: "ch-o2", about: "ch-o1 with register coalescing" },
    Entry { name: "ch-o3", about: "ch-o2 with coalescing of phi-related values in memory" },
    Entry { name: "hack", about: "SSA-based (Hack): Belady's spilling, permutations before constraints, recolouring" },
    Entry {
        name: "out-of-ssa",
        about: "out of SSA form before allocation, as well as it can be done (Rastello), then linear scan or irc",
    },
    Entry { name: "linear-scan", about: "aggressive coalescing, then linear scan with holes and restarts (Evlogimenos)" },
    Entry { name: "irc", about: "graph colouring out of SSA form, with conservative coalescing (George and Appel)" },
    Entry { name: "local", about: "values stay in registers within a block only" },
    Entry { name: "simple", about: "every value is in memory" },
    Entry { name: OPTIMAL, about: "tuned, with integer programs where that has heuristics (not in every build)" },
    Entry { name: "regalloc2", about: "Cranelift's allocator: backtracking over split live ranges" },
    Entry { name: "regalloc2-fast", about: "Cranelift's fast allocator: one pass, values in memory between blocks" },
    Entry { name: LLVM_GREEDY, about: "LLVM's default: live range splitting, eviction" },
    Entry { name: "llvm-basic", about: "LLVM's basic allocator: by spill weight, no splitting" },
    Entry { name: "llvm-pbqp", about: "LLVM's allocator by partitioned Boolean quadratic programming" },
    Entry { name: "llvm-fast", about: "LLVM's allocator of -O0, block by block; always has all registers" },
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

/// An allocator with options of its own behind it, as a command-line argument, in one spelling.
///
/// # Errors
/// If there is no such allocator, or an option is not for it; the message says so.
pub fn parse_with_options(text: &str) -> Result<String, String> {
    configured(text)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An allocator with options of its own behind it.
///
/// # Errors
/// If there is no such allocator, or an option is not for it; the message says so.
pub fn configured(text: &str) -> Result<Configured, String> {
    #[derive(clap::Parser)]
    struct Line {
        #[arg(value_parser = parse)]
        allocator: &'static Entry,
        #[command(flatten)]
        own: AllocatorOptions,
        #[command(flatten)]
        stock: StockOptions,
    }
    let words = text.split_whitespace();
    let line = Line::try_parse_from([""].into_iter().chain(words)).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    line.allocator.configured(&line.own, &line.stock)
}

/// An allocator with its options, as [`parse_with_options`] makes it, without LLVM's scheduler if it is one that has a choice.
pub fn without_schedule(allocator: &str) -> String {
    let off = format!("{allocator} --llvm-schedule off");
    parse_with_options(&off).unwrap_or_else(|_| allocator.to_owned())
}

impl Entry {
    /// Which of LLVM's it is, if it is one.
    fn stock(&self) -> Option<Algorithm> {
        STOCK.iter().find(|(name, _)| *name == self.name).map(|&(_, algorithm)| algorithm)
    }

    /// Its phases in order, unless options say otherwise; none for LLVM's own.
    pub fn phases(&self) -> Vec<&'static str> {
        let Some(strategy) = self.without_options() else { return Vec::new() };
        let wrap = strategy.separate_saves().then_some("wrap");
        strategy.phases().into_iter().map(Phase::name).chain([stats::CHECKER]).chain(wrap).collect()
    }

    /// The allocator with its options.
    ///
    /// # Errors
    /// If an option is not for this allocator, or the options contradict each other.
    pub fn configured(&self, own: &AllocatorOptions, stock: &StockOptions) -> Result<Configured, String> {
        let (others, whose) = if self.stock().is_some() { (own.given(), "chordal's own") } else { (stock.given(), "LLVM's") };
        if let Some(option) = others {
            return Err(format!("{option} is for {whose} allocators, not for {}", self.name));
        }
        match self.stock() {
            Some(algorithm) => Ok(Configured::Llvm(stock.apply(algorithm)?)),
            None => self.strategy(own).map(Configured::Ours),
        }
    }

    /// The allocator with its options, if it is one that allocates outside of LLVM.
    ///
    /// # Errors
    /// If it is not, an option is not for this allocator, or the options contradict each other.
    pub fn strategy(&self, options: &AllocatorOptions) -> Result<Strategy, String> {
        match self.without_options() {
            Some(Strategy::Phases(preset)) => Ok(options.apply(preset)?.into()),
            Some(strategy) => match options.given() {
                Some(option) => Err(format!("{option} is for chordal's own allocators, not for {}", self.name)),
                None => Ok(strategy),
            },
            None => Err(format!("{} allocates in LLVM only", self.name)),
        }
    }

    /// The allocator as it is without options, if it is one that allocates outside of LLVM.
    fn without_options(&self) -> Option<Strategy> {
        let ours = Preset::named(self.name).map(Strategy::Phases);
        ours.or_else(|| regalloc2::Algorithm::named(self.name).map(Strategy::Regalloc2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_pipeline() {
        let ours: Vec<_> = ALL.iter().filter(|entry| entry.stock().is_none()).map(|entry| entry.name).collect();
        let presets = crate::allocate::allocators::PRESETS.iter().map(|preset| preset.name);
        let theirs = regalloc2::Algorithm::ALL.into_iter().map(|(name, _)| name);
        assert_eq!(ours, presets.chain(theirs).collect::<Vec<_>>());
    }

    #[test]
    fn the_nearest_allocator_is_named() {
        let message = parse("lvm-gredy").err().expect("there is none");
        assert!(message.contains("`llvm-greedy`"), "{message}");
    }
}
