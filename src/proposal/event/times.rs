//! Times as stored: `2026-11-24T09:00:01.125Z`, in no other form.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

/// RFC 3339 in UTC with milliseconds and `Z`, as events, statements and the contract write times.
/// chrono's default omits the fraction at whole seconds.
pub fn timestamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads the form of `timestamp`: four-digit years, no leap seconds.
pub(super) fn parse(text: &str) -> Option<DateTime<Utc>> {
    let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.3fZ").ok()?.and_utc();
    (text.len() == 24 && timestamp(time) == text && !text[17..].starts_with("60")).then_some(time)
}

pub(crate) fn serialize<S: Serializer>(
    time: &DateTime<Utc>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&timestamp(*time))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime<Utc>, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).ok_or_else(|| D::Error::custom(format_args!("'{text}' is not a time")))
}

pub(super) mod optional {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Time(#[serde(with = "super")] DateTime<Utc>);

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<DateTime<Utc>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&time.map(Time), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<DateTime<Utc>>, D::Error> {
        Ok(Option::<Time>::deserialize(from)?.map(|time| time.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_is_read() {
        let time = parse("2026-11-24T10:20:30.000Z").unwrap();
        assert_eq!(timestamp(time), "2026-11-24T10:20:30.000Z");
        for text in [
            "2026-11-24T10:20:30Z",
            "2026-11-24t10:20:30.000Z",
            "2026-11-24T10:20:30.000z",
            "2026-11-24 10:20:30.000Z",
            "2026-11-24T10:20:30.000+00:00",
            "2026-11-24T10:20:30.1234Z",
            "2016-12-31T23:59:60.000Z",
            "+12026-11-24T10:20:30.00Z",
            "2026-13-24T10:20:30.000Z",
            "2026-11-24T 9:20:30.000Z",
            "2026-11-24",
            "",
            "2026-11-24T10:20:30.0ä",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
