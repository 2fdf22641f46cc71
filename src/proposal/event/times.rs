//! Times in events: RFC 3339 in UTC.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserializer;
use serde::de::{self, Visitor};

/// RFC 3339 in UTC with milliseconds and `Z`, as events, statements and the contract write times: also
/// at a whole second, where chrono's own way leaves the fraction out.
pub fn timestamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads a time, in any of the forms that chrono's own way takes: for the one in which all are written
/// this one needs a third of that.
///
/// # Errors
/// Where it is none.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = DateTime<Utc>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an RFC 3339 formatted date and time string")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<DateTime<Utc>, E> {
            match DateTime::parse_from_rfc3339(text) {
                Ok(time) => Ok(time.to_utc()),
                Err(_) => text.parse().map_err(E::custom),
            }
        }
    }
    deserializer.deserialize_str(Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_chrono_reads() {
        for text in [
            "2026-11-24T10:20:30.123Z",
            "2026-11-24t10:20:30z",
            "2026-11-24 10:20:30+01:00",
            "2026-11-24T10:20:30.123456789+05:30",
            "2016-12-31T23:59:60Z",
            "+12026-11-24T10:20:30Z",
            "2026-11-24T10:20:30",
            "2026-11-24",
            "2026-13-24T10:20:30Z",
            "",
        ] {
            let json = serde_json::Value::from(text);
            let theirs = serde_json::from_value::<DateTime<Utc>>(json.clone()).ok();
            assert_eq!(read(json).ok(), theirs, "{text}");
        }
    }
}
