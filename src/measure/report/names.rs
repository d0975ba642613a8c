//! Names of functions as people read them.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The most columns that a demangled name may take up.
const LONGEST: usize = 80;

/// How tables name functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// As in the source, which C++ and Rust encode for the linker.
    Demangled,
    /// As their symbols.
    Mangled,
}

impl Names {
    /// The name of a function.
    pub fn of(self, symbol: &str) -> String {
        match self {
            Names::Mangled => symbol.to_owned(),
            Names::Demangled => demangled(symbol).map_or_else(|| symbol.to_owned(), |name| readable(&name)),
        }
    }
}

/// The name in the source, if the symbol tells it. Rust's old scheme looks like that of C++, with a hash at the end, so it
/// is tried first.
fn demangled(symbol: &str) -> Option<String> {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{name:#}"));
    }
    // Without a prefix, `f` would be taken for the code of a type.
    cpp_demangle::Symbol::new(symbol).ok().filter(|_| symbol.starts_with("_Z"))?.demangle().ok()
}

/// Shortens a name that is too long: without template arguments and, if it still is, without parameters as well.
fn readable(name: &str) -> String {
    let without_arguments = collapsed(name, &[('<', '>')]);
    let without_parameters = collapsed(&without_arguments, &[('(', ')')]);
    let fits = |name: &&str| name.width() <= LONGEST;
    let found = [name, &without_arguments, &without_parameters].into_iter().find(fits);
    found.map_or_else(|| shortened(&without_parameters, LONGEST), str::to_owned)
}

/// A name with `…` in place of everything between these brackets.
fn collapsed(name: &str, brackets: &[(char, char)]) -> String {
    let (mut short, mut depth, mut rest) = (String::new(), 0_usize, name);
    while let Some(first) = rest.chars().next() {
        let (part, after) = rest.split_at(no_bracket(rest).unwrap_or(first.len_utf8()));
        rest = after;
        match brackets.iter().find(|&&(open, close)| part == open.to_string() || part == close.to_string()) {
            Some(&(open, close)) if open == first => {
                if depth == 0 {
                    short.extend([open, '…', close]);
                }
                depth += 1;
            }
            Some(_) => depth = depth.saturating_sub(1),
            None if depth == 0 => short.push_str(part),
            None => {}
        }
    }
    short
}

/// If the name begins with something that looks like a bracket but is none, or with a pair that has nothing to leave out:
/// its length.
fn no_bracket(name: &str) -> Option<usize> {
    const WHOLE: [&str; 4] = ["(anonymous namespace)", "operator()", "()", "->"];
    if let Some(whole) = WHOLE.into_iter().find(|whole| name.starts_with(whole)) {
        return Some(whole.len());
    }
    let operator = name.strip_prefix("operator")?;
    let symbols = operator.find(|character| !"<>=-".contains(character)).unwrap_or(operator.len());
    Some(name.len() - operator.len() + symbols)
}

/// Shortens a text to a number of columns by cutting out its middle.
pub fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let left = width.saturating_sub(1);
    let end = fitting(text.chars().rev(), left / 2);
    let start = fitting(text.chars(), left - left / 2);
    let end: String = text.chars().rev().take(end).collect::<Vec<_>>().into_iter().rev().collect();
    text.chars().take(start).chain(['…']).collect::<String>() + &end
}

/// Counts the first characters that fit into a number of columns.
fn fitting(characters: impl Iterator<Item = char>, width: usize) -> usize {
    let columns = characters.scan(0, |columns, character| {
        *columns += character.width().unwrap_or(0);
        Some(*columns)
    });
    columns.take_while(|&columns| columns <= width).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("_ZN5Shape4areaEi", "Shape::area(int)"),
            ("_ZN5Shape4areaEi.cold", "Shape::area(int) [clone .cold]"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("main", "main"),
            ("f", "f"),
            ("_Z", "_Z"),
            ("_ZN5Shape", "_ZN5Shape"),
        ] {
            assert_eq!(Names::Demangled.of(symbol), name);
            assert_eq!(Names::Mangled.of(symbol), symbol);
        }
    }

    #[test]
    fn long_names_lose_their_arguments_first() {
        let long = "a_type_of_a_library_with_a_long_name";
        for (name, shown) in [
            (format!("map<{long}, {long}>::find({long} const&)"), format!("map<…>::find({long} const&)")),
            (format!("map<{long}>::find({long} const&, {long})"), "map<…>::find(…)".into()),
            (format!("map<{long}, {long}>::operator<(int)"), "map<…>::operator<(int)".into()),
            (format!("map<{long}, {long}>::operator->()"), "map<…>::operator->()".into()),
            (format!("(anonymous namespace)::f({long}, {long})"), "(anonymous namespace)::f(…)".into()),
            (format!("<vec<{long}> as of<fn({long}) -> int>>::next"), "<…>::next".into()),
            (format!("map<int>::find({long})"), format!("map<int>::find({long})")),
        ] {
            assert_eq!(readable(&name), shown);
        }
        let name = readable(&format!("{long}::{long}::{long}::last()"));
        assert!(name.width() == LONGEST && name.starts_with(long) && name.ends_with("::last()"), "{name}");
        let symbol = format!("_ZN5outerI{}E4lastEv", "5inner".repeat(20));
        assert_eq!(Names::Demangled.of(&symbol), "outer<…>::last()");
    }

    #[test]
    fn what_is_too_long_loses_its_middle() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("abcdefgh", 7), "abc…fgh");
        assert_eq!(shortened("abcdefgh", 6), "abc…gh");
        assert_eq!(shortened("abcdefgh", 1), "…");
        assert_eq!(shortened("漢字漢字", 6), "漢…字", "these are two columns wide");
    }
}
