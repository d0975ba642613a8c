//! Run times of compiled programs, measured by `scripts/paper-times`.

use super::results::quotient;
use super::variants::{Machine, Setting, Variant};
use serde::Deserialize;
use std::collections::HashMap;
use std::io;

/// The times of each program that was run, by the variant that compiled it, in the order of the sweeps: in each sweep, every
/// variant was run once, in one sweep forward and in the next backward.
#[derive(Clone, Debug, Default)]
pub struct RunTimes {
    seconds: HashMap<Key, Vec<f64>>,
}

/// A ratio of run times, and the interval in which it is with a probability of 95%.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

impl Interval {
    /// Of the ratios of several sweeps, which are taken to be distributed log-normally (Student's t).
    fn of(ratios: &[f64]) -> Option<Interval> {
        let count = ratios.len() as f64;
        let logarithms = || ratios.iter().map(|ratio| ratio.ln());
        let mean = quotient(logarithms().sum(), count)?;
        let variance = logarithms().map(|it| (it - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let quantile = STUDENT.get(ratios.len().wrapping_sub(2)).copied();
        let spread = quantile.unwrap_or(if ratios.len() < 2 { f64::INFINITY } else { 2.0 }) * (variance / count).sqrt();
        let spread = if spread.is_nan() { f64::INFINITY } else { spread };
        Some(Interval { low: (mean - spread).exp(), middle: mean.exp(), high: (mean + spread).exp() })
    }

    /// Whether a number cannot be told from the ratio.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

/// Student's 0.975 quantiles, from one degree of freedom on.
const STUDENT: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

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
        Ok(RunTimes { seconds })
    }

    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The times of all sweeps.
    fn sweeps(&self, program: &str, variant: Variant) -> Option<&[f64]> {
        let Variant { allocator, setting: Setting { machine, registers } } = variant;
        let machine = Machine::name(machine).to_owned();
        let key = Key { program: program.to_owned(), machine, allocator: allocator.into(), registers: registers.into() };
        self.seconds.get(&key).map(Vec::as_slice)
    }

    /// The programs that were run under both variants, sorted.
    pub fn common(&self, one: Variant, other: Variant) -> Vec<&str> {
        let mut programs: Vec<&str> = self.seconds.keys().map(|key| key.program.as_str()).collect();
        programs.sort_unstable();
        programs.dedup();
        programs.retain(|program| self.sweeps(program, one).is_some() && self.sweeps(program, other).is_some());
        programs
    }

    /// The time of some programs together under one variant, divided by that under another, sweep by sweep.
    pub fn speed_up(&self, programs: &[&str], before: Variant, after: Variant) -> Option<Interval> {
        let both = programs.iter().flat_map(|program| [before, after].map(|variant| self.sweeps(program, variant))).flatten();
        let sweeps = both.map(<[f64]>::len).min()?;
        let sum = |variant, sweep: usize| {
            programs.iter().filter_map(|program| Some(self.sweeps(program, variant)?[sweep])).sum::<f64>()
        };
        let ratios: Option<Vec<f64>> = (0..sweeps).map(|sweep| quotient(sum(before, sweep), sum(after, sweep))).collect();
        Interval::of(&ratios?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::variants::{CH_O3, FOUR, LINEAR_SCAN};
    use super::*;

    const FILE: &str = "program,machine,allocator,registers,seconds
gzip,x86-64,linear-scan,4,3.0
gzip,x86-64,ch-o3,4,2.0
gzip,x86-64,ch-o3,4,3.0
gzip,x86-64,linear-scan,4,8.0
perl,x86-64,ch-o3,4,100
";

    #[test]
    fn sweeps_are_compared_in_pairs() {
        let times = RunTimes::read(FILE.as_bytes()).expect("the file is right");
        let (linear, ours) = (Variant::new(LINEAR_SCAN, FOUR), Variant::new(CH_O3, FOUR));
        assert_eq!(times.common(linear, ours), ["gzip"], "perl was run under one of them");
        let interval = times.speed_up(&["gzip"], linear, ours).expect("there are two sweeps");
        assert!((interval.middle - 2.0).abs() < 1e-9, "3 by 2 and 8 by 3: {interval:?}");
        assert!(interval.contains(1.0), "two sweeps say little");
        assert_eq!(RunTimes::default().speed_up(&[], linear, ours), None);
    }

    #[test]
    fn what_is_the_same_each_time_is_known() {
        let interval = Interval::of(&[1.5, 1.5, 1.5]).expect("there are ratios");
        assert!(!interval.contains(1.49) && !interval.contains(1.51), "{interval:?}");
        let once = Interval::of(&[1.5]).expect("there is a ratio");
        assert!(once.contains(1.0), "one sweep says nothing: {once:?}");
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = RunTimes::read("program,machine,allocator,registers,seconds\ngzip,x86-64,ch-o3,4,fast\n".as_bytes());
        assert!(error.expect_err("`fast` is no number").to_string().contains("line: 2"));
    }
}
