//! Run times of compiled programs, measured by `scripts/paper-times`.

use super::results::quotient;
use super::variants::{Machine, Setting, Variant};
use serde::Deserialize;
use std::collections::HashMap;
use std::io;

/// The times of each program that was run, by the variant that compiled it, in ascending order.
#[derive(Clone, Debug, Default)]
pub struct RunTimes {
    seconds: HashMap<Key, Vec<f64>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    program: String,
    machine: String,
    allocator: String,
    registers: String,
}

/// A line of the file: one repetition of a run.
#[derive(Deserialize)]
struct Line {
    program: String,
    machine: String,
    /// With its options.
    allocator: String,
    registers: String,
    seconds: f64,
}

impl RunTimes {
    /// Reads comma-separated values with the header `program,machine,allocator,registers,seconds`, a line for each
    /// repetition of a run.
    ///
    /// # Errors
    /// If the input cannot be read or has a malformed line; the message has its number.
    pub fn read(input: impl io::Read) -> Result<RunTimes, csv::Error> {
        let mut seconds: HashMap<Key, Vec<f64>> = HashMap::new();
        for line in csv::Reader::from_reader(input).deserialize() {
            let Line { program, machine, allocator, registers, seconds: time } = line?;
            seconds.entry(Key { program, machine, allocator, registers }).or_default().push(time);
        }
        seconds.values_mut().for_each(|times| times.sort_by(f64::total_cmp));
        Ok(RunTimes { seconds })
    }

    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The median time; of an even number of times, the lower of the two in the middle.
    pub fn of(&self, program: &str, variant: Variant) -> Option<f64> {
        let Variant { allocator, setting: Setting { machine, registers } } = variant;
        let machine = Machine::name(machine).to_owned();
        let key = Key { program: program.to_owned(), machine, allocator: allocator.into(), registers: registers.into() };
        let times = self.seconds.get(&key)?;
        times.get((times.len() - 1) / 2).copied()
    }

    /// The programs that were run under both variants, sorted.
    fn common(&self, one: Variant, other: Variant) -> Vec<&str> {
        let mut programs: Vec<&str> = self.seconds.keys().map(|key| key.program.as_str()).collect();
        programs.sort_unstable();
        programs.dedup();
        programs.retain(|program| self.of(program, one).is_some() && self.of(program, other).is_some());
        programs
    }

    /// The time of all programs together under one variant, divided by that under another.
    pub fn speed_up(&self, before: Variant, after: Variant) -> Option<f64> {
        let programs = self.common(before, after);
        let sum = |variant| programs.iter().filter_map(|program| self.of(program, variant)).sum::<f64>();
        quotient(sum(before), sum(after))
    }

    /// As [`Self::speed_up`], for each program.
    pub fn speed_ups(&self, before: Variant, after: Variant) -> Vec<f64> {
        let ratio = |program| quotient(self.of(program, before)?, self.of(program, after)?);
        self.common(before, after).into_iter().filter_map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::variants::{CH_O3, FOUR, LINEAR_SCAN};
    use super::*;

    const FILE: &str = "program,machine,allocator,registers,seconds
gzip,x86-64,linear-scan,4,3.0
gzip,x86-64,linear-scan,4,9.0
gzip,x86-64,linear-scan,4,2.0
gzip,x86-64,ch-o3,4,2.0
perl,x86-64,ch-o3,4,100
";

    #[test]
    fn medians_of_programs_that_both_have_are_compared() {
        let times = RunTimes::read(FILE.as_bytes()).expect("the file is right");
        let (linear, ours) = (Variant::new(LINEAR_SCAN, FOUR), Variant::new(CH_O3, FOUR));
        assert_eq!(times.of("gzip", linear), Some(3.0));
        assert_eq!(times.speed_up(linear, ours), Some(1.5));
        assert_eq!(times.speed_ups(linear, ours), [1.5]);
        assert_eq!(RunTimes::default().speed_up(linear, ours), None);
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = RunTimes::read("program,machine,allocator,registers,seconds\ngzip,x86-64,ch-o3,4,fast\n".as_bytes());
        assert!(error.expect_err("`fast` is no number").to_string().contains("line: 2"));
    }
}
