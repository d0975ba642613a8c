//! Claims of *Eliminating Redundant Join-Set Computations in Static Single Assignment* \[FA05\].

use super::{Claim, Measure, Unit};
use crate::analysis::Reuse;
use crate::paper::exhibits::names::JOIN_SETS;
use crate::paper::published as paper;
use crate::paper::results::quotient;
use crate::paper::verdict::Rule;

pub fn claims() -> Vec<Claim> {
    let average = &paper::JOIN_SETS.average;
    vec![
        claim(
            "3.3% of all worklists are avoided or made smaller, since another variable is assigned in a part of the blocks",
            "JSR 5, Table 2",
            "variables with A(x) ⊇ A(y) for one before it, by all that are assigned",
            (Unit::Share, average.redundant_percent / 100.0),
            |reuse| quotient(reuse.redundant() as f64, reuse.sets as f64),
            "The paper's compiler puts every virtual register of machine code into SSA form, most of which are assigned once, in \
             one block. Ours are variables of C, of which many are assigned in the entry alone: parameters, and what is \
             initialised there.",
        ),
        claim(
            "1.9% are avoided altogether, since another variable is assigned in the same blocks",
            "JSR 5, Table 2",
            "variables with A(x) = A(y) for one before it, by all that are assigned",
            (Unit::Share, average.equal_percent / 100.0),
            |reuse| quotient(reuse.equal as f64, reuse.sets as f64),
            "",
        ),
        claim(
            "Where a set properly contains another one, 45% of its worklist is saved",
            "JSR 5, Table 3",
            "mean of |A(y)| / |A(x)|",
            (Unit::Share, average.saved_percent / 100.0),
            |reuse| quotient(reuse.saved, reuse.supersets as f64),
            "The largest subset that is found with limited effort is reused.",
        ),
        claim(
            "The difference between the sizes of such sets is small",
            "JSR 5, Table 3",
            "mean of |A(x)| - |A(y)|",
            (Unit::Ratio, average.difference),
            |reuse| quotient(reuse.remainder as f64, reuse.supersets as f64),
            "The paper prints 5.58 as the average of six numbers whose mean is 4.65.",
        ),
        Claim {
            rule: Rule::Below(0.0),
            measure: Measure::Never("a time, which is no part of this document: `make bench-join-sets` measures it"),
            ..claim(
                "Finding the sets that have something in common is worth what it saves",
                "JSR 5",
                "",
                (Unit::Change, 0.0),
                |_| None,
                "",
            )
        },
    ]
}

fn claim(
    text: &'static str,
    source: &'static str,
    quantity: &'static str,
    (unit, published): (Unit, f64),
    measure: fn(&Reuse) -> Option<f64>,
    why: &'static str,
) -> Claim {
    let rule = Rule::Size { published, neutral: 0.0 };
    let measure = Measure::BeforeSsa(measure);
    Claim { exhibit: JOIN_SETS, text, source, quantity, unit, published: None, rule, measure, settings: &[], why }
}
