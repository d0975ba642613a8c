//! The difference of two files of statistics: the schema `chordal-diff/1`.
//!
//! Functions are matched by name, within runs of the same module, allocator and registers; modules of which only totals were
//! kept are matched as a whole. Items that were allocated in both files are compared; all others are named. For example, of
//! the files in testdata/diff:
//!
//! ```text
//! $ chordal diff base.json new.json --metric static.loads --top 1
//! metric        base  new  change  geomean  helped  hurt  items
//! static.loads    75   73   -2.7%    -4.0%       1     1      3
//!
//! Hurt most: push, from 40 to 44. Helped most: pop, from 30 to 24.
//! Not allocated any more: resize. Not allocated in either: multiply. Vanished: dump. Appeared: drain.
//! ```
//!
//! Requires: two files that [`load`] has read with the same metrics.
//! Ensures: a total sums the same items on both sides; a regression is a total that grew beyond its limit, or a function
//! that is not allocated any more.

pub mod limit;
pub mod load;
mod matching;
pub mod metric;
pub mod quantity;
#[cfg(test)]
mod tests;

use crate::measure::stats::Place;
use limit::Limit;
use load::{File, RunKey, Setting, Status};
use metric::Metric;
use quantity::Quantity;
use serde::Serialize;
use std::fmt;

/// The name of the schema.
pub const SCHEMA: &str = "chordal-diff/1";

/// The parameters of a comparison.
#[derive(Debug)]
pub struct Request {
    pub metrics: Vec<Metric>,
    /// How many of the items that changed most are named in each direction.
    pub top: usize,
    /// By how much totals may grow; empty if nobody asked.
    pub limits: Vec<Limit>,
}

/// A difference of two files.
#[derive(Debug, PartialEq, Serialize)]
pub struct Diff {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the base file, as given.
    pub base: String,
    /// Name of the new file, as given.
    pub new: String,
    /// One for each allocator, register list and target.
    pub groups: Vec<Group>,
    /// The items that grew most, at most [`Request::top`].
    pub hurt: Vec<Change>,
    /// The items that shrank most, at most as many.
    pub helped: Vec<Change>,
    /// Items that were not allocated in both files, and so are in no total.
    pub left_out: Vec<LeftOut>,
    /// The limit, in per cent, of totals that have none of their own; `null` if there is no such limit.
    pub fail_above: Option<f64>,
    /// All limits.
    pub limits: Vec<Limit>,
    /// Violations of the limits.
    pub regressions: Vec<Regression>,
}

/// The totals of all items with these settings.
#[derive(Debug, PartialEq, Serialize)]
pub struct Group {
    pub base: Setting,
    pub new: Setting,
    /// The metrics in both files, in the order in which they were requested.
    pub metrics: Vec<Total>,
}

/// One metric over all items of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    pub metric: String,
    /// Functions or modules that have this metric in both files.
    pub items: u64,
    pub base: Quantity,
    pub new: Quantity,
    /// 0.01 is one per cent more; `null` if it grew from zero.
    pub change: Option<f64>,
    /// Geometric mean of the items' ratios, (new + 1) / (base + 1); of shares, new / base where both are positive. `null` if
    /// no item has a ratio.
    pub geomean: Option<f64>,
    /// Items in which it fell.
    pub helped: u64,
    /// Items in which it rose.
    pub hurt: u64,
}

/// A function, or a module as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Absent if the files have one run each: the two are compared whatever they are of.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where the function is in the new file or, if it is not there, was in the base.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// An item that changed, and the metric in which it changed most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    #[serde(flatten)]
    pub item: Item,
    pub metric: String,
    pub base: Quantity,
    pub new: Quantity,
    /// As in [`Total`].
    pub change: Option<f64>,
    /// The difference as a share of its group's total, base or new, whichever is larger.
    pub of_total: f64,
    /// The other metrics that changed in the same direction, in the order in which they were requested.
    pub also: Vec<Moved>,
}

/// A metric that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    pub metric: String,
    pub base: Quantity,
    pub new: Quantity,
}

/// An item that is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    #[serde(flatten)]
    pub item: Item,
    pub base: Status,
    pub new: Status,
}

/// How a [`LeftOut`] item changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was allocated and no longer is.
    Lost,
    Gained,
    Vanished,
    Appeared,
    /// It is allocated in neither file.
    Neither,
}

/// One way in which the new file is worse than allowed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Regression {
    /// A total grew too much.
    Total { base: Setting, new: Setting, total: Total },
    /// An item can no longer be allocated.
    Lost(LeftOut),
}

impl Diff {
    /// Compares two files that were read with the metrics of the request.
    pub fn new(base: &File, new: &File, request: &Request) -> Self {
        let matched = matching::Matched::new(base, new);
        let groups = matched.groups(&request.metrics);
        let left_out = matched.left_out();
        let limits = request.limits.clone();
        let regressions = if limits.is_empty() { Vec::new() } else { regressions(&groups, &left_out, &limits) };
        Diff {
            schema: SCHEMA,
            base: base.name.clone(),
            new: new.name.clone(),
            hurt: matched.hurt(&request.metrics, request.top),
            helped: matched.helped(&request.metrics, request.top),
            groups,
            left_out,
            fail_above: limits.iter().find(|limit| limit.metric.is_none()).map(|limit| limit.percent),
            limits,
            regressions,
        }
    }

    /// Whether some group has a total of this metric.
    pub fn has(&self, metric: &str) -> bool {
        self.groups.iter().any(|group| group.metrics.iter().any(|total| total.metric == metric))
    }

    /// The items that were left out and met this fate.
    pub fn fated(&self, fate: Fate) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter().filter(move |left_out| left_out.fate() == fate)
    }
}

/// The totals beyond their limits, and the items that were lost. A function that the new version cannot allocate any more is
/// a regression whatever the totals say, since they do not contain it. One that has vanished is not: sources change.
fn regressions(groups: &[Group], left_out: &[LeftOut], limits: &[Limit]) -> Vec<Regression> {
    let mut regressions = Vec::new();
    for group in groups {
        for total in &group.metrics {
            if Limit::of(limits, &total.metric).is_some_and(|limit| total.base.exceeded_by(total.new, limit)) {
                let (base, new) = (group.base.clone(), group.new.clone());
                regressions.push(Regression::Total { base, new, total: total.clone() });
            }
        }
    }
    let lost = left_out.iter().filter(|left_out| left_out.fate() == Fate::Lost);
    regressions.extend(lost.cloned().map(Regression::Lost));
    regressions
}

impl LeftOut {
    pub fn fate(&self) -> Fate {
        match (&self.base, &self.new) {
            (_, Status::Absent) => Fate::Vanished,
            (Status::Absent, _) => Fate::Appeared,
            (Status::Allocated, _) => Fate::Lost,
            (_, Status::Allocated) => Fate::Gained,
            _ => Fate::Neither,
        }
    }
}

impl Group {
    /// Tells which settings are compared: each once where both are equal.
    pub fn label(&self) -> String {
        label(&self.base, &self.new)
    }
}

fn label(base: &Setting, new: &Setting) -> String {
    let both = |part: fn(&Setting) -> String| {
        let (base, new) = (part(base), part(new));
        if base == new { base } else { format!("{base} -> {new}") }
    };
    let parts = [
        both(|setting| setting.allocator.clone()),
        both(|setting| registers(&setting.registers)),
        both(|setting| setting.target.clone()),
    ];
    parts.join(", ")
}

fn registers(list: &str) -> String {
    if list.contains(',') { list.replace(',', " ") } else { format!("{list} registers") }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.run, &self.function) {
            (Some(run), Some(function)) => write!(f, "{} {function}", run.module)?,
            (Some(run), None) => f.write_str(&run.module)?,
            (None, Some(function)) => f.write_str(function)?,
            (None, None) => f.write_str("the module")?,
        }
        match self.run.as_ref().and_then(|run| run.under.as_ref()) {
            Some(under) => write!(f, " ({}, {})", under.allocator, registers(&under.registers)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Allocated => f.write_str("allocated"),
            Status::Fallback { message } => write!(f, "fallback: {message}"),
            Status::NotApplicable { message } => write!(f, "not applicable: {message}"),
            Status::Failed { message } => write!(f, "failed: {message}"),
            Status::Crashed { message } => write!(f, "crashed: {message}"),
            Status::TimedOut { message } => write!(f, "timed out: {message}"),
            Status::Absent => f.write_str("absent"),
        }
    }
}

impl fmt::Display for Regression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Regression::Total { base, new, total } => {
                write!(f, "{} grew from {} to {}", total.metric, total.base, total.new)?;
                if let Some(change) = total.change {
                    write!(f, " (+{:.2}%)", change * 100.0)?;
                }
                write!(f, ": {}", label(base, new))
            }
            Regression::Lost(lost) => write!(f, "{} cannot be allocated any more: {}", lost.item, lost.new),
        }
    }
}
