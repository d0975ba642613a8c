//! The allocators by name.

use super::option_error::OptionError;
use super::options::{AllocatorOptions, StockOptions};
use crate::allocate::allocators::{self as presets, Preset};
use crate::allocate::observe::Phase;
use crate::allocate::pipeline::Strategy;
use crate::allocate::regalloc2;
use crate::llvm::{Algorithm, Allocator, Ours, Stock};
use crate::measure::stats;
use clap::Parser as _;

/// An allocator that exists.
pub struct Entry {
    pub name: &'static str,
    pub family: &'static Family,
    /// A line that says what it is.
    pub about: &'static str,
}

/// Allocators that have much in common.
pub struct Family {
    /// A line that says what they are.
    pub about: &'static str,
    /// The choices that they have in common, if chordal's options apply to them.
    pub base: Option<&'static Preset>,
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
    /// The allocator for the compiler, with the checker or without. Interference graphs are measured only if statistics need them.
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

static SSA_BASED: Family = Family {
    about: "SSA-based: values are spilled until all others fit, then registers are assigned in dominance order",
    base: Some(&presets::PLAIN),
};
static OUT_OF_SSA: Family = Family {
    about: "Out of SSA form: a variable has one register all its life, or is spilled because it finds none",
    base: Some(&presets::LINEAR_SCAN),
};
static REGALLOC2: Family = Family { about: "Of regalloc2, which Cranelift uses", base: None };
static LLVM: Family = Family { about: "Of LLVM, with --llvm-schedule on|off", base: None };

/// All families.
pub static FAMILIES: [&Family; 4] = [&SSA_BASED, &OUT_OF_SSA, &REGALLOC2, &LLVM];

pub static ALL: &[Entry] = &[
    Entry {
        name: DEFAULT,
        family: &SSA_BASED,
        about: "the best that chordal can do: spilling by prices, recolouring, three-address forms",
    },
    Entry { name: "spill-free", family: &SSA_BASED, about: "with spill-free elimination of phis (Pereira and Palsberg)" },
    Entry {
        name: "bin-packing",
        family: &SSA_BASED,
        about: "values move between registers and memory within their lives (Pereira and Palsberg)",
    },
    Entry { name: "ch-o1", family: &SSA_BASED, about: "phi-lifting, colouring in dominance order, no heuristics (Pereira)" },
    Entry { name: "ch-o2", family: &SSA_BASED, about: "ch-o1 with register coalescing" },
    Entry { name: "ch-o3", family: &SSA_BASED, about: "ch-o2 with coalescing of phi-related values in memory" },
    Entry { name: "hack", family: &SSA_BASED, about: "Belady's spilling, permutations before constraints, recolouring (Hack)" },
    Entry {
        name: "out-of-ssa",
        family: &OUT_OF_SSA,
        about: "SSA destruction as well as it can be done (Rastello), then linear scan or irc",
    },
    Entry {
        name: "linear-scan",
        family: &OUT_OF_SSA,
        about: "aggressive coalescing, then linear scan with holes and restarts (Evlogimenos)",
    },
    Entry { name: "irc", family: &OUT_OF_SSA, about: "graph colouring with conservative coalescing (George and Appel)" },
    Entry { name: "local", family: &SSA_BASED, about: "values stay in registers within a block only" },
    Entry { name: "simple", family: &SSA_BASED, about: "every value is in memory" },
    Entry {
        name: OPTIMAL,
        family: &SSA_BASED,
        about: "tuned, with integer programs where that has heuristics (not in every build)",
    },
    Entry { name: "regalloc2", family: &REGALLOC2, about: "backtracking over split live ranges" },
    Entry { name: "regalloc2-fast", family: &REGALLOC2, about: "one pass, values in memory between blocks" },
    Entry { name: LLVM_GREEDY, family: &LLVM, about: "LLVM's default: live range splitting, eviction" },
    Entry { name: "llvm-basic", family: &LLVM, about: "by spill weight, no splitting" },
    Entry { name: "llvm-pbqp", family: &LLVM, about: "by partitioned Boolean quadratic programming" },
    Entry { name: "llvm-fast", family: &LLVM, about: "that of -O0, block by block; always has all registers" },
];

/// The allocator of this name, as a command-line argument.
///
/// # Errors
/// If there is none.
pub fn parse(name: &str) -> Result<&'static Entry, OptionError> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let likeness = |entry: &Entry| strsim::jaro(entry.name, name) + f64::from(u8::from(entry.name.contains(name)));
        let nearest = ALL.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let nearest = nearest.expect("there are allocators").name;
        OptionError::NoAllocator { nearest }
    })
}

/// Allocators, each with options of its own.
#[derive(Clone)]
pub struct List(pub Vec<String>);

/// Allocators separated by commas, as a command-line argument. The comma in an option's `NAME=VALUE,NAME=VALUE` separates none.
///
/// # Errors
/// If there is no such allocator, or an option is not for it.
pub fn parse_list(text: &str) -> Result<List, OptionError> {
    let mut allocators: Vec<String> = Vec::new();
    for part in text.split(',') {
        match allocators.last_mut() {
            Some(last) if part.split(' ').next().is_some_and(|word| word.contains('=')) => *last += &format!(",{part}"),
            _ => allocators.push(part.to_owned()),
        }
    }
    allocators.iter().map(|allocator| parse_with_options(allocator)).collect::<Result<_, _>>().map(List)
}

/// An allocator followed by options, as a command-line argument, in one spelling.
///
/// # Errors
/// If there is no such allocator, or an option is not for it.
pub fn parse_with_options(text: &str) -> Result<String, OptionError> {
    configured(text)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An allocator followed by options.
///
/// # Errors
/// If there is no such allocator, or an option is not for it.
pub fn configured(text: &str) -> Result<Configured, OptionError> {
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
        OptionError::Words(message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
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
        self.without_options().map_or_else(Vec::new, |strategy| phases(&strategy))
    }

    /// The allocator with its options.
    ///
    /// # Errors
    /// If an option is not for this allocator, or the options contradict each other.
    pub fn configured(&self, own: &AllocatorOptions, stock: &StockOptions) -> Result<Configured, OptionError> {
        let (others, whose) = if self.stock().is_some() { (own.given(), "chordal's own") } else { (stock.given(), "LLVM's") };
        if let Some(option) = others {
            return Err(OptionError::OtherAllocators { option: option.to_owned(), whose, allocator: self.name });
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
    pub fn strategy(&self, options: &AllocatorOptions) -> Result<Strategy, OptionError> {
        match self.without_options() {
            Some(Strategy::Phases(preset)) => Ok(options.apply(preset)?.into()),
            Some(strategy) => match options.given() {
                Some(option) => {
                    let (option, whose) = (option.to_owned(), "chordal's own");
                    Err(OptionError::OtherAllocators { option, whose, allocator: self.name })
                }
                None => Ok(strategy),
            },
            None => Err(OptionError::InLlvmOnly(self.name)),
        }
    }

    /// The allocator as it is without options, if it is one that allocates outside of LLVM.
    fn without_options(&self) -> Option<Strategy> {
        let ours = Preset::named(self.name).map(Strategy::Phases);
        ours.or_else(|| regalloc2::Algorithm::named(self.name).map(Strategy::Regalloc2))
    }
}

impl Family {
    /// The phases that its choices make, in order; of a family without choices of ours, those of all its members.
    pub fn phases(&self) -> Vec<&'static str> {
        match self.base {
            Some(base) => phases(&Strategy::from(*base)),
            None => ALL.iter().find(|entry| std::ptr::eq(entry.family, self)).map_or_else(Vec::new, Entry::phases),
        }
    }
}

fn phases(strategy: &Strategy) -> Vec<&'static str> {
    let wrap = strategy.separate_saves().then_some("wrap");
    strategy.phases().into_iter().map(Phase::name).chain([stats::CHECKER]).chain(wrap).collect()
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
    fn every_family_is_listed() {
        for entry in ALL {
            assert!(FAMILIES.iter().any(|family| std::ptr::eq(*family, entry.family)), "{}", entry.name);
        }
    }

    #[test]
    fn commas_of_options_separate_no_allocators() {
        let list = |text: &str| parse_list(text).map(|List(allocators)| allocators);
        let options = "spill-free --phi-memory store-hoist=off,load-lower=off --swap xor";
        assert_eq!(list(&format!("ch-o1,{options},irc")), Ok(vec!["ch-o1".into(), options.into(), "irc".into()]));
        assert!(list("ch-o1,store-hoist=off").is_err());
    }

    #[test]
    fn the_nearest_allocator_is_named() {
        let error = parse("lvm-gredy").err().expect("there is none");
        assert_eq!(error, OptionError::NoAllocator { nearest: LLVM_GREEDY });
    }
}
