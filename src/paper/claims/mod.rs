//! The claims of the papers' texts: how each is measured here, and whether it is reproduced.

mod destruction;
mod jsr;
mod reasons;
mod sfe;
mod sra;

pub use sra::cost_ratio;

use super::join_sets::Shared;
use super::results::Results;
use super::variants::Setting;
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
    /// While the compiled programs ran.
    Executed(fn(&Results, Setting) -> Option<f64>),
    /// Not at all, for this reason.
    Never(&'static str),
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
    /// Why it cannot be measured, if it cannot.
    pub obstacle: Option<&'static str>,
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
        let in_settings = |measure: fn(&Results, Setting) -> Option<f64>| {
            let number = |&setting: &Setting| Some((setting.to_string(), measure(results, setting)?));
            self.settings.iter().filter_map(number).collect()
        };
        let (measured, obstacle): (Vec<(String, f64)>, _) = match self.measure {
            Measure::Compiled(measure) => {
                (in_settings(measure), "no program was compiled in all the ways that this claim compares")
            }
            Measure::Executed(measure) => {
                (in_settings(measure), "no run times of the programs that this claim compares (`--run-times`)")
            }
            Measure::Registers(measure) => {
                let number = results.all_registers().as_ref().and_then(measure);
                let measured = number.map(|number| ("registers that several blocks assign".to_owned(), number));
                (measured.into_iter().collect(), "no program was given that has registers in several blocks")
            }
            Measure::Never(obstacle) => (Vec::new(), obstacle),
        };
        let verdict = measured.first().map_or(Verdict::NotMeasurable, |&(_, number)| self.rule.judge(number));
        let obstacle = measured.is_empty().then_some(obstacle);
        let tested = reasons::tested(self.text, results);
        let cause = reasons::cause_of(self.text);
        Judged { claim: self, measured, verdict, obstacle, tested, cause }
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
    use super::super::variants::FIFTEEN;
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
                Measure::Executed(_) | Measure::Never(_) => 0,
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
    fn numbers_as_text() {
        assert_eq!(Unit::Change.show(-0.137), "-13.7%");
        assert_eq!(Unit::Change.show(-0.0004), "-0.04%");
        assert_eq!(Unit::Change.show(0.0), "+0.0%");
        assert_eq!(Unit::Share.show(0.534), "53.4%");
        assert_eq!(Unit::Crossing.show(f64::INFINITY), "ahead with any number");
    }
}
