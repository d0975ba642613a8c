//! Writes a difference of two files of statistics as annotations of a workflow.

use super::diff::NOT_ANY_MORE;
use super::workflow::{Annotation, Level};
use crate::measure::diff::quantity::Quantity;
use crate::measure::diff::{Change, Diff, Fate, Group, Item, LeftOut, Regression, Total};
use crate::measure::stats::Place;
use std::path::Path;

/// An error for each group that got worse and for each function that was lost, warnings for other items that people should
/// look at, and a notice with the totals of each group. Files below `folder` are named relative to it, as workflows name
/// them.
pub fn annotations(diff: &Diff, folder: &Path) -> String {
    let all = errors(diff).into_iter().chain(warnings(diff)).chain(diff.groups.iter().map(notice));
    let lines = all.map(|mut annotation| {
        if let Some(Place { file, .. }) = &mut annotation.place
            && let Ok(below) = Path::new(file).strip_prefix(folder)
        {
            *file = below.display().to_string();
        }
        format!("{annotation}\n")
    });
    lines.collect()
}

/// The regressions. The totals of a group, several of which may have grown, make one error.
fn errors(diff: &Diff) -> Vec<Annotation> {
    let is_same_group = |a: &Regression, b: &Regression| match (a, b) {
        (Regression::Total { base, new, .. }, Regression::Total { base: other_base, new: other_new, .. }) => {
            (base, new) == (other_base, other_new)
        }
        _ => false,
    };
    let error = |regressions: &[Regression]| {
        let (title, place) = match &regressions[0] {
            Regression::Total { total, .. } => (grown(&total.metric, regressions.len() - 1), None),
            Regression::Lost(lost) => (NOT_ANY_MORE.into(), lost.item.place.clone()),
        };
        let lines: Vec<String> = regressions.iter().map(ToString::to_string).collect();
        Annotation { level: Level::Error, place, title, message: lines.join("\n") }
    };
    diff.regressions.chunk_by(is_same_group).map(error).collect()
}

fn grown(first: &str, more: usize) -> String {
    if more == 0 { format!("{first} grew") } else { format!("{first} and {more} more grew") }
}

/// The warnings: one for each function that has a place in the sources, one for all others of a kind.
fn warnings(diff: &Diff) -> Vec<Annotation> {
    // With limits, lost functions are errors already.
    let lost = diff.fated(Fate::Lost).filter(|_| diff.limits.is_empty());
    let lost = lost.map(|lost: &LeftOut| (&lost.item, format!("{}: {}", lost.item, lost.new)));
    let vanished: Vec<String> = diff.fated(Fate::Vanished).map(|vanished| vanished.item.to_string()).collect();
    let mut warnings = each(NOT_ANY_MORE, lost);
    // No places: vanished functions are nowhere in the new sources.
    warnings.extend(together("Vanished", vanished));
    warnings.extend(each("Hurt most", diff.hurt.iter().map(|change| (&change.item, hurt(change)))));
    warnings
}

/// A warning for each item that has a place, and one for all others.
fn each<'d>(title: &str, items: impl Iterator<Item = (&'d Item, String)>) -> Vec<Annotation> {
    let (mut warnings, mut others) = (Vec::new(), Vec::new());
    for (item, message) in items {
        match &item.place {
            Some(place) => warnings.push(warning(Some(place.clone()), title, message)),
            None => others.push(message),
        }
    }
    warnings.extend(together(title, others));
    warnings
}

fn together(title: &str, messages: Vec<String>) -> Option<Annotation> {
    (!messages.is_empty()).then(|| warning(None, title, messages.join("\n")))
}

fn warning(place: Option<Place>, title: &str, message: String) -> Annotation {
    Annotation { level: Level::Warning, place, title: title.into(), message }
}

fn hurt(change: &Change) -> String {
    let moved = |metric: &str, base: Quantity, new: Quantity| format!("{metric} from {base} to {new}");
    let also = change.also.iter().map(|other| moved(&other.metric, other.base, other.new));
    let all: Vec<String> = [moved(&change.metric, change.base, change.new)].into_iter().chain(also).collect();
    format!("{}: {}", change.item, all.join(", "))
}

/// A group's totals, one a line, since annotations are not shown in a monospaced font.
fn notice(group: &Group) -> Annotation {
    let line = |total: &Total| {
        let change = total.change.map_or_else(String::new, |change| format!(" ({:+.1}%)", change * 100.0));
        format!("{}: {} -> {}{change}, {} helped, {} hurt", total.metric, total.base, total.new, total.helped, total.hurt)
    };
    let lines: Vec<_> = group.metrics.iter().map(line).collect();
    Annotation { level: Level::Notice, place: None, title: group.label(), message: lines.join("\n") }
}
