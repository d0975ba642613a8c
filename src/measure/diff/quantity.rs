//! The numbers in files of statistics: counted exactly, estimated, or averaged.

use super::limit::Limit;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::ops::AddAssign;

/// The relative difference up to which estimates are equal: they are sums of fractions, and another order of summation
/// rounds differently.
const ROUNDING: f64 = 1e-9;

/// The value of a counter. An estimate of a difference may be negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    Count(u64),
    Amount(f64),
    /// A mean of shares: the weighted sum of the shares, and the sum of the weights.
    Mean {
        sum: f64,
        weight: f64,
    },
}

impl Default for Quantity {
    fn default() -> Self {
        Quantity::Count(0)
    }
}

impl Quantity {
    /// Reads a JSON value, if it is a quantity.
    pub fn of(value: &Value) -> Option<Self> {
        match value.as_u64() {
            Some(count) => Some(Quantity::Count(count)),
            None => value.as_f64().filter(|_| value.is_f64()).map(Quantity::Amount),
        }
    }

    /// A share with a weight.
    pub fn mean(share: f64, weight: u64) -> Self {
        Quantity::Mean { sum: share * weight as f64, weight: weight as f64 }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Quantity::Count(count) => count as f64,
            Quantity::Amount(amount) => amount,
            Quantity::Mean { sum, weight } => divided(sum, weight),
        }
    }

    /// The part of a total that comes from this: a summand of its sum or mean.
    pub fn within(self, total: Self) -> f64 {
        match (self, total) {
            (Quantity::Mean { sum, .. }, Quantity::Mean { weight, .. }) => divided(sum, weight),
            _ => self.as_f64(),
        }
    }

    /// The ratio of `new` to this one, as a factor of a geometric mean. One is added to both sides, since many counters of
    /// many functions are zero; not so to shares, which are much smaller than one. Shares that are not positive have no
    /// ratio.
    pub fn ratio_of(self, new: Self) -> Option<f64> {
        let added = if matches!(self, Quantity::Mean { .. }) { 0.0 } else { 1.0 };
        let (base, new) = (self.as_f64() + added, new.as_f64() + added);
        (base > 0.0 && new > 0.0).then(|| new / base)
    }

    /// Compares with another, up to rounding.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Quantity::Count(this), Quantity::Count(other)) => this.cmp(&other),
            _ => {
                let (this, other) = (self.as_f64(), other.as_f64());
                if (this - other).abs() <= ROUNDING * this.abs().max(other.abs()) {
                    Ordering::Equal
                } else {
                    this.total_cmp(&other)
                }
            }
        }
    }

    /// The relative change to another: 0.01 is one per cent more. `None` if it grows from zero.
    pub fn change_to(self, new: Self) -> Option<f64> {
        let (base, new) = (self.as_f64(), new.as_f64());
        if base == new { Some(0.0) } else { (base != 0.0).then(|| (new - base) / base.abs()) }
    }

    /// Whether `new` is larger than a limit allows.
    pub fn exceeded_by(self, new: Self, limit: &Limit) -> bool {
        let (base, growth) = (self.as_f64(), new.as_f64() - self.as_f64());
        let allowed = base.abs() * limit.percent / 100.0 + limit.slack;
        new.compare(self) == Ordering::Greater && growth > allowed * (1.0 + ROUNDING)
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = match (*self, other) {
            (Quantity::Count(this), Quantity::Count(other)) => Quantity::Count(this.saturating_add(other)),
            (Quantity::Mean { sum, weight }, Quantity::Mean { sum: more, weight: heavier }) => {
                Quantity::Mean { sum: sum + more, weight: weight + heavier }
            }
            (Quantity::Count(0), other) => other,
            _ => Quantity::Amount(self.as_f64() + other.as_f64()),
        };
    }
}

/// Divides; zero by zero is zero.
fn divided(sum: f64, weight: f64) -> f64 {
    if weight > 0.0 { sum / weight } else { 0.0 }
}

/// Written as a number.
impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Quantity::Count(count) => serializer.serialize_u64(*count),
            Quantity::Amount(_) | Quantity::Mean { .. } => serializer.serialize_f64(self.as_f64()),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Count(count) => write!(f, "{count}"),
            Quantity::Amount(amount) => write!(f, "{amount:.2}"),
            Quantity::Mean { .. } => write!(f, "{:.2}%", self.as_f64() * 100.0),
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
        assert_eq!(Quantity::of(&json!(-0.5)), Some(Amount(-0.5)));
        for value in [json!(null), json!("3"), json!(-3), json!({})] {
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
        assert_eq!(Amount(-2.0).change_to(Amount(-1.0)), Some(0.5));
    }

    #[test]
    fn a_limit_is_exceeded_by_more_than_itself() {
        let limit = |text: &str| text.parse::<Limit>().expect("it is a limit");
        let exceeded = |base: Quantity, new: Quantity, text: &str| base.exceeded_by(new, &limit(text));
        assert!(!exceeded(Count(100), Count(101), "1"));
        assert!(exceeded(Count(100), Count(102), "1"));
        assert!(!exceeded(Count(100), Count(90), "1"));
        assert!(exceeded(Count(0), Count(1), "50"));
        assert!(!exceeded(Amount(0.3), Amount(0.1 + 0.2), "0"));
        assert!(exceeded(Amount(-10.0), Amount(-9.0), "1") && !exceeded(Amount(-10.0), Amount(-11.0), "1"));
        assert!(!exceeded(Count(0), Count(3), "50+3") && exceeded(Count(0), Count(4), "50+3"));
        assert!(!exceeded(Count(100), Count(104), "1+3") && exceeded(Count(100), Count(105), "1+3"));
    }

    #[test]
    fn sums_are_exact_while_all_is_counted() {
        let mut sum = Count(1);
        sum += Count(2);
        assert_eq!(sum, Count(3));
        sum += Amount(0.5);
        assert_eq!(sum, Amount(3.5));
    }

    #[test]
    fn shares_are_averaged() {
        let mut total = Quantity::default();
        total += Quantity::mean(0.5, 10);
        total += Quantity::mean(0.1, 30);
        assert_eq!(total.as_f64(), 0.2);
        assert_eq!(total.to_string(), "20.00%");
        assert_eq!(Quantity::mean(0.5, 10).within(total), 0.125);
        assert_eq!(Quantity::mean(0.5, 10).ratio_of(Quantity::mean(0.25, 10)), Some(0.5));
        assert_eq!(Quantity::mean(0.0, 10).ratio_of(Quantity::mean(0.25, 10)), None);
        assert_eq!(Quantity::mean(0.25, 0).as_f64(), 0.0);
    }
}
