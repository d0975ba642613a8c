//! Names the files for the statistics of a build.

use anyhow::{Context as _, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of the names of folders, and of files, in which build systems probe what a compiler can do.
const PROBE_FOLDERS: [&str; 6] = ["CMakeScratch", "CMakeTmp", "CompilerId", "_CMakeLTOTest-", "meson-private", ".conf_check_"];
const PROBE_FILES: [&str; 1] = ["conftest"];

/// The file for the statistics of an output: its path in `folder` repeats the output's own path, relative to the parent of
/// `folder` if it is below that. So the outputs of different builds have different files, and equal builds can be compared.
/// There is none for probes.
pub fn file(folder: &Path, source: &Path, made: &Path) -> Result<Option<PathBuf>> {
    let root = whole(folder)?;
    let (source, made) = (whole(source)?, whole(made)?);
    if is_probe(&source) || is_probe(&made) {
        return Ok(None);
    }
    let within = made.strip_prefix(root.parent().unwrap_or(&root)).unwrap_or_else(|_| made.strip_prefix("/").unwrap_or(&made));
    let mut file = folder.join(within).into_os_string();
    file.push(".json");
    let file = PathBuf::from(file);
    fs::create_dir_all(file.parent().unwrap_or(folder)).with_context(|| format!("CHORDAL_STATS: {}", folder.display()))?;
    Ok(Some(file))
}

/// The absolute path; the last part need not exist.
fn whole(path: &Path) -> Result<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).with_context(|| format!("CHORDAL_STATS: {}", parent.display()))?;
    Ok(path.file_name().map_or_else(|| parent.clone(), |name| parent.join(name)))
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
