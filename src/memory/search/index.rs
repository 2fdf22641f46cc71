//! The index file: SQLite with FTS5, in step with the files on every query.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::analyse;
use super::query::Query;
use super::rank::{Boosts, Candidate, Hit, rank};
use super::sections::{self, Entry};
use crate::database;
use crate::error::{Error, Result};
use crate::memory::settings::Settings;

/// Raised with every change of the tables or of the analysis.
const VERSION: i64 = 3;

/// How many sections of a query are looked at closely.
const CANDIDATES: usize = 120;

const TABLES: &str = "
BEGIN IMMEDIATE;
CREATE TABLE file (
    store TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (store, path)
) WITHOUT ROWID;
CREATE TABLE section (
    id INTEGER PRIMARY KEY, store TEXT NOT NULL, path TEXT NOT NULL, category TEXT NOT NULL,
    section_id TEXT, trail TEXT NOT NULL, heading TEXT NOT NULL, line INTEGER NOT NULL,
    body TEXT NOT NULL, confidence TEXT, status TEXT, untrusted INTEGER NOT NULL,
    head_tokens TEXT NOT NULL, body_tokens TEXT NOT NULL
);
CREATE INDEX section_path ON section (store, path);
CREATE VIRTUAL TABLE section_text USING fts5(
    heading, trail, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
PRAGMA user_version = 3;
COMMIT;
";

/// A file of the store as it lies on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Path, relative to the store.
    pub path: String,
    /// What changes whenever the file does (size, times, inode); empty to read it every time.
    pub stamp: String,
}

/// The index of one work tree. `store` names the settings it was made with: other settings mean
/// other categories, so it is made anew.
pub struct Index {
    connection: Connection,
    store: String,
}

impl Index {
    /// Opens the index at `path`, made anew where it is missing, older or broken; in memory
    /// without a path, or where the file cannot be used. `settings_key` changes whenever the
    /// settings do.
    ///
    /// # Errors
    /// `internal_error` if SQLite does not work at all.
    pub fn open(path: Option<&Path>, settings_key: &str) -> Result<Self> {
        let store = settings_key.to_owned();
        if let Some(path) = path {
            for attempt in 0..2 {
                if let Ok(connection) = open_at(path)
                    && begin_anew_for(&connection, &store).is_ok()
                {
                    return Ok(Self { connection, store });
                }
                if attempt == 0 {
                    database::remove(path);
                }
            }
        }
        let connection = open_at(Path::new(":memory:")).map_err(|e| failed(&e))?;
        Ok(Self { connection, store })
    }

    /// Takes in what is new or changed among `seen` and forgets what is gone. `read` gives a
    /// file's text, `None` where it is not (any longer) a readable one. Returns how many files
    /// were read.
    ///
    /// # Errors
    /// `internal_error`; a locked or read-only file makes it start anew in memory.
    pub fn refresh(
        &mut self,
        seen: &[Seen],
        settings: &Settings,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        match self.try_refresh(seen, settings, read) {
            Ok(count) => Ok(count),
            Err(_) => {
                self.connection = open_at(Path::new(":memory:")).map_err(|e| failed(&e))?;
                self.try_refresh(seen, settings, read).map_err(|e| failed(&e))
            }
        }
    }

    fn try_refresh(
        &mut self,
        seen: &[Seen],
        settings: &Settings,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> rusqlite::Result<usize> {
        let mut known: HashMap<String, (String, String)> = HashMap::new();
        {
            let mut statement = self
                .connection
                .prepare_cached("SELECT path, stamp, hash FROM file WHERE store = ?1")?;
            let mut rows = statement.query([&self.store])?;
            while let Some(row) = rows.next()? {
                known.insert(row.get(0)?, (row.get(1)?, row.get(2)?));
            }
        }
        let mut changed: Vec<(&Seen, Option<(String, String)>)> = Vec::new();
        let mut stale: Vec<String> = Vec::new();
        let mut count = 0;
        for file in seen {
            let before = known.remove(&file.path);
            if let Some((stamp, _)) = &before
                && !file.stamp.is_empty()
                && *stamp == file.stamp
            {
                continue;
            }
            count += 1;
            match read(&file.path) {
                None => {
                    if before.is_some() {
                        stale.push(file.path.clone());
                    }
                }
                Some(text) => {
                    let hash = crate::memory::plan::text_hash(&text);
                    match before {
                        Some((stamp, old)) if old == hash => {
                            if stamp != file.stamp && !file.stamp.is_empty() {
                                changed.push((file, None));
                            }
                        }
                        _ => changed.push((file, Some((hash, text)))),
                    }
                }
            }
        }
        stale.extend(known.into_keys());
        if changed.is_empty() && stale.is_empty() {
            return Ok(count);
        }
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for path in &stale {
            forget(&transaction, &self.store, path)?;
        }
        for (file, content) in changed {
            let Some((hash, text)) = content else {
                transaction
                    .prepare_cached("UPDATE file SET stamp = ?3 WHERE store = ?1 AND path = ?2")?
                    .execute(params![self.store, file.path, file.stamp])?;
                continue;
            };
            forget(&transaction, &self.store, &file.path)?;
            for entry in sections::of_file(&file.path, &text, settings) {
                insert(&transaction, &self.store, &entry)?;
            }
            transaction
                .prepare_cached(
                    "INSERT INTO file (store, path, stamp, hash) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![self.store, file.path, file.stamp, hash])?;
        }
        transaction.commit()?;
        Ok(count)
    }

    /// The best `limit` sections for `query`. Words that nothing has are tried as beginnings of
    /// words, then as misspellings.
    ///
    /// # Errors
    /// `internal_error`.
    pub fn search(&self, query: &Query, boosts: &Boosts, limit: usize) -> Result<Vec<Hit>> {
        self.try_search(query, boosts, limit).map_err(|e| failed(&e))
    }

    fn try_search(
        &self,
        query: &Query,
        boosts: &Boosts,
        limit: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(expression) = query.expression(false) else { return Ok(Vec::new()) };
        let mut candidates = self.candidates(&expression)?;
        if candidates.len() < limit.min(3)
            && let Some(loose) = query.expression(true)
        {
            candidates = self.candidates(&loose)?;
        }
        let mut query = query.clone();
        if candidates.is_empty()
            && self.correct(&mut query)?
            && let Some(expression) = query.expression(false)
        {
            candidates = self.candidates(&expression)?;
        }
        let rarity = self.rarity(&query)?;
        Ok(rank(candidates, &query, boosts, &rarity, limit))
    }

    fn candidates(&self, expression: &str) -> rusqlite::Result<Vec<Candidate>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT s.path, s.category, s.section_id, s.trail, s.heading, s.line, s.body,
                    s.confidence, s.status, s.untrusted, f.score, s.head_tokens, s.body_tokens
             FROM (SELECT rowid, bm25(section_text, 6.0, 3.0, 1.0) AS score FROM section_text
                   WHERE section_text MATCH ?1 ORDER BY score LIMIT ?2) f
             JOIN section s ON s.id = f.rowid WHERE s.store = ?3",
        )?;
        let rows =
            statement.query_map(params![expression, CANDIDATES as i64, self.store], |row| {
                Ok(Candidate {
                    entry: Entry {
                        path: row.get(0)?,
                        category: row.get(1)?,
                        section_id: row.get(2)?,
                        trail: row.get(3)?,
                        heading: row.get(4)?,
                        line: row.get::<_, i64>(5)?.try_into().unwrap_or(1),
                        body: row.get(6)?,
                        confidence: row.get(7)?,
                        status: row.get(8)?,
                        untrusted: row.get(9)?,
                    },
                    bm25: -row.get::<_, f64>(10)?,
                    head: row.get(11)?,
                    body: row.get(12)?,
                })
            })?;
        rows.collect()
    }

    /// How telling each word of the query is: rare ones more than frequent ones.
    fn rarity(&self, query: &Query) -> rusqlite::Result<HashMap<String, f64>> {
        let total: i64 =
            self.connection.query_row("SELECT count(*) FROM section", [], |row| row.get(0))?;
        let mut count = self
            .connection
            .prepare_cached("SELECT count(*) FROM section_text WHERE section_text MATCH ?1")?;
        let mut rarity = HashMap::new();
        for token in query.terms.iter().flat_map(|term| &term.tokens) {
            if !rarity.contains_key(token) {
                let having: i64 = count.query_row([format!("\"{token}\"")], |row| row.get(0))?;
                let weight = (1.0 + (total as f64 + 1.0) / (having as f64 + 0.5)).ln();
                rarity.insert(token.clone(), weight);
            }
        }
        Ok(rarity)
    }

    /// Puts known words in the place of unknown ones that differ by a letter or two; true if it
    /// changed anything.
    fn correct(&self, query: &mut Query) -> rusqlite::Result<bool> {
        self.connection.execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab(main, section_text, row)",
        )?;
        let mut statement = self.connection.prepare("SELECT term FROM temp.word")?;
        let words: Vec<String> =
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut changed = false;
        for term in query.terms.iter_mut().filter(|term| !term.required && term.tokens.len() == 1) {
            let token = &term.tokens[0];
            let length = token.chars().count();
            if length < 4 {
                continue;
            }
            let near = words
                .iter()
                .map(|word| (strsim::osa_distance(token, word), word))
                .filter(|(distance, _)| *distance <= if length > 7 { 2 } else { 1 })
                .min();
            if let Some((_, word)) = near {
                term.tokens = vec![word.clone()];
                changed = true;
            }
        }
        Ok(changed)
    }
}

fn open_at(path: &Path) -> rusqlite::Result<Connection> {
    database::open(path, VERSION, TABLES)
}

/// Empties an index that other settings made.
fn begin_anew_for(connection: &Connection, store: &str) -> rusqlite::Result<()> {
    let other: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM file WHERE store <> ?1)")?
        .query_row([store], |row| row.get(0))?;
    if other {
        connection.execute_batch(TABLES)?;
    }
    Ok(())
}

fn forget(connection: &Connection, store: &str, path: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM section_text WHERE rowid IN (SELECT id FROM section WHERE store = ?1 AND path = ?2)",
        )?
        .execute([store, path])?;
    connection
        .prepare_cached("DELETE FROM section WHERE store = ?1 AND path = ?2")?
        .execute([store, path])?;
    connection
        .prepare_cached("DELETE FROM file WHERE store = ?1 AND path = ?2")?
        .execute([store, path])?;
    Ok(())
}

fn insert(connection: &Connection, store: &str, entry: &Entry) -> rusqlite::Result<()> {
    let head =
        format!("{} {} {}", entry.trail, entry.section_id.as_deref().unwrap_or(""), entry.path);
    let (head, body) = (analyse::stream(&head), analyse::stream(&entry.body));
    connection
        .prepare_cached(
            "INSERT INTO section (store, path, category, section_id, trail, heading, line, body,
                 confidence, status, untrusted, head_tokens, body_tokens)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            store, entry.path, entry.category, entry.section_id, entry.trail, entry.heading,
            entry.line as i64, entry.body, entry.confidence, entry.status, entry.untrusted, head,
            body
        ])?;
    let id = connection.last_insert_rowid();
    connection
        .prepare_cached(
            "INSERT INTO section_text (rowid, heading, trail, body) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![id, analyse::stream(&entry.heading), head, body])?;
    Ok(())
}

fn failed(error: &rusqlite::Error) -> Error {
    Error::bug(format!("the search index does not work: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn search(index: &Index, text: &str) -> Vec<String> {
        let hits = index.search(&Query::parse(text), &Boosts::default(), 5).unwrap();
        hits.into_iter().map(|hit| hit.section_id.unwrap_or(hit.heading)).collect()
    }

    #[test]
    fn the_index_follows_the_files() {
        let settings = Settings::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x/index.sqlite");
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
            let seen: Vec<Seen> = files
                .iter()
                .map(|(path, (stamp, _))| Seen { path: (*path).into(), stamp: (*stamp).into() })
                .collect();
            let text = |path: &str| files.get(path).map(|(_, text)| (*text).to_owned());
            index.refresh(&seen, &settings, &text).unwrap()
        };
        let mut index = Index::open(Some(&path), "").unwrap();
        assert_eq!(refresh(&mut index, &files), 2);
        assert_eq!(refresh(&mut index, &files), 0, "nothing is read twice");
        assert_eq!(search(&index, "postgres databases"), ["pg"]);
        assert_eq!(search(&index, "миграция"), ["queue"]);
        assert_eq!(search(&index, "postgers"), ["pg"], "a misspelling");
        assert_eq!(search(&index, "relat*"), ["pg"]);
        assert_eq!(search(&index, "\"relational database\""), ["pg"]);
        assert_eq!(search(&index, "\"database relational\""), Vec::<String>::new());

        files
            .insert("decisions.md", ("2", "## 数据库选择\n<!-- @id: cn -->\n\n使用关系数据库。\n"));
        files.remove("pitfalls.md");
        let mut index = Index::open(Some(&path), "").unwrap();
        assert_eq!(refresh(&mut index, &files), 1);
        assert_eq!(search(&index, "postgres"), Vec::<String>::new());
        assert_eq!(search(&index, "关系数据库"), ["cn"]);
        assert_eq!(search(&index, "очередь"), Vec::<String>::new());
    }

    #[test]
    fn a_broken_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.sqlite");
        std::fs::write(
            &path,
            b"this is no database, and long enough to be read as one ...........",
        )
        .unwrap();
        let mut index = Index::open(Some(&path), "").unwrap();
        let seen = [Seen { path: "pitfalls.md".into(), stamp: String::new() }];
        let text = |_: &str| Some("## A\n\nneedle\n".to_owned());
        index.refresh(&seen, &Settings::default(), &text).unwrap();
        assert_eq!(search(&index, "needle"), ["A"]);
    }
}
