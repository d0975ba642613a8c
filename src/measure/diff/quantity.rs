//! A number out of a statistics file: counted exactly, or estimated.

use serde::Serialize;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::ops::AddAssign;

/// Estimates that differ by less, relatively, are equal: they are sums of fractions, which another order rounds otherwise.
const ROUNDING: f64 = 1e-9;

/// What a counter says. Never negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    Count(u64),
    Amount(f64),
}

impl Default for Quantity {
    fn default() -> Self {
        Quantity::Count(0)
    }
}

impl Quantity {
    /// The quantity that a JSON value is, if it is one.
    pub fn of(value: &Value) -> Option<Self> {
        match value.as_u64() {
            Some(count) => Some(Quantity::Count(count)),
            None => value.as_f64().filter(|amount| *amount >= 0.0).map(Quantity::Amount),
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Quantity::Count(count) => count as f64,
            Quantity::Amount(amount) => amount,
        }
    }

    /// How this compares with another, but for rounding.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Quantity::Count(this), Quantity::Count(other)) => this.cmp(&other),
            _ => {
                let (this, other) = (self.as_f64(), other.as_f64());
                if (this - other).abs() <= ROUNDING * this.max(other) { Ordering::Equal } else { this.total_cmp(&other) }
            }
        }
    }

    /// The change from this to another, from 0.01 for one per cent more; `None` from zero to something.
    pub fn change_to(self, new: Self) -> Option<f64> {
        let (base, new) = (self.as_f64(), new.as_f64());
        if base == new { Some(0.0) } else { (base > 0.0).then(|| (new - base) / base) }
    }

    /// Whether another is larger by more than so many per cent.
    pub fn exceeded_by(self, new: Self, percent: f64) -> bool {
        let (base, growth) = (self.as_f64(), new.as_f64() - self.as_f64());
        new.compare(self) == Ordering::Greater && growth > base * percent / 100.0 * (1.0 + ROUNDING)
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = match (*self, other) {
            (Quantity::Count(this), Quantity::Count(other)) => Quantity::Count(this.saturating_add(other)),
            _ => Quantity::Amount(self.as_f64() + other.as_f64()),
        };
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Count(count) => write!(f, "{count}"),
            Quantity::Amount(amount) => write!(f, "{amount:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity::{Amount, Count};
    use super::*;
    use serde_json::json;

    #[test]
    fn json_says_whether_it_is_exact() {
        assert_eq!(Quantity::of(&json!(3)), Some(Count(3)));
        assert_eq!(Quantity::of(&json!(3.5)), Some(Amount(3.5)));
        for value in [json!(null), json!("3"), json!(-3), json!({}), json!(-0.5)] {
            assert_eq!(Quantity::of(&value), None, "{value}");
        }
    }

    #[test]
    fn estimates_are_equal_but_for_rounding() {
        assert_eq!(Amount(0.1 + 0.2).compare(Amount(0.3)), Ordering::Equal);
        assert_eq!(Amount(0.3001).compare(Amount(0.3)), Ordering::Greater);
        assert_eq!(Amount(0.0).compare(Count(0)), Ordering::Equal);
        assert_eq!(Count(1_000_000_000_001).compare(Count(1_000_000_000_000)), Ordering::Greater);
    }

    #[test]
    fn changes_from_zero_have_no_percentage() {
        assert_eq!(Count(100).change_to(Count(99)), Some(-0.01));
        assert_eq!(Count(0).change_to(Count(0)), Some(0.0));
        assert_eq!(Count(0).change_to(Count(1)), None);
    }

    #[test]
    fn a_limit_is_exceeded_by_more_than_itself() {
        assert!(!Count(100).exceeded_by(Count(101), 1.0));
        assert!(Count(100).exceeded_by(Count(102), 1.0));
        assert!(!Count(100).exceeded_by(Count(90), 1.0));
        assert!(Count(0).exceeded_by(Count(1), 50.0));
        assert!(!Amount(0.3).exceeded_by(Amount(0.1 + 0.2), 0.0));
    }

    #[test]
    fn sums_are_exact_while_all_is_counted() {
        let mut sum = Count(1);
        sum += Count(2);
        assert_eq!(sum, Count(3));
        sum += Amount(0.5);
        assert_eq!(sum, Amount(3.5));
    }
}
