//! Claims of the chapter *SSA Destruction for Machine Code* (SDM), and of the paper that it retells \[Bo09\].

use super::{Claim, Measure, Unit};
use crate::paper::exhibits::destruction::{CHAITIN, INSERTED, PLAIN, REFINED, ratio};
use crate::paper::exhibits::names::DESTRUCTION;
use crate::paper::results::{Compiled, Results, quotient};
use crate::paper::variants::{FIFTEEN, Setting, Variant};
use crate::paper::verdict::Rule;

pub const MEMORY: &str = "Refined destruction takes a tenth of the memory of Sreedhar's third method";
pub const TIME: &str = "Refined destruction is twice as fast as Sreedhar's third method";

const NOT_SREEDHAR: &str = "Sreedhar's third method is not here. The measure is against this destruction without refinements: \
    intersection, inserted copies and liveness sets, but no interference graph, which that method keeps besides.";

pub fn claims() -> Vec<Claim> {
    vec![
        Claim {
            rule: Rule::Below(0.5),
            ..claim(
                "Most of the copies that are inserted turn out to be useless",
                "SDM 21.3",
                "copies that isolate phis and are left, by all of them",
                Unit::Share,
                |results, setting| {
                    let left = |it: &Compiled| it.counts.destruction.isolating_left as f64;
                    let [left] = results.sums([Variant::new(REFINED, setting)], left)?;
                    let [all] = results.sums([Variant::new(REFINED, setting)], |it| it.counts.destruction.isolating as f64)?;
                    quotient(left, all)
                },
                "",
            )
        },
        claim(
            "Where there are many copies, many variables intersect that do not interfere: by value, fewer copies are left",
            "SDM 21.2, 21.4",
            "copies that isolate phis and are left, by value against intersection",
            Unit::Change,
            |results, setting| results.change(setting, PLAIN, INSERTED, |it| it.counts.destruction.isolating_left as f64),
            "",
        ),
        claim(
            "Chaitin's test is conservative: by value, fewer copies are left",
            "SDM 21.2, 21.4",
            "copies that isolate phis and are left, by value against Chaitin's test",
            Unit::Change,
            |results, setting| results.change(setting, CHAITIN, INSERTED, |it| it.counts.destruction.isolating_left as f64),
            "",
        ),
        Claim {
            rule: Rule::Size { published: 0.1, neutral: 1.0 },
            ..claim(
                MEMORY,
                "SDM 21.3 (CGO 2009)",
                "bytes built beside the function that takes most, with all refinements by without: mean over programs",
                Unit::Ratio,
                |results, _| ratio(results, REFINED, |it| it.counts.destruction.bytes as f64),
                NOT_SREEDHAR,
            )
        },
        Claim {
            rule: Rule::Size { published: 0.5, neutral: 1.0 },
            measure: Measure::Never(
                "the times of this phase that a run of this document has are of single runs, a few milliseconds a program, \
                 beside other work",
            ),
            settings: &[],
            ..claim(TIME, "SDM 21.3 (CGO 2009)", "time with all refinements by without", Unit::Ratio, |_, _| None, NOT_SREEDHAR)
        },
    ]
}

/// A claim that something becomes less.
fn claim(
    text: &'static str,
    source: &'static str,
    quantity: &'static str,
    unit: Unit,
    measure: fn(&Results, Setting) -> Option<f64>,
    why: &'static str,
) -> Claim {
    let (rule, measure) = (Rule::Below(0.0), Measure::Compiled(measure));
    Claim { exhibit: DESTRUCTION, text, source, quantity, unit, published: None, rule, measure, settings: &[FIFTEEN], why }
}
