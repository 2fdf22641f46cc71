//! The index file: SQLite with FTS5, in step with the files on every query.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::analyse;
use super::query::Query;
use super::rank::{self, Boosts, Candidate, Hit, rank};
use super::sections::{self, Entry};
use crate::database;
use crate::error::{Error, Result};
use crate::memory::settings::Settings;

/// Raised with every change of the tables or of the analysis.
const VERSION: i64 = 4;

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
    head_tokens TEXT NOT NULL, body_tokens TEXT NOT NULL,
    is_top INTEGER NOT NULL, supersedes TEXT NOT NULL, superseded_by TEXT NOT NULL
);
CREATE INDEX section_path ON section (store, path);
CREATE INDEX section_name ON section (section_id);
CREATE VIRTUAL TABLE section_text USING fts5(
    heading, trail, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
CREATE VIRTUAL TABLE section_gram USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram'
);
PRAGMA user_version = 4;
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
            for open in [open_at, emptied_at] {
                if let Ok(connection) = open(path)
                    && begin_anew_for(&connection, &store).is_ok()
                {
                    return Ok(Self { connection, store });
                }
            }
        }
        let connection = open_at(Path::new(":memory:")).map_err(|e| failed(&e))?;
        Ok(Self { connection, store })
    }

    /// Empties the index at `path`, where there is one, of all that it had.
    ///
    /// # Errors
    /// `internal_error`.
    pub fn empty(path: &Path) -> Result<()> {
        match path.symlink_metadata() {
            Ok(_) => emptied_at(path).map(drop).map_err(|error| failed(&error)),
            Err(_) => Ok(()),
        }
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
    /// words, then as misspellings; where fewer than five sections are found, those that share
    /// fragments of words come behind them.
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
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let mut candidates = match query.expression(false) {
            Some(expression) => self.candidates(&expression)?,
            None => Vec::new(),
        };
        let with_literals = self.with_literals(query, &candidates)?;
        candidates.extend(with_literals);
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
        let successors = self.successors(&candidates)?;
        candidates.extend(successors);
        let rarity = self.rarity(&query)?;
        let mut hits = rank(candidates, &query, boosts, &rarity, limit);
        if hits.len() < FEW.min(limit) && !query.is_strict() {
            let wanted = FEW.min(limit) - hits.len();
            let near = rank::near(self.near(&query, &hits)?, &query, boosts, wanted);
            hits.extend(near);
        }
        Ok(hits)
    }

    /// Sections with what has signs in it, beside `known`.
    fn with_literals(
        &self,
        query: &Query,
        known: &[Candidate],
    ) -> rusqlite::Result<Vec<Candidate>> {
        let mut found = Vec::new();
        if query.is_strict() {
            return Ok(found);
        }
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, 0.0, s.head_tokens, s.body_tokens FROM section s
             WHERE s.store = ?3 AND instr(lower(s.heading || char(10) || s.body), ?1) > 0
             ORDER BY s.path, s.line LIMIT ?2"
        ))?;
        for literal in &query.literals {
            let rows =
                statement.query_map(params![literal, CANDIDATES as i64, self.store], candidate)?;
            for row in rows {
                let row = row?;
                if !known.iter().chain(&found).any(|other| is_same(&other.entry, &row.entry)) {
                    found.push(row);
                }
            }
        }
        Ok(found)
    }

    /// What took the place of `candidates`, beside them.
    fn successors(&self, candidates: &[Candidate]) -> rusqlite::Result<Vec<Candidate>> {
        let mut found: Vec<Candidate> = Vec::new();
        let stale = candidates.iter().filter(|candidate| rank::is_stale(&candidate.entry));
        for old in stale {
            let id = old.entry.section_id.clone().unwrap_or_default();
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT {COLUMNS}, 0.0, s.head_tokens, s.body_tokens FROM section s
                 WHERE s.store = ?1 AND (s.section_id = ?2 OR ' ' || s.supersedes || ' ' LIKE ?3)"
            ))?;
            let named = old.entry.superseded_by.iter().map(|id| (id.clone(), String::new()));
            let by_id = (!id.is_empty())
                .then(|| (id.clone(), format!("% {} %", id.replace(['%', '_'], ""))));
            for (id, pattern) in named.chain(by_id) {
                let rows = statement.query_map(params![self.store, id, pattern], candidate)?;
                for row in rows {
                    let row = Candidate { bm25: old.bm25, ..row? };
                    let is_known = candidates
                        .iter()
                        .chain(&found)
                        .any(|other| is_same(&other.entry, &row.entry));
                    if !is_known && !rank::is_stale(&row.entry) {
                        found.push(row);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Sections that share fragments of words with `query`, beside `known`.
    fn near(&self, query: &Query, known: &[Hit]) -> rusqlite::Result<Vec<Entry>> {
        let mut grams: Vec<String> =
            query.words.iter().flat_map(|word| rank::grams(word)).collect();
        grams.sort_unstable();
        grams.dedup();
        grams.truncate(MOST_GRAMS);
        if grams.is_empty() {
            return Ok(Vec::new());
        }
        let quoted: Vec<String> =
            grams.iter().map(|gram| format!("\"{}\"", gram.replace('"', ""))).collect();
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, f.score, s.head_tokens, s.body_tokens
             FROM (SELECT rowid, bm25(section_gram) AS score FROM section_gram
                   WHERE section_gram MATCH ?1 ORDER BY score LIMIT ?2) f
             JOIN section s ON s.id = f.rowid WHERE s.store = ?3"
        ))?;
        let rows = statement
            .query_map(params![quoted.join(" OR "), CANDIDATES as i64, self.store], candidate)?;
        let is_new = |entry: &Entry| {
            !known.iter().any(|hit| hit.path == entry.path && hit.line == entry.line)
        };
        let entries: Vec<Entry> =
            rows.map(|row| row.map(|row| row.entry)).collect::<rusqlite::Result<_>>()?;
        Ok(entries.into_iter().filter(is_new).collect())
    }

    fn candidates(&self, expression: &str) -> rusqlite::Result<Vec<Candidate>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, f.score, s.head_tokens, s.body_tokens
             FROM (SELECT rowid, bm25(section_text, 6.0, 3.0, 1.0) AS score FROM section_text
                   WHERE section_text MATCH ?1 ORDER BY score LIMIT ?2) f
             JOIN section s ON s.id = f.rowid WHERE s.store = ?3"
        ))?;
        let rows =
            statement.query_map(params![expression, CANDIDATES as i64, self.store], candidate)?;
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

/// The columns of an entry, as [`candidate`] reads them.
const COLUMNS: &str = "s.path, s.category, s.section_id, s.trail, s.heading, s.line, s.body,
    s.confidence, s.status, s.untrusted, s.is_top, s.supersedes, s.superseded_by";

/// Fewer hits than that are filled up by what is near.
const FEW: usize = 5;

/// Most fragments of words that are looked for.
const MOST_GRAMS: usize = 400;

fn candidate(row: &rusqlite::Row<'_>) -> rusqlite::Result<Candidate> {
    let ids =
        |text: String| text.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
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
            is_top: row.get(10)?,
            supersedes: ids(row.get(11)?),
            superseded_by: ids(row.get(12)?),
        },
        bm25: -row.get::<_, f64>(13)?,
        head: row.get(14)?,
        body: row.get(15)?,
    })
}

fn is_same(a: &Entry, b: &Entry) -> bool {
    a.path == b.path && a.line == b.line
}

fn open_at(path: &Path) -> rusqlite::Result<Connection> {
    database::open(path, VERSION, TABLES)
}

fn emptied_at(path: &Path) -> rusqlite::Result<Connection> {
    let connection = database::open_empty(path, VERSION, TABLES)?;
    database::share(&connection).map(|()| connection)
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
    for table in ["section_text", "section_gram"] {
        connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE rowid IN (SELECT id FROM section WHERE store = ?1 AND path = ?2)"
            ))?
            .execute([store, path])?;
    }
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
                 confidence, status, untrusted, head_tokens, body_tokens, is_top, supersedes,
                 superseded_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            store,
            entry.path,
            entry.category,
            entry.section_id,
            entry.trail,
            entry.heading,
            entry.line as i64,
            entry.body,
            entry.confidence,
            entry.status,
            entry.untrusted,
            head,
            body,
            entry.is_top,
            entry.supersedes.join(" "),
            entry.superseded_by.join(" ")
        ])?;
    let id = connection.last_insert_rowid();
    connection
        .prepare_cached(
            "INSERT INTO section_text (rowid, heading, trail, body) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![id, analyse::stream(&entry.heading), head, body])?;
    let whole =
        format!("{} {} {}", entry.trail, entry.section_id.as_deref().unwrap_or(""), entry.body);
    connection
        .prepare_cached("INSERT INTO section_gram (rowid, text) VALUES (?1, ?2)")?
        .execute(params![id, whole.to_lowercase()])?;
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index.sqlite");
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
