//! The page: the bundled asset with the explanation in it.

/// The page of an explanation.
pub fn page(json: &str, title: &str) -> String {
    let _ = title;
    json.to_owned()
}
