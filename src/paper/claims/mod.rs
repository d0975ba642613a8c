//! The claims of the papers' texts: how each is measured here, and whether it is reproduced.

mod destruction;
mod jsr;
mod reasons;
mod sfe;
mod sra;

pub use sra::cost_ratio;

use super::join_sets::Shared;
use super::results::Results;
use super::run_times::{Interval, RunTimes};
use super::variants::{Setting, Variant};
use super::verdict::{Rule, Verdict};

/// A claim of a paper.
pub struct Claim {
    /// The exhibit that it is shown with.
    pub exhibit: &'static str,
    /// The claim of the paper, in our words.
    pub text: &'static str,
    /// Its place in the paper.
    pub source: &'static str,
    /// The quantity that is measured.
    pub quantity: &'static str,
    pub unit: Unit,
    /// The paper's number, if the rule does not contain it.
    pub published: Option<f64>,
    pub rule: Rule,
    pub measure: Measure,
    /// The settings in which it is measured, the nearest to the paper's own first.
    pub settings: &'static [Setting],
    /// Why our numbers may differ from the paper's, or what readers have to know about them. It is true whatever the numbers
    /// are.
    pub why: &'static str,
}

/// How a claim is measured.
pub enum Measure {
    /// In the compiled code, or while it was compiled.
    Compiled(fn(&Results, Setting) -> Option<f64>),
    /// Among the registers of programs.
    Registers(fn(&Shared) -> Option<f64>),
    /// While the compiled programs ran: a ratio of run times, and of what they executed.
    Ran { before: &'static str, after: &'static str, of: Ran },
    /// While the compiled programs ran with each number of registers.
    RanWithEach(fn(&Results) -> Option<f64>),
    /// Not at all, for this reason.
    Never(&'static str),
}

/// The programs whose run times are compared.
#[derive(Clone, Copy)]
pub enum Ran {
    Together,
    /// The one that gains least.
    Slowest,
    /// The one that gains most.
    Fastest,
    One(&'static str),
}

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 0.01 is one percent more.
    Change,
    /// 0.01 is one percent of the whole.
    Share,
    /// A factor.
    Ratio,
    Count,
    /// The number of registers with which linear scan catches up: 0 if it is ahead with the fewest already, infinity if it
    /// never does.
    Crossing,
}

/// A claim and its verdict.
pub struct Judged {
    pub claim: Claim,
    /// The number in each setting that has one.
    pub measured: Vec<(String, f64)>,
    pub verdict: Verdict,
    /// For claims about run time: instructions, loads and stores that the same programs executed, in the order of
    /// [`Executed::NAMES`](super::executed::Executed::NAMES). These are ratios of the same two allocators as the claim's.
    pub executed: Option<[f64; 3]>,
    /// Why it cannot be measured, if it cannot.
    pub obstacle: Option<String>,
    /// The same measured otherwise, to test a reason: how, and the number.
    pub tested: Vec<(&'static str, f64)>,
    /// Why it is not as in the paper, if other claims share that.
    pub cause: Option<&'static str>,
}

/// All claims, in the order of the tables and figures.
pub fn all() -> Vec<Claim> {
    sra::claims().into_iter().chain(sfe::claims()).chain(jsr::claims()).chain(destruction::claims()).collect()
}

impl Claim {
    pub fn judge(self, results: &Results) -> Judged {
        if let Measure::Ran { before, after, of } = self.measure {
            return self.judge_ran(results, before, after, of);
        }
        let in_settings = |measure: fn(&Results, Setting) -> Option<f64>| {
            let number = |&setting: &Setting| Some((setting.to_string(), measure(results, setting)?));
            self.settings.iter().filter_map(number).collect()
        };
        let (measured, obstacle): (Vec<(String, f64)>, _) = match self.measure {
            Measure::Compiled(measure) => {
                (in_settings(measure), "no program was compiled in all the ways that this claim compares")
            }
            Measure::RanWithEach(measure) => {
                let measured = measure(results).map(|number| ("with each number of registers".to_owned(), number));
                (measured.into_iter().collect(), NO_RUN_TIMES)
            }
            Measure::Registers(measure) => {
                let number = results.all_registers().as_ref().and_then(measure);
                let measured = number.map(|number| ("registers that several blocks assign".to_owned(), number));
                (measured.into_iter().collect(), "no program was given that has registers in several blocks")
            }
            Measure::Never(obstacle) => (Vec::new(), obstacle),
            Measure::Ran { .. } => unreachable!("it is judged apart"),
        };
        let verdict = measured.first().map_or(Verdict::NotMeasurable, |&(_, number)| self.rule.judge(number));
        let obstacle = measured.is_empty().then(|| obstacle.to_owned());
        self.judged(results, measured, verdict, None, obstacle)
    }

    /// Judges a claim about run times. If their ratio cannot be told from the one that the rule is about, there is no verdict.
    fn judge_ran(self, results: &Results, before: &'static str, after: &'static str, of: Ran) -> Judged {
        let [before, after] = [before, after].map(|allocator| Variant::new(allocator, self.settings[0]));
        let Some((program, time)) = of.time(&results.run_times, before, after) else {
            return self.judged(results, Vec::new(), Verdict::NotMeasurable, None, Some(NO_RUN_TIMES.to_owned()));
        };
        let setting = match program {
            Some(program) => format!("{}, {program}", self.settings[0]),
            None => self.settings[0].to_string(),
        };
        let noise = time.contains(1.0).then(|| {
            format!("the difference is within the noise: the ratio is between {:.3} and {:.3} (95%)", time.low, time.high)
        });
        let verdict = if noise.is_some() { Verdict::NotMeasurable } else { self.rule.judge(time.middle) };
        let executed = results.executed.ratios(program, before, after);
        self.judged(results, vec![(setting, time.middle)], verdict, executed, noise)
    }

    fn judged(
        self,
        results: &Results,
        measured: Vec<(String, f64)>,
        verdict: Verdict,
        executed: Option<[f64; 3]>,
        obstacle: Option<String>,
    ) -> Judged {
        let (tested, cause) = (reasons::tested(self.text, results), reasons::cause_of(self.text));
        Judged { claim: self, measured, verdict, executed, obstacle, tested, cause }
    }

    /// The paper's number or direction, as text.
    pub fn expected(&self) -> String {
        let shown = |number| self.unit.show(number);
        let bound = match self.rule {
            Rule::Size { published, .. } => return shown(published),
            Rule::Range { low, high, .. } | Rule::Within { low, high } => format!("{} to {}", shown(low), shown(high)),
            Rule::Below(0.0) if self.unit == Unit::Change => "fewer".into(),
            Rule::Above(0.0) if self.unit == Unit::Change => "more".into(),
            Rule::Below(bound) => format!("below {}", shown(bound)),
            Rule::Above(bound) => format!("above {}", shown(bound)),
            Rule::AtMost(0.0) => "none".into(),
            Rule::AtMost(bound) => format!("at most {}", shown(bound)),
            Rule::AtLeast(bound) => format!("at least {}", shown(bound)),
        };
        match self.published {
            Some(published) => format!("{bound} ({})", shown(published)),
            None => bound,
        }
    }
}

const NO_RUN_TIMES: &str = "no run times of the programs that this claim compares (`--run-times`)";

impl Ran {
    /// The ratio of run times, and the program that it is of, if it is of one.
    fn time(self, times: &RunTimes, before: Variant, after: Variant) -> Option<(Option<&str>, Interval)> {
        let common = times.common(before, after);
        let of = |program| Some((Some(program), times.speed_up(&[program], before, after)?));
        let by_gain = |a: &(_, Interval), b: &(_, Interval)| a.1.middle.total_cmp(&b.1.middle);
        match self {
            Ran::Together => Some((None, times.speed_up(&common, before, after)?)),
            Ran::Slowest => common.into_iter().filter_map(of).min_by(by_gain),
            Ran::Fastest => common.into_iter().filter_map(of).max_by(by_gain),
            Ran::One(program) => of(program),
        }
    }
}

impl Unit {
    pub fn show(self, number: f64) -> String {
        let percent = number * 100.0;
        match self {
            // A small effect must not look like none.
            Unit::Change if percent.abs() < 1.0 && number != 0.0 => format!("{percent:+.2}%"),
            Unit::Change => format!("{percent:+.1}%"),
            Unit::Share if percent < 1.0 && number != 0.0 => format!("{percent:.2}%"),
            Unit::Share => format!("{percent:.1}%"),
            Unit::Ratio => format!("{number:.2}"),
            Unit::Count => format!("{number:.0}"),
            Unit::Crossing if number == f64::INFINITY => "ahead with any number".into(),
            Unit::Crossing if number == 0.0 => "behind with the fewest".into(),
            Unit::Crossing => format!("{number:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exhibits;
    use super::super::testing::results;
    use super::super::variants::{CH_O3, FIFTEEN, LINEAR_SCAN};
    use super::*;

    #[test]
    fn every_claim_belongs_to_an_exhibit_and_says_where_it_is_from() {
        for claim in all() {
            assert!(exhibits::ALL.iter().any(|exhibit| exhibit.name == claim.exhibit), "{}", claim.text);
            assert!(["SRA", "SFE", "JSR", "SDM"].iter().any(|paper| claim.source.starts_with(paper)), "{}", claim.text);
            let anywhere = matches!(claim.measure, Measure::Never(_) | Measure::Registers(_));
            assert_eq!(claim.settings.is_empty(), anywhere, "{}", claim.text);
        }
    }

    #[test]
    fn the_variants_of_the_exhibits_are_enough_to_measure_all_claims() {
        let results = results();
        for claim in all() {
            let measurable = match claim.measure {
                Measure::Compiled(_) => claim.settings.len(),
                Measure::Registers(_) => 1,
                Measure::Ran { .. } | Measure::RanWithEach(_) | Measure::Never(_) => 0,
            };
            let judged = claim.judge(&results);
            assert_eq!(judged.measured.len(), measurable, "{}", judged.claim.text);
            assert_eq!(judged.obstacle.is_some(), judged.verdict == Verdict::NotMeasurable, "{}", judged.claim.text);
        }
    }

    #[test]
    fn without_results_nothing_is_measurable() {
        for claim in all() {
            let judged = claim.judge(&Results::default());
            assert_eq!(judged.verdict, Verdict::NotMeasurable, "{}", judged.claim.text);
        }
    }

    #[test]
    fn the_first_setting_decides() {
        let claim = Claim {
            exhibit: "sra-table1",
            text: "",
            source: "",
            quantity: "",
            unit: Unit::Change,
            published: None,
            rule: Rule::Below(0.0),
            measure: Measure::Compiled(|_, setting| Some(if setting == FIFTEEN { -0.5 } else { 0.5 })),
            settings: &[FIFTEEN, super::super::variants::FOUR],
            why: "",
        };
        let judged = claim.judge(&Results::default());
        assert_eq!((judged.measured.len(), judged.verdict), (2, Verdict::Reproduced));
    }

    #[test]
    fn what_is_within_the_noise_has_no_verdict() {
        let times = |after: [f64; 4]| {
            let line = |allocator: &str, seconds: f64| format!("gzip,x86-64,{allocator},4,{seconds}\n");
            let lines: String = after.iter().flat_map(|&after| [line(LINEAR_SCAN, 2.0), line(CH_O3, after)]).collect();
            RunTimes::read(format!("program,machine,allocator,registers,seconds\n{lines}").as_bytes()).expect("it is right")
        };
        let claim = || all().into_iter().find(|claim| claim.text.starts_with("With aggressive coalescing")).expect("it is one");
        let judged = |after| claim().judge(&Results { run_times: times(after), ..Results::default() });
        let clear = judged([1.75, 1.76, 1.77, 1.76]);
        assert_eq!((clear.verdict, &clear.obstacle), (Verdict::Reproduced, &None));
        let noisy = judged([1.5, 2.5, 1.4, 2.6]);
        assert_eq!(noisy.verdict, Verdict::NotMeasurable);
        assert!(noisy.obstacle.is_some_and(|it| it.contains("within the noise")));
    }

    #[test]
    fn numbers_as_text() {
        assert_eq!(Unit::Change.show(-0.137), "-13.7%");
        assert_eq!(Unit::Change.show(-0.0004), "-0.04%");
        assert_eq!(Unit::Change.show(0.0), "+0.0%");
        assert_eq!(Unit::Share.show(0.534), "53.4%");
        assert_eq!(Unit::Crossing.show(f64::INFINITY), "ahead with any number");
    }
}
