//! What phases make of the functions of `testdata/functions`: the files of `testdata/phases`.
//!
//! A file says first what it shows, then which command prints the rest. `CHORDAL_BLESS=1 cargo test phases` writes the rest of
//! all files anew; a new one needs no more than the first lines for that.

use crate::support::fixture::fixture;
use chordal::allocate::dump::Dump;
use chordal::allocate::observe::Phase;
use chordal::allocate::pipeline::{Strategy, allocate_watched};
use chordal::cli::allocators::{Configured, configured};
use similar::TextDiff;
use std::fs;
use std::path::{Path, PathBuf};

const BLESS: &str = "CHORDAL_BLESS";

#[test]
fn the_files_show_what_phases_do() {
    let mut differing = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("files can be read");
        let found = Expected::new(&path, &text).found();
        if found == text {
            continue;
        }
        if std::env::var_os(BLESS).is_some() {
            fs::write(&path, found).expect("files can be written");
        } else {
            let diff = TextDiff::from_lines(&text, &found);
            differing.push(diff.unified_diff().header(&path.display().to_string(), "found").to_string());
        }
    }
    assert!(
        differing.is_empty(),
        "{}\nFiles that do not show what phases do now: {}. If that is intended, write them anew and look at the difference:\n  \
         {BLESS}=1 cargo test phases && git diff testdata/phases\n",
        differing.join("\n"),
        differing.len()
    );
}

/// The files, each of which is in the folder of the phase that it shows.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/phases");
    let inside =
        |folder: PathBuf| fs::read_dir(folder).expect("folders can be read").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = inside(root).flat_map(inside).collect();
    files.sort();
    assert!(files.len() > 100, "only {} files", files.len());
    files
}

/// A file that says what is expected.
struct Expected {
    /// What it shows, and the command.
    head: String,
    /// The input's name.
    name: String,
    strategy: Strategy,
    phases: Vec<Phase>,
}

impl Expected {
    /// Reads the first lines of a file, whose name and folder have to say the same.
    fn new(path: &Path, text: &str) -> Self {
        const COMMAND: &str = "; chordal allocate testdata/functions/";
        let at = path.display();
        let start = text.find(COMMAND).unwrap_or_else(|| panic!("{at}: no line begins with `{COMMAND}`"));
        assert!(start > 0 && text[..start].lines().all(|line| line.starts_with("; ")), "{at}: what does it show?");
        let command = text[start..].lines().next().unwrap_or_default();
        let (name, options) = command[COMMAND.len()..].split_once(".txt --allocator ").expect("the input, then the allocator");
        let (allocator, phases) = options.split_once(" --dump-after ").expect("phases come last");
        let Ok(Configured::Ours(strategy)) = configured(allocator) else { panic!("{at}: {allocator} cannot allocate it") };
        let runs = strategy.phases();
        let phase = |name: &str| runs.iter().copied().find(|phase| phase.name() == name);
        let phases = phases.split(',').map(|name| phase(name).unwrap_or_else(|| panic!("{at}: {name} does not run")));
        let phases: Vec<Phase> = phases.collect();
        let folder = path.parent().and_then(Path::file_name).expect("it is in a folder").to_string_lossy();
        assert_eq!(phases.last().map(|phase| phase.name()), Some(&*folder), "{at} is in the wrong folder");
        let file = path.file_name().expect("a name").to_string_lossy();
        assert_eq!(file.split('.').next(), Some(name), "{at} has the wrong name");
        Expected { head: format!("{}{command}\n", &text[..start]), name: name.to_owned(), strategy, phases }
    }

    /// The whole file as it would be now. The checker accepts the allocation.
    fn found(self) -> String {
        let Expected { head: mut text, name, strategy, phases } = self;
        let function = fixture(&name);
        let mut dump = Dump::new(&function, phases, |part: &str| text.push_str(part));
        allocate_watched(&function, strategy, &mut dump).unwrap_or_else(|failure| panic!("{name}, {strategy:?}: {failure}"));
        drop(dump);
        text
    }
}
