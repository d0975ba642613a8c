//! Decides which of LLVM's warnings are shown, and which are errors, by those of clang's flags that concern code generation.

use crate::llvm::About;
use clap::Args;

/// The kinds of LLVM's warnings, by their names in clang's flags.
const GROUPS: [(&str, About); 3] =
    [("frame-larger-than", About::FrameSize), ("attribute-warning", About::Call), ("inline-asm", About::InlineAssembly)];

#[derive(Args, Default)]
#[command(next_help_heading = "LLVM's warnings")]
pub struct Warnings {
    /// Which of LLVM's warnings are shown or are errors, by clang's flags
    ///
    /// FLAG is NAME, no-NAME, error=NAME or no-error=NAME, where NAME is frame-larger-than, attribute-warning or inline-asm;
    /// everything or no-everything; error or no-error. The last flag about a NAME counts.
    #[arg(short = 'W', long = "warning", value_name = "FLAG", value_parser = parse)]
    flags: Vec<Flag>,

    /// Show none of LLVM's warnings, whatever --warning says
    #[arg(long)]
    no_warnings: bool,
}

/// A flag about one kind of warning, or about all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flag {
    about: Option<About>,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Show,
    Hide,
    Error,
    NoError,
}

/// How a warning is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Hidden,
    Warning,
    Error,
}

impl Warnings {
    pub fn severity(&self, about: About) -> Severity {
        let (mut severity, mut all_errors, mut no_error) = (Severity::Warning, false, false);
        let in_group = group(about).is_some();
        for flag in self.flags.iter().filter(|flag| in_group && flag.about.is_none_or(|it| it == about)) {
            match (flag.what, flag.about) {
                (What::Error | What::NoError, None) => all_errors = flag.what == What::Error,
                (What::Error, Some(_)) => severity = Severity::Error,
                (What::NoError, Some(_)) => {
                    no_error = true;
                    severity = if severity == Severity::Error { Severity::Warning } else { severity };
                }
                (What::Hide, _) => severity = Severity::Hidden,
                (What::Show, _) if severity == Severity::Hidden => severity = Severity::Warning,
                (What::Show, _) => (),
            }
        }
        match severity {
            _ if self.no_warnings => Severity::Hidden,
            Severity::Warning if all_errors && !no_error => Severity::Error,
            severity => severity,
        }
    }
}

/// The name of a warning's group. Warnings without a group are shown whatever the flags say.
pub fn group(about: About) -> Option<&'static str> {
    GROUPS.iter().find(|(_, it)| *it == about).map(|(name, _)| *name)
}

/// A name that is no kind of warning.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{name}` is none of {}", GROUPS.map(|(name, _)| name).join(", "))]
struct NoGroup {
    name: String,
}

fn parse(text: &str) -> Result<Flag, NoGroup> {
    let (what, name) = [("no-error", What::NoError), ("error", What::Error), ("no-", What::Hide), ("", What::Show)]
        .into_iter()
        .find_map(|(prefix, what)| Some((what, text.strip_prefix(prefix)?)))
        .expect("all begin with the last one");
    let about = match (what, name) {
        (What::Error | What::NoError, "") | (What::Show | What::Hide, "everything") => None,
        (What::Error | What::NoError, _) => Some(of_group(name.strip_prefix('=').unwrap_or_default())?),
        // The size that a frame may have is in the module.
        (What::Show, _) => Some(of_group(name.split_once('=').map_or(name, |(name, _)| name))?),
        (What::Hide, _) => Some(of_group(name)?),
    };
    Ok(Flag { about, what })
}

/// The kind of warning that a name stands for. (Clang also calls it `frame-larger-than=`.)
fn of_group(name: &str) -> Result<About, NoGroup> {
    let group = GROUPS.iter().find(|(group, _)| name.strip_suffix('=').unwrap_or(name) == *group);
    group.map(|(_, about)| *about).ok_or_else(|| NoGroup { name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected results are clang's own for these flags.
    #[test]
    fn the_last_flag_counts_as_in_clang() {
        for (flags, expected) in [
            ("", Severity::Warning),
            ("error", Severity::Error),
            ("error no-error", Severity::Warning),
            ("error=frame-larger-than", Severity::Error),
            ("error=inline-asm", Severity::Warning),
            ("error no-error=frame-larger-than", Severity::Warning),
            ("no-error=frame-larger-than error", Severity::Warning),
            ("error no-frame-larger-than", Severity::Hidden),
            ("no-frame-larger-than error=frame-larger-than", Severity::Error),
            ("error=frame-larger-than frame-larger-than", Severity::Error),
            ("no-everything frame-larger-than=20 error", Severity::Error),
            ("error no-everything", Severity::Hidden),
        ] {
            let flags = flags.split_whitespace().map(|flag| parse(flag).expect("it is one")).collect();
            assert_eq!(Warnings { flags, no_warnings: false }.severity(About::FrameSize), expected);
        }
        let flags = vec![parse("error=frame-larger-than").expect("it is one")];
        assert_eq!(Warnings { flags, no_warnings: true }.severity(About::FrameSize), Severity::Hidden);
        let flags = vec![parse("error").expect("it is one"), parse("no-everything").expect("it is one")];
        assert_eq!(Warnings { flags, no_warnings: false }.severity(About::Other), Severity::Warning);
    }
}
