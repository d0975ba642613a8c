//! `chordal diff`: compares two files of statistics.

use super::tables::{TableOptions, plain};
use super::{Failure, keep_apart};
use crate::input;
use crate::measure::diff::limit::Limit;
use crate::measure::diff::load::{self, File};
use crate::measure::diff::metric::{self, Metric};
use crate::measure::diff::{Diff, Fate, Request};
use crate::measure::report::annotations::annotations;
use crate::measure::report::diff::Naming;
use crate::measure::report::link::Link;
use crate::measure::report::{Style, diff as report, diff_page};
use crate::measure::stats;
use crate::output::{self, Destination};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use std::env;
use std::io;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Metrics are the counters of the statistics by their names in the JSON, such as static.loads,
weighted.loads, frame_bytes, elimination.memory_transfers or time_ns.total; and two sums,
memory_accesses (static.loads + static.stores) and spill_accesses (spill.stores +
spill.reloads). More counts as worse, whatever the metric. Without --metric: static.*,
spill.stores, spill.reloads, overhead_share, fallbacks and degraded_functions. The total of overhead_share is the
mean, each function weighted by its selected instructions.

Totals and means are over the functions that were allocated in both files. Those that were left
to LLVM's greedy allocator, vanished or appeared are named, and left out. The mean is the
geometric mean of (new + 1) / (base + 1), function by function: counters may be zero. Of
overhead_share it is that of new / base, where both are positive. A function is listed with the
metric in which it changes the total most.

Examples:
  chordal diff base.json new.json
      what changed between two versions, or between two allocators
  chordal diff base.json new.json --metric spill.reloads --metric overhead --top 30
      only two metrics, and more of the functions that changed
  chordal diff base.json new.json --format html --link 'explained/{function}.html' -o diff.html
      a page, from which functions link to those of `chordal explain new.bc -o explained`
  chordal diff base.json new.json --fail-above 1 --format github
      in a workflow: annotations, and failure if any total grew by more than 1 per cent
  chordal diff base.json new.json --fail-above 1 --fail-above static.moves=5%+10
      moves may grow by 5 per cent and 10 more, all others by 1 per cent

Exit status:
  0  done
  1  the work failed; or, with --fail-above, the total of a metric grew by more than allowed (for
     any allocator, register list and target), or a function can no longer be allocated.
     A function that is no longer there is not a failure: sources change
  2  wrong usage";

/// Compare two statistics files
///
/// Reads what `chordal compile --stats` writes (chordal-stats/1; functions are matched by name), two folders of such files,
/// as `chordal cc` fills them (matched by file and function), or two files of `chordal compare` (chordal-compare/1; matched
/// by module, allocator, registers and function).
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The statistics to compare with; `-` is standard input
    #[arg(value_name = "BASE")]
    base: PathBuf,

    /// The statistics that may be better or worse; `-` is standard input
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Compare by this counter; may be given several times
    #[arg(long = "metric", value_name = "M", value_parser = Metric::named)]
    metrics: Vec<Metric>,

    /// How many functions to name that grew, that shrank, and of each kind that was left out
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,

    /// Fail if a total grew by more than this many per cent, or a function can no longer be allocated
    ///
    /// `5%+10` allows growth by five per cent and ten more; `static.moves=5%+10` limits one metric, which is then compared
    /// as well. May be given several times: for all metrics without a limit of their own, and for others.
    #[arg(long, value_name = "[M=]PCT[%][+N]")]
    fail_above: Vec<Limit>,

    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// In Markdown and HTML, link functions to this address: with {function}, {file}, {line} or {module} in it
    ///
    /// For example `explained/{function}.html`, which is where `chordal explain NEW.bc -o explained` writes pages, or a forge's
    /// address of `{file}#L{line}`.
    #[arg(long, value_name = "ADDRESS")]
    link: Option<Link>,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,

    #[command(flatten)]
    tables: TableOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For a terminal
    Table,
    /// For a comment on a change: also where functions are, and all metrics of each that moved
    Markdown,
    /// A page for a browser, with the same
    Html,
    /// For programs: chordal-diff/1
    Json,
    /// Annotations of a GitHub workflow
    Github,
}

/// Compares two files.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if [&arguments.base, &arguments.new].iter().all(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("only one of the files can be standard input".into()));
    }
    let output = Destination::new(&arguments.output);
    keep_apart(&[("the result", output.clone())], &[arguments.base.clone(), arguments.new.clone()])?;
    let limits = limits(&arguments.fail_above)?;
    let limited: Vec<Metric> = limits.iter().filter_map(Limit::limited).collect();
    let request = Request { metrics: metrics(&arguments.metrics, &limited), top: arguments.top, limits };
    let base = read(&arguments.base, &request.metrics)?;
    let new = read(&arguments.new, &request.metrics)?;
    let named: Vec<&Metric> = arguments.metrics.iter().chain(&limited).collect();
    let diff = compare(&base, &new, &request, &named)?;
    let text = show(&diff, arguments)?;
    output::write_all(&[(output, text.into_bytes())])?;
    Ok(judge(&diff)?)
}

/// The metrics to compare: those given, or the default ones, and those with limits.
fn metrics(given: &[Metric], limited: &[Metric]) -> Vec<Metric> {
    let default = metric::DEFAULT.iter().map(|name| Metric::named(name).expect("the default metrics exist"));
    let compared = if given.is_empty() { default.collect() } else { given.to_vec() };
    let mut metrics: Vec<Metric> = Vec::new();
    for metric in compared.iter().chain(limited) {
        if !metrics.contains(metric) {
            metrics.push(metric.clone());
        }
    }
    metrics
}

/// The limits; two for the same metric are an error.
fn limits(given: &[Limit]) -> Result<Vec<Limit>, Failure> {
    for (index, limit) in given.iter().enumerate() {
        if given[..index].iter().any(|other| other.metric == limit.metric) {
            let what = limit.metric.as_deref().unwrap_or("all metrics");
            return Err(Failure::Usage(format!("--fail-above has two limits for {what}")));
        }
    }
    Ok(given.to_vec())
}

fn read(path: &Path, metrics: &[Metric]) -> Result<File> {
    let name = path.display().to_string();
    if path.is_dir() {
        return folder(path, metrics).with_context(|| name);
    }
    let text = input::text(path).with_context(|| name.clone())?;
    load::parse(&name, &text, metrics).map_err(|why| anyhow!("{name}: {why}"))
}

fn folder(path: &Path, metrics: &[Metric]) -> Result<File> {
    let mut texts = Vec::new();
    for file in stats::read::files(path)? {
        let name = file.strip_prefix(path).unwrap_or(&file).display().to_string();
        let text = input::text(&file).with_context(|| name.clone())?;
        texts.push((name, text));
    }
    if texts.is_empty() {
        bail!("no statistics are in it (files that end in .json)");
    }
    Ok(load::parse_folder(&path.display().to_string(), &texts, metrics)?)
}

/// Compares two files. It is an error if nothing can be compared or a metric that was named is missing: otherwise a limit on
/// it would pass.
fn compare(base: &File, new: &File, request: &Request, named: &[&Metric]) -> Result<Diff> {
    if base.kind != new.kind {
        bail!("{}: is {}, and {} is {}: two of a kind are needed", new.name, new.kind.schema(), base.name, base.kind.schema());
    }
    let diff = Diff::new(base, new, request);
    let lost = diff.fated(Fate::Lost).count();
    if diff.groups.is_empty() && lost == 0 {
        bail!("{}: has nothing in common with {} that was allocated in both", new.name, base.name);
    }
    if let Some(metric) = named.iter().find(|metric| !diff.groups.is_empty() && !diff.has(&metric.name)) {
        bail!("{}: `{}` is not there, or not in {}", new.name, metric.name, base.name);
    }
    Ok(diff)
}

fn show(diff: &Diff, arguments: &Arguments) -> Result<String> {
    let folder = sources()?;
    let (names, top, link) = (arguments.tables.names(), arguments.top, arguments.link.as_ref());
    let naming = Naming { names, top, link, folder: &folder };
    Ok(match arguments.format {
        Format::Table => report::tables(diff, plain(&Destination::new(&arguments.output)), &naming),
        Format::Markdown => report::tables(diff, Style::Markdown, &naming),
        Format::Html => diff_page::page(diff, &naming),
        Format::Json => serde_json::to_string_pretty(diff)? + "\n",
        Format::Github => annotations(diff, &folder),
    })
}

/// The folder to which file names are relative in a workflow; outside a workflow, the current one.
fn sources() -> io::Result<PathBuf> {
    env::var_os("GITHUB_WORKSPACE").filter(|folder| !folder.is_empty()).map_or_else(env::current_dir, |folder| Ok(folder.into()))
}

/// # Errors
/// If there is a regression; the message has the first.
fn judge(diff: &Diff) -> Result<()> {
    let Some(first) = diff.regressions.first() else { return Ok(()) };
    let more = match diff.regressions.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    bail!("{}: worse than {}: {first}{more}", diff.new, diff.base);
}
