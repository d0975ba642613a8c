//! The rows of one set of registers, made while the program is walked.
//!
//! Ensures: a row has the decisions that are competing when it is made, so that those of one segment follow each other: they
//! are one run, also where the segment goes on into the next block.
//! A row that says no more than the one before it in its block is left out, or takes its place. Time is constant for a row, and
//! for each segment that comes or goes.

use super::model::Place;
use crate::allocate::cuts::{Decisions, MOST_BOUGHT, Rooms, RowData, Run, push};
use crate::analysis::grouped::each;
use crate::machine::Value;
use cranelift_entity::SecondaryMap;

/// Not competing.
const AWAY: u32 = u32::MAX;

/// The values that compete for the registers of a set, and the rows that come of it.
pub(super) struct Contest {
    rows: Vec<RowData>,
    runs: Vec<Run>,
    /// Of each value that competes and is not in a register in any case, the first row that it is in.
    since: SecondaryMap<Value, u32>,
    /// Of each value, the run that was made of it last.
    latest: SecondaryMap<Value, u32>,
    /// How many values compete, and how many are in registers in any case.
    open: i32,
    fixed: i32,
    /// The first row of the block.
    first: u32,
    /// Values that have come since the last row, those that have gone again among them.
    newcomers: Vec<Value>,
    /// How many of them have not gone again.
    new: u32,
    /// Whether some that are in the last row have gone.
    left: bool,
}

impl Contest {
    /// Of so many values.
    pub(super) fn new(values: usize) -> Self {
        let (rows, runs, newcomers) = Default::default();
        let [since, latest] = [(); 2].map(|()| each(values, AWAY));
        Contest { rows, runs, since, latest, open: 0, fixed: 0, first: 0, newcomers, new: 0, left: false }
    }

    /// The number of the next row.
    fn next(&self) -> u32 {
        self.rows.len() as u32
    }

    /// A value is where it is from here on.
    pub(super) fn enter(&mut self, value: Value, place: Place) {
        if place == Place::REGISTER {
            self.fixed += 1;
        } else if place.decision().is_some() {
            self.open += 1;
            self.since[value] = self.next();
            self.newcomers.push(value);
            self.new += 1;
        }
    }

    /// It is no more.
    pub(super) fn leave(&mut self, value: Value, place: Place) {
        if place == Place::REGISTER {
            self.fixed -= 1;
        } else if let Some(decision) = place.decision() {
            self.open -= 1;
            let since = std::mem::replace(&mut self.since[value], AWAY);
            if since < self.next() {
                self.run(value, Run { decision, rows: since..self.next() });
                self.left = true;
            } else {
                self.new -= 1;
            }
        }
    }

    /// Adds a run, to the one before it if it goes on.
    fn run(&mut self, value: Value, run: Run) {
        match self.runs.get_mut(self.latest[value] as usize) {
            Some(last) if last.decision == run.decision && last.rows.end == run.rows.start => last.rows.end = run.rows.end,
            _ => {
                self.latest[value] = self.runs.len() as u32;
                push(&mut self.runs, run);
            }
        }
    }

    /// A block begins, with nothing in registers.
    pub(super) fn begin(&mut self) {
        debug_assert_eq!(self.open, 0);
        (self.fixed, self.first, self.left) = (0, self.next(), false);
        self.newcomers.clear();
    }

    /// How many values there are.
    pub(super) fn count(&self) -> i32 {
        self.fixed + self.open
    }

    /// Makes a row, if there are fewer registers left than values, by how many callee-saved ones have been bought. Answers how
    /// many have to be bought at least.
    pub(super) fn row(&mut self, left: [i32; MOST_BOUGHT + 1], frequency: f64) -> usize {
        if self.count() == 0 || left[0] >= self.count() {
            return 0;
        }
        let exactly = left.map(|left| left - self.fixed);
        self.keep(exactly.map(|room| room.max(0) as u16), frequency);
        // What is too little for those in any case has to be bought, if that helps.
        exactly.iter().position(|&room| room >= 0).unwrap_or(0)
    }

    /// Keeps a row, unless the last one of the block says as much; if it says more, in its place.
    fn keep(&mut self, rooms: Rooms, frequency: f64) {
        if let Some(last) = self.rows.get_mut(self.first as usize..).and_then(<[RowData]>::last_mut) {
            let mut pairs = last.rooms.iter().zip(&rooms);
            if self.new == 0 && pairs.clone().all(|(old, new)| old <= new) {
                return;
            }
            if !self.left && pairs.all(|(old, new)| new <= old) {
                last.rooms = rooms;
                return self.admit();
            }
        }
        push(&mut self.rows, RowData { rooms, frequency });
        self.newcomers.clear();
        (self.new, self.left) = (0, false);
    }

    /// All newcomers are in the last row.
    fn admit(&mut self) {
        let next = self.next();
        for value in self.newcomers.drain(..) {
            // Some have gone again.
            if self.since[value] == next {
                self.since[value] = next - 1;
            }
        }
        self.new = 0;
    }

    /// Adds the rows to those of other sets.
    pub(super) fn finish(self, decisions: &mut Decisions) {
        let before = decisions.rows.len() as u32;
        decisions.rows.reserve_exact(self.rows.len());
        decisions.rows.extend(self.rows);
        let moved = |run: Run| Run { rows: before + run.rows.start..before + run.rows.end, ..run };
        decisions.runs.reserve_exact(self.runs.len());
        decisions.runs.extend(self.runs.into_iter().map(moved));
    }
}
