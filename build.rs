//! Build script: how the binaries are linked, and three data files as static tables (the
//! rules of the scanner, the variables by which coding agents are recognised, and the files that
//! instruct them).
//!
//! The program starts thousands of times a day, and most of a short run is the dynamic loader:
//! some 18,000 relocations of a position-independent image plus two shared libraries. So binaries on
//! Linux with glibc are linked statically and at a fixed address, with link arguments alone, so that
//! a plain `cargo build --release` or `cargo install` gets them; those of the tests, which start 30,000
//! times in a run, too. `ARCHITECTURE.md` ("The release binary") says what that costs.
//!
//! `AYE_LINK=dynamic` in the environment of the build leaves everything to the compiler's defaults
//! (a position-independent, dynamically linked program).

#[path = "src/actor/compile.rs"]
mod actor_markers;
#[path = "src/secrets/rules/derive.rs"]
mod derive;
#[path = "src/changeset/instructions/compile.rs"]
mod instruction_files;
#[path = "src/secrets/rules/compile.rs"]
mod secret_rules;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the standard library asks the linker for, by name, as shared libraries.
const SYSTEM: [&str; 6] = ["c", "m", "rt", "pthread", "util", "dl"];

fn main() {
    actor_markers::write();
    instruction_files::write();
    secret_rules::write();
    link();
}

/// Sets the link arguments of the binaries.
fn link() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=AYE_LINK");
    let var = |name: &str| std::env::var(name).unwrap_or_default();

    let native_glibc = var("CARGO_CFG_TARGET_OS") == "linux"
        && var("CARGO_CFG_TARGET_ENV") == "gnu"
        && var("TARGET") == var("HOST");
    // Whoever sets crt-static has already chosen.
    let chosen = var("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    if !native_glibc || chosen || var("AYE_LINK") == "dynamic" {
        return;
    }

    let linker = Some(var("RUSTC_LINKER")).filter(|l| !l.is_empty()).unwrap_or("cc".into());
    let out = PathBuf::from(var("OUT_DIR"));
    let arguments = match static_libraries(&linker, &out) {
        Some(directory) => {
            vec!["-static".to_owned(), "-no-pie".to_owned(), format!("-L{}", directory.display())]
        }
        // Without a static C library, a fixed address still saves the relocations.
        None if links(&linker, &out, &["-no-pie"]) => vec!["-no-pie".to_owned()],
        None => Vec::new(),
    };
    for argument in arguments {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}

/// A directory with linker scripts under the names of the shared libraries that rustc asks for
/// (`-Wl,-Bdynamic -lgcc_s -lc`), each of which names the static library instead. `None` where
/// the machine has no static C library, or cannot link with it.
fn static_libraries(linker: &str, out: &Path) -> Option<PathBuf> {
    let directory = out.join("static");
    std::fs::create_dir_all(&directory).ok()?;
    let mut scripts = vec![("gcc_s", library(linker, "libgcc_eh.a")?)];
    for name in SYSTEM {
        scripts.push((name, library(linker, &format!("lib{name}.a"))?));
    }
    for (name, archive) in scripts {
        let script = format!("INPUT(\"{}\")\n", archive.display());
        std::fs::write(directory.join(format!("lib{name}.so")), script).ok()?;
    }
    let search = format!("-L{}", directory.display());
    links(linker, out, &["-static", "-no-pie", &search]).then_some(directory)
}

/// Where the compiler driver finds `file`, if it does.
fn library(linker: &str, file: &str) -> Option<PathBuf> {
    let output = Command::new(linker).arg(format!("-print-file-name={file}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    // The bare name comes back when there is no such file.
    (path.is_absolute() && path.exists()).then_some(path)
}

/// Whether a small program links with these arguments and runs.
fn links(linker: &str, out: &Path, arguments: &[&str]) -> bool {
    let source = out.join("probe.c");
    let program = out.join("probe");
    std::fs::write(&source, "int main(void) { return 0; }\n").is_ok()
        && Command::new(linker)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .args(["-Wl,-Bdynamic", "-lgcc_s", "-lc"])
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
        && Command::new(&program).status().is_ok_and(|status| status.success())
}
