//! Rules that decide by a measured number whether a claim is reproduced.

use serde::Serialize;

/// How near a size must be to the published one, as a share of it.
const NEAR: f64 = 0.25;
/// How large an effect must be to count as a direction, as a share of the published one.
const NOTICEABLE: f64 = 0.1;

/// A claim about a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// It is this large. Effects are measured from `neutral`, the number without any effect: 0 for changes and shares, 1 for
    /// ratios.
    Size {
        published: f64,
        neutral: f64,
    },
    /// It is in this range, on one side of `neutral`.
    Range {
        low: f64,
        high: f64,
        neutral: f64,
    },
    /// It is in this range; a number outside has no direction.
    Within {
        low: f64,
        high: f64,
    },
    Below(f64),
    AtMost(f64),
    Above(f64),
    AtLeast(f64),
}

/// Whether a claim is reproduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Reproduced,
    /// It has the published sign, but another size.
    Direction,
    NotReproduced,
    NotMeasurable,
}

/// Explains the verdicts to readers.
pub const EXPLANATION: &str = "\
Verdicts are computed from the measured numbers. Where the paper states a size, *reproduced* means within a quarter of it \
(or of the range that it states), *direction reproduced* means the same sign and at least a tenth of the size, and anything \
else is *not reproduced*. Where it states a bound or a direction, that either holds (*reproduced*) or does not. *Not \
measurable here* comes with the reason. If a claim is measured in several settings, the verdict is that of the first, which \
is the nearest to the paper's. What is measured otherwise, to test a reason, follows the settings; a reason without such a \
number is not tested.";

impl Rule {
    /// The verdict on a number.
    pub fn judge(self, measured: f64) -> Verdict {
        match self {
            Rule::Size { published, neutral } => {
                let size = published - neutral;
                effect(measured - neutral, size, [size * (1.0 - NEAR), size * (1.0 + NEAR)])
            }
            Rule::Range { low, high, neutral } => effect(measured - neutral, low - neutral, [low - neutral, high - neutral]),
            Rule::Within { low, high } => holds((low..=high).contains(&measured)),
            Rule::Below(bound) => holds(measured < bound),
            Rule::AtMost(bound) => holds(measured <= bound),
            Rule::Above(bound) => holds(measured > bound),
            Rule::AtLeast(bound) => holds(measured >= bound),
        }
    }
}

/// Judges an effect by the published one and by the two ends of the range that is near enough, all on one side of 0.
fn effect(measured: f64, published: f64, near: [f64; 2]) -> Verdict {
    // As shares of the published effect, which thereby becomes 1.
    let [measured, one, other] = [measured, near[0], near[1]].map(|effect| effect / published);
    if (one.min(other)..=one.max(other)).contains(&measured) {
        Verdict::Reproduced
    } else if measured >= NOTICEABLE {
        Verdict::Direction
    } else {
        Verdict::NotReproduced
    }
}

fn holds(condition: bool) -> Verdict {
    if condition { Verdict::Reproduced } else { Verdict::NotReproduced }
}

impl Verdict {
    pub const ALL: [Verdict; 4] = [Verdict::Reproduced, Verdict::Direction, Verdict::NotReproduced, Verdict::NotMeasurable];

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Direction => "direction reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotMeasurable => "not measurable here",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Direction, NotReproduced, Reproduced};

    fn judged(rule: Rule, measured: &[f64]) -> Vec<Verdict> {
        measured.iter().map(|&number| rule.judge(number)).collect()
    }

    #[test]
    fn sizes() {
        let less = Rule::Size { published: -0.12, neutral: 0.0 };
        assert_eq!(judged(less, &[-0.12, -0.1, -0.145]), [Reproduced; 3]);
        assert_eq!(judged(less, &[-0.02, -0.5]), [Direction; 2]);
        assert_eq!(judged(less, &[-0.001, 0.0, 0.12]), [NotReproduced; 3]);
        let more = Rule::Size { published: 0.052, neutral: 0.0 };
        assert_eq!(judged(more, &[0.06, 0.3, 0.004, -0.05]), [Reproduced, Direction, NotReproduced, NotReproduced]);
    }

    #[test]
    fn sizes_of_ratios_are_measured_from_one() {
        let faster = Rule::Size { published: 1.08, neutral: 1.0 };
        assert_eq!(judged(faster, &[1.09, 1.02, 1.0, 0.95]), [Reproduced, Direction, NotReproduced, NotReproduced]);
    }

    #[test]
    fn ranges() {
        let range = Rule::Range { low: 8.0, high: 25.0, neutral: 1.0 };
        assert_eq!(judged(range, &[8.0, 20.0, 25.0]), [Reproduced; 3]);
        assert_eq!(judged(range, &[2.0, 7.9, 100.0]), [Direction; 3]);
        assert_eq!(judged(range, &[1.0, 0.5]), [NotReproduced; 2]);
        let within = Rule::Within { low: 8.0, high: 15.0 };
        assert_eq!(judged(within, &[8.0, 12.0, f64::INFINITY, 0.0]), [Reproduced, Reproduced, NotReproduced, NotReproduced]);
    }

    #[test]
    fn bounds() {
        assert_eq!(judged(Rule::Below(0.0), &[-0.1, 0.0]), [Reproduced, NotReproduced]);
        assert_eq!(judged(Rule::AtMost(0.0), &[0.0, 0.1]), [Reproduced, NotReproduced]);
        assert_eq!(judged(Rule::Above(1.0), &[1.1, 1.0]), [Reproduced, NotReproduced]);
        assert_eq!(judged(Rule::AtLeast(1.0), &[1.0, 0.9]), [Reproduced, NotReproduced]);
    }
}
