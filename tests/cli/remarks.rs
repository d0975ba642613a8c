//! Tests of the remarks about what allocation has left in memory.

use super::folder::Folder;
use std::process::Command;

const PROGRAM: &str = "int f(int *a, int n) {
    int s = 0, t = 1, u = 2, v = 3, w = 4, x = 5;
    for (int i = 0; i < n; i++) {
        s += a[i] * t; t ^= s + u; u += a[i + 1] - v; v ^= w; w += x * a[i + 2]; x -= s;
    }
    return s + t * u - v * w + x;
}
int g(int a) { return a + 1; }
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("f.c", PROGRAM);
    let clang = Command::new("clang-22").current_dir(folder.path(".")).args(["-O1", "-g", "-emit-llvm", "-c", "f.c"]).status();
    assert!(clang.expect("clang starts").success());
    folder
}

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).expect("it is text")
}

fn remarks(folder: &Folder, allocator: &str, more: &[&str]) -> String {
    let arguments = ["compile", "f.bc", "-o", "f.s", "--allocator", allocator, "--registers", "4", "--remarks", "f.yaml"];
    let arguments = [&arguments[..], &["--stats", "f.json", "--no-times"], more].concat();
    folder.chordal(&arguments).assert().success().stderr("");
    text(folder, "f.yaml")
}

/// The sum of an argument's values in remarks of one name.
fn sum(yaml: &str, name: &str, argument: &str) -> f64 {
    let of_name = yaml.split("\n...").filter(|remark| remark.contains(&format!("Name:            {name}\n")));
    let lines =
        of_name.flat_map(|remark| remark.lines().filter(|line| line.contains(&format!("- {argument}:"))).collect::<Vec<_>>());
    lines.map(|line| line.split('\'').nth(1).and_then(|number| number.parse::<f64>().ok()).expect("it is a number")).sum()
}

#[test]
fn remarks_count_what_statistics_count() {
    let folder = folder();
    for allocator in ["tuned", "spill-free", "linear-scan", "regalloc2", "llvm-greedy", "llvm-basic"] {
        let yaml = remarks(&folder, allocator, &[]);
        let parts = &folder.json("f.json")["total"]["overhead_parts"];
        let counted: f64 = ["reloads", "stores"].map(|part| parts[part].as_f64().expect("it is counted")).iter().sum();
        let told = sum(&yaml, "SpilledValue", "Cost");
        assert!(counted > 0.0 && (told - counted).abs() < 1e-4 * counted, "{allocator}: {told}, {counted}: {yaml}");
        assert!(sum(&yaml, "SpilledValue", "Reloads") > 0.0, "{allocator}: {yaml}");
        let of_f = |it: &&str| it.contains("Name:            SpillReloadCopies\n") && it.contains("Function:        f\n");
        assert_eq!(yaml.split("\n...").filter(of_f).count(), 1, "{allocator}: {yaml}");
        assert!(yaml.contains("Name:            LoopSpillReloadCopies\n"), "{allocator}: {yaml}");
        let values = yaml.split("\n...").filter(|remark| remark.contains("SpilledValue"));
        assert!(
            values.into_iter().all(|it| it.contains("DebugLoc:        { File: f.c, Line: ") && it.contains("Reason:")),
            "{yaml}"
        );
    }
}

#[test]
fn remarks_are_the_same_each_time() {
    let folder = folder();
    let once = remarks(&folder, "tuned", &[]);
    assert_eq!(once, remarks(&folder, "tuned", &["--jobs", "1"]));
    assert_eq!(once, remarks(&folder, "tuned", &["--in-turn"]));
    let printed =
        folder.chordal(&["compile", "f.bc", "-o", "f.s", "--registers", "4", "--remarks", "-"]).assert().success().stderr("");
    assert_eq!(String::from_utf8_lossy(&printed.get_output().stdout), once);
    folder.chordal(&["compile", "f.bc", "-o", "-", "--remarks", "-"]).assert().code(2);
}

/// LLVM's own tools read them.
#[test]
fn remarkutil_and_opt_viewer_read_remarks() {
    let folder = folder();
    remarks(&folder, "tuned", &[]);
    let count = ["count", "--parser=yaml", "--count-by=remark-name", "--group-by=function", "f.yaml"];
    let counted = Command::new("llvm-remarkutil-22").current_dir(folder.path(".")).args(count).output().expect("it starts");
    let counted = String::from_utf8_lossy(&counted.stdout).into_owned();
    assert!(counted.lines().any(|line| line.starts_with("f,")), "{counted}");
    let prefix = Command::new("llvm-config-22").arg("--prefix").output().expect("it starts").stdout;
    let viewer = format!("{}/share/opt-viewer/opt-viewer.py", String::from_utf8_lossy(&prefix).trim());
    let viewed = Command::new("python3").current_dir(folder.path(".")).args([&viewer, "-o", "pages", "f.yaml"]).output();
    let viewed = viewed.expect("Python starts");
    assert!(viewed.status.success(), "{}", String::from_utf8_lossy(&viewed.stderr));
    assert!(text(&folder, "pages/f.c.html").contains("a value is in memory"));
}

/// In clang, the plug-in's remarks are in the file that clang writes.
#[test]
fn clang_saves_the_plug_ins_remarks() {
    let folder = folder();
    let arguments = ["cc", "-O1", "-g", "-c", "f.c", "-fsave-optimization-record", "-foptimization-record-file=cc.yaml"];
    folder.chordal(&arguments).env("CHORDAL_REGISTERS", "4").assert().success();
    let yaml = text(&folder, "cc.yaml");
    let values = |yaml: &str| yaml.matches("Name:            SpilledValue\n").count();
    assert_eq!(values(&yaml), values(&remarks(&folder, "tuned", &[])), "{yaml}");
    assert!(values(&yaml) > 0);
}
