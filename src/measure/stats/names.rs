//! Names that tell modules apart.

use std::collections::HashMap;

/// Where a module's statistics come from.
#[derive(Clone, Copy)]
pub struct Named<'m> {
    /// Their file: its path, or its name in a folder.
    pub place: &'m str,
    /// The name of the module's source.
    pub source: &'m str,
}

/// The names of modules: their sources, followed by the files of their statistics where several sources have one name.
pub fn names(modules: &[Named<'_>]) -> Vec<String> {
    let mut sources: HashMap<&str, usize> = HashMap::new();
    for module in modules {
        *sources.entry(module.source).or_default() += 1;
    }
    let name = |module: &Named<'_>| match (module.source, sources[module.source]) {
        ("", _) => module.place.to_owned(),
        (source, 1) => source.to_owned(),
        (source, _) => format!("{source} ({})", module.place),
    };
    modules.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_one_name_are_told_apart() {
        let module = |(place, source)| Named { place, source };
        let modules = [("a/util.o.json", "util.c"), ("b/util.o.json", "util.c"), ("main.o.json", "main.c"), ("old.json", "")];
        let expected = ["util.c (a/util.o.json)", "util.c (b/util.o.json)", "main.c", "old.json"];
        assert_eq!(names(&modules.map(module)), expected);
    }
}
