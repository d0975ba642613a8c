//! JSR Tables 2 and 3: redundant join sets [FA05, §5].

use super::{pairs_of, paragraph};
use crate::analysis::Reuse;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount};
use crate::paper::join_sets::Shared;
use crate::paper::published::{JOIN_SETS, JoinSetCounts};
use crate::paper::results::{Results, quotient};
use indexmap::IndexMap;

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let unit = "Ours are registers of optimised code before it was in SSA form: what phis relate is one register, and every other \
                value is one. All of them have worklists; those that several blocks assign are compared.";
    let redundant = "Table 2: registers that blocks assign (worklists), those of them whose set of assigning blocks A(x) \
                     contains or equals another one, and those where it is equal.";
    let subsets = "Table 3: registers whose set properly contains another one, by how many blocks it is larger, and the part of it \
                   that need not be computed; means.";
    let mut blocks = vec![
        paragraph(unit),
        Block::Table { caption: redundant.into(), table: table_2(&results.registers, |shared| shared.several) },
        Block::Table { caption: subsets.into(), table: table_3(&results.registers, |shared| shared.several) },
    ];
    if !results.variables.is_empty() {
        let caption = "Table 2 for the variables of sources (`clang -O0 -Xclang -disable-O0-optnone`) that could be in registers, \
                       assigned where they are stored; those that one block assigns are compared as well.";
        blocks.push(Block::Table { caption: caption.into(), table: table_2(&results.variables, |shared| shared.all) });
    }
    (blocks, chart(results))
}

/// Which sets are compared.
type Compared = fn(&Shared) -> Reuse;

fn percent(shared: &Shared, count: u64) -> Option<f64> {
    shared.share(count).map(|share| 100.0 * share)
}

fn table_2(ours: &IndexMap<String, Shared>, compared: Compared) -> Table {
    let columns = ["worklists", "A(x) ⊆ A(y)", "% saved", "A(x) = A(y)", "% avoided"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    let theirs = |it: Option<&JoinSetCounts>| {
        [
            it.map(|it| it.worklists).into(),
            it.map(|it| it.redundant).into(),
            amount(it.map(|it| it.redundant_percent), 2),
            it.map(|it| it.equal).into(),
            amount(it.map(|it| it.equal_percent), 2),
        ]
    };
    let of_ours = |it: Option<&Shared>| {
        let [redundant, equal] =
            [|reuse: Reuse| reuse.redundant(), |reuse: Reuse| reuse.equal].map(|count| it.map(|it| (it, count(compared(it)))));
        [
            it.map(|it| it.worklists).into(),
            redundant.map(|(_, count)| count).into(),
            amount(redundant.and_then(|(it, count)| percent(it, count)), 2),
            equal.map(|(_, count)| count).into(),
            amount(equal.and_then(|(it, count)| percent(it, count)), 2),
        ]
    };
    rows(&mut table, ours, theirs, of_ours);
    table
}

fn table_3(ours: &IndexMap<String, Shared>, compared: Compared) -> Table {
    let columns = ["A(x) ⊂ A(y)", "difference", "% saved"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    let theirs = |it: Option<&JoinSetCounts>| {
        [it.map(|it| it.subsets).into(), amount(it.map(|it| it.difference), 2), amount(it.map(|it| it.saved_percent), 2)]
    };
    let of_ours = |it: Option<&Shared>| {
        let reuse = it.map(compared);
        let mean = |sum: fn(Reuse) -> f64| amount(reuse.and_then(|it| quotient(sum(it), it.supersets as f64)), 2);
        [reuse.map(|it| it.supersets).into(), mean(|it| it.remainder as f64), mean(|it| 100.0 * it.saved)]
    };
    rows(&mut table, ours, theirs, of_ours);
    table
}

/// A row for each program, and one for all together.
fn rows<const N: usize>(
    table: &mut Table,
    programs: &IndexMap<String, Shared>,
    theirs: impl Fn(Option<&JoinSetCounts>) -> [Cell; N],
    ours: impl Fn(Option<&Shared>) -> [Cell; N],
) {
    let row = |names: [&str; 2], theirs: [Cell; N], ours: [Cell; N]| {
        let cells = [Cell::from(names[0])].into_iter().chain(theirs).chain([Cell::from(names[1])]).chain(ours);
        cells.collect::<Vec<Cell>>()
    };
    for pair in pairs_of(JOIN_SETS.programs.iter().map(|column| column.program), programs.keys()) {
        let counts = pair.theirs.map(|(index, _)| &JOIN_SETS.programs[index]);
        let shared = pair.ours.and_then(|ours| programs.get(ours));
        table.row(row([pair.their_name(), pair.our_name()], theirs(counts), ours(shared)));
    }
    let all = programs.values().copied().reduce(std::ops::Add::add);
    table.row(row(["average", "all"], theirs(Some(&JOIN_SETS.average)), ours(all.as_ref())));
}

fn chart(results: &Results) -> Option<Chart> {
    let mut bars = Bars::new("join-sets.svg", "Worklists that are avoided or made smaller (JSR Table 2)", "% of worklists");
    for pair in pairs_of(JOIN_SETS.programs.iter().map(|column| column.program), results.registers.keys()) {
        let shared = pair.ours.map(|ours| &results.registers[ours]);
        let ours = shared.and_then(|shared| percent(shared, shared.several.redundant()));
        if let (Some((index, _)), Some(ours)) = (pair.theirs, ours) {
            bars.group(&pair.label(), [(THEIRS, JOIN_SETS.programs[index].redundant_percent), (OURS, ours)]);
        }
    }
    bars.draw()
}
