//! How far spilling and coalescing are from the optimum. No paper has such a table, though all of them raise the question.

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::Chart;
use crate::paper::document::{Block, amount};
use crate::paper::results::{Compiled, Estimate, Results, geometric_mean, quotient};
use crate::paper::variants::*;

/// Spilling by prices and coalescing by chunks, for cost by frequency alone, since that is what is compared.
const PRICED: &str = "tuned --set weigh-size=off";
const SPILLED_BEST: &str = "tuned --set weigh-size=off --spill optimal";
const COALESCED_BEST: &str = "tuned --set weigh-size=off --coalesce optimal";
const UNITS: &str = "tuned --set weigh-size=off --coalesce units";
const GREEDY: &str = "llvm-greedy";

/// The spillers, and their names in the table.
const SPILLING: [(&str, &str); 5] = [
    (GREEDY, GREEDY),
    ("tuned --set weigh-size=off --spill weight", "weight"),
    ("tuned --set weigh-size=off --spill belady", "belady"),
    ("tuned --set weigh-size=off --spill min", "min"),
    (PRICED, "priced"),
];

const SETTINGS: [Setting; 4] = [FOUR, EIGHT, FIFTEEN, I386];

pub fn variants() -> Vec<Variant> {
    let spilling = SPILLING.map(|(allocator, _)| allocator);
    product(&[&spilling[..], &[SPILLED_BEST, COALESCED_BEST, UNITS]].concat(), &SETTINGS)
}

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut blocks = vec![paragraph(
        "Ratios to the optimum, of sums over functions of what the part costs by frequency (a load 4, a store 1, a constant \
         computed again 0.2 or 1, a copy 0.2) for each selected instruction executed. *proved*: the share of functions of which \
         the solver proved that nothing is cheaper; *bound*: the optimum, or the best that was found, by what it costs at \
         least. The optimum of spilling is that of chordal's model, behind the same preparation: which operand of an \
         instruction is folded is decided before. So an allocator that schedules, or \
         decides those otherwise, may be below 1.",
    )];
    for setting in SETTINGS {
        blocks.extend(table(results, setting, "Spilling", SPILLING.map(|(_, name)| name).to_vec(), spilling));
    }
    blocks.push(paragraph(
        "Copies that are left, as estimated, by the least in any colouring of the same names, spilled by prices. *preference* is \
         what colouring alone leaves.",
    ));
    for setting in SETTINGS {
        blocks.extend(table(results, setting, "Coalescing", vec!["preference", "units", "recolour"], coalescing));
    }
    (blocks, None)
}

/// A program's results in a setting.
struct Row {
    /// Costs divided by the optimum.
    ratios: Vec<f64>,
    proved: f64,
    bound: f64,
}

fn table(
    results: &Results,
    setting: Setting,
    what: &str,
    names: Vec<&str>,
    row: fn(&Results, &str, Setting) -> Option<Row>,
) -> Option<Block> {
    let header = [vec!["program"], names, vec!["proved", "bound"]].concat();
    let mut table = Table::new(header);
    let rows: Vec<(&str, Row)> =
        results.programs.keys().filter_map(|program| Some((program.as_str(), row(results, program, setting)?))).collect();
    for (program, row) in &rows {
        let ratios = row.ratios.iter().map(|&ratio| Cell::Amount(ratio, 3));
        let ends = [Cell::Text(format!("{:.1}%", 100.0 * row.proved)), Cell::Amount(row.bound, 3)];
        table.row([Cell::from(*program)].into_iter().chain(ratios).chain(ends));
    }
    let columns = rows.first()?.1.ratios.len();
    let mean = |column: usize| amount(geometric_mean(rows.iter().map(|(_, row)| row.ratios[column]).collect()), 3);
    let ends = [Cell::Missing, amount(geometric_mean(rows.iter().map(|(_, row)| row.bound).collect()), 3)];
    table.row([Cell::from("geometric mean")].into_iter().chain((0..columns).map(mean)).chain(ends));
    Some(Block::Table { caption: format!("{what}: {setting}."), table })
}

fn spilling(results: &Results, program: &str, setting: Setting) -> Option<Row> {
    let best = results.of(program, Variant::new(SPILLED_BEST, setting))?;
    let cost = |compiled: &Compiled| compiled.sum_of_shares(|it| it.spilling);
    let ratios = SPILLING.iter().map(|&(allocator, _)| {
        let compiled = results.of(program, Variant::new(allocator, setting))?;
        quotient(cost(compiled), cost(best))
    });
    let certificate = |it: &Estimate| it.planned;
    row(best, ratios.collect::<Option<Vec<f64>>>()?, certificate)
}

fn coalescing(results: &Results, program: &str, setting: Setting) -> Option<Row> {
    let [best, units, chunks] =
        [COALESCED_BEST, UNITS, PRICED].map(|allocator| results.of(program, Variant::new(allocator, setting)));
    let best = best?;
    let least = best.sum_of_shares(|it| it.copies_after);
    let ratios = [
        quotient(best.sum_of_shares(|it| it.copies_before), least),
        quotient(units?.sum_of_shares(|it| it.copies_after), least),
        quotient(chunks?.sum_of_shares(|it| it.copies_after), least),
    ];
    let certificate = |it: &Estimate| Some((it.copies_after, it.copies_bound?));
    row(best, ratios.into_iter().collect::<Option<Vec<f64>>>()?, certificate)
}

/// A row of ratios. `certificate` gives, for a function, the cost that was found and a lower bound.
fn row(best: &Compiled, ratios: Vec<f64>, certificate: impl Fn(&Estimate) -> Option<(f64, f64)>) -> Option<Row> {
    let of_all = |part: fn((f64, f64)) -> f64| best.sum_of_shares(|it| certificate(it).map_or(0.0, part));
    let bound = quotient(of_all(|(cost, _)| cost), of_all(|(_, bound)| bound))?;
    Some(Row { ratios, proved: best.share_of_functions(|it| certificate(it).is_none_or(is_proved)), bound })
}

/// Whether nothing cheaper exists, up to the rounding of floating-point sums.
fn is_proved((cost, bound): (f64, f64)) -> bool {
    cost - bound <= 1e-6 * (1.0 + cost.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::Function;
    use crate::paper::testing::{function, record, run};

    /// A function of eight executed instructions with these costs of spilling and copies.
    fn costing(spilling: f64, copies: f64) -> Function {
        let mut function = function("f", 1);
        let counts = &mut function.counts;
        counts.selected.weighted_instructions = 8.0;
        counts.overhead_parts.reloads = spilling;
        (counts.spill.cost, counts.spill.bound) = (Some(spilling), Some(8.0));
        counts.recolouring.cost_before = 6.0;
        (counts.recolouring.cost_after, counts.recolouring.bound) = (copies, Some(4.0));
        function
    }

    #[test]
    fn everything_is_by_the_optimum() {
        let variants: Vec<Variant> = variants().into_iter().filter(|variant| variant.setting == FOUR).collect();
        let of = |variant: &Variant| match variant.allocator {
            SPILLED_BEST => costing(8.0, 5.0),
            COALESCED_BEST => costing(9.0, 4.0),
            PRICED => costing(9.0, 5.0),
            _ => costing(12.0, 5.5),
        };
        let runs = variants.iter().map(|variant| run(*variant, vec![of(variant)]));
        let mut results = Results::default();
        results.add("p", Machine::X86_64, &variants, &record(runs));
        let row = spilling(&results, "p", FOUR).expect("all has been run");
        assert_eq!(row.ratios, [1.5, 1.5, 1.5, 1.5, 1.125]);
        assert_eq!((row.proved, row.bound), (1.0, 1.0));
        let row = coalescing(&results, "p", FOUR).expect("all has been run");
        assert_eq!(row.ratios, [1.5, 1.375, 1.25]);
        let (blocks, _) = show(&results);
        assert_eq!(blocks.iter().filter(|block| matches!(block, Block::Table { .. })).count(), 2);
    }
}
