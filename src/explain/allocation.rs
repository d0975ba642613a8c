//! Makes of one allocation's code and model what there is to say about it.

use super::layout::{self, Layout, Sources};
use super::listing::{Code, Model};
use super::schema::{self, Allocation, Bank, Competitor, Edge, Piece, Price, Transfer, Verdict};
use super::trace::{Held, Pressure, Trace, Tracer};
use super::why;
use crate::allocate::eviction::Evictions;
use crate::allocate::spill::Price as Priced;
use crate::analysis::{Liveness, Partition};
use crate::check;
use crate::machine::{self, Function, Location, Point, RegSet, Value};
use crate::measure::stats::{Counts, Options};
use cranelift_entity::{EntityRef, EntitySet};
use std::collections::BTreeMap;

/// An allocation, and what is known of it beside its code.
pub struct Subject<'a> {
    pub allocator: &'a str,
    pub options: Option<Options>,
    pub registers: Option<Vec<String>>,
    /// How the allocator chooses what is in memory.
    pub rule: &'a str,
    pub fallback: Option<String>,
    pub counts: &'a Counts,
    pub code: &'a Code,
}

/// How many rows are named as those that cost most.
const DEAREST: usize = 3;

/// How many prices are listed, and how many with their competitors. What eviction costs is a minimum cut for each.
const PRICES: usize = 5000;
const WITH_COMPETITORS: usize = 400;

/// Explains an allocation.
pub fn explain(subject: Subject<'_>, sources: &mut Sources) -> Allocation {
    let mut layout = Layout::new(&subject.code.listing, sources);
    let found = subject.code.model.as_ref().map(|model| model_of(model, &mut layout));
    layout.sum_costs();
    let verdict = verdict(subject.counts, &layout);
    let Found { banks, mut values, edges, prices } = found.unwrap_or_default();
    why::explain(&mut values, &banks, &prices, &layout.rows, subject.rule);
    let Layout { rows, blocks, .. } = layout;
    Allocation {
        allocator: subject.allocator.to_owned(),
        options: subject.options,
        registers: subject.registers,
        rule: subject.rule.to_owned(),
        fallback: subject.fallback,
        verdict,
        blocks,
        rows,
        banks,
        values,
        edges,
        prices,
        counterfactuals: Vec::new(),
    }
}

fn verdict(counts: &Counts, layout: &Layout) -> Verdict {
    let mut dearest: Vec<usize> = (0..layout.rows.len()).filter(|&row| layout.rows[row].cost > 0.0).collect();
    dearest.sort_by(|&a, &b| layout.rows[b].cost.total_cmp(&layout.rows[a].cost));
    dearest.truncate(DEAREST);
    Verdict {
        overhead: counts.overhead,
        parts: counts.overhead_parts.clone(),
        share: counts.overhead_share,
        spill_cost: counts.spill.cost,
        spill_bound: counts.spill.bound,
        dearest,
    }
}

/// What only a model says.
#[derive(Default)]
struct Found {
    banks: Vec<Bank>,
    values: Vec<schema::Value>,
    edges: Vec<Edge>,
    prices: Vec<Price>,
}

fn model_of(model: &Model, layout: &mut Layout) -> Found {
    let Model { function, overlay, report, names } = model;
    let liveness = Liveness::new(function);
    let dearest = dearest_prices(function, &report.prices);
    let mut wanted: Vec<Point> = report.prices.iter().map(|price| price.at).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let listed = layout.find(function);
    let mut tracer = Tracer::new(function, overlay, &liveness, layout, listed, &wanted);
    check::watch(function, overlay, &mut tracer);
    let mut trace = tracer.trace;
    trace.put_in_order();
    let mut values = values(function, &trace, names, layout);
    let rows = layout.rows.len();
    rent(function, &report.prices, |price| trace.meetings.get(&price.at).map(|it| it.0), rows, &mut values);
    let stored: EntitySet<Value> = stored(&trace);
    let mut evictions = Evictions::new(function, &liveness);
    let prices = prices(function, &dearest, &trace, &stored, &mut evictions);
    Found { banks: banks(function, &trace), values, edges: edges(function, &trace), prices }
}

/// The dearest price of each block and bank, dearest first.
fn dearest_prices<'p>(function: &Function, prices: &'p [Priced]) -> Vec<&'p Priced> {
    let mut of_place: BTreeMap<(Point, Option<machine::Bank>), &Priced> = BTreeMap::new();
    for price in prices {
        let bank = price.registers.first().and_then(|reg| function.file.bank(reg));
        let known = of_place.entry((price.at, bank)).or_insert(price);
        if price.price > known.price {
            *known = price;
        }
    }
    let mut dearest: Vec<&Priced> = of_place.into_values().collect();
    dearest.sort_by(|a, b| b.price.total_cmp(&a.price));
    dearest.truncate(PRICES);
    dearest
}

fn banks(function: &Function, trace: &Trace) -> Vec<Bank> {
    let file = &function.file;
    let of = |pressure: &[Pressure], part: fn(&Pressure) -> u32| pressure.iter().map(part).collect();
    let bank = |(bank, pressure): (machine::Bank, &Vec<Pressure>)| Bank {
        name: file.banks[bank].name.clone(),
        registers: file.allocatable(bank).iter().map(|reg| file.name(reg).to_owned()).collect(),
        live: of(pressure, |it| it.live),
        supply: of(pressure, |it| it.supply),
    };
    trace.pressure.iter().map(bank).collect()
}

fn values(function: &Function, trace: &Trace, names: &[(Value, String)], layout: &Layout) -> Vec<schema::Value> {
    let file = &function.file;
    let mut webs = webs(function);
    let mut values: Vec<schema::Value> = Vec::with_capacity(function.values.len());
    for (value, data) in &function.values {
        let piece = |held: &Held| Piece {
            rows: held.rows,
            registers: held.registers.iter().map(|&reg| file.name(reg).to_owned()).collect(),
            slot: held.slot.map(|slot| slot.to_string()),
        };
        values.push(schema::Value {
            name: value.to_string(),
            variables: Vec::new(),
            class: file.classes[data.class].name.clone(),
            bank: file.classes[data.class].bank.index(),
            web: webs.find(value).index(),
            pieces: trace.held[value].iter().map(piece).collect(),
            defined: Vec::new(),
            read: Vec::new(),
            cost: 0.0,
            rent: None,
            why: None,
        });
    }
    for (value, name) in names {
        let variables = &mut values[value.index()].variables;
        if !variables.contains(name) {
            variables.push(name.clone());
        }
    }
    for (number, row) in layout.rows.iter().enumerate() {
        row.defines.iter().for_each(|&value| values[value].defined.push(number));
        row.reads.iter().for_each(|&value| values[value].read.push(number));
        row.values.iter().for_each(|&value| values[value].cost += row.cost / row.values.len() as f64);
    }
    values
}

/// The values that φs relate, each web by its first value.
fn webs(function: &Function) -> Partition<Value> {
    let mut webs: Partition<Value> = Partition::discrete(function.values.len());
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
            let (one, other) = (webs.find(phi.def), webs.find(arg));
            if one != other {
                webs.attach(one.max(other), one.min(other));
            }
        }
    }
    webs
}

/// The values that are in memory somewhere.
fn stored(trace: &Trace) -> EntitySet<Value> {
    let mut stored = EntitySet::new();
    stored.extend(trace.held.iter().filter(|(_, held)| held.iter().any(|it| it.slot.is_some())).map(|(value, _)| value));
    stored
}

/// Sums up what registers cost where values are in none.
fn rent(
    function: &Function,
    prices: &[Priced],
    row_of: impl Fn(&Priced) -> Option<usize>,
    rows: usize,
    values: &mut [schema::Value],
) {
    // For each set of registers, the sum of all prices before each row.
    let mut sums: Vec<(RegSet, Vec<f64>)> = Vec::new();
    for price in prices {
        let Some(row) = row_of(price) else { continue };
        let known = sums.iter().position(|(registers, _)| *registers == price.registers);
        let index = known.unwrap_or_else(|| {
            sums.push((price.registers, vec![0.0; rows + 1]));
            sums.len() - 1
        });
        sums[index].1[row + 1] += price.price;
    }
    for (_, sum) in &mut sums {
        (1..=rows).for_each(|row| sum[row] += sum[row - 1]);
    }
    for (value, described) in function.values.keys().zip(values) {
        let allowed = function.allowed(value);
        let paid = |piece: &Piece| -> f64 {
            let competing = sums.iter().filter(|(registers, _)| allowed.is_subset(*registers));
            competing.map(|(_, sum)| sum[piece.rows[1]] - sum[piece.rows[0]]).sum()
        };
        let away: Vec<f64> = described.pieces.iter().filter(|piece| piece.registers.is_empty()).map(paid).collect();
        described.rent = (!prices.is_empty() && !away.is_empty()).then(|| away.iter().sum());
    }
}

fn prices(
    function: &Function,
    dearest: &[&Priced],
    trace: &Trace,
    stored: &EntitySet<Value>,
    evictions: &mut Evictions<'_>,
) -> Vec<Price> {
    let file = &function.file;
    let mut listed = Vec::new();
    for priced in dearest {
        let Some(&(row, ref meeting)) = trace.meetings.get(&priced.at) else { continue };
        let Some(bank) = priced.registers.first().and_then(|reg| file.bank(reg)) else { continue };
        let is_of_bank = |value: Value| file.classes[function.values[value].class].bank == bank;
        let of_bank = meeting.iter().filter(|&&(value, _)| is_of_bank(value)).filter(|_| listed.len() < WITH_COMPETITORS);
        let mut competitors: Vec<Competitor> = of_bank
            .map(|&(value, in_register)| Competitor {
                value: value.index(),
                in_register,
                evict: evictions.cost(value, priced.at, stored.contains(value)),
            })
            .collect();
        // What cannot be evicted comes last.
        let key = |it: &Competitor| (!it.in_register, it.evict.unwrap_or(f64::INFINITY));
        competitors.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        let is_part = file.allocatable(bank) != priced.registers;
        let names = || priced.registers.iter().map(|reg| file.name(reg).to_owned()).collect();
        listed.push(Price { row, bank: bank.index(), set: is_part.then(names), price: priced.price, competitors });
    }
    listed
}

/// What each edge moves, if it moves anything.
fn edges(function: &Function, trace: &Trace) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (to, data) in &function.blocks {
        for (column, &pred) in data.preds.iter().enumerate() {
            let place_of = |places: &[(Value, Location)], value: Value| {
                let places: Vec<Location> = places.iter().filter(|it| it.0 == value).map(|it| it.1).collect();
                places.iter().copied().find(|place| matches!(place, Location::Reg(_))).or(places.first().copied())
            };
            let left = if function.blocks[pred].on_edge { &trace.arriving[pred] } else { &trace.leaving[pred] };
            let phis = data.phis.iter().filter_map(|phi| Some((phi.args[column].expand()?, phi.def)));
            let living = function.blocks[pred].on_edge.then_some(&trace.arriving[to]).into_iter().flatten();
            let living = living.map(|&(value, _)| (value, value));
            let mut transfers: Vec<Transfer> = Vec::new();
            for (value, into) in phis.chain(living) {
                let (Some(from), Some(to)) = (place_of(left, value), place_of(&trace.arriving[to], into)) else { continue };
                let transfer = Transfer {
                    value: value.index(),
                    into: into.index(),
                    from: place_name(function, from),
                    to: place_name(function, to),
                };
                if from != to && !transfers.contains(&transfer) {
                    transfers.push(transfer);
                }
            }
            if !transfers.is_empty() {
                let real = if function.blocks[pred].on_edge { function.blocks[pred].preds[0] } else { pred };
                let frequency = function.blocks[pred].frequency.min(data.frequency);
                let (from, to) = (layout::name(function, real), layout::name(function, to));
                edges.push(Edge { from, to, frequency, transfers });
            }
        }
    }
    edges
}

fn place_name(function: &Function, place: Location) -> String {
    match place {
        Location::Reg(reg) => function.file.name(reg).to_owned(),
        Location::Slot(slot) => slot.to_string(),
    }
}
