//! What the demonstration proposes: curated for the generated repository, found in any other.

use std::path::Path;

use crate::error::Result;
use crate::git::Git;

/// One snippet edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file, relative to the root.
    pub path: String,
    /// Text that stands exactly once in it.
    pub old: String,
    /// What it becomes.
    pub new: String,
    /// Why, in the agent's words.
    pub reason: &'static str,
}

/// The three proposals of the demonstration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// To be applied.
    pub edit: Edit,
    /// A new file (`old` is empty); to be rejected.
    pub file: Edit,
    /// Why it is rejected.
    pub rejection: &'static str,
    /// An edit whose line changes before anybody decides.
    pub stale: Edit,
    /// What somebody else makes of that line meanwhile.
    pub meanwhile: String,
    /// Left for the reader to review: two hunks of one file, a new file, and one of a path that decides
    /// more than it seems.
    pub waiting: [Content; 3],
}

/// The whole new content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The file, relative to the root.
    pub path: String,
    /// Texts that stand in the file, each with what it becomes; of a new file, its content alone.
    pub edits: Vec<(String, String)>,
    /// Why, in the agent's words.
    pub reason: &'static str,
}

impl Content {
    /// What becomes of the file whose text is `now`.
    pub fn of(&self, now: &str) -> String {
        let edit = |text: String, (old, new): &(String, String)| match old.is_empty() {
            true => text + new,
            false => text.replacen(old.as_str(), new, 1),
        };
        self.edits.iter().fold(now.to_owned(), edit)
    }

    fn file(path: &str, content: &str, reason: &'static str) -> Self {
        let edits = vec![(String::new(), content.to_owned())];
        Self { path: path.to_owned(), edits, reason }
    }
}

/// A change of what a build machine runs.
fn workflow() -> Content {
    Content::file(
        ".github/workflows/agents.yml",
        "on: pull_request\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n      \
         - uses: actions/checkout@v4\n      - run: make check\n",
        "Check every pull request",
    )
}

/// The files of the generated repository, in two commits.
pub const FILES: [(&str, &str, &str); 4] = [
    (
        "Start the web shop",
        "src/utils/format.ts",
        "export function formatDate(d: Date): string {\n  return d.toISOString();\n}\n\n\
         export function formatPrice(cents: number): string {\n  return `${cents / 100} EUR`;\n}\n",
    ),
    (
        "Start the web shop",
        "README.md",
        "# Shop\n\nA small web shop.\n\n## Use\n\n    npm install\n    npm start\n\n\
         ## Tests\n\n    npm test\n\n## Licence\n\nMIT\n",
    ),
    (
        "Keep the cart in one place",
        "src/cart.ts",
        "import { formatPrice } from './utils/format';\n\nconst LIMIT = 10;\n\n\
         export function add(cart: string[], item: string): string[] {\n  \
         if (cart.length >= LIMIT) throw new Error('the cart is full');\n  \
         return [...cart, item];\n}\n\n\
         export function total(prices: number[]): string {\n  \
         return formatPrice(prices.reduce((a, b) => a + b, 0));\n}\n",
    ),
    (
        "Keep the cart in one place",
        "test/cart.test.ts",
        "import { add } from '../src/cart';\n\n\
         test('adds', () => expect(add([], 'tea')).toEqual(['tea']));\n",
    ),
];

/// The scene of the generated repository.
pub fn curated() -> Scene {
    Scene {
        edit: Edit {
            path: "src/utils/format.ts".into(),
            old: "formatDate(d: Date): string {\n  return d.toISOString();".into(),
            new: "formatDate(d: Date, locale = 'en-US'): string {\n  return \
                  d.toLocaleDateString(locale, { dateStyle: 'medium' });"
                .into(),
            reason: "Add locale support to formatDate with a readable default",
        },
        file: Edit {
            path: "src/utils/cache.ts".into(),
            old: String::new(),
            new: "const cache: Record<string, any> = {};\n\n\
                  export function remember(key: string, value: any) {\n  cache[key] = value;\n}\n"
                .into(),
            reason: "Cache prices between requests",
        },
        rejection: "this grows without bound; use the LRU cache we have",
        stale: Edit {
            path: "src/cart.ts".into(),
            old: "const LIMIT = 10;".into(),
            new: "const LIMIT = 25;".into(),
            reason: "Let people buy more",
        },
        meanwhile: "const LIMIT = Number(process.env.CART_LIMIT ?? 10);".into(),
        waiting: [
            Content {
                path: "README.md".into(),
                edits: vec![
                    ("A small web shop.".into(), "A small web shop that sells tea.".into()),
                    ("    npm test\n".into(), "    npm test\n    npm run lint\n".into()),
                ],
                reason: "Say what it sells and how it is checked",
            },
            Content::file(
                "test/format.test.ts",
                "import { formatPrice } from '../src/utils/format';\n\n\
                 test('prices', () => expect(formatPrice(250)).toBe('2.5 EUR'));\n",
                "Test what prices look like",
            ),
            workflow(),
        ],
    }
}

/// A scene on the files of the repository at `root`: prose if there is some, else comments or
/// whatever lines are unique. `None` if no file is fit for it.
///
/// # Errors
/// `git_failed` if the files cannot be listed.
pub fn found(root: &Path) -> Result<Option<Scene>> {
    let list = Git::new(root).fresh().args(["ls-files", "-z"]).run()?;
    let mut paths: Vec<&str> =
        list.split(|b| *b == 0).filter_map(|p| std::str::from_utf8(p).ok()).collect();
    // Shallow prose first: a README is where a stranger follows a change most easily.
    paths.sort_by_key(|path| (!is_prose(path), path.matches('/').count(), *path));
    let mut places = Vec::new();
    for path in paths.into_iter().filter(|path| !path.is_empty()).take(500) {
        if let Some(line) = place(root, path) {
            places.push((path.to_owned(), line));
        }
        if places.len() == 2 {
            break;
        }
    }
    let [(first, line), (second, other)] = &places[..] else { return Ok(None) };
    Ok(Some(Scene {
        edit: Edit {
            path: first.clone(),
            old: line.clone(),
            new: format!("{line}\n\nChanges by agents are proposed and reviewed before they land."),
            reason: "Say how changes by agents come in",
        },
        file: Edit {
            path: "AGENT-NOTES.md".into(),
            old: String::new(),
            new: "# Notes\n\n- I will write down here whatever I find.\n".into(),
            reason: "Keep what I find in one place",
        },
        rejection: "notes belong in the issue tracker",
        stale: Edit {
            path: second.clone(),
            old: other.clone(),
            new: format!("{other} (improved)"),
            reason: "Improve the wording",
        },
        // Without the old line in it, or the proposal would still fit.
        meanwhile: "Somebody else has written another line here.".into(),
        waiting: [
            Content {
                path: first.clone(),
                edits: vec![
                    ("are proposed and reviewed".into(), "are proposed, and reviewed".into()),
                    (String::new(), "\nWhat an agent may not do is decided by a person.\n".into()),
                ],
                reason: "Say who decides",
            },
            Content::file(
                "docs/agents/first-steps.md",
                "# First steps\n\nPropose a change, wait for the answer, and revise it.\n",
                "Tell agents where to begin",
            ),
            workflow(),
        ],
    }))
}

fn is_prose(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".md") || name.ends_with(".txt") || name.ends_with(".rst") || name == "readme"
}

/// A line that stands once in a small plain text file, and is long enough to be told by.
fn place(root: &Path, path: &str) -> Option<String> {
    let file = root.join(path);
    let facts = file.symlink_metadata().ok()?;
    if !facts.is_file() || facts.len() > 64 << 10 {
        return None;
    }
    let text = String::from_utf8(std::fs::read(file).ok()?).ok()?;
    if text.contains(['\r', '\0']) {
        return None;
    }
    let fit = |line: &&str| {
        let length = line.trim().chars().count();
        (8..100).contains(&length)
            && !line.starts_with(['-', ' ', '\t'])
            && text.matches(*line).count() == 1
    };
    text.lines().find(fit).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curated_edits_fit_the_generated_files() {
        let scene = curated();
        for edit in [&scene.edit, &scene.stale] {
            let (_, _, content) = FILES.iter().find(|(_, path, _)| *path == edit.path).unwrap();
            assert_eq!(content.matches(&edit.old).count(), 1, "{edit:?}");
        }
        assert!(FILES.iter().all(|(_, path, _)| *path != scene.file.path));
    }
}
