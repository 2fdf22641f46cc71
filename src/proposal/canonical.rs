//! Canonical JSON: sorted keys, no whitespace, integers only. Equal values have equal bytes; other
//! bytes are refused.

use serde_json::Value;

use crate::error::{Error, Result};

/// Largest absolute value of an integer: other JSON readers keep these exactly.
const MAX: u64 = (1 << 53) - 1;

/// Ends with a line feed, as blobs and files do.
pub fn of(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let value = serde_json::to_value(value).map_err(|error| Error::bug(error.to_string()))?;
    Ok(to_bytes(&value))
}

/// Ends with a line feed.
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut out = to_line(value);
    out.push(b'\n');
    out
}

/// Has no line feed, as in commit headers.
pub fn to_line(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write(value, &mut out);
    out
}

/// Canonical bytes only; the error says what is wrong.
pub fn parse(line: &[u8]) -> std::result::Result<Value, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut rest = Rest(line);
    if write(&value, &mut rest).is_err() || !rest.0.is_empty() {
        return Err("it is not in its canonical form".into());
    }
    if !has_integers(&value) {
        return Err("a number is no integer, or too large".into());
    }
    Ok(value)
}

fn has_integers(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
            size.is_some_and(|size| size <= MAX)
        }
        Value::Array(items) => items.iter().all(has_integers),
        Value::Object(map) => map.values().all(has_integers),
        _ => true,
    }
}

/// Bytes that remain to be written.
struct Rest<'a>(&'a [u8]);

impl std::io::Write for Rest<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write(value: &Value, out: &mut impl std::io::Write) -> std::io::Result<()> {
    match value {
        // The map's own order depends on a serde_json feature that any crate may turn on.
        Value::Object(map) if map.keys().is_sorted() => object(map.iter(), out),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            object(entries.into_iter(), out)
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.write_all(if index > 0 { b"," } else { b"[" })?;
                write(item, out)?;
            }
            out.write_all(if items.is_empty() { b"[]" } else { b"]" })
        }
        scalar => Ok(serde_json::to_writer(out, scalar)?),
    }
}

fn object<'a>(
    entries: impl Iterator<Item = (&'a String, &'a Value)>,
    out: &mut impl std::io::Write,
) -> std::io::Result<()> {
    out.write_all(b"{")?;
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut *out, key)?;
        out.write_all(b":")?;
        write(value, out)?;
    }
    out.write_all(b"}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": "x\n"}, [], {}], "a": null});
        let line = b"{\"a\":null,\"b\":[{\"a\":\"x\\n\",\"z\":1},[],{}]}";
        assert_eq!(to_line(&value), line);
        assert_eq!(parse(line).unwrap(), value);
    }

    #[test]
    fn other_spellings_are_refused() {
        for line in [
            "{\"a\":1}\n",
            "{\"a\": 1}",
            "{\"a\":1,\"a\":1}",
            "{\"b\":1,\"a\":1}",
            "{\"a\":\"\\u0041\"}",
            "{\"a\":\"\\/\"}",
            "{\"a\":1.0}",
            "{\"a\":1e2}",
            "{\"a\":-0}",
            "{\"a\":9007199254740992}",
            "{\"a\":-9007199254740992}",
            "{\"a\":18446744073709551616}",
            "",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse(b"[-9007199254740991,9007199254740991]").is_ok());
    }
}
