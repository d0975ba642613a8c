//! Integer programs of decisions between 0 and 1, solved by HiGHS.
//!
//! Ensures: the answer is the same in each run, unless time runs out.

use highs::{Col, HighsModelStatus, RowProblem, Sense};
use std::num::NonZeroU32;
use std::time::Duration;

/// A linear program in which some variables are 0 or 1.
#[derive(Default)]
pub(super) struct Program {
    problem: RowProblem,
    /// A known solution to begin with.
    known: Vec<f64>,
}

/// A solution.
pub(super) struct Answer {
    /// The value of each variable.
    values: Vec<f64>,
    /// No solution costs less than this, up to the solver's tolerance of a millionth.
    pub(super) bound: f64,
    /// Whether this solution costs no more than that.
    pub(super) is_optimal: bool,
}

/// A variable that a program finds a value for.
pub(super) type Variable = Col;

impl Program {
    /// Adds a variable that is 0 or 1, with its cost if it is 1 and its value in the known solution.
    pub(super) fn decision(&mut self, cost: f64, known: bool) -> Variable {
        self.known.push(f64::from(u8::from(known)));
        self.problem.add_integer_column(cost, 0..1)
    }

    /// Adds a variable from 0 to 1 that is as small as constraints let it be, with its cost if it is 1.
    pub(super) fn penalty(&mut self, cost: f64, known: bool) -> Variable {
        self.known.push(f64::from(u8::from(known)));
        self.problem.add_column(cost, 0..1)
    }

    /// Adds a constraint: the sum is at most `most`.
    pub(super) fn at_most(&mut self, most: f64, sum: impl IntoIterator<Item = (Variable, f64)>) {
        self.problem.add_row(..=most, sum);
    }

    /// Adds a constraint: the sum is exactly `value`.
    pub(super) fn exactly(&mut self, value: f64, sum: impl IntoIterator<Item = (Variable, f64)>) {
        self.problem.add_row(value..=value, sum);
    }

    /// The cheapest solution, or the best that was found within the limit. `None` if there is none, not even the known one.
    pub(super) fn minimise(self, limit: Duration) -> Option<Answer> {
        let mut model = self.problem.optimise(Sense::Minimise);
        model.set_threads(NonZeroU32::MIN);
        model.set_option("time_limit", limit.as_secs_f64());
        model.set_option("mip_rel_gap", 0.0);
        model.set_option("mip_abs_gap", 1e-6);
        model.set_solution(Some(&self.known), None, None, None);
        let solved = model.try_solve().ok()?;
        let is_optimal = solved.status() == HighsModelStatus::Optimal;
        let values = solved.get_solution().columns().to_vec();
        let bound = solved.double_info_value(c"mip_dual_bound").unwrap_or(f64::NEG_INFINITY);
        (values.len() == self.known.len()).then_some(Answer { values, bound, is_optimal })
    }
}

impl Answer {
    /// Whether a decision is 1.
    pub(super) fn is_one(&self, variable: Variable) -> bool {
        self.values[variable.index()] > 0.5
    }
}
