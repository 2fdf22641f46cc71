//! Files that people do not read line by line: lock files, generated, vendored, minified. Pure.
//!
//! A review shows them last and folded. They are decided like any other, and hidden lines are
//! counted.

use bstr::ByteSlice as _;

use super::RepoPath;

/// Git attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linguist {
    /// `None` if unspecified.
    pub generated: Option<bool>,
    pub vendored: Option<bool>,
}

pub fn reason(path: &RepoPath, said: Linguist) -> Option<&'static str> {
    match (said.generated, said.vendored) {
        (Some(true), _) => return Some("generated"),
        (_, Some(true)) => return Some("vendored"),
        // An explicit `false` means handwritten.
        (Some(false), _) | (_, Some(false)) => return None,
        (None, None) => {}
    }
    let path = path.as_bstr().to_str_lossy().to_ascii_lowercase();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if is_lock(name) {
        return Some("lock file");
    }
    let vendored = ["vendor", "node_modules", "third_party", "third-party"];
    if directory.split('/').any(|part| vendored.contains(&part)) {
        return Some("vendored");
    }
    let minified = [".min.js", ".min.mjs", ".min.css", ".js.map", ".css.map", ".mjs.map"];
    minified.iter().any(|end| name.ends_with(end)).then_some("minified")
}

fn is_lock(name: &str) -> bool {
    name.ends_with(".lock")
        || matches!(
            name,
            "package-lock.json"
                | "npm-shrinkwrap.json"
                | "pnpm-lock.yaml"
                | "bun.lockb"
                | "go.sum"
                | "go.work.sum"
                | "packages.lock.json"
                | "package.resolved"
                | "gradle.lockfile"
                | ".terraform.lock.hcl"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, generated: Option<bool>) -> Option<&'static str> {
        reason(&RepoPath::new(path).unwrap(), Linguist { generated, vendored: None })
    }

    #[test]
    fn paths_and_attributes_tell() {
        assert_eq!(of("web/package-lock.json", None), Some("lock file"));
        assert_eq!(of("Cargo.lock", None), Some("lock file"));
        assert_eq!(of("go/vendor/a/b.go", None), Some("vendored"));
        assert_eq!(of("static/app.min.js", None), Some("minified"));
        assert_eq!(of("src/api.rs", Some(true)), Some("generated"));
        assert_eq!(of("Cargo.lock", Some(false)), None);
        assert_eq!(of("src/vendor.rs", None), None);
    }
}
