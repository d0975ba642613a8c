//! The documents are right: links have targets, and commands print what the documents show.

use chordal::cli::switches::{CliOption, OPTIONS};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex_lite::Regex;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use walkdir::WalkDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs"), root().join("docs/design")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("the folder is there"));
    let paths = entries.map(|entry| entry.expect("it is readable").path());
    paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The anchor of a heading, as GitHub and others make it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || ['-', '_', ' '].contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a document: its headings, equal ones numbered, and elements with a name.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => heading.iter_mut().for_each(|heading| heading.push_str(&part)),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().expect("it has begun"));
                let numbered = (1..).map(|n| format!("{slug}-{n}"));
                let free = [slug.clone()].into_iter().chain(numbered).find(|name| !anchors.contains(name));
                anchors.insert(free.expect("there are numbers enough"));
            }
            Event::InlineHtml(html) | Event::Html(html) => {
                let name = html.strip_prefix("<a id=\"").and_then(|rest| rest.split('"').next());
                anchors.extend(name.map(str::to_owned));
            }
            _ => {}
        }
    }
    anchors
}

fn links(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    Parser::new(text).filter_map(target).filter(|target| !target.contains("://")).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut dead, mut seen) = (Vec::new(), 0);
    for document in documents() {
        let text = read(&document);
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').map_or((&link[..], None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { document.clone() } else { document.with_file_name("").join(file) };
            let is_there = target.exists() && anchor.is_none_or(|anchor| anchors(&read(&target)).contains(anchor));
            if !is_there {
                dead.push(format!("{}: {link}", document.strip_prefix(root()).expect("it is below").display()));
            }
            seen += 1;
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(seen > 100, "only {seen} links are seen");
}

/// A code block of a document, and the comment right before it, if there is one.
struct CodeBlock {
    text: String,
    comment: Option<String>,
}

fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let (mut blocks, mut block, mut comment) = (Vec::new(), None, None);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                block = Some(CodeBlock { text: String::new(), comment: comment.take() });
            }
            Event::Text(part) => block.iter_mut().for_each(|block| block.text.push_str(&part)),
            Event::End(TagEnd::CodeBlock) => blocks.extend(block.take()),
            Event::Html(html) => {
                let inside = html.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                comment = inside.map(|inside| inside.trim().to_owned());
            }
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            _ => comment = None,
        }
    }
    blocks
}

/// How many lines of a block, from one on, are its command: more than one, if they end in backslashes.
fn command_lines(lines: &[&str]) -> usize {
    1 + lines.iter().take_while(|line| line.ends_with('\\')).count()
}

/// The commands of a block, each as it is written, with what is said to be printed by it.
fn commands(block: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = block.lines().collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|&line| lines[line].starts_with("$ ")).collect();
    let ends = begins.iter().skip(1).copied().chain([lines.len()]);
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let command = |(&begin, end): (&usize, usize)| {
        let (command, printed) = lines[begin..end].split_at(command_lines(&lines[begin..end]));
        (joined(command)["$ ".len()..].to_owned(), joined(printed))
    };
    begins.iter().zip(ends).map(command).collect()
}

/// Runs a command, and returns its output and errors as a terminal shows them.
fn run(command: &str, folder: &Path) -> String {
    let own = assert_cmd::cargo::cargo_bin("chordal");
    let path = format!("{}:{}", own.parent().expect("it is in a folder").display(), std::env::var("PATH").expect("it is set"));
    let shell = ["-c", &format!("exec 2>&1; {command}")];
    let output = Command::new("sh").args(shell).current_dir(folder).env("PATH", &path).output();
    String::from_utf8(output.expect("the shell starts").stdout).expect("text")
}

/// Whether this is what was printed. `…` stands for anything within a line, and on a line of its own for any lines.
fn is_as_shown(printed: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skipped| is_as_shown(&printed[skipped..], rest)),
        Some((line, rest)) => printed.split_first().is_some_and(|(first, more)| fits(first, line) && is_as_shown(more, rest)),
    }
}

fn fits(line: &str, pattern: &str) -> bool {
    match pattern.split_once('…') {
        None => line == pattern,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.into_iter().any(|at| fits(&line[at..], rest))
        }),
    }
}

/// Every block with commands (`$ …`) is run, block by block in a folder for each document, and what is shown below them is what
/// they print. `<!-- file: NAME -->` before a block makes it a file in that folder, where `testdata` and `scripts` are those of
/// the repository. `<!-- not run: WHY -->` before a block has it left out.
#[test]
fn commands_print_what_the_documents_say() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for document in documents() {
        let folder = TempDir::new().expect("a temporary folder");
        for name in ["testdata", "scripts"] {
            std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).expect("the folder is writable");
        }
        for block in code_blocks(&read(&document)) {
            let mark = block.comment.as_deref().and_then(|comment| comment.split_once(": "));
            if let Some(("file", name)) = mark {
                fs::write(folder.path().join(name), &block.text).expect("the folder is writable");
            }
            if matches!(mark, Some(("not run", _))) {
                continue;
            }
            for (command, shown) in commands(&block.text) {
                let printed = run(&command, folder.path());
                if !is_as_shown(&printed.lines().collect::<Vec<_>>(), &shown.lines().collect::<Vec<_>>()) {
                    wrong.push(format!("{}:\n$ {command}{printed}", document.display()));
                }
                seen += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "these print something else:\n\n{}", wrong.join("\n"));
    assert!(seen > 5, "only {seen} commands are seen");
}

#[test]
fn what_varies_may_be_left_out() {
    let fits = |printed: &str, shown: &str| is_as_shown(&printed.lines().collect::<Vec<_>>(), &shown.lines().collect::<Vec<_>>());
    assert!(fits("a\nb 12 ms\nc\nd\n", "a\nb … ms\n…\nd\n"));
    assert!(fits("a\n", "a\n…\n"));
    assert!(!fits("a\nb\n", "a\n"));
    assert!(!fits("a\n", "a\nb\n"));
    assert!(!fits("a 12 ms\n", "a … s and\n"));
}

/// A table of all options of chordal's allocators.
fn options() -> String {
    let row = |option: &str, values: &str, about: &str, condition: Option<&str>| {
        let condition = condition.map_or_else(String::new, |condition| format!("; for {condition}"));
        let dashes = if option.is_empty() { "" } else { "--" };
        format!("| `{dashes}{option}{}` | {about}{condition} |\n", values.replace('|', "\\|"))
    };
    let mut table = String::from("| option | |\n|---|---|\n");
    for option in OPTIONS {
        match option {
            CliOption::Single(switch) => {
                table += &row(switch.name, &format!(" {}", switch.choices()), switch.about, switch.condition());
            }
            CliOption::Levels { name, about, levels, switches } => {
                let levels: Vec<&str> = levels.iter().map(|level| level.name).collect();
                let names: Vec<String> = switches.iter().map(|switch| format!("`{}`", switch.name)).collect();
                let about = format!("{about}: {}", names.join(", "));
                table += &row(name, &format!(" {}", levels.join("|")), &about, option.condition());
            }
            CliOption::Keys { name, about, switches } => {
                table += &row(name, " NAME=VALUE,...", about, option.condition());
                for switch in *switches {
                    let condition = switch.condition().filter(|_| option.condition().is_none());
                    table += &row("", &format!("{}={}", switch.name, switch.choices()), switch.about, condition);
                }
            }
            CliOption::Unlisted(_) => {}
        }
    }
    table
}

#[test]
fn the_options_are_those_that_there_are() {
    let table = options();
    assert!(read(&root().join("docs/allocators.md")).contains(&table), "docs/allocators.md has not this table:\n{table}");
}

/// The package contains only what building chordal needs.
#[test]
fn the_package_holds_what_is_built() {
    let list = Command::new(env!("CARGO")).args(["package", "--list", "--allow-dirty", "--offline"]).current_dir(root()).output();
    let list = String::from_utf8(list.expect("cargo starts").stdout).expect("text");
    let begins = ["src/", "build.rs", "Cargo.", "README.md", "LICENSE", ".cargo_vcs_info.json"];
    let others: Vec<&str> = list.lines().filter(|file| !begins.iter().any(|begin| file.starts_with(begin))).collect();
    assert!(others.is_empty(), "{others:?}");
    for needed in ["src/main.rs", "src/llvm/bridge.h", "src/llvm/pipeline.cpp", "src/measure/meter/meter.c", "build.rs"] {
        assert!(list.lines().any(|file| file == needed), "{needed} is not in the package");
    }
}

/// Citations such as `[PP09, §5]`, in sources and documents, name texts of the bibliography.
#[test]
fn citations_are_in_the_bibliography() {
    let citation = Regex::new(r"\[([A-Z][A-Za-z]*[0-9]{2}|Hack)\\?[\],]").expect("it is an expression");
    let bibliography = read(&root().join("docs/bibliography.md"));
    let sources = WalkDir::new(root().join("src")).into_iter().map(|entry| entry.expect("folders are readable").into_path());
    let (mut cited, mut missing) = (0, Vec::new());
    for file in sources.filter(|path| path.is_file()).chain(documents()) {
        for found in citation.captures_iter(&read(&file)) {
            cited += 1;
            if !bibliography.contains(&format!("- [{}] ", &found[1])) {
                missing.push(format!("{}: {}", file.display(), &found[1]));
            }
        }
    }
    assert!(missing.is_empty(), "these are not in the bibliography:\n{}", missing.join("\n"));
    assert!(cited > 100, "only {cited} citations are seen");
}
