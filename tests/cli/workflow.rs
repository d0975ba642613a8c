//! The workflow that `docs/continuous-integration.md` shows, step by step, on a repository with two commits. Steps that need GitHub
//! (its cache, artefacts and the comment itself) are left out; what they would keep or say is looked at.

use super::folder::{Folder, chordal};
use std::env;
use std::path::Path;
use std::process::{Command, Output};

const BEFORE: &str = "int sum(const int *a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += a[i];
    return s;
}
";

/// Ten values live across a call.
const AFTER: &str = "int other(int);
int sum(const int *a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += other(i) + a[0] * a[1] + a[2] * a[3] - a[4] * other(a[5]) + a[6] * a[7] - a[8] * i;
    return s;
}
";

/// The workflow's steps with a name, and the commands of each.
fn steps() -> Vec<(String, String)> {
    let text = include_str!("../../docs/ci/chordal-diff.yml");
    let workflow: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).expect("the workflow is YAML");
    let steps = workflow["jobs"]["statistics"]["steps"].as_sequence().expect("it has steps");
    let named = |step: &serde_yaml_ng::Value| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned()));
    steps.iter().filter_map(named).collect()
}

fn run(folder: &Path, name: &str) -> Output {
    let steps = steps();
    let (_, commands) = steps.iter().find(|(step, _)| step == name).unwrap_or_else(|| panic!("there is no step {name}"));
    let binary = chordal().get_program().to_owned();
    let tools = Path::new(&binary).parent().expect("it is in a folder");
    let path = format!("{}:{}", tools.display(), env::var("PATH").expect("there is a path"));
    let mut bash = Command::new("bash");
    bash.current_dir(folder).args(["-e", "-o", "pipefail", "-c", commands]).env("PATH", path).env("LIMIT", "1");
    bash.env("GITHUB_WORKSPACE", folder).env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
    bash.env("LINK", "https://example.org/blob/abc/{file}#L{line}").output().expect("bash starts")
}

fn done(folder: &Path, name: &str) {
    let output = run(folder, name);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").current_dir(folder).args(identity).args(arguments).status().expect("git starts");
    assert!(status.success(), "{arguments:?}");
}

#[test]
fn a_pull_request_gets_a_comment() {
    let folder = Folder::new();
    let root = folder.path(".").canonicalize().expect("it is there");
    std::fs::create_dir(root.join("src")).expect("there is room");
    git(&root, &["init", "-q"]);
    folder.write("src/sum.c", BEFORE);
    git(&root, &["add", "src"]);
    git(&root, &["commit", "-q", "-m", "one"]);
    done(&root, "Compile to bitcode");
    done(&root, "Allocate");
    // There is nothing to compare with yet.
    let first = run(&root, "Compare");
    assert!(first.status.success() && String::from_utf8_lossy(&first.stdout).starts_with("::notice::"), "{first:?}");
    std::fs::rename(root.join("new.json"), root.join("base.json")).expect("statistics were written");
    folder.write("src/sum.c", AFTER);
    git(&root, &["commit", "-q", "-a", "-m", "two"]);
    for step in ["Compile to bitcode", "Allocate", "Explain", "Compare"] {
        done(&root, step);
    }
    let text = |name: &str| String::from_utf8(folder.read(name)).expect("it is text");
    let comment = text("comment.md");
    assert!(comment.starts_with("### base.json -> new.json\n\n**Worse: overhead_share "), "{comment}");
    assert!(comment.contains("| [`sum`](https://example.org/blob/abc/src/sum.c#L2) | src/sum.c:2 "), "{comment}");
    assert_eq!(text("summary.md"), comment);
    assert!(
        text("explained/index.html").contains("href=\"sum.html\"") && text("explained/sum.html").contains("chordal-explain/1")
    );
    let judged = run(&root, "Judge");
    assert_eq!(judged.status.code(), Some(1), "{judged:?}");
    assert!(String::from_utf8_lossy(&judged.stdout).contains("::error"), "{judged:?}");
}
