//! The documents are right: links have targets, and commands print what the documents show.

use chordal::cli::switches::{CliOption, OPTIONS};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

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

/// The code blocks of a document, each with its language.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut block: Option<(String, String)> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                block = Some((language.into_string(), String::new()))
            }
            Event::Text(part) => block.iter_mut().for_each(|(_, text)| text.push_str(&part)),
            Event::End(TagEnd::CodeBlock) => blocks.extend(block.take()),
            _ => {}
        }
    }
    blocks
}

/// Runs the commands of a block one after the other, and returns the block with their actual output.
fn rerun(block: &str, folder: &Path) -> String {
    let own = assert_cmd::cargo::cargo_bin("chordal");
    let path = format!("{}:{}", own.parent().expect("it is in a folder").display(), std::env::var("PATH").expect("it is set"));
    let mut said = String::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else { continue };
        let mut command = first.to_owned();
        said += &format!("{line}\n");
        while command.ends_with('\\') {
            let more = lines.next().expect("the command goes on");
            command += &format!("\n{more}");
            said += &format!("{more}\n");
        }
        // Standard output and errors together, as on a terminal.
        let output =
            Command::new("sh").args(["-c", &format!("exec 2>&1; {command}")]).current_dir(folder).env("PATH", &path).output();
        said += &String::from_utf8(output.expect("the shell starts").stdout).expect("text");
    }
    said
}

/// The block that contains a text.
fn block_with(document: &str, text: &str) -> String {
    let blocks = blocks(&read(&root().join(document)));
    let found = blocks.into_iter().find(|(_, block)| block.contains(text));
    found.unwrap_or_else(|| panic!("{document}: no block has `{text}`")).1
}

#[test]
fn commands_print_what_the_documents_say() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = "testdata/programs/parser.c";
    fs::copy(root().join(program), folder.path().join("parser.c")).expect("the folder is writable");
    fs::write(folder.path().join("gcd.c"), block_with("README.md", "unsigned gcd(")).expect("the folder is writable");
    for (document, command) in [
        ("README.md", "$ chordal diff gcd.json greedy.json"),
        ("docs/comparing.md", "$ chordal diff spill-free.json"),
        ("docs/allocators.md", "$ chordal list"),
    ] {
        let block = block_with(document, command);
        assert_eq!(rerun(&block, folder.path()), block, "{document}");
    }
    let assembly = read(&folder.path().join("gcd.s"));
    let code: Vec<&str> =
        assembly.lines().filter(|line| !line.trim_start().starts_with(['.', '#']) || line.starts_with(".LBB")).collect();
    let without_comments = code.iter().map(|line| line.split('#').next().expect("a part").trim_end());
    let code: Vec<&str> = without_comments.filter(|line| !line.is_empty()).collect();
    assert_eq!(code.join("\n") + "\n", block_with("README.md", "gcd:\n"), "README.md");
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
