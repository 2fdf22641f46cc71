//! Build script: link arguments of the release binaries.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
