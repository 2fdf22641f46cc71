//! Rooms import only what the table of `ARCHITECTURE.md` names, and nothing imports in a circle.
//!
//! Every path of `src/` counts: `use` trees, paths in bodies, types and attributes, and what stands in
//! the tokens of a macro. Unit tests do not: they may take their material from any room.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

type Names = Vec<String>;
/// Who imports whom.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// One path that was written down, resolved as far as its own file allows.
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
#[derive(Default)]
struct Code {
    arrows: Vec<Arrow>,
    modules: BTreeSet<Names>,
    /// What `pub use` calls by another path.
    other_names: HashMap<Names, Names>,
    /// Macros of the whole crate, which are called by a path without their room.
    macros: HashMap<String, Names>,
}

impl Code {
    /// Read once for all tests.
    fn get() -> &'static Self {
        static CODE: LazyLock<Code> = LazyLock::new(Code::read);
        &CODE
    }

    fn read() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut code = Self::default();
        code.file(&source.join("lib.rs"), &source, Vec::new());
        code.file(&source.join("main.rs"), &source, vec!["main".to_owned()]);
        code.file(&source.join("bin/git-aye.rs"), &source, vec!["git-aye".to_owned()]);
        assert!(code.modules.len() > 300, "modules are missing: {}", code.modules.len());
        for arrow in &mut code.arrows {
            if let [name] = &arrow.to[..]
                && let Some(place) = code.macros.get(name)
            {
                arrow.to.clone_from(place);
            }
            resolve(&code.other_names, &mut arrow.to);
        }
        code
    }

    /// Reads the file of `module`, whose children lie in `directory`.
    fn file(&mut self, path: &Path, directory: &Path, module: Names) {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.items(path, directory, module, &parsed.items);
    }

    fn items(&mut self, path: &Path, directory: &Path, module: Names, items: &[syn::Item]) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let children = items.iter().filter_map(|item| match item {
            syn::Item::Mod(child) => Some(child.ident.to_string()),
            _ => None,
        });
        let mut reader = Reader {
            module: module.clone(),
            file: path.strip_prefix(root).expect("a file of the project").display().to_string(),
            children: children.collect(),
            aliases: HashMap::new(),
            arrows: Vec::new(),
            other_names: Vec::new(),
        };
        // Names first, wherever they are imported: a body may come before its `use`.
        for item in items.iter().filter(|item| !of_tests(attributes(item))) {
            if let syn::Item::Use(import) = item {
                reader.import(import);
            }
        }
        let mut below = Vec::new();
        for item in items.iter().filter(|item| !of_tests(attributes(item))) {
            match item {
                syn::Item::Use(_) => {}
                syn::Item::Mod(child) => below.push(child),
                syn::Item::Macro(item) => {
                    if let Some(name) = &item.ident
                        && item.attrs.iter().any(|it| it.path().is_ident("macro_export"))
                    {
                        self.macros.insert(name.to_string(), module.clone());
                    }
                    reader.visit_item_macro(item);
                }
                other => reader.visit_item(other),
            }
        }
        self.arrows.append(&mut reader.arrows);
        self.other_names.extend(reader.other_names);
        for child in below {
            let name = child.ident.to_string();
            let inner = [&module[..], std::slice::from_ref(&name)].concat();
            match &child.content {
                Some((_, items)) => self.items(path, &directory.join(&name), inner, items),
                None => {
                    let file = file_of(child, path, directory);
                    self.file(&file, &directory.join(&name), inner);
                }
            }
        }
        self.modules.insert(module);
    }

    /// Arrows between rooms, with the places that draw them.
    fn between_rooms(&self) -> BTreeMap<(String, String), Vec<&str>> {
        let mut drawn: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for arrow in &self.arrows {
            let (Some(from), Some(to)) = (arrow.from.first(), arrow.to.first()) else { continue };
            if from != to {
                drawn.entry((from.clone(), to.clone())).or_default().push(&arrow.place);
            }
        }
        drawn
    }

    /// Arrows between the modules of one room; `mod.rs` is one of them.
    fn inside(&self, room: &str) -> Graph {
        let part = |path: &Names| -> Option<String> {
            let [first, rest @ ..] = &path[..] else { return None };
            let child = rest.first().filter(|_| self.modules.contains(&path[..2]));
            (first == room).then(|| child.map_or("mod.rs".to_owned(), Clone::clone))
        };
        let mut graph = Graph::new();
        // What a room's front gives on of its own is where it is, and no import.
        let gives_on = |arrow: &&Arrow| arrow.reexport && arrow.from.len() == 1;
        for arrow in self.arrows.iter().filter(|arrow| !gives_on(arrow)) {
            if let (Some(from), Some(to)) = (part(&arrow.from), part(&arrow.to))
                && from != to
            {
                graph.entry(from).or_default().insert(to);
            }
        }
        graph
    }
}

/// Follows `pub use` until the path says where its thing is.
fn resolve(other_names: &HashMap<Names, Names>, path: &mut Names) {
    // A circle of names would not compile. A module and its one function may share a name, though.
    while let Some((length, target)) = (1..=path.len())
        .find_map(|length| other_names.get(&path[..length]).map(|target| (length, target)))
        .filter(|(length, target)| !target.starts_with(&path[..*length]))
    {
        *path = [&target[..], &path[length..]].concat();
    }
}

fn file_of(child: &syn::ItemMod, declared_in: &Path, directory: &Path) -> PathBuf {
    for attribute in &child.attrs {
        if let syn::Meta::NameValue(value) = &attribute.meta
            && value.path.is_ident("path")
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) = &value.value
        {
            return declared_in.with_file_name(name.value());
        }
    }
    let name = child.ident.to_string();
    let file = directory.join(format!("{name}.rs"));
    if file.exists() { file } else { directory.join(name).join("mod.rs") }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item as I;
    match item {
        I::Const(i) => &i.attrs,
        I::Enum(i) => &i.attrs,
        I::Fn(i) => &i.attrs,
        I::Impl(i) => &i.attrs,
        I::Macro(i) => &i.attrs,
        I::Mod(i) => &i.attrs,
        I::Static(i) => &i.attrs,
        I::Struct(i) => &i.attrs,
        I::Trait(i) => &i.attrs,
        I::Type(i) => &i.attrs,
        I::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, alone or among other conditions.
fn of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let words = list.tokens.to_string();
        let words = || words.split(|c: char| !c.is_alphanumeric() && c != '_');
        list.path.is_ident("cfg") && words().any(|w| w == "test") && !words().any(|w| w == "not")
    })
}

/// The paths of one module.
struct Reader {
    module: Names,
    file: String,
    children: BTreeSet<String>,
    /// Imported names: what they stand for.
    aliases: HashMap<String, Names>,
    arrows: Vec<Arrow>,
    other_names: Vec<(Names, Names)>,
}

impl Reader {
    /// The path from the root of the crate; `None` for another crate, or a local name.
    fn absolute(&self, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" | "aye" => Vec::new(),
            "self" | "super" => self.module.clone(),
            child if self.children.contains(child) => {
                return Some([&self.module[..], path].concat());
            }
            name => {
                let target = self.aliases.get(name)?;
                return Some([&target[..], rest].concat());
            }
        };
        let mut rest = if first == "super" { path } else { rest };
        while let ["super", ..] = rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            base.pop();
            rest = &rest[1..];
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn draw(&mut self, path: &[String], line: usize, reexport: bool) {
        if let Some(to) = self.absolute(path) {
            let place = format!("{}:{line}", self.file);
            self.arrows.push(Arrow { from: self.module.clone(), to, place, reexport });
        }
    }

    fn import(&mut self, import: &syn::ItemUse) {
        let public = !matches!(import.vis, syn::Visibility::Inherited);
        self.tree(&import.tree, &mut Vec::new(), public);
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &mut Names, public: bool) {
        let (name, alias) = match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before, public);
                before.pop();
                return;
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before, public);
                }
                return;
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
            syn::UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
        };
        let itself = name == "self" && !before.is_empty();
        let path = if itself { before.clone() } else { [&before[..], &[name]].concat() };
        let line = tree.span().start().line;
        self.draw(&path, line, public);
        let Some(target) = self.absolute(&path) else { return };
        let alias = if alias == "self" { path.last().cloned().unwrap_or_default() } else { alias };
        if public && alias != "*" {
            let here = [&self.module[..], std::slice::from_ref(&alias)].concat();
            self.other_names.push((here, target.clone()));
        }
        self.aliases.insert(alias, target);
    }

    /// Paths among the tokens of a macro, also `crate::{a, b}` and paths in string literals.
    fn tokens(&mut self, tokens: &TokenStream, before: &[String]) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(name) => at = self.path_at(&tokens, at, name, before),
                TokenTree::Group(group) => {
                    self.tokens(&group.stream(), &[]);
                    at += 1;
                }
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let text = text.trim_matches('"');
                    if text.starts_with("crate::") || text.starts_with("super::") {
                        let path: Names = text.split("::").map(str::to_owned).collect();
                        self.draw(&path, literal.span().start().line, false);
                    }
                    at += 1;
                }
                TokenTree::Punct(_) => at += 1,
            }
        }
    }

    /// Reads the path that begins at `at`, and says where it ends.
    fn path_at(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        name: &Ident,
        before: &[String],
    ) -> usize {
        let colon =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
        let mut path = [before, &[name.to_string()]].concat();
        let mut end = at + 1;
        while colon(end) && colon(end + 1) {
            match tokens.get(end + 2) {
                Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.tokens(&group.stream(), &path);
                    return end + 3;
                }
                _ => break,
            }
            end += 3;
        }
        if path.len() > 1 {
            self.draw(&path, name.span().start().line, false);
        }
        end
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        self.import(import);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1 {
            self.draw(&names, path.span().start().line, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        self.tokens(&called.tokens, &[]);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(&list.tokens, &[]);
        }
    }
}

/// What a row of the table allows one room.
#[derive(Default)]
struct Row {
    imports: BTreeSet<String>,
    /// Arrows that close a circle and are to go.
    owes: BTreeSet<String>,
}

/// The table of rooms: `| Room | Subject | May import |`, where what stands behind "owes" is a debt.
fn table() -> BTreeMap<String, Row> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md"))
        .expect("ARCHITECTURE.md");
    let rows = text.lines().skip_while(|line| *line != "| Room | Subject | May import |").skip(2);
    let mut table = BTreeMap::new();
    for line in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rooms, _, imports] = cells[..] else { panic!("not three cells: {line}") };
        let (imports, owes) = imports.split_once("owes").unwrap_or((imports, ""));
        for room in quoted(rooms) {
            let row = Row { imports: quoted(imports), owes: quoted(owes) };
            assert!(table.insert(room.clone(), row).is_none(), "two rows for {room}");
        }
    }
    table
}

/// The names in backticks, without what makes them paths of files.
fn quoted(cell: &str) -> BTreeSet<String> {
    let names = cell.split('`').skip(1).step_by(2);
    let bare = |name: &str| -> String {
        let name = name.trim_end_matches('/').trim_end_matches(".rs");
        name.rsplit('/').next().unwrap_or(name).to_owned()
    };
    names.map(bare).collect()
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
fn rooms_import_what_the_table_names() {
    let (code, table) = (Code::get(), table());
    let drawn = code.between_rooms();
    let mut wrong = Vec::new();
    for ((from, to), places) in &drawn {
        let row = table.get(from).unwrap_or_else(|| panic!("{from} is not in the table"));
        if !row.imports.contains(to) && !row.owes.contains(to) {
            wrong.push(format!("{from} imports {to}, at {}", places.join(", ")));
        }
    }
    for (from, row) in &table {
        for to in row.imports.union(&row.owes) {
            if !drawn.contains_key(&(from.clone(), to.clone())) {
                wrong
                    .push(format!("{from} does not import {to} (any more): take it off the table"));
            }
        }
    }
    let rooms: BTreeSet<&String> =
        code.modules.iter().filter_map(|module| module.first()).collect();
    for room in rooms {
        if !table.contains_key(room) {
            wrong.push(format!("{room} is not in the table"));
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md and src/ differ:\n{}", wrong.join("\n"));
}

#[test]
fn no_circle_between_rooms() {
    let table = table();
    let mut graph: Graph =
        table.iter().map(|(room, row)| (room.clone(), row.imports.clone())).collect();
    let left = circles(&graph);
    assert!(left.is_empty(), "circles among the rooms:\n{}", drawing(&left));
    for (from, row) in &table {
        for to in &row.owes {
            graph.get_mut(from).expect("a row").insert(to.clone());
            assert!(!circles(&graph).is_empty(), "{from} owes {to}, which closes no circle");
            graph.get_mut(from).expect("a row").remove(to);
        }
    }
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
        struct A { b: crate::changeset::File }
        fn f() -> super::super::git::Git {
            use crate::plan;
            w::now();
            macro_rules! m { () => { $crate::error::codes } }
            vec![crate::text::escape(x), crate::{hooks::A, scan::{B}}]
        }
        #[cfg(test)]
        mod tests { use crate::review; }
    "#;
    let parsed = syn::parse_file(text).expect("Rust");
    let mut code = Code::default();
    let module = ["a", "b", "c"].map(str::to_owned).to_vec();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/a/b/c.rs");
    code.items(&path, Path::new(""), module, &parsed.items);
    let mut seen: Vec<String> = code.arrows.iter().map(|arrow| arrow.to.join("::")).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(
        seen,
        [
            "a::git::Git", "changeset::File", "error::codes", "hooks::A", "plan", "scan::B",
            "store::Store", "store::write", "store::write::now", "text::escape", "text::wire",
        ]
    );
}
