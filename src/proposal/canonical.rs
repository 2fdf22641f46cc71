//! Canonical JSON: sorted keys, no blanks, one final newline. Equal values have equal bytes.

use serde_json::Value;

use crate::error::{Error, Result};

/// The canonical bytes of what `value` is as JSON.
///
/// # Errors
/// `internal_error` if it cannot be written as JSON.
pub fn of(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let value = serde_json::to_value(value).map_err(|error| Error::bug(error.to_string()))?;
    Ok(to_bytes(&value))
}

/// The canonical bytes of `value`.
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out.push(b'\n');
    out
}

/// Whether `bytes` are the canonical ones of `value`, which is written with its keys in order.
pub fn is_of_sorted(value: &impl serde::Serialize, bytes: &[u8]) -> bool {
    let mut rest = Rest(bytes);
    serde_json::to_writer(&mut rest, value).is_ok() && rest.0 == b"\n"
}

/// What is left of bytes, of which all that is written has to be the beginning.
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

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        // The map's own order depends on a serde_json feature that any crate may turn on.
        Value::Object(map) if map.keys().is_sorted() => object(map.iter(), out),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            object(entries.into_iter(), out);
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        scalar => json(scalar, out),
    }
}

fn object<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json(key, out);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

fn json(scalar: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Strings and numbers always have a form, and a vector takes every byte.
    let _ = serde_json::to_writer(out, scalar);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": "x\n"}], "a": null});
        assert_eq!(super::to_bytes(&value), b"{\"a\":null,\"b\":[{\"a\":\"x\\n\",\"z\":1}]}\n");
    }
}
