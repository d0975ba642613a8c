//! Claims of *The Designing and Implementation of a SSA-based register allocator* \[PP05\].

use super::{Claim, Measure, Ran, Unit};
use crate::paper::exhibits::names::*;
use crate::paper::published::{self, Allocation, TABLE_1, TABLE_2, TABLE_3, TABLE_4, sum};
use crate::paper::results::{Quantity, Results, quantity};
use crate::paper::run_times::RunTimes;
use crate::paper::variants::*;
use crate::paper::verdict::Rule;

/// The settings that correspond to the tables of counts.
const COUNTED: &[Setting] = &[FOUR, EIGHT, FIFTEEN];
/// The register counts of Figure 11.
pub const THRESHOLD: [Setting; 4] = [FOUR, EIGHT, TWELVE, FIFTEEN];

const OWN_ACCESSES: &str = "As in the paper, all code is counted. That includes the program's own accesses, which are the same \
    under every allocator, so a change in all accesses means a larger change in spill code.";
const OTHER_PROCESSOR: &str = "Most x86 instructions overwrite an operand, which takes additional moves, under every allocator \
    alike; on the paper's PowerPC a result has a register of its own.";

pub fn claims() -> Vec<Claim> {
    let mut claims = vec![graphs()];
    claims.extend(fewer_accesses());
    claims.extend(coalescing());
    claims.extend(spilling());
    claims.push(more_transfers());
    claims.extend(run_times());
    claims.push(threshold());
    claims
}

fn graphs() -> Claim {
    let ratios = TABLE_1.ratio.into_iter();
    Claim {
        exhibit: SRA_TABLE_1,
        text: "The graph of values and physical registers is an order of magnitude smaller than the interference graph",
        source: "SRA 4.4, Table 1",
        quantity: "edges of the interference graph by edges of the value-register graph",
        unit: Unit::Ratio,
        published: Some(sum(&TABLE_1.interference) / sum(&TABLE_1.value_register)),
        rule: Rule::Range { low: ratios.clone().fold(f64::INFINITY, f64::min), high: ratios.fold(0.0, f64::max), neutral: 1.0 },
        measure: Measure::Compiled(|results, setting| {
            let variant = Variant::new(CH_O3, setting);
            results.share(
                variant,
                |compiled| compiled.counts.graphs.interference as f64,
                |compiled| compiled.counts.graphs.value_register as f64,
            )
        }),
        settings: &[FIFTEEN],
        why: "Both graphs are counted before spilling and within banks of registers: a pair of an integer and a floating-point \
              value is in neither. How large the first is depends on how many registers calls and instructions take.",
    }
}

/// A claim that the counts of two allocators differ.
struct Difference {
    text: &'static str,
    quantity: &'static str,
    published: f64,
    rule: Rule,
    measure: fn(&Results, Setting) -> Option<f64>,
    why: &'static str,
}

impl Difference {
    fn claim(self, exhibit: &'static str, source: &'static str, settings: &'static [Setting]) -> Claim {
        let Difference { text, quantity, published, rule, measure, why } = self;
        let (unit, published, measure) = (Unit::Change, Some(published), Measure::Compiled(measure));
        Claim { exhibit, text, source, quantity, unit, published, rule, measure, settings, why }
    }
}

fn fewer_accesses() -> Vec<Claim> {
    let published = |allocator| TABLE_2.change(LINEAR_SCAN, allocator, Allocation::accesses);
    let differences = [
        Difference {
            text: "With four registers, Ch-O1 makes fewer memory accesses than linear scan",
            quantity: "loads and stores, ch-o1 against linear-scan",
            published: published(CH_O1),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, LINEAR_SCAN, CH_O1, quantity::accesses),
            why: OWN_ACCESSES,
        },
        Difference {
            text: "With four registers, Ch-O2 makes fewer memory accesses than linear scan",
            quantity: "loads and stores, ch-o2 against linear-scan",
            published: published(CH_O2),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, LINEAR_SCAN, CH_O2, quantity::accesses),
            why: "Register coalescing chooses among registers that are free; it influences what is spilled only where a pinned \
                  register is then in the way.",
        },
        Difference {
            text: "With four registers, Ch-O3 makes fewer memory accesses than linear scan",
            quantity: "loads and stores, ch-o3 against linear-scan",
            published: published(CH_O3),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, LINEAR_SCAN, CH_O3, quantity::accesses),
            why: "PhiMemCoalesce gives phi-related values one slot, so that phis among spilled values cost nothing.",
        },
    ];
    differences.into_iter().map(|difference| difference.claim(SRA_TABLE_2, "SRA 6, Table 2", COUNTED)).collect()
}

fn coalescing() -> Vec<Claim> {
    let differences = [
        Difference {
            text: "Register coalescing removes moves (Ch-O2 against Ch-O1)",
            quantity: "moves, ch-o2 against ch-o1",
            published: TABLE_2.change(CH_O1, CH_O2, |allocation| sum(&allocation.moves)),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, CH_O1, CH_O2, quantity::moves),
            why: OTHER_PROCESSOR,
        },
        Difference {
            text: "Most notably, register coalescing removes exclusive-ors (Ch-O2 against Ch-O1)",
            quantity: "exclusive-ors, ch-o2 against ch-o1",
            published: TABLE_2.change(CH_O1, CH_O2, |allocation| sum(&allocation.xors)),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, CH_O1, CH_O2, quantity::xors),
            why: "On x86, exclusive-ors are also the usual way to set a register to zero; those remain.",
        },
        Difference {
            text: "Coalescing of phi-related values in memory removes loads and stores (Ch-O3 against Ch-O2)",
            quantity: "loads and stores, ch-o3 against ch-o2",
            published: TABLE_2.change(CH_O2, CH_O3, Allocation::accesses),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, CH_O2, CH_O3, quantity::accesses),
            why: OWN_ACCESSES,
        },
    ];
    let mut claims: Vec<Claim> =
        differences.into_iter().map(|difference| difference.claim(SRA_TABLE_2, "SRA 6, Table 2", COUNTED)).collect();
    claims.push(Claim {
        exhibit: SRA_TABLE_2,
        text: "Register coalescing eliminates most of the copies that phi-lifting adds",
        source: "SRA 4.4",
        quantity: "moves that ch-o2 adds, by copies of phi-lifting",
        unit: Unit::Share,
        published: None,
        rule: Rule::Below(0.5),
        measure: Measure::Compiled(|results, setting| {
            let variant = Variant::new(CH_O2, setting);
            let added: Quantity = |compiled| compiled.counts.spill.copies as f64;
            results.share(variant, added, |compiled| compiled.counts.conversion.copies_before as f64)
        }),
        settings: COUNTED,
        why: "All moves that the allocator adds are counted, including those for two-address instructions and on edges, not \
              only what is left of the copies.",
    });
    claims
}

pub const FEWER_SLOTS: &str = "The SSA-based allocator uses fewer spill slots";

fn spilling() -> Vec<Claim> {
    let spilled = |line: usize| {
        let row = move |allocation: &Allocation| allocation.spilled.map_or(f64::NAN, |lines| sum(&lines[line]));
        TABLE_3.change(LINEAR_SCAN, CH_O3, row)
    };
    let differences = [
        Difference {
            text: "If register pressure is high, the SSA-based allocator spills fewer variables",
            quantity: "spilled values, ch-o3 against linear-scan",
            published: spilled(0),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, LINEAR_SCAN, CH_O3, quantity::spilled_values),
            why: "Linear scan spills a whole web of copies and phis, and all SSA values of the web count here; the paper's \
                  linear scan has left SSA form by then and counts one variable. Slots do not have this bias.",
        },
        Difference {
            text: FEWER_SLOTS,
            quantity: "spill slots, ch-o3 against linear-scan, both with a slot for each web (`--share-slots off`)",
            published: spilled(1),
            rule: Rule::Below(0.0),
            measure: |results, setting| results.change(setting, LINEAR_SCAN_OWN_SLOTS, CH_O3_OWN_SLOTS, quantity::slots),
            why: "The text mentions no sharing of slots but among phi-related values. Linear scan coalesces copies first, so \
                  that each of its slots is that of a whole variable; ch-o3 spills SSA values and their webs. (Under Ch-O1, \
                  which has not even that, its table has fewer slots than spilled variables in eight of ten programs, and more in two; it \
                  does not say what they are.)",
        },
    ];
    differences.into_iter().map(|difference| difference.claim(SRA_TABLE_3, "SRA 6, Table 3", &[EIGHT, FOUR, FIFTEEN])).collect()
}

fn more_transfers() -> Claim {
    let difference = Difference {
        text: "The SSA-based allocator has more moves and exclusive-ors than linear scan, as live ranges are split",
        quantity: "moves and exclusive-ors, ch-o3 against linear-scan",
        published: TABLE_4.change(LINEAR_SCAN, CH_O3, Allocation::transfers),
        rule: Rule::Above(0.0),
        measure: |results, setting| results.change(setting, LINEAR_SCAN, CH_O3, quantity::transfers),
        why: "Linear scan coalesces before it allocates and then keeps a variable in one register all its life; the SSA-based \
              allocators change registers at phis.",
    };
    difference.claim(SRA_TABLE_4, "SRA 6, Table 4", &[FIFTEEN, EIGHT, FOUR])
}

/// Ch-O3's advantage over linear scan in run time, or 1 if there is none that is beyond the noise.
fn speed_up(times: &RunTimes, setting: Setting) -> Option<f64> {
    let [before, after] = [LINEAR_SCAN, CH_O3].map(|allocator| Variant::new(allocator, setting));
    let interval = times.speed_up(&times.common(before, after), before, after)?;
    Some(if interval.contains(1.0) { 1.0 } else { interval.middle })
}

const TIME: &str = "time under linear-scan by time under the SSA-based allocator";
/// What is known of why run times differ from the paper's.
const OTHER_MACHINE: &str = "The paper's times are of a PowerPC G4. That today's processors hide accesses to the stack is a guess; \
    the estimate, where there is one, says what the code itself would gain without.";

/// A claim about the run time of compiled programs.
fn faster(
    text: &'static str,
    source: &'static str,
    rule: Rule,
    allocator: &'static str,
    of: Ran,
    settings: &'static [Setting],
) -> Claim {
    Claim {
        exhibit: SRA_FIGURE_10,
        text,
        source,
        quantity: TIME,
        unit: Unit::Ratio,
        published: None,
        rule,
        measure: Measure::Ran { before: LINEAR_SCAN, after: allocator, of },
        settings,
        why: OTHER_MACHINE,
    }
}

pub const FASTER: &str = "With four registers, programs are 9.2% faster than with linear scan (Ch-O2)";
pub const FASTER_COALESCED: &str = "With aggressive coalescing, they are 13.0% faster (Ch-O3)";
pub const EVERY_PROGRAM: &str = "With four registers, every program is faster (the slowest of Ch-O3)";
pub const FASTEST: &str = "With four registers, programs are up to 44% faster (the fastest of Ch-O3)";

fn run_times() -> Vec<Claim> {
    let size = |published| Rule::Size { published, neutral: 1.0 };
    vec![
        faster(FASTER, "SRA, abstract", size(published::SPEED_UP), CH_O2, Ran::Together, &[FOUR]),
        faster(FASTER_COALESCED, "SRA, abstract", size(published::SPEED_UP_COALESCED), CH_O3, Ran::Together, &[FOUR]),
        faster(EVERY_PROGRAM, "SRA 6", Rule::Above(1.0), CH_O3, Ran::Slowest, &[FOUR]),
        faster(FASTEST, "SRA 6", size(1.44), CH_O3, Ran::Fastest, &[FOUR]),
        Claim {
            published: Some(TABLE_4.speed_up(CH_O3)),
            ..faster(
                "With plenty of registers, the additional moves and exclusive-ors remain as a burden (Ch-O3)",
                "SRA 6, Table 4",
                Rule::Below(1.0),
                CH_O3,
                Ran::Together,
                &[FIFTEEN],
            )
        },
        Claim {
            measure: Measure::Never("the 214 applications of that test suite are not in the corpus"),
            ..faster(
                "Over 214 applications of a test suite, the gain with four registers is 9.5%",
                "SRA 6, Figure 10",
                size(1.095),
                CH_O3,
                Ran::Together,
                &[],
            )
        },
    ]
}

pub const CATCHES_UP: &str = "Around 12 registers, linear scan catches up with Ch-O3";

fn threshold() -> Claim {
    Claim {
        exhibit: SRA_FIGURE_11,
        text: CATCHES_UP,
        source: "SRA 6, Figure 11",
        quantity: "registers at which the run times cross",
        unit: Unit::Crossing,
        published: Some(12.0),
        rule: Rule::Within { low: 8.0, high: 15.0 },
        measure: Measure::RanWithEach(|results| crossing(|setting| speed_up(&results.run_times, setting))),
        settings: &[FIFTEEN],
        why: "",
    }
}

/// The number of registers at which the estimated costs of the two allocators' code cross.
pub fn cost_crossing(results: &Results) -> Option<f64> {
    crossing(|setting| cost_ratio(results, setting, CH_O3))
}

/// The estimated cost of linear scan's code divided by that of an SSA-based allocator's: above 1, the latter is ahead.
pub fn cost_ratio(results: &Results, setting: Setting, allocator: &'static str) -> Option<f64> {
    results.mean_ratio(Variant::new(LINEAR_SCAN, setting), Variant::new(allocator, setting), |estimate| estimate.cost)
}

/// As [`cost_ratio`] of Ch-O3, for each program.
pub fn cost_ratios(results: &Results, setting: Setting) -> impl Iterator<Item = f64> {
    let variants = [LINEAR_SCAN, CH_O3].map(|allocator| Variant::new(allocator, setting));
    results.mean_ratios(variants[0], variants[1], |estimate| estimate.cost).into_iter()
}

/// The number of registers at which an advantage falls to 1, interpolated linearly between the two measured counts around
/// it.
fn crossing(advantage: impl Fn(Setting) -> Option<f64>) -> Option<f64> {
    let point = |setting: Setting| Some((f64::from(setting.count()), advantage(setting)?));
    let points: Vec<(f64, f64)> = THRESHOLD.into_iter().map(point).collect::<Option<_>>()?;
    if points[0].1 <= 1.0 {
        return Some(0.0);
    }
    let falls = |pair: &&[(f64, f64)]| pair[0].1 > 1.0 && pair[1].1 <= 1.0;
    let Some(&[(left, above), (right, below)]) = points.windows(2).find(falls) else { return Some(f64::INFINITY) };
    Some(left + (right - left) * (above - 1.0) / (above - below))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crossing of these advantages, with 4, 8, 12 and 15 registers.
    fn crosses(advantages: [f64; 4]) -> Option<f64> {
        crossing(|setting| Some(advantages[THRESHOLD.iter().position(|&other| other == setting)?]))
    }

    #[test]
    fn crossings() {
        assert_eq!(crosses([1.2, 1.1, 0.9, 0.8]), Some(10.0));
        assert_eq!(crosses([1.2, 1.1, 1.1, 1.05]), Some(f64::INFINITY));
        assert_eq!(crosses([0.9, 1.1, 0.9, 1.05]), Some(0.0));
        assert_eq!(crosses([1.2, 1.1, 1.0, 0.9]), Some(12.0));
        assert_eq!(crossing(|setting| (setting != TWELVE).then_some(1.0)), None);
    }

    #[test]
    fn the_paper_reproduces_its_own_tables() {
        // The paper's tables agree with its claims.
        assert!(TABLE_2.change(LINEAR_SCAN, CH_O3, Allocation::accesses) < -0.1);
        assert!(TABLE_4.change(LINEAR_SCAN, CH_O3, Allocation::transfers) > 0.5);
        assert!(TABLE_2.speed_up(CH_O3) > 1.0 && TABLE_4.speed_up(CH_O3) < 1.0);
    }
}
