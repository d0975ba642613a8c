//! Damage to texts.

use fastrand::Rng;

/// A text with a few words missing or in each other's place.
pub fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '(', ')', ':', '=', '|']).collect();
    for _ in 0..rng.usize(1..4) {
        let (to, from) = (rng.usize(..words.len()), rng.usize(..words.len()));
        words[to] = if rng.bool() { words[from] } else { "" };
    }
    words.concat()
}
