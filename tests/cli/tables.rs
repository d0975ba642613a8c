//! Tests of tables, which all commands share, and of CSV, which has more.

use super::folder::Folder;
use serde_json::Value;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command as Process, Stdio};

/// A folder with twelve functions whose names are C++'s and Rust's.
fn folder() -> Folder {
    let folder = Folder::new();
    let names = ["_ZN5Shape4areaEi", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "main"].map(str::to_owned);
    let names = names.into_iter().chain((0..9).map(|n| format!("f{n}")));
    let function = |name| format!("define i32 @{name}(i32 %a, i32 %b) {{\n%c = mul i32 %a, %b\nret i32 %c\n}}\n");
    folder
        .write("m.ll", names.map(function).fold("target triple = \"x86_64-pc-linux-gnu\"\n".into(), |text: String, f| text + &f));
    for (allocator, statistics) in [("tuned", "a.json"), ("local", "b.json")] {
        let arguments = ["compile", "m.ll", "-o", "m.o", "--emit", "obj", "--allocator", allocator, "--stats", statistics];
        folder.chordal(&arguments).assert().success();
    }
    folder
}

fn output(folder: &Folder, arguments: &[&str]) -> String {
    let assert = folder.chordal(arguments).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("text")
}

const COMPARE: &[&str] = &["compare", "m.ll", "--allocators", "tuned,local", "--per", "function"];

#[test]
fn csv_has_every_function_and_every_counter() {
    let folder = folder();
    let csv = |arguments: &[&str]| -> Vec<Vec<String>> {
        let text = output(&folder, &[arguments, &["--format", "csv"]].concat());
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let rows = csv(COMPARE);
    assert_eq!(rows.len(), 1 + 12 * 2);
    assert_eq!(csv(&[COMPARE, &["--top", "3"]].concat()).len(), 1 + 3 * 2);
    let table = output(&folder, COMPARE);
    assert!(table.contains("\nand 2 more: `--top`"), "{table}");
    assert!(!output(&folder, &[COMPARE, &["--top", "12"]].concat()).contains(" more"), "all are shown");
    let stats = csv(&["stats", "a.json", "--per", "function"]);
    assert_eq!(stats[0][..2], ["module", "function"]);
    assert_eq!(rows[0][..5], ["target", "registers", "module", "function", "allocator"]);
    for name in ["static.loads", "weighted.moves", "spill.cost", "spill.bound", "overhead_share", "time_ns.total", "memory_bytes"]
    {
        assert!(rows[0].iter().any(|column| column == name), "{name}: {:?}", rows[0]);
        assert!(stats[0].iter().any(|column| column == name), "{name}: {:?}", stats[0]);
    }
    // Each column agrees with the JSON.
    let function = &folder.json("a.json")["functions"][0];
    for (name, value) in stats[0].iter().zip(&stats[1]).skip(2) {
        let at = name.split('.').fold(function, |at, part| &at[part]);
        match at {
            Value::Null => assert_eq!(value, "", "{name}"),
            at => assert_eq!(value.parse().ok(), at.as_f64(), "{name}"),
        }
    }
    let totals = csv(&["stats", "a.json", "--per", "total"]);
    assert_eq!((&totals[0][1], &totals[1][0], &totals[1][1]), (&"functions".into(), &"total".into(), &"12".into()));
    let counted = csv(&["count", "m.o"]);
    assert_eq!(counted[0][..4], ["file", "functions", "static.loads", "static.stores"]);
    folder.chordal(&["diff", "a.json", "a.json", "--metric", "spill.bound"]).assert().success();
}

#[test]
fn tables_have_the_names_of_the_source() {
    let folder = folder();
    let (names, symbols) = (["Shape::area(int)", "core::fmt::Write::write_fmt"], ["_ZN5Shape4areaEi", "_ZN4core3fmt5Write9"]);
    let has = |text: &str, names: &[&str; 2]| names.iter().all(|name| text.contains(name));
    let stats: &[&str] = &["stats", "a.json", "--per", "function"];
    let count: &[&str] = &["count", "m.o", "--per", "function"];
    let diff: &[&str] = &["diff", "a.json", "b.json", "--top", "20", "--metric", "time_ns.total"];
    for command in [&[COMPARE, &["--top", "12"]].concat(), stats, count, diff] {
        for (arguments, are_symbols) in [
            (&[][..], false),
            (&["--format", "markdown"], false),
            (&["--mangled"], true),
            (&["--format", "json"], true),
            (&["--format", "csv"], true),
        ] {
            let refused =
                command[0] == "diff" && arguments.contains(&"csv") || command[0] == "count" && arguments.contains(&"json");
            if !refused {
                let text = output(&folder, &[command, arguments].concat());
                assert_eq!((has(&text, &symbols), has(&text, &names)), (are_symbols, !are_symbols), "{command:?} {text}");
            }
        }
    }
}

/// The output of a command on a terminal of this width; `variable` sets `COLUMNS`.
fn on_terminal(folder: &Folder, arguments: &[&str], columns: u16, variable: Option<&str>) -> String {
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: both descriptors are written, the size is read, and the null pointers decline what we do not need.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: nobody else owns the descriptors.
    let (mut master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let mut command = Process::new(folder.chordal(&[]).get_program());
    command.current_dir(folder.path("")).args(arguments).env_remove("COLUMNS").stdout(slave).stderr(Stdio::null());
    command.envs(variable.map(|columns| ("COLUMNS", columns)));
    let mut child = command.spawn().expect("chordal starts");
    drop(command);
    let mut text = Vec::new();
    // Reading past the end of a terminal is an error.
    let _ = master.read_to_end(&mut text);
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(text).expect("text").replace("\r\n", "\n")
}

#[test]
fn tables_fit_the_terminal() {
    let folder = folder();
    let is_row = |line: &&str| line.contains("  ");
    let widest = |text: &str| text.lines().filter(is_row).map(|line| line.chars().count()).max();
    let table: &[&str] = &["stats", "a.json", "--per", "function"];
    let piped = output(&folder, table);
    assert!(widest(&piped) > Some(100), "{piped}");
    assert_eq!(on_terminal(&folder, table, 300, None), piped, "there is room");
    for (columns, variable, width) in [(80, None, 80), (60, None, 60), (300, Some("70"), 70)] {
        for table in [table, &["count", "m.o", "--per", "function"], COMPARE] {
            let text = on_terminal(&folder, table, columns, variable);
            assert!(widest(&text) <= Some(width), "{text}");
        }
        let text = on_terminal(&folder, table, columns, variable);
        assert!(text.contains("m.ll: Shape::area(int)") || text.contains('…'), "{text}");
        assert_eq!(text.matches("overhead share").count(), 1, "every column is there: {text}");
    }
    let file = on_terminal(&folder, &[table, &["-o", "out"]].concat(), 60, None);
    assert_eq!((file, folder.read("out")), (String::new(), piped.into_bytes()), "a file is no terminal");
}
