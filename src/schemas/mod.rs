//! The published schemas as `schemas/` has them: derived from the types that are printed and read, by a test that
//! holds the files to these, and kept as text here. What derives them would be a twentieth of the program.

use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use serde_json::Value;

/// See `compile.rs`, which makes it.
const BLOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.z"));

/// The schema `name` in `version`, a document of JSON Schema 2020-12; `None` if there is none.
pub fn document(name: &str, version: u32) -> Option<Value> {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let mut text = String::new();
        // What the build made is whole.
        let _ = ZlibDecoder::new(BLOCK).read_to_string(&mut text);
        text
    });
    let wanted = format!("{name}.{version}");
    let mut all = text.split('\0').filter_map(|part| part.split_once('\n'));
    let (_, document) = all.find(|(name, _)| *name == wanted)?;
    serde_json::from_str(document).ok()
}
