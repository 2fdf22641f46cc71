//! Rooms import only what the map in `ARCHITECTURE.md` names, and nothing imports in a circle.
//!
//! Every path of `src/` counts that begins with `crate`, `self`, `super` or a module below, in imports, bodies,
//! macros and attributes. Unit tests do not: they may take their material from any room.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

type Names = Vec<String>;
/// Who imports whom.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// One path that was written down.
struct Arrow {
    /// The module in which it stands, from the root of the crate.
    from: Names,
    /// What it names, from the root of the crate.
    to: Names,
    /// `src/…:LINE`.
    place: String,
    /// Whether it gives the name on (`pub use`).
    reexport: bool,
}

/// All of `src/`.
struct Code {
    modules: BTreeSet<Names>,
    arrows: Vec<Arrow>,
}

impl Code {
    /// Read once for all tests.
    fn get() -> &'static Self {
        static CODE: LazyLock<Code> = LazyLock::new(Code::read);
        &CODE
    }

    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = BTreeMap::new();
        for entry in walkdir::WalkDir::new(root.join("src")) {
            let path = entry.expect("a file").into_path();
            let name =
                path.strip_prefix(root).expect("a file of the project").to_str().expect("UTF-8");
            if let Some(module) = name.strip_suffix(".rs") {
                let names =
                    module.split('/').filter(|name| !["src", "bin", "lib", "mod"].contains(name));
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                files.insert(names.map(str::to_owned).collect::<Names>(), (name.to_owned(), text));
            }
        }
        let mut tests = Vec::new();
        for (module, (_, text)) in &files {
            for (at, mark) in text.match_indices("#[cfg(test)]\nmod ") {
                let name = &text[at + mark.len()..];
                tests.push([module, &[name[..word(name)].to_owned()][..]].concat());
            }
        }
        files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let modules: BTreeSet<Names> = files.keys().cloned().collect();
        assert!(modules.len() > 300, "modules are missing: {}", modules.len());
        let read =
            files.iter().flat_map(|(module, (file, text))| arrows(&modules, module, file, text));
        Self { arrows: read.collect(), modules }
    }

    /// Arrows between rooms, with the places that draw them.
    fn between_rooms(&self) -> BTreeMap<(String, String), Vec<&str>> {
        let mut drawn: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for arrow in &self.arrows {
            let (Some(from), Some(to)) = (arrow.from.first(), arrow.to.first()) else { continue };
            if from != to && self.modules.contains(std::slice::from_ref(to)) {
                drawn.entry((from.clone(), to.clone())).or_default().push(&arrow.place);
            }
        }
        drawn
    }

    /// Arrows between the modules of one room; `mod.rs` is one of them.
    fn inside(&self, room: &str) -> Graph {
        // What a room's front gives on of its own is where it is, and no import.
        let is_front = |arrow: &&Arrow| arrow.reexport && arrow.from == [room];
        let front = self.arrows.iter().filter(is_front);
        let front: BTreeMap<_, _> =
            front.filter_map(|arrow| Some((arrow.to.last()?, arrow.to.get(1)?))).collect();
        let part = |path: &Names| -> Option<String> {
            let [first, rest @ ..] = &path[..] else { return None };
            let child = rest.first().map(|name| front.get(name).copied().unwrap_or(name));
            let child =
                child.filter(|name| self.modules.contains(&[first.clone(), (*name).clone()][..]));
            (first == room).then(|| child.map_or("mod.rs".to_owned(), Clone::clone))
        };
        let mut graph = Graph::new();
        for arrow in self.arrows.iter().filter(|arrow| !is_front(arrow)) {
            if let (Some(from), Some(to)) = (part(&arrow.from), part(&arrow.to))
                && from != to
            {
                graph.entry(from).or_default().insert(to);
            }
        }
        graph
    }
}

/// The paths in the text of `module`.
fn arrows(modules: &BTreeSet<Names>, module: &[String], file: &str, text: &str) -> Vec<Arrow> {
    let text = without_tests(text);
    let mut arrows = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(|c: char| c.is_alphanumeric() || c == '_') {
        at += next;
        let length = word(&text[at..]);
        let root = text[at..at + length].to_owned();
        if !text[at + length..].starts_with("::") || text[..at].ends_with("::") {
            at += length;
            continue;
        }
        let child = [module, std::slice::from_ref(&root)].concat();
        let base = match root.as_str() {
            "crate" => &[][..],
            "aye" if module == ["main"] || module == ["git-aye"] => &[][..],
            "self" | "super" => module,
            _ if modules.contains(&child) => module,
            _ => {
                at += length;
                continue;
            }
        };
        let begin = text[..at].rfind([';', '{', '}', ']']).map_or(0, |before| before + 1);
        let statement = text[begin..at].trim();
        let reexport = statement.starts_with("pub") && statement.ends_with("use");
        let place = format!("{file}:{}", text[..at].matches('\n').count() + 1);
        let mut paths = Vec::new();
        at += tree(&text[at..], &[], &mut paths);
        for path in paths {
            let outer = path.iter().take_while(|name| *name == "super").count();
            let named =
                usize::from(["crate", "aye", "self"].contains(&path[0].as_str())).max(outer);
            let to = [&base[..base.len().saturating_sub(outer)], &path[named..]].concat();
            // The macros that are the crate's are called without their room.
            let to = if to == ["codes"] { vec!["error".to_owned()] } else { to };
            arrows.push(Arrow { from: module.to_vec(), to, place: place.clone(), reexport });
        }
    }
    arrows
}

/// The length of the word that `text` begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// The paths of a tree as in `use`; gives the length of the tree.
fn tree(text: &str, before: &[String], paths: &mut Vec<Names>) -> usize {
    let skip = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    let mut at = skip(0);
    if text[at..].starts_with('{') {
        loop {
            at = skip(at + 1);
            at += tree(&text[at..], before, paths);
            if let Some(other) = text[at..].strip_prefix(" as ") {
                at += " as ".len() + word(other);
            }
            at = skip(at);
            if !text[at..].starts_with(',') {
                return at + 1;
            }
        }
    }
    let name = text[at..at + word(&text[at..])].to_owned();
    at += name.len() + usize::from(text[at..].starts_with('*'));
    let mut path = before.to_vec();
    path.extend(Some(name).filter(|name| !name.is_empty() && (name != "self" || path.is_empty())));
    if text[at..].starts_with("::") {
        return at + 2 + tree(&text[at + 2..], &path, paths);
    }
    paths.push(path);
    at
}

/// The text without comments and unit tests, line by line.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let words = || code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if code.starts_with("#[cfg(")
            && words().any(|w| w == "test")
            && !words().any(|w| w == "not")
        {
            let indent = &line[..line.len() - code.len()];
            let item = lines.by_ref().inspect(|_| kept.push('\n'));
            let mut item = item.filter_map(|line| line.strip_prefix(indent));
            let ends = |line: &str| line.ends_with([';', ',']) || line.starts_with('}');
            item.find(|line| !line.starts_with([' ', '#', '/']) && ends(line));
        } else {
            kept.push_str(line.split("//").next().unwrap_or_default());
        }
        kept.push('\n');
    }
    kept
}

/// Rooms that each room may import: they import nothing but each other.
const EVERYWHERE: &[&str] = &["error", "words", "sha256", "spelling", "text"];

fn architecture() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md");
    std::fs::read_to_string(path).expect("ARCHITECTURE.md")
}

/// The rooms of the table `| Room | Subject |`.
fn rooms() -> BTreeSet<String> {
    let text = architecture();
    let rows = text.lines().skip_while(|line| *line != "| Room | Subject |").skip(2);
    let cells = rows.map_while(|line| line.strip_prefix('|')?.split('|').next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(|name| name.trim_end_matches('/').trim_end_matches(".rs").to_owned()).collect()
}

/// The block `arrows`: a room, and the rooms that it imports; a line that is indented goes on.
fn named_arrows() -> Graph {
    let text = architecture();
    let lines = text.lines().skip_while(|line| *line != "```arrows").skip(1);
    let mut graph = Graph::new();
    let mut room = String::new();
    for line in lines.take_while(|line| *line != "```") {
        let mut names = line.split_whitespace().map(str::to_owned);
        if !line.starts_with(' ') {
            room = names.next().expect("a room");
            assert!(!graph.contains_key(&room), "two lines for {room}");
        }
        graph.entry(room.clone()).or_default().extend(names);
    }
    graph
}

/// What is left of a graph without those who import nothing and those whom nobody imports: the circles,
/// and what lies between two of them.
fn circles(graph: &Graph) -> Graph {
    let mut left = graph.clone();
    loop {
        let before: usize = left.values().map(BTreeSet::len).sum();
        let importers: BTreeSet<String> = left.keys().cloned().collect();
        let imported: BTreeSet<String> = left.values().flatten().cloned().collect();
        left.retain(|from, to| {
            to.retain(|to| importers.contains(to));
            imported.contains(from) && !to.is_empty()
        });
        if left.values().map(BTreeSet::len).sum::<usize>() == before {
            return left;
        }
    }
}

fn drawing(graph: &Graph) -> String {
    let line = |(from, to): (&String, &BTreeSet<String>)| {
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        format!("  {from} → {}\n", to.join(", "))
    };
    graph.iter().map(line).collect()
}

#[test]
fn rooms_import_what_the_map_names() {
    let (code, arrows, rooms) = (Code::get(), named_arrows(), rooms());
    let drawn = code.between_rooms();
    let is_drawn = |from: &str, to: &str| drawn.contains_key(&(from.to_owned(), to.to_owned()));
    let mut wrong = Vec::new();
    for ((from, to), places) in &drawn {
        let is_named = arrows.get(from).is_some_and(|imports| imports.contains(to));
        if !is_named && !EVERYWHERE.contains(&to.as_str()) {
            wrong.push(format!("{from} imports {to}, at {}", places.join(", ")));
        }
    }
    for (from, imports) in &arrows {
        let gone = imports.iter().filter(|to| !is_drawn(from, to));
        wrong.extend(gone.map(|to| format!("{from} does not import {to} (any more)")));
    }
    let modules = code.modules.iter().filter_map(|module| module.first());
    let named = rooms.iter().map(String::as_str).chain(["bin", "git-aye"]);
    let named: BTreeSet<&str> = named.collect();
    wrong.extend(
        modules
            .filter(|room| !named.contains(room.as_str()))
            .map(|room| format!("{room} is not in the table")),
    );
    assert!(wrong.is_empty(), "ARCHITECTURE.md and src/ differ:\n{}", wrong.join("\n"));
}

#[test]
fn no_circle_between_rooms() {
    let mut graph = Graph::new();
    for (from, to) in Code::get().between_rooms().into_keys() {
        graph.entry(from).or_default().insert(to);
    }
    let left = circles(&graph);
    assert!(left.is_empty(), "circles among the rooms:\n{}", drawing(&left));
}

#[test]
fn no_circle_inside_changeset_and_shell() {
    let code = Code::get();
    for room in ["changeset", "shell"] {
        let inside = code.inside(room);
        assert!(inside.len() > 5, "arrows inside {room} are missing: {}", drawing(&inside));
        let left = circles(&inside);
        assert!(left.is_empty(), "circles inside {room}:\n{}", drawing(&left));
    }
}

#[test]
fn no_room_gives_on_what_belongs_to_another() {
    let code = Code::get();
    let given: Vec<String> = code
        .arrows
        .iter()
        .filter(|arrow| arrow.reexport && arrow.from.first() != arrow.to.first())
        .map(|arrow| format!("{}: {}", arrow.place, arrow.to.join("::")))
        .collect();
    assert!(given.is_empty(), "`pub use` across rooms:\n{}", given.join("\n"));
}

#[test]
fn every_way_to_write_a_path_is_read() {
    let text = r#"
use crate::store::{Store, write as w};
#[serde(with = "crate::text::wire")]
struct A { b: crate::changeset::File } // crate::comment
fn f() -> super::super::git::Git {
    use crate::plan;
    macro_rules! m { () => { $crate::error::codes } }
    vec![crate::text::escape(x), crate::{hooks::A, scan::{self, B}}, own::C]
}
#[cfg(test)]
fn g() {
    crate::review();
}
#[cfg(test)]
mod tests;
pub use crate::{last};
"#;
    let names = |path: &[&str]| path.iter().map(|name| (*name).to_owned()).collect::<Names>();
    let modules = BTreeSet::from([names(&["a", "b", "c", "own"])]);
    let arrows = arrows(&modules, &names(&["a", "b", "c"]), "c.rs", text);
    assert!(arrows.last().is_some_and(|arrow| arrow.reexport && arrow.place == "c.rs:16"));
    let mut seen: Vec<String> = arrows.iter().map(|arrow| arrow.to.join("::")).collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "a::b::c::own::C", "a::git::Git", "changeset::File", "error::codes", "hooks::A",
            "last", "plan", "scan", "scan::B", "store::Store", "store::write", "text::escape",
            "text::wire",
        ]
    );
}
