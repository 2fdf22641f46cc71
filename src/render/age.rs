//! Times in words: `3m`, `3 minutes ago`, `in 6 days`.

use chrono::{DateTime, TimeDelta, Utc};

/// `now`, `45s`, `12m`, `5h`, `3d`, `2w`, `5mo`, `3y`. The future counts as now.
pub fn short(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    brief(now - then)
}

/// `just now`, `1 minute ago`, `3 days ago`. The future counts as now.
pub fn ago(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let (count, unit) = parts(now - then);
    match unit {
        Unit::Now => "just now".to_owned(),
        unit => format!("{count} {}{} ago", unit.word(), if count == 1 { "" } else { "s" }),
    }
}

/// `in 6 days`, `in 1 hour`; `now` for the past.
pub fn until(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let (count, unit) = parts(rounded(then - now));
    match unit {
        Unit::Now => "now".to_owned(),
        unit => format!("in {count} {}{}", unit.word(), if count == 1 { "" } else { "s" }),
    }
}

/// `7d`, `5h`; `now` for the past.
pub fn short_until(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    brief(rounded(then - now))
}

fn brief(delta: TimeDelta) -> String {
    let (count, unit) = parts(delta);
    match unit {
        Unit::Now => "now".to_owned(),
        unit => format!("{count}{}", unit.letters()),
    }
}

/// A term set a moment ago prints as seven days rather than six.
fn rounded(left: TimeDelta) -> TimeDelta {
    left + left / 100
}

#[derive(Clone, Copy)]
enum Unit {
    Now,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    fn word(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    fn letters(self) -> &'static str {
        match self {
            Self::Month => "mo",
            other => &other.word()[..1],
        }
    }
}

fn parts(delta: TimeDelta) -> (i64, Unit) {
    let seconds = delta.num_seconds();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if seconds < 1 {
        (0, Unit::Now)
    } else if seconds < 60 {
        (seconds, Unit::Second)
    } else if minutes < 60 {
        (minutes, Unit::Minute)
    } else if hours < 48 {
        (hours, Unit::Hour)
    } else if days < 14 {
        (days, Unit::Day)
    } else if days < 60 {
        (days / 7, Unit::Week)
    } else if days < 730 {
        (days / 30, Unit::Month)
    } else {
        (days / 365, Unit::Year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_begins_where_the_one_below_gets_long() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let before = |seconds: i64| now - TimeDelta::seconds(seconds);
        for (seconds, expected) in [
            (-5, "now"),
            (0, "now"),
            (59, "59s"),
            (60, "1m"),
            (3600, "1h"),
            (47 * 3600, "47h"),
            (48 * 3600, "2d"),
            (14 * 86_400, "2w"),
            (60 * 86_400, "2mo"),
            (800 * 86_400, "2y"),
        ] {
            assert_eq!(short(before(seconds), now), expected);
        }
        assert_eq!(ago(before(60), now), "1 minute ago");
        assert_eq!(ago(before(3 * 86_400), now), "3 days ago");
        assert_eq!(until(now + TimeDelta::days(6), now), "in 6 days");
        assert_eq!(until(now + TimeDelta::seconds(7 * 86_400 - 5), now), "in 7 days");
        assert_eq!(until(before(9), now), "now");
        assert_eq!(short_until(now + TimeDelta::seconds(7 * 86_400 - 5), now), "7d");
        assert_eq!(short_until(now + TimeDelta::milliseconds(119_999), now), "2m");
        assert_eq!(short_until(now + TimeDelta::days(6), now), "6d");
        assert_eq!(short_until(before(9), now), "now");
        assert!(short_until(DateTime::<Utc>::MAX_UTC, now).ends_with('y'));
    }
}
