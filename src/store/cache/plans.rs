//! What the questions to the cache cost, in steps of SQLite's machine: the same however much has
//! been decided.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, StatementStatus, params_from_iter};

use super::events::{EVENTS, page_sql};
use super::names::STAGING;
use super::query::{ANY_PENDING, DECIDED, EXPIRING, LAPSED, MAKING, REVIVED, SUMMARY, TOUCHING};
use super::{Filter, schema};
use crate::proposal::Status;
use crate::proposal::event::Subject;

/// A cache in which so many proposals were decided or have run out, before ten that are pending, as nobody
/// has asked for those.
fn bare(settled: i64) -> Connection {
    let connection = schema::open(std::path::Path::new(":memory:")).unwrap();
    let transaction = connection.unchecked_transaction().unwrap();
    for number in 0..settled + 10 {
        let (state, decided) = match number % 3 {
            _ if number >= settled => ("pending", None),
            0 => ("applied", Some(number)),
            1 => ("rejected", Some(number)),
            _ => ("pending", None),
        };
        let expires = if number >= settled { 1_000_000 } else { 1 + number };
        let lapsed = state == "pending" && number < settled;
        let memory = number % 2 == 0 && number < settled;
        transaction
            .prepare_cached(
                "INSERT INTO proposal (id, prefix, subject, state, proposed_by, created, expires,
                 expiry_recorded, digest, files, added, removed, revisions, comments,
                 changes_requested, contested, recorded_by, author, revision, staging, decided)
                 VALUES (?1, 4, ?2, ?3, 'x', ?4, ?5, ?6, '', 1, 1, 1, 1, 0, 0, 0, 'x', 'x', '',
                 ?7, ?8)",
            )
            .unwrap()
            .execute(rusqlite::params![
                format!("prop_{number:010}"),
                if memory { "memory" } else { "code" },
                state,
                number,
                expires,
                lapsed.then_some(expires),
                memory.then(|| format!("20260101T000000-{number}")),
                decided,
            ])
            .unwrap();
        // All of them change one file, as a changelog.
        transaction
            .prepare_cached("INSERT INTO path (path, proposal, open) VALUES ('a.txt', ?1, ?2)")
            .unwrap()
            .execute(rusqlite::params![format!("prop_{number:010}"), number >= settled])
            .unwrap();
        transaction
            .prepare_cached(
                "INSERT INTO event (id, proposal, lane, seq, commit_id, kind, time, body)
                 VALUES (?1, ?2, 'lane', ?3, '', 'propose', ?3, x'')",
            )
            .unwrap()
            .execute(rusqlite::params![
                format!("{number:040}"),
                format!("prop_{number:010}"),
                number
            ])
            .unwrap();
    }
    transaction.commit().unwrap();
    connection
}

/// The same with every index.
fn filled(settled: i64) -> Connection {
    let connection = bare(settled);
    for index in schema::Index::ALL {
        schema::want(&connection, index);
    }
    connection
}

/// What runs out at 1,000,000 ms has not yet.
fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(900_000).unwrap()
}

/// Steps that `sql` takes, and rows that it gives.
fn cost(connection: &Connection, sql: &str, values: &[rusqlite::types::Value]) -> (i32, usize) {
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query(params_from_iter(values)).unwrap();
    let mut count = 0;
    while rows.next().unwrap().is_some() {
        count += 1;
    }
    drop(rows);
    (statement.get_status(StatementStatus::VmStep), count)
}

/// How `sql` is answered.
fn plan(connection: &Connection, sql: &str, values: &[rusqlite::types::Value]) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
    rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

type Question = (&'static str, String, Vec<rusqlite::types::Value>, usize);

fn listed(name: &'static str, filter: Filter, expected: usize) -> Question {
    let (sql, values) = filter.sql(now(), filter.is_open());
    (name, format!("{SUMMARY}{sql}"), values, expected)
}

/// Every question that must not depend on what has been settled, and how many rows answer it.
fn questions() -> Vec<Question> {
    let all = Filter { limit: Some(20), ..Filter::default() };
    let now = now().timestamp_millis();
    let text = |text: &str| rusqlite::types::Value::from(text.to_owned());
    let ten = rusqlite::types::Value::from(10);
    let page = vec![500.into(), 500.into(), text("0"), 20.into()];
    vec![
        listed("list --status all --limit", all.clone(), 20),
        listed("newest first", Filter { newest_first: true, ..all.clone() }, 20),
        listed("rejected", Filter { status: Some(Status::Rejected), ..all.clone() }, 20),
        listed("pending", Filter::pending(), 10),
        listed("pending, some", Filter { limit: Some(3), ..Filter::pending() }, 3),
        listed("pending by contract", Filter { by_contract: true, ..Filter::pending() }, 10),
        listed("memory", Filter { subject: Some(Subject::Memory), ..Filter::pending() }, 0),
        ("log --limit", format!("{EVENTS}{}", page_sql(false, false)), vec![20.into()], 20),
        ("log, further", format!("{EVENTS}{}", page_sql(false, true)), page, 20),
        ("decided memory", DECIDED.into(), vec![ten.clone()], 10),
        ("lapsed memory", LAPSED.into(), vec![ten, now.into()], 10),
        (
            "staging id",
            STAGING.into(),
            vec![text("20260101T000000-996"), text("20260101T000000-997")],
            1,
        ),
        ("any pending", ANY_PENDING.into(), vec![now.into()], 1),
        ("expiring", EXPIRING.into(), vec![now.into(), 500.into()], 0),
        ("touching", format!("{SUMMARY} {TOUCHING}"), vec![text("a.txt"), now.into()], 10),
        (
            "making",
            MAKING.into(),
            vec![text("a.txt"), text("100644 1"), now.into(), text("prop_0")],
            0,
        ),
        ("any revived", REVIVED.into(), vec![now.into()], 0),
    ]
}

#[test]
fn steps_do_not_grow_with_what_is_settled() {
    let (small, large) = (filled(1_000), filled(9_000));
    for (name, sql, values, expected) in questions() {
        let (few, rows) = cost(&small, &sql, &values);
        assert_eq!(rows, expected, "{name}: {sql}");
        let (many, _) = cost(&large, &sql, &values);
        assert!(many <= few + few / 4, "{name}: {few} steps became {many}: {sql}");
    }
}

#[test]
fn no_table_is_scanned_and_no_result_sorted() {
    let connection = filled(10);
    for (name, sql, values, _) in questions() {
        let plan = plan(&connection, &sql, &values);
        let is_walk = |step: &str| step.starts_with("SCAN") && !step.contains("USING INDEX");
        let scanned = plan.split("; ").any(is_walk);
        // The few proposals of one staging id, or pending on one file, are put in order.
        let few = ["staging id", "touching"].contains(&name);
        let sorted = plan.contains("TEMP B-TREE") && !few;
        assert!(!scanned && !sorted, "{name}: {plan}");
    }
}

#[test]
fn other_values_do_not_prepare_a_statement_again() {
    let connection = filled(10);
    for (name, sql, values, _) in questions() {
        let mut statement = connection.prepare(&sql).unwrap();
        for _ in 0..3 {
            let mut rows = statement.query(params_from_iter(&values)).unwrap();
            while rows.next().unwrap().is_some() {}
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{name}: {sql}");
    }
}

#[test]
fn an_index_that_is_not_there_yet_changes_no_answer() {
    let (bare, filled) = (bare(1_000), filled(1_000));
    for (name, sql, values, expected) in questions() {
        let answer = |connection: &Connection| -> Vec<Vec<rusqlite::types::Value>> {
            let mut statement = connection.prepare(&sql).unwrap();
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(&values), |row| {
                (0..columns).map(|at| row.get(at)).collect()
            });
            rows.unwrap().map(Result::unwrap).collect()
        };
        let answers = answer(&filled);
        assert_eq!(answers.len(), expected, "{name}");
        assert_eq!(answer(&bare), answers, "{name}");
    }
}
