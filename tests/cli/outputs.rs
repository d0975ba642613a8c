//! Outputs of all commands: they go where they should, even if a command is interrupted.

use super::folder::{Folder, assert_fails, assert_usage, chordal};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::process::{Child, Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = Process::new(chordal().get_program());
    command.current_dir(folder.path("")).args(arguments).env("TMPDIR", folder.path("tmp"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("chordal starts")
}

/// A folder with a module that takes a while.
pub fn with_long_work() -> Folder {
    let folder = Folder::new();
    let function = |n: usize| {
        let sums: String = (0..40).map(|k| format!("s{k} += p[i + {k}] * s{}; ", (k + n) % 40)).collect();
        let variables: Vec<String> = (0..40).map(|k| format!("s{k} = p[{k}]")).collect();
        let all: Vec<String> = (0..40).map(|k| format!("s{k}")).collect();
        format!(
            "int f{n}(int *p, int n) {{ int {}; for (int i = 0; i < n; i++) {{ {sums} }} return {}; }}\n",
            variables.join(", "),
            all.join("^")
        )
    };
    folder.write("long.c", (0..60).map(function).collect::<String>());
    folder.run(Process::new("clang-22").args(["-O1", "-fno-vectorize", "-emit-llvm", "-c", "long.c", "-o", "long.bc"]));
    fs::create_dir(folder.path("tmp")).expect("the folder is writable");
    folder
}

#[test]
fn what_is_no_file_is_written_through() {
    let folder = Folder::with_program(&[]);
    let compare = |records: &str| {
        let arguments = ["compare", "--allocators", "tuned", "--records", records, "--resume", "-o", "/dev/null", "p.bc"];
        folder.chordal(&arguments).assert().success();
    };
    compare("/dev/null");
    assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
    symlink("records", folder.path("link")).expect("the folder is writable");
    compare("link");
    assert!(fs::symlink_metadata(folder.path("link")).expect("it is there").is_symlink());
    fs::set_permissions(folder.path("records"), fs::Permissions::from_mode(0o640)).expect("it is ours");
    compare("link");
    assert_eq!(fs::metadata(folder.path("records")).expect("it is there").permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.read("records").iter().filter(|&&byte| byte == b'\n').count(), 1);
    folder.run(Process::new("mkfifo").arg("pipe"));
    let reader = Process::new("cat").arg(folder.path("pipe")).stdout(Stdio::piped()).spawn().expect("cat starts");
    folder.chordal(&["compile", "p.bc", "-o", "/dev/null", "--stats", "pipe"]).assert().success();
    let read = reader.wait_with_output().expect("cat ends").stdout;
    assert!(read.starts_with(b"{\n") && read.ends_with(b"}\n"));
    assert!(fs::symlink_metadata(folder.path("pipe")).expect("it is there").file_type().is_fifo());
}

/// With a shell's `>> log`, output is appended to the file, which is not replaced by another.
#[test]
fn standard_output_by_its_other_name_is_still_what_it_is_redirected_to() {
    let folder = Folder::with_program(&[]);
    folder.write("log", "before\n");
    let log = File::options().append(true).open(folder.path("log")).expect("it is there");
    let mut command = Process::new(chordal().get_program());
    command.current_dir(folder.path("")).args(["compile", "p.bc", "-o", "/dev/null", "--stats", "/dev/stdout"]);
    assert!(command.stdout(log).stderr(Stdio::null()).status().expect("chordal starts").success());
    let log = folder.read("log");
    assert!(log.starts_with(b"before\n{\n") && log.ends_with(b"}\n"));
    // A pipe may be given by a descriptor's name, too, as shells write `>(...)`.
    let script = r#""$0" compile p.bc -o /dev/null --stats /dev/fd/3 3>&1 >/dev/null 2>&1 | cat"#;
    assert!(folder.run(Process::new("sh").args(["-c", script]).arg(chordal().get_program())).ends_with("}\n"));
}

/// An open descriptor is written to directly. (`nohup` makes the command ignore SIGHUP.)
#[test]
fn an_open_descriptor_is_written_to_as_it_is() {
    let folder = Folder::new();
    folder.write("m.ll", "target triple = \"x86_64-pc-linux-gnu\"\ndefine void @f() { ret void }\n");
    let chordal = chordal().get_program().to_owned();
    let script = "exec 3>out; echo before >&3; \"$0\" compile m.ll -o /dev/fd/3; echo behind >&3";
    let status = Process::new("sh").current_dir(folder.path("")).args(["-c", script]).arg(chordal).status().expect("it starts");
    let written = String::from_utf8(folder.read("out")).expect("text");
    assert!(status.success() && written.starts_with("before\n") && written.ends_with("behind\n"), "{written}");
    assert!(written.contains("f:"), "{written}");
    assert_fails(
        folder.chordal(&["compile", "m.ll", "-o", "/dev/fd/99"]).assert(),
        "chordal: error: /dev/fd/99: cannot be written",
        "",
    );
}

#[test]
fn signals_that_are_ignored_stay_so() {
    let folder = with_long_work();
    let script =
        r#"trap "" HUP; "$0" compile long.bc -o long.s & for i in 1 2 3 4 5 6 7 8; do kill -HUP $!; sleep 0.05; done; wait $!"#;
    folder.run(Process::new("sh").args(["-c", script]).arg(chordal().get_program()));
    assert!(folder.read("long.s").ends_with(b"\n"));
}

#[test]
fn no_output_overwrites_an_input_or_another_output() {
    let folder = Folder::with_program(&[]);
    fs::hard_link(folder.path("p.bc"), folder.path("same.bc")).expect("the folder is writable");
    symlink("p.bc", folder.path("link.bc")).expect("the folder is writable");
    let before = folder.read("p.bc");
    for output in ["p.bc", "./p.bc", "same.bc", "link.bc"] {
        assert_usage(&mut folder.chordal(&["compile", "p.bc", "-o", output]), "the result would overwrite the input p.bc");
        assert_usage(&mut folder.chordal(&["compile", "p.bc", "-o", "x", "--stats", output]), "the statistics would overwrite");
        assert_usage(&mut folder.chordal(&["compare", "p.bc", "-o", output]), "the result would overwrite the input p.bc");
    }
    let both = "the result and the statistics cannot go to the same place";
    assert_usage(&mut folder.chordal(&["compile", "p.bc", "-o", "./one", "--stats", "one"]), both);
    assert_usage(&mut folder.chordal(&["compile", "p.bc", "-o", "-", "--stats", "-"]), both);
    assert_usage(
        &mut folder.chordal(&["compare", "p.bc", "--records", "x", "-o", "./x"]),
        "the records and the result cannot go",
    );
    folder.chordal(&["compile", "p.bc", "-o", "s.s", "--stats", "s.json"]).assert().success();
    assert_usage(&mut folder.chordal(&["diff", "s.json", "s.json", "-o", "s.json"]), "would overwrite the input s.json");
    assert_usage(&mut folder.chordal(&["stats", "s.json", "-o", "s.json"]), "would overwrite the input s.json");
    folder.chordal(&["compile", "p.bc", "-o", "/dev/null", "--stats", "/dev/null"]).assert().success();
    assert_eq!(folder.read("p.bc"), before);
}

#[test]
fn names_may_be_odd() {
    let folder = Folder::with_program(&[]);
    fs::copy(folder.path("p.bc"), folder.path("-dash.bc")).expect("the folder is writable");
    let compared = folder.chordal(&["compare", "--allocators", "tuned", "--", "-dash.bc"]).assert().success();
    compared.stdout(contains("tuned").and(contains("Passed over").not()));
    let odd = "o\u{1b}[31md\nd.bc";
    assert_fails(folder.chordal(&["compile", odd]).assert(), "chordal: error: o\\u{1b}[31md\\nd.bc: ", "no such file");
    fs::rename(folder.path("p.bc"), folder.path(odd)).expect("the folder is writable");
    let table = folder.chordal(&["compare", "--allocators", "tuned", "--per", "module", odd]).assert().success();
    table.stdout(contains("o\\u{1b}[31md\\nd.bc").and(contains("\u{1b}").not()));
}

/// A command that finds no room reports it, whatever it writes.
#[test]
fn a_full_device_is_a_failure() {
    let folder = Folder::with_program(&[]);
    folder.chordal(&["compile", "p.bc", "-o", "p.s", "--stats", "p.json"]).assert().success();
    for arguments in [
        &["compile", "p.bc", "-o", "-"][..],
        &["compile", "p.bc", "-o", "/dev/full"],
        &["--help"],
        &["compile", "--help"],
        &["--version"],
        &["list"],
        &["stats", "p.json"],
        &["diff", "p.json", "p.json"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let mut command = Process::new(chordal().get_program());
        let output = command.current_dir(folder.path("")).args(arguments).stdout(full).output().expect("chordal starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"), "{arguments:?}");
    }
}

/// If one output goes to a full device or exceeds the limit on the size of files (512 bytes), the other file is left as it
/// was.
#[test]
fn no_room_for_one_output_leaves_the_other_old() {
    let folder = Folder::with_program(&[]);
    folder.write("p.s", "old");
    let files = folder.files();
    let compile = ["compile", "p.bc", "-o", "p.s", "--stats", "/dev/full"];
    assert_fails(folder.chordal(&compile).assert(), "chordal: error: /dev/full: cannot be written: No space left", "");
    let script = r#"ulimit -f 1; "$0" compile p.bc -o p.s --stats p.json"#;
    let mut limited = Process::new("sh");
    limited.current_dir(folder.path("")).args(["-c", script]).arg(chordal().get_program());
    let output = limited.output().expect("the shell starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("chordal: error: p.") && said.ends_with("cannot be written: File too large (os error 27)\n"),
        "{said}"
    );
    assert_eq!(folder.read("p.s"), b"old");
    assert_eq!(folder.files(), files);
}

/// The message names the requested output, not a temporary file.
#[test]
fn where_nothing_can_be_written_one_line_says_so() {
    let folder = Folder::with_program(&[]);
    symlink("loop", folder.path("loop")).expect("the folder is writable");
    for (output, why) in [
        ("none/p.s", "No such file or directory (os error 2)\n"),
        ("p.bc/p.s", "Not a directory (os error 20)\n"),
        ("loop", "Too many levels of symbolic links (os error 40)\n"),
        (".", "is a directory\n"),
    ] {
        let message = format!("chordal: error: {output}: cannot be written: {why}");
        assert_fails(folder.chordal(&["compile", "p.bc", "-o", output]).assert(), &message, "");
    }
    assert!(fs::symlink_metadata(folder.path("loop")).expect("it is there").is_symlink());
}

#[test]
fn what_llvm_says_has_a_name_in_front() {
    let folder = Folder::new();
    let module = "target triple = \"x86_64-pc-linux-gnu\"\n\
                  define void @f() \"target-features\"=\"+sse2,+nosuch\" { ret void }\n\
                  define void @g() { call void asm sideeffect \".warning \\22careful\\22\", \"\"() ret void }\n";
    folder.write("m.ll", module);
    let object = folder.chordal(&["compile", "m.ll", "--emit", "obj", "-o", "m.o"]).assert().success().get_output().clone();
    let said = String::from_utf8(object.stderr).expect("text");
    assert!(said.contains("chordal: warning: m.ll: function f: LLVM does not know the feature `+nosuch`"), "{said}");
    assert!(said.contains("careful") && said.lines().all(|line| line.starts_with("chordal: warning: m.ll: ")), "{said}");
}

#[test]
fn limits_end_a_compilation() {
    let folder = with_long_work();
    let before = folder.files();
    let compile = |limit: [&str; 2]| {
        let output = ["compile", "long.bc", "-o", "long.s", "--stats", "long.json"];
        folder.chordal(&[&output[..], &limit].concat()).assert()
    };
    assert_fails(compile(["--memory-limit", "1"]), "chordal: error: long.bc: it takes more than 1 MiB of memory", "");
    assert_eq!(folder.files(), before);
    compile(["--memory-limit", "4000"]).success();
    let compared = folder.chordal(&["compare", "--allocators", "tuned", "--memory-limit", "1", "long.bc"]).assert().code(1);
    compared.stdout(contains("it takes more than 1 MiB of memory"));
}

/// A compilation that is killed at any moment leaves the old files or the new ones and nothing else; statistics are never
/// newer than the result that they describe.
#[test]
fn an_interrupted_compilation_leaves_whole_files() {
    let folder = with_long_work();
    let compile = ["compile", "long.bc", "-o", "long.s", "--stats", "long.json", "--no-times", "--allocator"];
    let mut whole = Vec::new();
    let mut longest = Duration::ZERO;
    for allocator in ["simple", "linear-scan"] {
        let begin = Instant::now();
        folder.chordal(&[&compile[..], &[allocator]].concat()).assert().success();
        longest = longest.max(begin.elapsed());
        whole.push((folder.read("long.s"), folder.read("long.json")));
    }
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let files = folder.files();
    for round in 0..12 {
        let wanted = round % 2;
        let mut child = start(&folder, &[&compile[..], &[["simple", "linear-scan"][wanted]]].concat());
        thread::sleep(longest.mul_f64(rng.f64() * 1.1));
        let signal = ["TERM", "INT", "HUP"][round % 3];
        let _ = Process::new("kill").args([format!("-{signal}"), child.id().to_string()]).stderr(Stdio::null()).status();
        child.wait().expect("it ends");
        let found = (folder.read("long.s"), folder.read("long.json"));
        assert!(whole.contains(&found), "seed {seed}: neither the old files nor the new ones");
        assert_eq!(folder.files(), files, "seed {seed}: temporary files are left");
        assert_eq!(fs::read_dir(folder.path("tmp")).expect("it is there").count(), 0, "seed {seed}");
    }
}

/// Signals from a key at the terminal, or from a limit on processor time.
#[test]
fn signals_that_dump_core_leave_nothing_behind() {
    let folder = with_long_work();
    for signal in ["QUIT", "XCPU"] {
        // Tests that run in the background may inherit ignored signals.
        let script = r#"ulimit -c 0; exec env --default-signal=QUIT,XCPU "$0" compare long.bc --allocators simple,linear-scan"#;
        let mut command = Process::new("sh");
        command.current_dir(folder.path("")).args(["-c", script]).arg(chordal().get_program());
        let mut child = command.env("TMPDIR", folder.path("tmp")).spawn().expect("the shell starts");
        let temporary = || fs::read_dir(folder.path("tmp")).expect("it is there").count();
        let begin = Instant::now();
        while temporary() == 0 && begin.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(2));
        }
        assert!(temporary() > 0 && child.try_wait().expect("it is ours").is_none());
        folder.run(Process::new("kill").args([format!("-{signal}"), child.id().to_string()]));
        assert_eq!(child.wait().expect("it ends").code(), None, "{signal}");
        assert_eq!(temporary(), 0, "{signal}");
    }
}

/// A comparison that is interrupted and resumed ends like one that never was interrupted; its workers die with it.
#[test]
fn an_interrupted_comparison_goes_on_where_it_was() {
    let folder = with_long_work();
    for name in ["a.bc", "b.bc", "c.bc"] {
        fs::copy(folder.path("long.bc"), folder.path(name)).expect("the folder is writable");
    }
    let modules = ["a.bc", "b.bc", "c.bc", "--allocators", "simple,linear-scan", "--no-times", "--format", "json"];
    let whole = [&["compare", "-o", "whole.json"], &modules[..]].concat();
    let begin = Instant::now();
    folder.chordal(&whole).assert().success();
    let longest = begin.elapsed();
    let resumed = [&["compare", "-o", "resumed.json", "--records", "records", "--resume"], &modules[..]].concat();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..6 {
        let mut child = start(&folder, &resumed);
        thread::sleep(longest.mul_f64(rng.f64()));
        let signal = ["TERM", "KILL"][round % 2];
        let _ = Process::new("kill").args([format!("-{signal}"), child.id().to_string()]).stderr(Stdio::null()).status();
        child.wait().expect("it ends");
    }
    folder.chordal(&resumed).assert().success();
    assert_eq!(folder.read("resumed.json"), folder.read("whole.json"), "seed {seed}");
}

/// The weights of blocks in loops this deep exceed what a number can hold.
#[test]
fn loops_may_be_nested_as_deep_as_they_like() {
    let folder = Folder::new();
    let depth = 320;
    let open: String = (0..depth).map(|n| format!("int x{n} = a[{n}]; do {{ x{n} += s; ")).collect();
    let close: String = (0..depth).rev().map(|n| format!("x{n} = f(x{n}); }} while (x{n} < n); ")).collect();
    folder.write("p.c", format!("int f(int); int g(int n, int *a) {{ int s = 0; {open} s += f(s); {close} return s; }}"));
    let flags = ["-O1", "-fbracket-depth=4000", "-emit-llvm", "-c", "p.c", "-o", "p.bc"];
    folder.run(Process::new("clang-22").args(flags));
    folder
        .chordal(&["compile", "p.bc", "-o", "/dev/null", "--no-fallback", "--no-check", "--allocator", "linear-scan"])
        .assert()
        .success()
        .stderr("");
}

/// For this many values that depend on each other, LLVM's instruction selection needs more stack than processes start with.
#[test]
fn a_block_may_have_ten_thousand_phis() {
    let folder = Folder::new();
    let of_each = |line: fn(usize) -> String| (0..10_000).map(line).collect::<String>();
    let module = [
        "target triple = \"x86_64-pc-linux-gnu\"\ndefine i64 @f(ptr %p, i64 %n) {\n",
        &of_each(|it| format!("%a{it} = getelementptr i64, ptr %p, i64 {it}\n%i{it} = load volatile i64, ptr %a{it}\n")),
        "br label %head\nhead:\n",
        &of_each(|it| format!("%x{it} = phi i64 [ %i{it}, %0 ], [ %y{it}, %head ]\n")),
        &of_each(|it| format!("%y{it} = add i64 %x{it}, %x{}\n", (it + 1) % 10_000)),
        "%c = icmp slt i64 %y0, %n\nbr i1 %c, label %head, label %out\nout:\n",
        &of_each(|it| format!("store volatile i64 %y{it}, ptr %a{it}\n")),
        "ret i64 %y0\n}\n",
    ];
    folder.write("phis.ll", module.concat());
    folder.chordal(&["compile", "phis.ll", "-o", "/dev/null", "--no-fallback"]).assert().success().stderr("");
}
