//! Random functions without end: `make fuzz`.
//!
//! Each seed gives a shape, a function of that shape, and allocators with options. The function must be valid, and survive
//! printing and parsing. Its damaged text must be refused, or be a function that is allocated or declared unsupported. The
//! checker must accept its allocations, and they must compute what the function computes. A failure is then reproduced in
//! smaller shapes.
//!
//! Environment: `CHORDAL_SEED` (the first seed), `CHORDAL_COUNT` (how many seeds).

use crate::support::interpret::compare;
use crate::support::presets::variants;
use crate::support::programs::complaints;
use crate::support::random::{Shape, damaged, may_be_refused, random_function, random_shape};
use chordal::allocate::failure::{Failure, guarded};
use chordal::allocate::pipeline::{Strategy, allocate};
use chordal::allocate::regalloc2::Algorithm;
use chordal::machine::{Function, parse, print, validate};
use fastrand::Rng;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of allocators that each function goes through.
const ALLOCATORS: usize = 6;
/// The number of paths that an allocation is executed along.
const PATHS: u64 = 4;
/// The most blocks on a path.
const STEPS: usize = 60;
/// The number of functions of a smaller shape among which one is sought that fails, too.
const ATTEMPTS: u64 = 300;
/// The number of seeds between two reports of progress.
const REPORT: usize = 1000;

/// A test of a function.
#[derive(Clone, Copy, Debug)]
enum Trial {
    Text,
    Damaged(Strategy),
    Allocated(Strategy),
}

/// The reason why a trial failed, if it did. A panic is a failure.
fn failure(trial: Trial, function: &Function, seed: u64) -> Option<String> {
    let tried = guarded(|| {
        Ok(match trial {
            Trial::Text => survives_its_text(function),
            Trial::Damaged(strategy) => does_no_harm(function, strategy, seed),
            Trial::Allocated(strategy) => computes_the_same(function, strategy),
        })
    });
    tried.map_err(|panicked| panicked.to_string()).and_then(|result| result).err()
}

fn survives_its_text(function: &Function) -> Result<(), String> {
    validate(function).map_err(|found| found[0].to_string())?;
    let text = print(function);
    let again = parse(&text).map_err(|error| error.to_string())?;
    if print(&again) == text { validate(&again).map_err(|found| found[0].to_string()) } else { Err("another text".into()) }
}

/// A valid function may still read registers that nothing was put into, so it cannot be executed.
fn does_no_harm(function: &Function, strategy: Strategy, seed: u64) -> Result<(), String> {
    let Ok(function) = parse(&damaged(&print(function), &mut Rng::with_seed(seed))) else { return Ok(()) };
    let text = print(&function);
    let again = parse(&text).map_err(|error| format!("{error}\n{text}"))?;
    if print(&again) != text || validate(&again) != validate(&function) {
        return Err(format!("another function is read from its text\n{text}"));
    }
    match validate(&function).map(|()| allocate(&function, strategy)) {
        Ok(Err(Failure::Defect(defect))) => Err(format!("{defect}\n{text}")),
        _ => Ok(()),
    }
}

fn computes_the_same(function: &Function, strategy: Strategy) -> Result<(), String> {
    match allocate(function, strategy) {
        Ok((overlay, _)) => {
            let differs = |path| compare(function, &overlay, path, STEPS).err().map(|found| format!("path {path}: {found}"));
            (0..PATHS).find_map(differs).map_or(Ok(()), Err)
        }
        // Some allocators do not support every function.
        Err(Failure::Unsupported(_)) if matches!(strategy, Strategy::Regalloc2(_)) || may_be_refused(function) => Ok(()),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The shape and the trials of a seed.
fn chosen(seed: u64) -> (Shape, Vec<Trial>) {
    let mut rng = Rng::with_seed(seed);
    let shape = random_shape(&mut rng);
    let mut strategies: Vec<Strategy> = variants().into_iter().map(Strategy::from).collect();
    strategies.extend(Algorithm::ALL.map(|(_, algorithm)| Strategy::Regalloc2(algorithm)));
    rng.shuffle(&mut strategies);
    let mut trials = vec![Trial::Text, Trial::Damaged(strategies[0])];
    trials.extend(strategies[..ALLOCATORS].iter().map(|&strategy| Trial::Allocated(strategy)));
    (shape, trials)
}

/// The kind of a failure: the first words of the message, without numbers and names.
fn kind(why: &str) -> String {
    let words = why.split_whitespace().filter(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase()));
    words.take(8).collect::<Vec<_>>().join(" ")
}

/// The smallest shape found in which something fails in the same way, with the seed of the function.
fn smallest(trial: Trial, why: &str, mut shape: Shape, mut seed: u64) -> (Shape, u64) {
    let kind_of = |seed: u64, shape: &Shape| failure(trial, &random_function(seed, shape), seed).map(|why| kind(&why));
    let wanted = Some(kind(why));
    while let Some(found) = shape
        .smaller()
        .into_iter()
        .find_map(|smaller| (0..ATTEMPTS).find(|&seed| kind_of(seed, &smaller) == wanted).map(|seed| (smaller, seed)))
    {
        (shape, seed) = found;
    }
    (shape, seed)
}

/// The failure of a seed, and the smallest function found that shows it.
fn complaint(seed: u64) -> Option<String> {
    let (shape, trials) = chosen(seed);
    let function = random_function(seed, &shape);
    let (trial, why) = trials.into_iter().find_map(|trial| failure(trial, &function, seed).map(|why| (trial, why)))?;
    let (small, again) = smallest(trial, &why, shape, seed);
    let function = random_function(again, &small);
    let same = failure(trial, &function, again).unwrap_or_default();
    Some(format!("seed {seed}: {why}\n{trial:?}\nseed {again}, {small:?}: {same}\n{}", print(&function)))
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

#[test]
#[ignore = "as long as one likes: make fuzz"]
fn random_functions_are_no_trouble() {
    let (first, count) = (number("CHORDAL_SEED", 1), number("CHORDAL_COUNT", 1000));
    println!("seeds {first} to {}", first + count - 1);
    let done = AtomicUsize::new(0);
    let seeds: Vec<u64> = (first..first + count).collect();
    let found = complaints(&seeds, |&seed| {
        let found = complaint(seed);
        found.iter().for_each(|text| println!("{text}"));
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(REPORT) {
            println!("{done} functions");
        }
        found.into_iter().collect()
    });
    assert!(found.is_empty(), "{} of {count} seeds from {first} on fail", found.len());
}
