//! Files that are given instead of modules: their kinds, and how to make modules of them.

use std::path::Path;

/// A language by its files' extensions.
struct Language {
    extensions: &'static [&'static str],
    name: &'static str,
    /// The command that writes bitcode, before the name of the source.
    to_bitcode: &'static str,
    /// The command to use in place of its compiler.
    driver: Option<&'static str>,
}

const LANGUAGES: &[Language] = &[
    Language { extensions: &["c", "i"], name: "C", to_bitcode: "clang-22 -O2 -emit-llvm -c", driver: Some("cc") },
    Language {
        extensions: &["cc", "cpp", "cxx", "c++", "C", "CPP", "ii"],
        name: "C++",
        to_bitcode: "clang++-22 -O2 -emit-llvm -c",
        driver: Some("c++"),
    },
    Language { extensions: &["m"], name: "Objective-C", to_bitcode: "clang-22 -O2 -emit-llvm -c", driver: Some("cc") },
    Language {
        extensions: &["f", "for", "f77", "f90", "f95", "f03", "f08", "F", "F90", "F95"],
        name: "Fortran",
        to_bitcode: "flang-22 -O2 -emit-llvm -c",
        driver: Some("fc"),
    },
    Language {
        extensions: &["rs"],
        name: "Rust",
        to_bitcode: "rustc -O -C codegen-units=1 --crate-type lib --emit=llvm-bc",
        driver: None,
    },
    Language { extensions: &["d"], name: "D", to_bitcode: "ldc2 -O -c -output-bc", driver: None },
    Language { extensions: &["cr"], name: "Crystal", to_bitcode: "crystal build --release --emit llvm-bc", driver: None },
];

const ASSEMBLY: [&str; 3] = ["s", "S", "asm"];

fn language(path: &Path) -> Option<&'static Language> {
    let extension = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.extensions.contains(&extension))
}

/// The command that compiles a source as clang or flang do, by its name.
pub fn driver(source: &Path) -> Option<&'static str> {
    language(source)?.driver
}

/// The kind of a compiled file, by its first bytes.
pub fn compiled(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x7FELF") {
        return Some(
            "is an ELF file, whose registers are allocated already (`chordal count` counts its instructions): \
             give the bitcode that it was made of, as `clang-22 -O2 -emit-llvm -c` writes it",
        );
    }
    let is_archive = [b"!<arch>\n", b"!<thin>\n"].iter().any(|magic| bytes.starts_with(*magic));
    is_archive.then_some("is an archive: give its members one by one, if they are bitcode (`llvm-ar-22 x` unpacks them)")
}

/// The language of a text that is not IR, by the file's name.
pub fn source(path: &Path) -> Option<String> {
    let file = path.to_str().and_then(|path| shlex::try_quote(path).ok())?;
    if let Some(Language { name, to_bitcode, driver, .. }) = language(path) {
        let whole = driver.map_or_else(String::new, |driver| format!(", and `chordal {driver} -O2 -c {file}` an object"));
        return Some(format!("is {name}, not LLVM bitcode or IR: `{to_bitcode} {file}` makes bitcode of it{whole}"));
    }
    let is_assembly = path.extension().and_then(|extension| extension.to_str()).is_some_and(|it| ASSEMBLY.contains(&it));
    is_assembly.then(|| {
        "is assembly, whose registers are allocated already: give the bitcode that it was made of, \
         as `clang-22 -O2 -emit-llvm -c` writes it"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_of_one_language() {
        let all: Vec<_> = LANGUAGES.iter().flat_map(|language| language.extensions).chain(&ASSEMBLY).collect();
        for (index, extension) in all.iter().enumerate() {
            assert!(!all[..index].contains(extension), "{extension}");
        }
    }

    #[test]
    fn commands_can_be_pasted() {
        let said = source(Path::new("my prog.c")).expect("it is C");
        assert!(said.contains("`clang-22 -O2 -emit-llvm -c 'my prog.c'`"), "{said}");
        assert_eq!(source(Path::new("prog.ll")), None);
        assert_eq!(source(Path::new("c")), None);
    }
}
