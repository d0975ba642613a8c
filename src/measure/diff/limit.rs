//! Limits of growth: by how much a total may grow.

use super::metric::{Metric, NoMetric};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The limit of one metric, or of all metrics that have none of their own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    pub metric: Option<String>,
    /// Growth, in per cent of the base.
    pub percent: f64,
    /// Further growth, in the metric's own unit, since small totals easily grow by many per cent.
    pub slack: f64,
}

impl Limit {
    /// The limit that applies to a metric, if any does.
    pub fn of<'l>(limits: &'l [Limit], metric: &str) -> Option<&'l Limit> {
        let find = |wanted: Option<&str>| limits.iter().find(|limit| limit.metric.as_deref() == wanted);
        find(Some(metric)).or_else(|| find(None))
    }

    /// The metric that it limits, unless it is for all.
    pub fn limited(&self) -> Option<Metric> {
        self.metric.as_ref().map(|name| Metric::named(name).expect("limits are of metrics that exist"))
    }
}

/// Why a text is no limit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LimitError {
    #[error(transparent)]
    NoMetric(#[from] NoMetric),
    #[error("it has to be a number of per cent, such as 1 or 0.5, or more, such as static.moves=5%+10")]
    NoNumber,
}

impl FromStr for Limit {
    type Err = LimitError;

    /// `[METRIC=]PCT[%][+N]`.
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let (metric, growth) = text.split_once('=').map_or((None, text), |(metric, growth)| (Some(metric), growth));
        let metric = metric.map(|name| Metric::named(name).map(|metric| metric.name)).transpose()?;
        // The plus sign in `1e+3` is part of a number.
        let is_number = growth.parse::<f64>().is_ok();
        let (percent, slack) = growth.split_once('+').filter(|_| !is_number).unwrap_or((growth, "0"));
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        match (number(percent.strip_suffix('%').unwrap_or(percent)), number(slack)) {
            (Some(percent), Some(slack)) => Ok(Limit { metric, percent, slack }),
            _ => Err(LimitError::NoNumber),
        }
    }
}

/// For example, `5%+10 for static.moves`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)?;
        if self.slack > 0.0 {
            write!(f, "+{}", self.slack)?;
        }
        self.metric.as_ref().map_or(Ok(()), |metric| write!(f, " for {metric}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Limit {
        text.parse().expect("it is a limit")
    }

    #[test]
    fn limits_say_what_they_were_given() {
        for (text, shown) in [
            ("1", "1%"),
            ("0.5%", "0.5%"),
            ("1e+1", "10%"),
            ("2+3", "2%+3"),
            ("static.moves=5%+10", "5%+10 for static.moves"),
            ("memory_accesses=0%+0.5", "0%+0.5 for memory_accesses"),
        ] {
            assert_eq!(limit(text).to_string(), shown, "{text}");
        }
        for wrong in ["", "+", "1+", "+1+", "1%%", "-1", "1+-1", "nan", "5%+inf", "static.moves", "static.moves=", "moves=1"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_metrics_own_limit_holds() {
        let limits = [limit("1"), limit("static.moves=5")];
        assert_eq!(Limit::of(&limits, "static.moves"), Some(&limits[1]));
        assert_eq!(Limit::of(&limits, "static.loads"), Some(&limits[0]));
        assert_eq!(Limit::of(&limits[1..], "static.loads"), None);
    }
}
