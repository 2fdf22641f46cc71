//! Paths where a change does more than it seems: they are reviewed first, and say why.

use bstr::ByteSlice as _;

use crate::changeset::RepoPath;

/// Why a change at `path` deserves a second look; `None` for ordinary paths. Case does not
/// matter, since on some systems it does not matter to the programs that read these files.
pub fn reason(path: &RepoPath) -> Option<&'static str> {
    let lower = path.as_bstr().to_ascii_lowercase();
    let name = &lower[lower.rfind_byte(b'/').map_or(0, |at| at + 1)..];
    let within = |folder: &str| {
        lower.starts_with(folder.as_bytes()) || lower.contains_str(format!("/{folder}"))
    };
    let name = name.to_str().ok()?;
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if within(".github/workflows/")
        || within(".circleci/")
        || within(".buildkite/")
        || within(".forgejo/")
        || within(".gitea/")
        || within(".woodpecker/")
        || within(".github/actions/")
        || matches!(
            name,
            ".gitlab-ci.yml"
                | ".travis.yml"
                | "azure-pipelines.yml"
                | "jenkinsfile"
                | "bitbucket-pipelines.yml"
                | ".drone.yml"
                | ".cirrus.yml"
        )
    {
        return Some("runs in CI");
    }
    if within(".husky/")
        || within(".githooks/")
        || within(".vscode/")
        || within(".idea/")
        || within(".devcontainer/")
        || within(".cargo/")
        || matches!(
            name,
            ".pre-commit-config.yaml"
                | ".pre-commit-hooks.yaml"
                | "lefthook.yml"
                | ".envrc"
                | "build.rs"
                | "setup.py"
                | "conftest.py"
                | "makefile"
                | "gnumakefile"
                | "justfile"
                | "dockerfile"
                | "containerfile"
                | "package.json"
                | ".npmrc"
                | ".yarnrc"
                | ".yarnrc.yml"
                | "gruntfile.js"
                | "gulpfile.js"
                | "rakefile"
                | "gradlew"
                | "mvnw"
                | "binding.gyp"
                | ".bazelrc"
                | "pyproject.toml"
        )
    {
        return Some("runs on developers' machines");
    }
    if within(".agent-memory/policy")
        || within(".claude/")
        || within(".cursor/")
        || matches!(
            name,
            "agents.md"
                | "claude.md"
                | "gemini.md"
                | ".cursorrules"
                | ".windsurfrules"
                | "copilot-instructions.md"
                | ".mcp.json"
                | "mcp.json"
        )
    {
        return Some("instructs agents");
    }
    if matches!(name, ".gitattributes" | ".gitmodules" | ".gitignore" | ".mailmap" | "codeowners") {
        return Some("changes what git or the forge does");
    }
    if matches!(extension, "pem" | "key" | "p12" | "pfx" | "jks" | "keystore" | "kdbx" | "asc")
        || name.starts_with(".env")
        || matches!(name, "id_rsa" | "id_ed25519" | ".netrc" | ".htpasswd" | ".pypirc")
        || name.contains("secret")
        || name.contains("credential")
    {
        return Some("may hold secrets");
    }
    if matches!(extension, "lock" | "lockb" | "gradle" | "nix" | "cmake" | "gemspec")
        || name.starts_with("requirements") && extension == "txt"
        || matches!(
            name,
            "package-lock.json"
                | "pnpm-lock.yaml"
                | "go.sum"
                | "npm-shrinkwrap.json"
                | "cargo.toml"
                | "go.mod"
                | "gemfile"
                | "composer.json"
                | "deno.json"
                | "pom.xml"
                | "build.gradle.kts"
                | "cmakelists.txt"
                | "pipfile"
        )
    {
        return Some("says what is built in");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_run_are_known_in_any_folder_and_case() {
        for path in [
            ".github/workflows/ci.yml",
            "sub/.github/workflows/ci.yml",
            "Makefile",
            "a/build.rs",
            "AGENTS.md",
            "Cargo.lock",
            "sub/Cargo.toml",
            "requirements-dev.txt",
            "deploy/.env.production",
            ".AGENT-memory/policy.toml",
        ] {
            assert!(reason(&RepoPath::new(path).unwrap()).is_some(), "{path}");
        }
        for path in ["src/main.rs", "docs/keys.md", "github/workflows.md"] {
            assert_eq!(reason(&RepoPath::new(path).unwrap()), None, "{path}");
        }
    }
}
