//! What the compiled programs execute, counted by `scripts/executed`.

use super::results::geometric_mean;
use super::variants::{Machine, Setting, Variant};
use serde::Deserialize;
use std::collections::HashMap;

/// Executed instructions, loads and stores of each program, by the variant that compiled it.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    counts: HashMap<Key, [f64; 3]>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    program: String,
    machine: String,
    registers: String,
    allocator: String,
}

/// The file, schema `chordal-executed/1`, as far as it is needed here.
#[derive(Deserialize)]
struct File {
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    program: String,
    target: String,
    registers: String,
    allocator: String,
    instructions: f64,
    loads: f64,
    stores: f64,
}

impl Executed {
    /// The names of the counts.
    pub const NAMES: [&str; 3] = ["instructions", "loads", "stores"];

    /// Reads `executed.json`.
    ///
    /// # Errors
    /// If it is no such file.
    pub fn read(text: &str) -> serde_json::Result<Executed> {
        let File { records } = serde_json::from_str(text)?;
        let counts = records.into_iter().map(|record| {
            let Record { program, target: machine, registers, allocator, instructions, loads, stores } = record;
            (Key { program, machine, registers, allocator }, [instructions, loads, stores])
        });
        Ok(Executed { counts: counts.collect() })
    }

    /// What one variant's code executes, divided by what another's does: geometric means over some programs, or over all that
    /// both compiled.
    pub fn ratios(&self, program: Option<&str>, before: Variant, after: Variant) -> Option<[f64; 3]> {
        let is_wanted = |key: &&Key| key.is_of(before) && program.is_none_or(|program| key.program == program);
        let pairs = || {
            self.counts.keys().filter(is_wanted).filter_map(|key| Some((self.counts[key], self.counts.get(&key.with(after))?)))
        };
        let mean = |count: usize| geometric_mean(pairs().map(|(before, after)| before[count] / after[count]).collect());
        Some([mean(0)?, mean(1)?, mean(2)?])
    }
}

impl Key {
    fn is_of(&self, Variant { allocator, setting: Setting { machine, registers } }: Variant) -> bool {
        self.allocator == allocator && self.machine == Machine::name(machine) && self.registers == registers
    }

    /// The same program by another variant.
    fn with(&self, Variant { allocator, setting: Setting { machine, registers } }: Variant) -> Key {
        let machine = Machine::name(machine).into();
        Key { program: self.program.clone(), machine, registers: registers.into(), allocator: allocator.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::variants::{CH_O3, FOUR, LINEAR_SCAN};
    use super::*;

    #[test]
    fn programs_that_both_compiled_are_compared() {
        let record = |program: &str, allocator: &str, instructions: u32| {
            format!(
                r#"{{"program": "{program}", "target": "x86-64", "registers": "4", "allocator": "{allocator}",
                    "instructions": {instructions}, "loads": 10, "stores": 4, "cost": 1}}"#
            )
        };
        let records = [record("gzip", CH_O3, 100), record("gzip", LINEAR_SCAN, 150), record("perl", CH_O3, 7)].join(",");
        let executed = Executed::read(&format!(r#"{{"schema": "chordal-executed/1", "records": [{records}]}}"#)).unwrap();
        let ratios = |program| executed.ratios(program, Variant::new(LINEAR_SCAN, FOUR), Variant::new(CH_O3, FOUR));
        let [instructions, loads, stores] = ratios(None).expect("gzip was compiled by both");
        assert!((instructions - 1.5).abs() < 1e-9 && (loads, stores) == (1.0, 1.0));
        assert_eq!(ratios(Some("perl")), None);
        assert!(Executed::read("{}").is_err());
    }
}
