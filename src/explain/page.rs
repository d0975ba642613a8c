//! The page: one file, bundled from `page/`, with the explanation in it.

/// What `make page` bundles.
const PAGE: &str = include_str!("page.html");

const TITLE: &str = "<!-- title -->";
const DATA: &str = "<!-- data -->";

/// The page of an explanation, given as JSON.
pub fn page(json: &str, title: &str) -> String {
    let (before, rest) = PAGE.split_once(TITLE).expect("the page has a place for its title");
    let (between, after) = rest.split_once(DATA).expect("the page has a place for its data");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    // In JSON, a `<` is in a string: escaped, it cannot end the script that the browser takes it for.
    let json = json.replace('<', "\\u003c");
    [before, &title, between, &json, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_ends_it() {
        let page = page(r#"{"function":"</script><b>"}"#, "a<b>&c");
        assert!(page.contains(r#"{"function":"\u003c/script>\u003cb>"}"#));
        assert!(page.contains("<title>a&lt;b>&amp;c</title>"));
        assert_eq!(page.matches("</script>").count(), 2);
    }
}
