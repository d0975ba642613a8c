//! Where names of functions link to: pages of `chordal explain`, or the sources on a forge.

use crate::measure::diff::Item;
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

/// An address with places for what it is about.
#[derive(Clone, Debug)]
pub struct Link(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Function,
    File,
    Line,
    Module,
}

const NAMES: &str = "{function}, {file}, {line} and {module}";

impl FromStr for Link {
    type Err = String;

    fn from_str(template: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or_else(|| format!("a `{{` is not closed: {NAMES} are known"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(match name {
                "function" => Part::Function,
                "file" => Part::File,
                "line" => Part::Line,
                "module" => Part::Module,
                _ => return Err(format!("{{{name}}} means nothing here: {NAMES} are known")),
            });
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Link(parts))
    }
}

impl Link {
    /// The address for an item, if everything that it takes is known of it. Files below `folder` are named relative to it.
    pub fn of(&self, item: &Item, folder: &Path) -> Option<String> {
        let mut address = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => address.push_str(text),
                Part::Function => address.push_str(&encoded(item.function.as_deref()?)),
                Part::File => address.push_str(&encoded(below(&item.place.as_ref()?.file, folder))),
                Part::Line => _ = write!(address, "{}", item.place.as_ref()?.line),
                Part::Module => address.push_str(&encoded(&item.run.as_ref()?.module)),
            }
        }
        Some(address)
    }
}

/// A file relative to a folder, if it is below it.
pub fn below<'f>(file: &'f str, folder: &Path) -> &'f str {
    Path::new(file).strip_prefix(folder).ok().and_then(Path::to_str).unwrap_or(file)
}

/// Text as a part of an address; `/` stays.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => encoded.push(char::from(byte)),
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::Place;

    #[test]
    fn addresses_are_encoded() {
        let place = Some(Place { file: "/work/src/a b.c".into(), line: 7 });
        let item = Item { run: None, function: Some("f<int>".into()), place };
        let address = |template: &str| template.parse::<Link>().map(|link| link.of(&item, Path::new("/work")));
        assert_eq!(address("explained/{function}.html"), Ok(Some("explained/f%3Cint%3E.html".into())));
        assert_eq!(address("{file}#L{line}"), Ok(Some("src/a%20b.c#L7".into())));
        assert_eq!(address("{module}/{line}"), Ok(None));
        assert!(address("{nothing}").is_err_and(|error| error.contains("{nothing}")));
        assert!(address("{function").is_err());
    }
}
