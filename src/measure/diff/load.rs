//! Reads the files that are compared: the statistics of one run, or a comparison of many.
//!
//! Only the requested metrics are read, so that older files, which count less, and files that somebody has shortened can be
//! read, and large ones quickly. Functions are parsed one at a time, since the largest files have hundreds of thousands.

use super::metric::Metric;
use super::quantity::Quantity;
use crate::measure::compare::record;
use crate::measure::stats::read::{self, JsonError};
use crate::measure::stats::{self, Place};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

/// A file that has been read.
#[derive(Debug)]
pub struct File {
    /// As given.
    pub name: String,
    pub kind: Kind,
    /// In the order of the file. A file of statistics has one run, without a key, since it may be compared with one of
    /// another allocator or source. A folder of such files has one run for each.
    pub runs: IndexMap<Option<RunKey>, Run>,
    /// The sources of a folder's modules, by the names of their files.
    pub sources: IndexMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `chordal-stats/1`.
    Statistics,
    /// `chordal-compare/1`.
    Comparison,
}

impl Kind {
    pub fn schema(self) -> &'static str {
        match self {
            Kind::Statistics => stats::SCHEMA,
            Kind::Comparison => record::SCHEMA,
        }
    }
}

/// Identifies a run within a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RunKey {
    /// The source or, in a folder, the name of the file.
    pub module: String,
    /// Absent in a folder, which may be compared with one of another allocator.
    #[serde(flatten)]
    pub under: Option<Under>,
}

/// An allocator and its registers, as requested.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Under {
    pub allocator: String,
    pub registers: String,
}

/// One module under one allocator.
#[derive(Debug)]
pub enum Run {
    Done { setting: Setting, functions: IndexMap<String, Function>, total: Counters },
    NotDone(Status),
}

/// The properties that all modules of a total share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Setting {
    pub allocator: String,
    pub registers: String,
    /// Architecture.
    pub target: String,
}

/// A function of a run.
#[derive(Debug)]
pub struct Function {
    pub place: Option<Place>,
    pub status: Status,
    pub counters: Counters,
}

/// A value for each metric, in their order; `None` if the file has none.
pub type Counters = Vec<Option<Quantity>>;

/// The outcome of a function or a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Status {
    /// Allocated by the requested allocator.
    Allocated,
    /// Allocated by the code generator's own allocator.
    Fallback {
        message: String,
    },
    /// The allocator does not exist with these registers or on this target.
    NotApplicable {
        message: String,
    },
    Failed {
        message: String,
    },
    Crashed {
        message: String,
    },
    TimedOut {
        message: String,
    },
    /// It is not in the file.
    Absent,
}

/// Why a file, or a folder, cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("names no schema: neither {} nor {}", stats::SCHEMA, record::SCHEMA)]
    NoSchema,
    #[error("the schema is `{found}`, not `{}` or `{}`", stats::SCHEMA, record::SCHEMA)]
    OtherSchema { found: String },
    #[error("is no {}", stats::SCHEMA)]
    NoStatistics,
    #[error(transparent)]
    Invalid(#[from] serde_json::Error),
    #[error("it is done and has no statistics")]
    NothingCounted,
    #[error("function {0} is there twice")]
    FunctionTwice(String),
    #[error("this run is there twice")]
    RunTwice,
    #[error("{place}: {why}")]
    At { place: String, why: Box<LoadError> },
}

impl LoadError {
    /// With the part of the input that it is about.
    fn at(self, place: impl Into<String>) -> Self {
        LoadError::At { place: place.into(), why: Box::new(self) }
    }
}

/// Reads a file.
///
/// # Errors
/// If it is of neither schema, or broken.
pub fn parse(name: &str, text: &str, metrics: &[Metric]) -> Result<File, LoadError> {
    let mut documents = Vec::new();
    for document in Deserializer::from_str(text).into_iter::<&RawValue>() {
        documents.push(document.map_err(JsonError::from)?);
    }
    let (runs, kind) = match documents[..] {
        [] => return Err(JsonError::Empty.into()),
        [document] if schema(document)? == stats::SCHEMA => {
            let (_, run) = statistics(document, metrics)?;
            (IndexMap::from([(None, run)]), Kind::Statistics)
        }
        _ => (comparison(&documents, metrics)?, Kind::Comparison),
    };
    Ok(File { name: name.to_owned(), kind, runs, sources: IndexMap::new() })
}

/// Reads the files of a folder of statistics, given as names and texts.
///
/// # Errors
/// If one of them is no such file, or broken.
pub fn parse_folder(name: &str, texts: &[(String, String)], metrics: &[Metric]) -> Result<File, LoadError> {
    let (mut runs, mut sources) = (IndexMap::new(), IndexMap::new());
    for (module, text) in texts {
        let (source, run) = one(text, metrics).map_err(|why| why.at(module))?;
        runs.insert(Some(RunKey { module: module.clone(), under: None }), run);
        sources.insert(module.clone(), source);
    }
    Ok(File { name: name.to_owned(), kind: Kind::Statistics, runs, sources })
}

/// Reads a file that has to be one of statistics: what it is of, and the run.
fn one(text: &str, metrics: &[Metric]) -> Result<(String, Run), LoadError> {
    let document = read::document(text)?;
    if schema(document)? != stats::SCHEMA {
        return Err(LoadError::NoStatistics);
    }
    statistics(serde_json::from_str(text).map_err(JsonError::from)?, metrics)
}

fn schema(document: &RawValue) -> Result<String, LoadError> {
    read::schema(document).ok_or(LoadError::NoSchema)
}

/// A module and a run that statistics are of.
fn statistics(document: &RawValue, metrics: &[Metric]) -> Result<(String, Run), LoadError> {
    let parsed: Statistics<'_> = serde_json::from_str(document.get())?;
    let setting = Setting {
        allocator: parsed.allocator.clone(),
        registers: parsed.registers.as_ref().map_or_else(|| "all".into(), |registers| registers.join(",")),
        target: stats::architecture(&parsed.target).to_owned(),
    };
    Ok((parsed.source.clone(), parsed.run(setting, metrics)?))
}

/// The records of a document or of JSON Lines.
fn comparison(documents: &[&RawValue], metrics: &[Metric]) -> Result<IndexMap<Option<RunKey>, Run>, LoadError> {
    #[derive(Deserialize)]
    struct Document<'t> {
        #[serde(borrow)]
        modules: Option<Vec<Record<'t>>>,
    }
    let at = |index: usize, why: LoadError| {
        if documents.len() == 1 { why } else { why.at(format!("record {}", index + 1)) }
    };
    let mut runs = IndexMap::new();
    let mut lines: IndexMap<String, (usize, Record)> = IndexMap::new();
    for (index, document) in documents.iter().enumerate() {
        let at = |why: LoadError| at(index, why);
        let schema = schema(document).map_err(at)?;
        if schema != record::SCHEMA {
            return Err(at(LoadError::OtherSchema { found: schema }));
        }
        let invalid = |error: serde_json::Error| at(error.into());
        let parsed: Document<'_> = serde_json::from_str(document.get()).map_err(invalid)?;
        match parsed.modules {
            Some(modules) => modules.into_iter().try_for_each(|record| record.add_to(&mut runs, metrics)).map_err(at)?,
            None => {
                let record: Record = serde_json::from_str(document.get()).map_err(invalid)?;
                add_line(&mut lines, index, record);
            }
        }
    }
    for (index, record) in lines.into_values() {
        record.add_to(&mut runs, metrics).map_err(|why| at(index, why))?;
    }
    Ok(runs)
}

/// Adds a line of a records file. A comparison that was resumed adds lines for modules that have earlier ones: the later of
/// two equal runs counts, and a module whose fingerprint changed has only its new runs.
fn add_line<'t>(lines: &mut IndexMap<String, (usize, Record<'t>)>, index: usize, mut record: Record<'t>) {
    if let Some((_, earlier)) = lines.get_mut(&record.source)
        && earlier.fingerprint == record.fingerprint
    {
        let replaced = |run: &RecordedRun<'t>| record.runs.iter().any(|later| later.resembles(run));
        earlier.runs.retain(|run| !replaced(run));
        earlier.runs.append(&mut record.runs);
    } else {
        lines.insert(record.source.clone(), (index, record));
    }
}

/// The part of a [`record::Record`] that is read.
#[derive(Deserialize)]
struct Record<'t> {
    source: String,
    #[serde(default)]
    fingerprint: String,
    #[serde(borrow)]
    runs: Vec<RecordedRun<'t>>,
}

/// The part of a [`record::Run`] that is read.
#[derive(Deserialize)]
struct RecordedRun<'t> {
    allocator: String,
    registers: String,
    outcome: OutcomeName,
    #[serde(borrow)]
    statistics: Option<Statistics<'t>>,
    #[serde(default)]
    message: String,
}

/// The names of [`record::Outcome`].
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OutcomeName {
    Done,
    NotApplicable,
    Failed,
    Crashed,
    TimedOut,
}

/// The part of [`stats::Statistics`] that is read.
#[derive(Deserialize)]
struct Statistics<'t> {
    #[serde(default)]
    source: String,
    #[serde(default)]
    allocator: String,
    registers: Option<Vec<String>>,
    target: String,
    #[serde(borrow)]
    total: &'t RawValue,
    #[serde(borrow)]
    functions: Vec<&'t RawValue>,
}

/// The part of a [`stats::Function`] that is read.
#[derive(Deserialize)]
struct CountedFunction {
    name: String,
    #[serde(flatten)]
    place: Option<Place>,
    fallback: Option<String>,
    #[serde(flatten)]
    counts: Map<String, Value>,
}

impl Record<'_> {
    fn add_to(self, runs: &mut IndexMap<Option<RunKey>, Run>, metrics: &[Metric]) -> Result<(), LoadError> {
        for run in self.runs {
            let about = format!("{}: {}, {} registers", self.source, run.allocator, run.registers);
            let under = Under { allocator: run.allocator.clone(), registers: run.registers.clone() };
            let key = RunKey { module: self.source.clone(), under: Some(under) };
            let run = run.read(metrics).map_err(|why| why.at(&about))?;
            if runs.insert(Some(key), run).is_some() {
                return Err(LoadError::RunTwice.at(about));
            }
        }
        Ok(())
    }
}

impl RecordedRun<'_> {
    fn resembles(&self, other: &Self) -> bool {
        self.allocator == other.allocator && self.registers == other.registers
    }

    fn read(self, metrics: &[Metric]) -> Result<Run, LoadError> {
        let message = self.message;
        Ok(Run::NotDone(match self.outcome {
            OutcomeName::Done => {
                let statistics = self.statistics.ok_or(LoadError::NothingCounted)?;
                let target = stats::architecture(&statistics.target).to_owned();
                return statistics.run(Setting { allocator: self.allocator, registers: self.registers, target }, metrics);
            }
            OutcomeName::NotApplicable => Status::NotApplicable { message },
            OutcomeName::Failed => Status::Failed { message },
            OutcomeName::Crashed => Status::Crashed { message },
            OutcomeName::TimedOut => Status::TimedOut { message },
        }))
    }
}

impl Statistics<'_> {
    fn run(self, setting: Setting, metrics: &[Metric]) -> Result<Run, LoadError> {
        let counters = |counts: &Map<String, Value>| metrics.iter().map(|metric| metric.of(counts)).collect();
        let total = serde_json::from_str(self.total.get()).map_err(|error| LoadError::from(error).at("total"))?;
        let mut functions = IndexMap::with_capacity(self.functions.len());
        for (index, text) in self.functions.iter().enumerate() {
            let function: CountedFunction =
                serde_json::from_str(text.get()).map_err(|error| LoadError::from(error).at(format!("function {}", index + 1)))?;
            let status = function.fallback.map_or(Status::Allocated, |message| Status::Fallback { message });
            let entry = Function { place: function.place, status, counters: counters(&function.counts) };
            if functions.insert(function.name.clone(), entry).is_some() {
                return Err(LoadError::FunctionTwice(function.name));
            }
        }
        Ok(Run::Done { setting, functions, total: counters(&total) })
    }
}

impl Run {
    pub fn status(&self) -> Status {
        match self {
            Run::Done { .. } => Status::Allocated,
            Run::NotDone(status) => status.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::compare::record::Outcome;
    use crate::measure::stats::{Counts, Static, Statistics as Written};
    use serde_json::json;

    fn loads() -> Vec<Metric> {
        vec![Metric::named("static.loads").expect("it exists")]
    }

    fn read(text: &str) -> Result<File, LoadError> {
        parse("a.json", text, &loads())
    }

    fn written() -> Written {
        let counts = |loads| Counts { fixed: Static { loads, ..Static::default() }, ..Counts::default() };
        let function = |name: &str, fallback: Option<&str>, loads| stats::Function {
            name: name.into(),
            place: Some(Place { file: "/p/a.c".into(), line: 3 }),
            fallback: fallback.map(Into::into),
            degraded: Vec::new(),
            counts: counts(loads),
        };
        Written {
            schema: stats::SCHEMA.into(),
            chordal: "0.1.0".into(),
            allocator: "linear-scan".into(),
            options: None,
            registers: Some(vec!["rax".into(), "rcx".into()]),
            source: "a.bc".into(),
            directory: None,
            target: "i686-pc-linux-gnu".into(),
            compilation_ns: None,
            total: counts(7),
            functions: vec![function("f", None, 3), function("g", Some("a tile"), 4)],
        }
    }

    fn run(registers: &str, outcome: Outcome) -> record::Run {
        record::Run { allocator: "linear-scan".into(), registers: registers.into(), outcome }
    }

    /// A record as `chordal compare` writes it.
    fn recorded() -> Value {
        let done = Outcome::Done { statistics: Box::new(written()), allocation_ns: vec![] };
        let runs = [run("4", done), run("5", Outcome::TimedOut { message: "after 10 s".into() })];
        json!({ "schema": record::SCHEMA, "source": "a.bc", "runs": runs, "fingerprint": "of a later version" })
    }

    #[test]
    fn statistics_as_they_are_written() {
        let file = read(&serde_json::to_string_pretty(&written()).unwrap()).expect("it is well-formed");
        assert_eq!(file.kind, Kind::Statistics);
        let Run::Done { setting, functions, total } = &file.runs[&None] else { panic!("{file:?}") };
        let expected = Setting { allocator: "linear-scan".into(), registers: "rax,rcx".into(), target: "i386".into() };
        assert_eq!(*setting, expected);
        assert_eq!(total, &[Some(Quantity::Count(7))]);
        assert_eq!(functions["f"].counters, [Some(Quantity::Count(3))]);
        assert_eq!(functions["f"].place, Some(Place { file: "/p/a.c".into(), line: 3 }));
        assert_eq!(functions["g"].status, Status::Fallback { message: "a tile".into() });
    }

    #[test]
    fn comparisons_as_lines_and_as_a_document() {
        let mut other = recorded();
        other["source"] = "b.bc".into();
        let document = json!({ "schema": record::SCHEMA, "modules": [recorded(), other], "summary": {} });
        for text in [format!("{}\n{other}\n", recorded()), serde_json::to_string_pretty(&document).unwrap()] {
            let file = read(&text).expect("it is well-formed");
            assert_eq!((file.kind, file.runs.len()), (Kind::Comparison, 4));
            let key = |registers: &str| {
                let under = Under { allocator: "linear-scan".into(), registers: registers.into() };
                Some(RunKey { module: "b.bc".into(), under: Some(under) })
            };
            assert!(matches!(&file.runs[&key("4")], Run::Done { setting, .. } if setting.registers == "4"));
            assert_eq!(file.runs[&key("5")].status(), Status::TimedOut { message: "after 10 s".into() });
        }
        assert_eq!(read(&recorded().to_string()).expect("one line").runs.len(), 2);
    }

    #[test]
    fn later_lines_of_a_module_add_to_earlier_ones() {
        let line = |change: &dyn Fn(&mut Value)| {
            let mut record = recorded();
            change(&mut record);
            format!("{record}\n")
        };
        let only = |run: usize| line(&|record| record["runs"] = json!([record["runs"][run]]));
        let [done, timed_out] = [Status::Allocated, Status::TimedOut { message: "after 10 s".into() }];
        let statuses = |lines: [String; 2]| -> Vec<Status> {
            let file = read(&lines.concat()).expect("as `chordal compare --resume` writes it");
            file.runs.values().map(Run::status).collect()
        };
        assert_eq!(statuses([only(0), only(1)]), [done.clone(), timed_out.clone()]);
        let crashed = line(&|record| record["runs"][1]["outcome"] = "crashed".into());
        assert_eq!(statuses([crashed, line(&|_| {})]), [done.clone(), timed_out]);
        let changed = line(&|record| {
            record["fingerprint"] = "of another content".into();
            record["runs"] = json!([record["runs"][0]]);
        });
        assert_eq!(statuses([line(&|_| {}), changed]), [done]);
    }

    #[test]
    fn counters_that_a_file_does_not_have_are_missing() {
        let text = json!({ "schema": stats::SCHEMA, "target": "x86_64", "total": {}, "functions": [{ "name": "f" }] });
        let file = read(&text.to_string()).expect("it is well-formed");
        let Run::Done { functions, .. } = &file.runs[&None] else { panic!("{file:?}") };
        assert_eq!(functions["f"].counters, [None]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let refused = |text: &str, why: &str| {
            let message = read(text).expect_err("it is no good").to_string();
            assert!(message.contains(why), "{message:?} does not say {why:?}");
        };
        let statistics = serde_json::to_string_pretty(&written()).unwrap();
        refused("", "is empty");
        refused("\n", "is empty");
        refused("loads: 3\n", "is not JSON: expected value at line 1 column 1");
        refused(&statistics[..300], "is cut short: EOF");
        refused("[]", "names no schema");
        refused("{}", "names no schema");
        refused(&statistics.replace("stats/1", "stats/2"), "the schema is `chordal-stats/2`, not `chordal-stats/1` or");
        refused(&format!("{statistics}{statistics}"), "record 1: the schema is `chordal-stats/1`");
        refused(&statistics.replace("\"g\"", "\"f\""), "function f is there twice");
        refused(&statistics.replace("\"target\"", "\"triple\""), "missing field `target`");
        let twice = json!({ "schema": record::SCHEMA, "modules": [recorded(), recorded()] });
        refused(&twice.to_string(), "a.bc: linear-scan, 4 registers: this run is there twice");
        refused(&recorded().to_string().replace("timed-out", "bored"), "unknown variant `bored`");
    }
}
