//! Matches the items of two files, and computes totals and the largest changes.

use super::load::{Counters, File, Function, Run, RunKey, Setting, Status};
use super::metric::Metric;
use super::quantity::Quantity;
use super::{Change, Group, Item, LeftOut, Moved, Total};
use crate::measure::stats::Place;
use crate::measure::stats::names::{Named, names};
use indexmap::{IndexMap, IndexSet};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The items of two files, borrowed from them.
pub struct Matched<'f> {
    /// The settings of all pairs; a group for each.
    settings: IndexSet<(&'f Setting, &'f Setting)>,
    pairs: Vec<Pair<'f>>,
    left_out: Vec<(ItemRef<'f>, Status, Status)>,
    /// For folders: the names of modules, by the names of their files.
    names: HashMap<&'f str, String>,
}

/// An item that was allocated in both files.
struct Pair<'f> {
    item: ItemRef<'f>,
    /// Index in [`Matched::settings`].
    group: usize,
    base: &'f Counters,
    new: &'f Counters,
}

#[derive(Clone, Copy)]
struct ItemRef<'f> {
    run: Option<&'f RunKey>,
    function: Option<&'f str>,
    place: Option<&'f Place>,
}

/// The names of the modules of two folders, in each of which a file stands for one module.
fn names_of<'f>(base: &'f File, new: &'f File) -> HashMap<&'f str, String> {
    let source = |place| base.sources.get(place).or_else(|| new.sources.get(place)).expect("it is in one of both");
    let modules = union(&base.sources, &new.sources).map(|place| Named { place, source: source(place) });
    let modules: Vec<Named<'_>> = modules.collect();
    modules.iter().map(|module| module.place).zip(names(&modules)).collect()
}

impl<'f> Matched<'f> {
    /// Matches all items in the order of the base, followed by those that only the new file has.
    pub fn new(base: &'f File, new: &'f File) -> Self {
        let names = names_of(base, new);
        let mut matched = Matched { settings: IndexSet::new(), pairs: Vec::new(), left_out: Vec::new(), names };
        for key in union(&base.runs, &new.runs) {
            matched.run(key.as_ref(), base.runs.get(key), new.runs.get(key));
        }
        matched
    }

    fn run(&mut self, run: Option<&'f RunKey>, base: Option<&'f Run>, new: Option<&'f Run>) {
        let item = ItemRef { run, function: None, place: None };
        match (base, new) {
            (
                Some(Run::Done { setting: base, functions: before, total: base_total }),
                Some(Run::Done { setting: new, functions: after, total: new_total }),
            ) => {
                // If one file has only totals, they are all that can be compared.
                if before.is_empty() || after.is_empty() {
                    self.pair(item, (base, new), base_total, new_total);
                } else {
                    self.functions(run, (base, new), before, after);
                }
            }
            (Some(Run::NotDone(Status::NotApplicable { .. })), Some(Run::NotDone(Status::NotApplicable { .. }))) => {}
            _ => {
                let status = |run: Option<&Run>| run.map_or(Status::Absent, Run::status);
                self.left_out.push((item, status(base), status(new)));
            }
        }
    }

    fn functions(
        &mut self,
        run: Option<&'f RunKey>,
        settings: (&'f Setting, &'f Setting),
        base: &'f IndexMap<String, Function>,
        new: &'f IndexMap<String, Function>,
    ) {
        for name in union(base, new) {
            let place = new.get(name).or_else(|| base.get(name)).and_then(|function| function.place.as_ref());
            let item = ItemRef { run, function: Some(name), place };
            match (base.get(name), new.get(name)) {
                (
                    Some(Function { status: Status::Allocated, counters: base, .. }),
                    Some(Function { status: Status::Allocated, counters: new, .. }),
                ) => self.pair(item, settings, base, new),
                (base, new) => {
                    let status = |function: Option<&Function>| function.map_or(Status::Absent, |f| f.status.clone());
                    self.left_out.push((item, status(base), status(new)));
                }
            }
        }
    }

    fn pair(&mut self, item: ItemRef<'f>, settings: (&'f Setting, &'f Setting), base: &'f Counters, new: &'f Counters) {
        let (group, _) = self.settings.insert_full(settings);
        self.pairs.push(Pair { item, group, base, new });
    }

    /// The item with its displayed name.
    fn item(&self, item: ItemRef<'_>) -> Item {
        let named = |run: &RunKey| {
            let module = self.names.get(run.module.as_str()).unwrap_or(&run.module);
            RunKey { module: module.clone(), under: run.under.clone() }
        };
        Item { run: item.run.map(named), function: item.function.map(str::to_owned), place: item.place.cloned() }
    }

    pub fn left_out(&self) -> Vec<LeftOut> {
        let owned = self.left_out.iter().map(|(item, base, new)| LeftOut {
            item: self.item(*item),
            base: base.clone(),
            new: new.clone(),
        });
        owned.collect()
    }

    /// The totals of each group, without metrics that no item has.
    pub fn groups(&self, metrics: &[Metric]) -> Vec<Group> {
        let tallies = self.tallies(metrics.len());
        let groups = self.settings.iter().zip(tallies).map(|(&(base, new), tallies)| Group {
            base: base.clone(),
            new: new.clone(),
            metrics: metrics.iter().zip(tallies).filter_map(|(metric, tally)| tally.total(metric)).collect(),
        });
        groups.collect()
    }

    /// By group and metric.
    fn tallies(&self, metrics: usize) -> Vec<Vec<Tally>> {
        let mut groups = vec![vec![Tally::default(); metrics]; self.settings.len()];
        for pair in &self.pairs {
            for (tally, values) in groups[pair.group].iter_mut().zip(pair.values()) {
                if let Some((base, new)) = values {
                    tally.add(base, new);
                }
            }
        }
        groups
    }

    /// The items that grew most, the worst first.
    pub fn hurt(&self, metrics: &[Metric], count: usize) -> Vec<Change> {
        self.most_changed(metrics, Ordering::Greater, count)
    }

    /// The items that shrank most, the best first.
    pub fn helped(&self, metrics: &[Metric], count: usize) -> Vec<Change> {
        self.most_changed(metrics, Ordering::Less, count)
    }

    /// The items that changed most in one direction, each once, with the metric in which it changes its group's total most.
    fn most_changed(&self, metrics: &[Metric], direction: Ordering, count: usize) -> Vec<Change> {
        let tallies = self.tallies(metrics.len());
        let mut changes = Vec::new();
        for (index, pair) in self.pairs.iter().enumerate() {
            let mut most: Option<(f64, usize)> = None;
            for (metric, values) in pair.values().enumerate() {
                let Some((base, new)) = values.filter(|(base, new)| new.compare(*base) == direction) else { continue };
                let of_total = tallies[pair.group][metric].share(base, new);
                if most.is_none_or(|(share, _)| of_total.abs() > share.abs()) {
                    most = Some((of_total, metric));
                }
            }
            changes.extend(most.map(|(of_total, metric)| (of_total, metric, index)));
        }
        // The sort is stable: equal changes stay in the order of the files.
        changes.sort_by(|(a, ..), (b, ..)| b.abs().total_cmp(&a.abs()));
        let largest = changes.into_iter().take(count);
        largest.map(|(of_total, most, pair)| self.change(&self.pairs[pair], metrics, most, direction, of_total)).collect()
    }

    /// The change of an item, led by the metric that changed most.
    fn change(&self, pair: &Pair<'_>, metrics: &[Metric], most: usize, direction: Ordering, of_total: f64) -> Change {
        let values: Vec<_> = pair.values().collect();
        let moved = |index: usize| {
            let (base, new) = values[index].filter(|(base, new)| new.compare(*base) == direction)?;
            Some(Moved { metric: metrics[index].name.clone(), base, new })
        };
        let also = (0..metrics.len()).filter(|&index| index != most).filter_map(moved).collect();
        let Moved { metric, base, new } = moved(most).expect("it has changed most");
        Change { item: self.item(pair.item), metric, base, new, change: base.change_to(new), of_total, also }
    }
}

/// The keys of both maps, each once.
fn union<'m, K: std::hash::Hash + Eq, V>(base: &'m IndexMap<K, V>, new: &'m IndexMap<K, V>) -> impl Iterator<Item = &'m K> {
    base.keys().chain(new.keys().filter(|key| !base.contains_key(*key)))
}

impl Pair<'_> {
    /// Both values of each metric, where both files have it.
    fn values(&self) -> impl Iterator<Item = Option<(Quantity, Quantity)>> {
        self.base.iter().zip(self.new).map(|(base, new)| base.zip(*new))
    }
}

/// A total that is being summed.
#[derive(Clone, Default)]
struct Tally {
    items: u64,
    base: Quantity,
    new: Quantity,
    /// Sum of the logarithms of the items' ratios; the next field is their number.
    logarithms: f64,
    ratios: u64,
    helped: u64,
    hurt: u64,
}

impl Tally {
    fn add(&mut self, base: Quantity, new: Quantity) {
        self.items += 1;
        self.base += base;
        self.new += new;
        if let Some(ratio) = base.ratio_of(new) {
            self.logarithms += ratio.ln();
            self.ratios += 1;
        }
        match new.compare(base) {
            Ordering::Less => self.helped += 1,
            Ordering::Equal => {}
            Ordering::Greater => self.hurt += 1,
        }
    }

    /// An item's change as a share of this total, base or new, whichever is larger, since the base may be zero.
    fn share(&self, base: Quantity, new: Quantity) -> f64 {
        let whole = self.base.as_f64().abs().max(self.new.as_f64().abs());
        (new.within(self.new) - base.within(self.base)) / whole
    }

    fn total(self, metric: &Metric) -> Option<Total> {
        (self.items > 0).then(|| Total {
            metric: metric.name.clone(),
            items: self.items,
            base: self.base,
            new: self.new,
            change: self.base.change_to(self.new),
            geomean: (self.ratios > 0).then(|| (self.logarithms / self.ratios as f64).exp()),
            helped: self.helped,
            hurt: self.hurt,
        })
    }
}
