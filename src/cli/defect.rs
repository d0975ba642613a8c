//! Reports bugs in chordal: the function that shows one is written to a file that reproduces it.

use crate::llvm::{CompileError, Failed};
use crate::output::{self, Destination};
use anyhow::{Context as _, Result, anyhow};
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

const EXTENSION: &str = "chordal.txt";

/// Adds to an error how it can be reproduced, if it is a bug and the function is known.
///
/// The function is written beside the output. If the output is not a file or nothing can be written there, it goes to the
/// folder for temporary files. `allocator` are the arguments that chose the allocator.
pub fn located(error: CompileError, output: &Destination, allocator: &str) -> anyhow::Error {
    let CompileError::Failed { failed: Failed { name, text: Some(text), .. }, .. } = &error else { return error.into() };
    let text = format!("; {error}\n; chordal allocate {allocator}\n{text}");
    match write(name, text.as_bytes(), output) {
        Ok(path) => {
            anyhow!("{error}; `chordal allocate {} {allocator}` shows it again", path.display())
        }
        Err(reason) => anyhow!("{error}; the function that shows it {reason:#}"),
    }
}

fn write(function: &str, text: &[u8], output: &Destination) -> Result<PathBuf> {
    let name = file_name(function);
    if let Some(path) = beside(output, &name)
        && output::write_all(&[(Destination::File(path.clone()), text.to_vec())]).is_ok()
    {
        return Ok(path);
    }
    let folder = env::temp_dir();
    let cannot = || format!("cannot be written to {}", folder.display());
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(&format!(".{EXTENSION}"))
        .tempfile_in(&folder)
        .with_context(cannot)?;
    file.write_all(text).with_context(cannot)?;
    Ok(file.keep().with_context(cannot)?.1)
}

/// A path in the output's folder, if the output is a file.
fn beside(output: &Destination, name: &str) -> Option<PathBuf> {
    let Destination::File(path) = output else { return None };
    let special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    (!special).then(|| path.with_file_name(format!("{name}.{EXTENSION}")))
}

/// A file name from a function's name, which needs no quotes in a shell.
fn file_name(function: &str) -> String {
    const LONGEST: usize = 100;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
    function.chars().map(plain).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::failure::{Defect, Failure};
    use crate::machine::{parse, print};

    const FUNCTION: &str = "target tiny\nfunction operator\\u{20}new\nb0: live=a\n  op uses=a terminator\n";

    fn error() -> CompileError {
        let failure = Failure::Defect(Defect::Impossible("no registers".into()));
        CompileError::Failed { failed: Failed { name: "operator new".into(), failure, text: Some(FUNCTION.into()) }, more: 0 }
    }

    /// The file that a message names.
    fn named(message: &str) -> PathBuf {
        let (_, rest) = message.split_once("`chordal allocate ").expect("the message says how to reproduce it");
        rest.split(' ').next().expect("a path comes first").into()
    }

    #[test]
    fn the_function_is_written_beside_the_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = Destination::File(folder.path().join("out.s"));
        let message = located(error(), &output, "--allocator ch-o1").to_string();
        assert!(message.starts_with("function operator new: this is a bug in chordal: no registers; "), "{message}");
        assert!(message.ends_with("--allocator ch-o1` shows it again"), "{message}");
        assert_eq!(named(&message), folder.path().join("operator_new.chordal.txt"));
        let text = fs::read_to_string(named(&message)).expect("the file is there");
        let function = parse(&text).expect("it is in text form");
        assert_eq!(function.name, "operator new");
        assert_eq!(print(&function), print(&parse(FUNCTION).expect("so is this")));
    }

    #[test]
    fn where_the_output_is_no_file_it_goes_to_the_temporary_folder() {
        let nowhere = Destination::File("/nonexistent/out.s".into());
        for output in [Destination::Stdout, Destination::File("/dev/null".into()), nowhere] {
            let path = named(&located(error(), &output, "--allocator ch-o1").to_string());
            assert!(path.starts_with(env::temp_dir()), "{}", path.display());
            assert!(path.to_string_lossy().ends_with(".chordal.txt"), "{}", path.display());
            fs::remove_file(path).expect("it is there");
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let error = CompileError::Llvm("no".into());
        assert_eq!(located(error, &Destination::Stdout, "").to_string(), "no");
    }
}
