//! Names the files for the statistics of a build.

use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Beginnings of the names of folders, and of files, in which build systems probe what a compiler can do.
const PROBE_FOLDERS: [&str; 6] = ["CMakeScratch", "CMakeTmp", "CompilerId", "_CMakeLTOTest-", "meson-private", ".conf_check_"];
const PROBE_FILES: [&str; 1] = ["conftest"];

/// The file for the statistics of a module, in `folder`; `None` for probes.
///
/// In a compiler it repeats the path of the object, relative to the parent of `folder` if it is below that; of the source, if
/// the object is a temporary file. In a linker it is in a folder beside the output's, by the module's identifier. So the
/// outputs of different builds have different files, and equal builds can be compared.
pub fn file(folder: &Path, source: &str, identifier: &str) -> Result<Option<PathBuf>> {
    let arguments: Vec<String> = env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let made = made(&arguments, source, identifier);
    let root = whole(folder)?;
    let (source, made) = (path_clean::clean(source), whole(&made)?);
    if is_probe(&source) || is_probe(&made) {
        return Ok(None);
    }
    let within = made.strip_prefix(root.parent().unwrap_or(&root)).unwrap_or_else(|_| made.strip_prefix("/").unwrap_or(&made));
    let file = unused(folder.join(within));
    fs::create_dir_all(file.parent().unwrap_or(folder)).with_context(|| format!("CHORDAL_STATS: {}", folder.display()))?;
    Ok(Some(file))
}

/// The path that stands for what is made of a module in a process with these arguments.
fn made(arguments: &[String], source: &str, identifier: &str) -> PathBuf {
    let output = output(arguments);
    let program = arguments.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    if program.to_string_lossy().contains("lld") {
        let output = output.unwrap_or("a.out");
        let beside = std::path::absolute(output).ok();
        let folder = beside.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
        let module = Path::new(identifier);
        let module = module.strip_prefix(folder).unwrap_or(module);
        let parts = module.components().filter(|part| matches!(part, Component::Normal(_)));
        return Path::new(&format!("{output}.lto")).join(parts.collect::<PathBuf>());
    }
    let is_temporary = |output: &str| Path::new(output).parent() == Some(&env::temp_dir()) || output == "-";
    let usual = |flag: &str, extension: &str| {
        let is_given = arguments.iter().any(|word| word == flag);
        is_given.then(|| Path::new(source).file_name().unwrap_or_default()).map(|name| Path::new(name).with_extension(extension))
    };
    match output {
        Some(output) if !is_temporary(output) => output.into(),
        Some(_) => source.into(),
        None => usual("-c", "o").or_else(|| usual("-S", "s")).unwrap_or_else(|| source.into()),
    }
}

/// The output that arguments name.
fn output(arguments: &[String]) -> Option<&str> {
    let after = arguments.windows(2).rev().find(|pair| pair[0] == "-o").map(|pair| pair[1].as_str());
    after.or_else(|| arguments.iter().rev().find_map(|word| word.strip_prefix("--output=")))
}

/// A file name that this process has not used yet: one linker may split a module into several of one name.
fn unused(path: PathBuf) -> PathBuf {
    static USED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let numbered = |number: u32| {
        let number = if number == 1 { String::new() } else { format!(".{number}") };
        let mut name = path.clone().into_os_string();
        name.push(format!("{number}.json"));
        PathBuf::from(name)
    };
    let free = (1..).map(numbered).find(|path| !used.contains(path)).expect("numbers do not end");
    used.insert(free.clone());
    free
}

/// The absolute path; it need not exist.
fn whole(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).with_context(|| format!("CHORDAL_STATS: {}", path.display()))?;
    let parent = absolute.parent().and_then(|parent| fs::canonicalize(parent).ok());
    Ok(match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path_clean::clean(absolute),
    })
}

fn is_probe(path: &Path) -> bool {
    let begins = |name: &OsStr, with: &[&str]| name.to_str().is_some_and(|name| with.iter().any(|start| name.starts_with(start)));
    let mut folders = path.parent().into_iter().flat_map(Path::components);
    folders.any(|folder| begins(folder.as_os_str(), &PROBE_FOLDERS))
        || path.file_name().is_some_and(|name| begins(name, &PROBE_FILES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_go_by_what_is_made_of_them() {
        let temporary = env::temp_dir().join("a-1f.o").display().to_string();
        for (arguments, made_) in [
            ("clang-22 -O2 -c src/a.c -o b/a.o", "b/a.o"),
            ("clang-22 -O2 -c src/a.c", "a.o"),
            ("clang-22 -S src/a.c", "a.s"),
            (&format!("clang -cc1 -emit-obj -o {temporary} -x c src/a.c"), "src/a.c"),
            ("clang-22 -c src/a.c -o -", "src/a.c"),
            ("ld.lld -o /b/prog x/m.o", "/b/prog.lto/x/m.o"),
            ("ld.lld -o /b/prog /b/x/m.o", "/b/prog.lto/x/m.o"),
            ("ld.lld x/m.o", "a.out.lto/x/m.o"),
        ] {
            let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            let identifier = words.last().expect("there are some");
            assert_eq!(made(&words, "src/a.c", identifier), Path::new(made_), "{arguments}");
        }
    }

    #[test]
    fn probes_are_known_by_their_paths() {
        for path in [
            "/b/CMakeFiles/CMakeScratch/TryCompile-x1/CMakeFiles/cmTC_1.dir/testCCompiler.c.o",
            "/b/CMakeFiles/CMakeTmp/src.c",
            "/b/CMakeFiles/3.25.1/CompilerIdC/CMakeCCompilerId.c",
            "/b/CMakeFiles/3.25.1/CompilerIdCXX/a.out",
            "/b/CMakeFiles/_CMakeLTOTest-C/src/main.c",
            "/b/meson-private/tmp9x/testfile.c",
            "/b/meson-private/sanitycheckc.exe",
            "/p/conftest.c",
            "/p/conftest2.o",
        ] {
            assert!(is_probe(Path::new(path)), "{path}");
        }
        for path in ["/b/CMakeFiles/main.dir/main.c.o", "/b/src/test.c", "/b/app.p/a.c.o", "/b/compilerid.c", "/conftest/a.c"] {
            assert!(!is_probe(Path::new(path)), "{path}");
        }
    }
}
