//! SQLite with FTS5, refreshed from the files on every query.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::query::Query;
use super::sections::{self, Section};
use super::{Hit, SearchRequest, spaced};
use crate::database;
use crate::error::{Error, Result};
use crate::memory::settings::Settings;

/// Raised with every change of tables or contents.
const VERSION: i64 = 5;

/// Maximum sections per expression.
const CANDIDATES: i64 = 200;

const TABLES: &str = "
BEGIN IMMEDIATE;
CREATE TABLE file (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE section (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, facts TEXT NOT NULL, body TEXT NOT NULL,
    plain TEXT NOT NULL
);
CREATE INDEX section_path ON section (path);
CREATE VIRTUAL TABLE section_text USING fts5(
    heading, trail, body, content='', contentless_delete=1,
    tokenize='porter unicode61 remove_diacritics 2'
);
PRAGMA user_version = 5;
COMMIT;
";

/// Weight of a stale section.
const STALE: f64 = 0.05;

/// Weight of a section that mentions the scope.
const PREFERRED: f64 = 1.3;

/// Weight of a literal match, relative to the best match by words.
const LITERAL: f64 = 1.5;

/// Below this count, words are tried as prefixes.
const FEW: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Relative to the store.
    pub path: String,
    /// Changes with the file and the settings; empty to read the file every time.
    pub stamp: String,
}

pub struct Index {
    connection: Connection,
}

impl Index {
    /// A missing, old or broken file starts empty; an unusable path means in memory.
    ///
    /// # Errors
    /// `internal_error` if SQLite does not work at all.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let on_disk = path.and_then(|path| open_at(path).or_else(|_| emptied_at(path)).ok());
        match on_disk {
            Some(connection) => Ok(Self { connection }),
            None => Self::in_memory(),
        }
    }

    fn in_memory() -> Result<Self> {
        let connection = open_at(Path::new(":memory:")).map_err(|e| failed(&e))?;
        Ok(Self { connection })
    }

    pub fn empty(path: &Path) -> Result<()> {
        match path.symlink_metadata() {
            Ok(_) => emptied_at(path).map(drop).map_err(|error| failed(&error)),
            Err(_) => Ok(()),
        }
    }

    /// Returns the number of files read. `read` returns `None` for an unreadable file.
    ///
    /// # Errors
    /// `internal_error`; a locked or read-only file restarts in memory.
    pub fn refresh(
        &mut self,
        seen: &[FileStamp],
        settings: &Settings,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        if let Ok(count) = self.try_refresh(seen, settings, read) {
            return Ok(count);
        }
        *self = Self::in_memory()?;
        self.try_refresh(seen, settings, read).map_err(|e| failed(&e))
    }

    fn try_refresh(
        &mut self,
        seen: &[FileStamp],
        settings: &Settings,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> rusqlite::Result<usize> {
        let mut known: HashMap<String, String> = self
            .connection
            .prepare_cached("SELECT path, stamp FROM file")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut changed = Vec::new();
        for file in seen {
            let stamp = known.remove(&file.path);
            if file.stamp.is_empty() || stamp.as_ref() != Some(&file.stamp) {
                changed.push(file);
            }
        }
        if changed.is_empty() && known.is_empty() {
            return Ok(0);
        }
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for path in known.keys().chain(changed.iter().map(|file| &file.path)) {
            forget(&transaction, path)?;
        }
        for FileStamp { path, stamp } in &changed {
            let Some(text) = read(path) else { continue };
            for section in sections::of_file(path, &text, settings) {
                insert(&transaction, &section)?;
            }
            transaction
                .prepare_cached("INSERT INTO file (path, stamp) VALUES (?1, ?2)")?
                .execute(params![path, stamp])?;
        }
        transaction.commit()?;
        Ok(changed.len())
    }

    pub fn search(&self, query: &Query, ask: &SearchRequest, limit: usize) -> Result<Vec<Hit>> {
        self.try_search(query, ask, limit).map_err(|e| failed(&e))
    }

    fn try_search(
        &self,
        query: &Query,
        ask: &SearchRequest,
        limit: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut scores: HashMap<i64, f64> = HashMap::new();
        for expression in query.expressions() {
            for (id, score) in self.matches(&expression.text)? {
                *scores.entry(id).or_default() += expression.weight * score;
            }
        }
        let best = scores.values().copied().fold(1.0, f64::max);
        let literals = query.literals();
        for literal in literals {
            for id in self.having(literal)? {
                *scores.entry(id).or_default() += LITERAL * best / literals.len() as f64;
            }
        }
        let beginnings = query.beginnings();
        if scores.len() < FEW && !beginnings.is_empty() && !query.is_strict() {
            for (id, score) in self.matches(&beginnings)? {
                scores.entry(id).or_insert(score / 100.0);
            }
        }
        let mut hits = Vec::new();
        for (id, score) in scores {
            let section = self.section(id)?;
            if ask.includes(&section.category) {
                let weight = weight(&section, ask);
                let score = (1000.0 * score * weight).round() / 1000.0;
                hits.push(Hit { snippet: String::new(), score, section });
            }
        }
        hits.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
        });
        hits.truncate(limit);
        for hit in &mut hits {
            hit.snippet = query.snippet(&hit.section.body);
        }
        Ok(hits)
    }

    fn matches(&self, expression: &str) -> rusqlite::Result<Vec<(i64, f64)>> {
        self.connection
            .prepare_cached(
                "SELECT rowid, -bm25(section_text, 6.0, 3.0, 1.0) AS score FROM section_text
                 WHERE section_text MATCH ?1 ORDER BY score DESC LIMIT ?2",
            )?
            .query_map(params![expression, CANDIDATES], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    }

    fn having(&self, literal: &str) -> rusqlite::Result<Vec<i64>> {
        self.connection
            .prepare_cached(
                "SELECT id FROM section WHERE instr(plain, ?1) > 0 ORDER BY id LIMIT ?2",
            )?
            .query_map(params![literal, CANDIDATES], |row| row.get(0))?
            .collect()
    }

    fn section(&self, id: i64) -> rusqlite::Result<Section> {
        let mut statement =
            self.connection.prepare_cached("SELECT facts, body FROM section WHERE id = ?1")?;
        statement.query_row([id], |row| {
            let facts: String = row.get(0)?;
            let facts = serde_json::from_str(&facts).unwrap_or_default();
            Ok(Section { body: row.get(1)?, ..facts })
        })
    }
}

fn weight(section: &Section, ask: &SearchRequest) -> f64 {
    let mentions = |what: &String| {
        let what = what.trim_end_matches('/');
        let texts = [&section.body, &section.path, &section.trail];
        !what.is_empty() && texts.iter().any(|text| text.contains(what))
    };
    let preferred = if ask.scope.iter().any(mentions) { PREFERRED } else { 1.0 };
    preferred * if section.is_stale() { STALE } else { 1.0 }
}

fn open_at(path: &Path) -> rusqlite::Result<Connection> {
    database::open(path, VERSION, TABLES)
}

fn emptied_at(path: &Path) -> rusqlite::Result<Connection> {
    let connection = database::open_empty(path, VERSION, TABLES)?;
    database::share(&connection).map(|()| connection)
}

fn forget(connection: &Connection, path: &str) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM section_text WHERE rowid IN (SELECT id FROM section WHERE path = ?1)",
        "DELETE FROM section WHERE path = ?1",
        "DELETE FROM file WHERE path = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([path])?;
    }
    Ok(())
}

fn insert(connection: &Connection, section: &Section) -> rusqlite::Result<()> {
    let Section { path, heading, trail, body, .. } = section;
    let facts = serde_json::to_string(section).unwrap_or_default();
    let plain = format!("{heading}\n{body}").to_lowercase();
    connection
        .prepare_cached("INSERT INTO section (path, facts, body, plain) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![path, facts, body, plain])?;
    let id = connection.last_insert_rowid();
    let place = format!("{trail} {} {path}", section.section_id.as_deref().unwrap_or_default());
    connection
        .prepare_cached(
            "INSERT INTO section_text (rowid, heading, trail, body) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![id, spaced(heading), spaced(&place), spaced(body)])?;
    Ok(())
}

fn failed(error: &rusqlite::Error) -> Error {
    Error::bug(format!("the search index does not work: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::memory::search::Synonyms;

    fn search(index: &Index, text: &str) -> Vec<String> {
        let query = Query::parse(text, &Synonyms::built_in());
        let hits = index.search(&query, &SearchRequest::default(), 5).unwrap();
        let name = |hit: Hit| hit.section_id.clone().unwrap_or(hit.section.heading);
        hits.into_iter().map(name).collect()
    }

    #[test]
    fn the_index_follows_the_files() {
        let settings = Settings::default();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x/index.sqlite");
        let mut files: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        files.insert(
            "decisions.md",
            ("1", "# D\n\n## Use Postgres\n<!-- @id: pg -->\n\nRelational database.\n"),
        );
        files.insert(
            "pitfalls.md",
            ("1", "## Очередь задач\n<!-- @id: queue -->\n\nМиграции блокируют очередь.\n"),
        );
        let refresh = |index: &mut Index, files: &BTreeMap<&str, (&str, &str)>| {
            let seen: Vec<FileStamp> = files
                .iter()
                .map(|(path, (stamp, _))| FileStamp {
                    path: (*path).into(),
                    stamp: (*stamp).into(),
                })
                .collect();
            let text = |path: &str| files.get(path).map(|(_, text)| (*text).to_owned());
            index.refresh(&seen, &settings, &text).unwrap()
        };
        let mut index = Index::open(Some(&path)).unwrap();
        assert_eq!(refresh(&mut index, &files), 2);
        assert_eq!(refresh(&mut index, &files), 0, "nothing is read twice");
        assert_eq!(search(&index, "postgres databases"), ["pg"]);
        assert_eq!(search(&index, "очередь"), ["queue"]);
        assert_eq!(search(&index, "relat*"), ["pg"]);
        assert_eq!(search(&index, "postg"), ["pg"], "a beginning, where there is no such word");
        assert_eq!(search(&index, "\"relational database\""), ["pg"]);
        assert_eq!(search(&index, "\"database relational\""), Vec::<String>::new());

        files
            .insert("decisions.md", ("2", "## 数据库选择\n<!-- @id: cn -->\n\n使用关系数据库。\n"));
        files.remove("pitfalls.md");
        let mut index = Index::open(Some(&path)).unwrap();
        assert_eq!(refresh(&mut index, &files), 1);
        assert_eq!(search(&index, "postgres"), Vec::<String>::new());
        assert_eq!(search(&index, "关系数据库"), ["cn"]);
        assert_eq!(search(&index, "очередь"), Vec::<String>::new());
    }

    #[test]
    fn a_broken_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index.sqlite");
        std::fs::write(
            &path,
            b"this is no database, and long enough to be read as one ...........",
        )
        .unwrap();
        let mut index = Index::open(Some(&path)).unwrap();
        let seen = [FileStamp { path: "pitfalls.md".into(), stamp: String::new() }];
        let text = |_: &str| Some("## A\n\nneedle\n".to_owned());
        index.refresh(&seen, &Settings::default(), &text).unwrap();
        assert_eq!(search(&index, "needle"), ["A"]);
    }
}
