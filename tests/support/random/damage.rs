//! Damage to texts.

use fastrand::Rng;

/// The text with a few words missing or exchanged.
pub fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '(', ')', ':', '=', '|']).collect();
    for _ in 0..rng.usize(1..4) {
        let (to, from) = (rng.usize(..words.len()), rng.usize(..words.len()));
        words[to] = if rng.bool() { words[from] } else { "" };
    }
    words.concat()
}
