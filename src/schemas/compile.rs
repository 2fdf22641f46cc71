//! Build step: the published schemas of `schemas/` become one compressed block.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

const SOURCE: &str = "schemas";

/// Writes `schemas.z` into the build's output directory: of each file its name without `.json`, a line feed, its
/// text and a NUL, in the order of names; zlib.
///
/// # Panics
/// Stops the build where they cannot be read.
pub fn write() {
    for input in [SOURCE, "src/schemas/compile.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let entries = std::fs::read_dir(SOURCE).expect("read schemas/").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_str().expect("a name in UTF-8");
        let text = std::fs::read_to_string(&path).expect("read a schema");
        encoder.write_all(format!("{name}\n{}\0", text.trim_end()).as_bytes()).expect("compress");
    }
    let block = encoder.finish().expect("compress");
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR is set for build scripts");
    std::fs::write(Path::new(&out).join("schemas.z"), block).expect("write schemas.z");
}
