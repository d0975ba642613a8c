//! Claims of *Eliminating Redundant Join-Set Computations in Static Single Assignment* \[FA05\].

use super::{Claim, Measure, Unit};
use crate::paper::exhibits::names::JOIN_SETS;
use crate::paper::join_sets::Shared;
use crate::paper::published as paper;
use crate::paper::results::quotient;
use crate::paper::verdict::Rule;

pub const REDUNDANT: &str =
    "3.3% of all worklists are avoided or made smaller, since another variable is assigned in a part of the blocks";
pub const EQUAL: &str = "1.9% are avoided altogether, since another variable is assigned in the same blocks";
pub const SAVED: &str = "Where a set properly contains another one, 45% of its worklist is saved";
pub const DIFFERENCE: &str = "The difference between the sizes of such sets is small";
pub const WORTH_IT: &str = "Finding the sets that have something in common is worth what it saves";

pub fn claims() -> Vec<Claim> {
    let average = &paper::JOIN_SETS.average;
    vec![
        claim(
            REDUNDANT,
            "JSR 5, Table 2",
            "registers with A(x) ⊇ A(y) for one before it, of those that several blocks assign, by all registers",
            (Unit::Share, average.redundant_percent / 100.0),
            |shared| shared.share(shared.several.redundant()),
            "The paper's compiler (ORC) runs a worklist for each register that an instruction of machine code defines, and for \
             bzip2 it has about as many as there are registers here. Most are assigned once, and two that are assigned in \
             one block have equal sets: if those counted, most worklists would be redundant.",
        ),
        claim(
            EQUAL,
            "JSR 5, Table 2",
            "registers with A(x) = A(y) for one before it, of those that several blocks assign, by all registers",
            (Unit::Share, average.equal_percent / 100.0),
            |shared| shared.share(shared.several.equal),
            "",
        ),
        claim(
            SAVED,
            "JSR 5, Table 3",
            "mean of |A(y)| / |A(x)|",
            (Unit::Share, average.saved_percent / 100.0),
            |shared| quotient(shared.several.saved, shared.several.supersets as f64),
            "The largest subset that is found with limited effort is reused.",
        ),
        claim(
            DIFFERENCE,
            "JSR 5, Table 3",
            "mean of |A(x)| - |A(y)|",
            (Unit::Ratio, average.difference),
            |shared| quotient(shared.several.remainder as f64, shared.several.supersets as f64),
            "The paper prints 5.58 as the average of six numbers whose mean is 4.65.",
        ),
        Claim {
            rule: Rule::Below(0.0),
            ..claim(
                WORTH_IT,
                "JSR 5",
                "steps of the worklists with reuse against without",
                (Unit::Change, 0.0),
                |shared| quotient(shared.reusing as f64, shared.plain as f64).map(|ratio| ratio - 1.0),
                "A step is a block that a worklist takes up, or one that it looks at from there; with reuse also a block that is \
                 compared, marked, looked up or copied. Worklists of registers that one block assigns count on neither side, since \
                 they need no phi.",
            )
        },
    ]
}

fn claim(
    text: &'static str,
    source: &'static str,
    quantity: &'static str,
    (unit, published): (Unit, f64),
    measure: fn(&Shared) -> Option<f64>,
    why: &'static str,
) -> Claim {
    let rule = Rule::Size { published, neutral: 0.0 };
    let measure = Measure::Registers(measure);
    Claim { exhibit: JOIN_SETS, text, source, quantity, unit, published: None, rule, measure, settings: &[], why }
}
