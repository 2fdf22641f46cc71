use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const FORMATS: [ReportFormat; 4] =
    [ReportFormat::Text, ReportFormat::Json, ReportFormat::Github, ReportFormat::Sarif];

fn sample() -> Report {
    let mut report = Report::new("check")
        .rules([Rule::new("pending", "a proposal waits for a decision", "review it")])
        .when_clean("nothing is pending");
    report.push(
        Finding::new(
            "pending",
            Level::Warning,
            "prop_1 has waited for 2 days: 50% <done>, \"a: b\"",
        )
        .hint("aye review prop_1\nor aye reject prop_1")
        .path("src/a b,c:d.rs")
        .lines(3, 3)
        .columns(2, 5)
        .proposal("prop_1"),
    );
    report
        .push(Finding::new("odd", Level::Error, "bad\u{1b}[31m\r\n::error::forged").path(b"x\xff"));
    report.push(Finding::new("pending", Level::Note, "only so you know"));
    report
}

fn render(report: &Report, format: ReportFormat) -> String {
    report.render(format, false).unwrap()
}

#[test]
fn text_has_one_line_per_finding_with_its_remedy_below() {
    assert_eq!(
        render(&sample(), ReportFormat::Text),
        "warning[pending]: src/a b,c:d.rs:3:2: prop_1 has waited for 2 days: 50% <done>, \"a: b\"\n\
         \x20 hint: aye review prop_1\n\
         \x20 hint: or aye reject prop_1\n\
         error[odd]: x\\xff: bad\\x1b[31m\\r\\n::error::forged\n\
         note[pending]: only so you know\n\
         1 error, 1 warning, 1 note\n"
    );
    let clean = Report::new("check").when_clean("nothing is pending");
    assert_eq!(render(&clean, ReportFormat::Text), "nothing is pending\n");
}

#[test]
fn a_report_fails_from_its_level_on() {
    let with = |level| sample().fail_on(level).failed();
    assert!(with(Some(Level::Note)) && with(Some(Level::Error)) && !with(None));
    let mut notes = Report::new("check");
    notes.push(Finding::new("a", Level::Note, "n"));
    assert!(!notes.failed());
    assert!(!Report::new("check").failed());
}

#[test]
fn sorting_puts_the_worst_first_then_goes_by_place() {
    let mut report = Report::new("check");
    for (level, path) in
        [(Level::Note, "a"), (Level::Error, "z"), (Level::Warning, "b"), (Level::Error, "c")]
    {
        report.push(Finding::new("r", level, "m").path(path));
    }
    report.sort();
    let order: Vec<_> =
        report.findings().iter().map(|f| f.path_bytes().unwrap().to_string()).collect();
    assert_eq!(order, ["c", "z", "b", "a"]);
}

static DOCUMENT: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema = serde_json::to_value(schemars::schema_for!(ReportDocument)).unwrap();
    jsonschema::validator_for(&schema).unwrap()
});

fn check_document(value: &Value) {
    if let Err(error) = DOCUMENT.validate(value) {
        panic!("{error}\n{value:#}");
    }
}

#[test]
fn json_fits_its_schema() {
    let json: Value = serde_json::from_str(&render(&sample(), ReportFormat::Json)).unwrap();
    check_document(&json);
    assert_eq!(json["schema"], "aye/check@1");
    assert_eq!(json["ok"], false);
    assert_eq!(json["summary"], serde_json::json!({"error": 1, "warning": 1, "note": 1}));
    assert_eq!(json["findings"][0]["proposal_id"], "prop_1");
    assert_eq!(json["findings"][0]["start_line"], 3);
    assert_eq!(json["findings"][1]["file_path"], serde_json::json!({"base64": "eP8="}));
    assert_eq!(json["findings"][2]["file_path"], Value::Null);
    let mut wrong = json;
    wrong["findings"][0]["level"] = "fatal".into();
    assert!(!DOCUMENT.is_valid(&wrong));
}

static SARIF: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let text = include_str!("../../tests/data/sarif-schema-2.1.0.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
});

fn check_sarif(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> = SARIF.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    value
}

#[test]
fn sarif_fits_the_published_schema() {
    let value = check_sarif(&render(&sample(), ReportFormat::Sarif));
    let run = &value["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "pending");
    assert_eq!(run["tool"]["driver"]["rules"][1]["id"], "odd");
    assert_eq!(run["results"][1]["ruleIndex"], 1);
    // Only JSON escapes.
    assert_eq!(run["results"][1]["message"]["text"], "bad\u{1b}[31m\r\n::error::forged");
    let place = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/a%20b%2Cc%3Ad.rs");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 3, "endLine": 3, "startColumn": 2, "endColumn": 5})
    );
    // GitHub wants a file and a line of every result.
    let place = |index: usize| &run["results"][index]["locations"][0]["physicalLocation"];
    assert_eq!(place(1)["region"], serde_json::json!({"startLine": 1}));
    assert_eq!(place(2)["region"], serde_json::json!({"startLine": 1}));
    assert_eq!(place(2)["artifactLocation"]["uri"], ".agent-memory/policy.toml");
    let mut beside = Report::new("check");
    beside.push(Finding {
        fallback_path: Some("b c".into()),
        ..Finding::new("r", Level::Error, "m")
    });
    let beside = check_sarif(&render(&beside, ReportFormat::Sarif));
    let place = &beside["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "b%20c");
    check_sarif(&render(&Report::new("check"), ReportFormat::Sarif));
    let mut wrong = value;
    wrong["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!SARIF.is_valid(&wrong));
}

#[derive(Debug, PartialEq)]
struct Workflow {
    command: String,
    properties: Vec<(String, String)>,
    data: String,
}

fn runner_parse(line: &str) -> Option<Workflow> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (info, data) = rest.split_once("::")?;
    let unescape = |text: &str| text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
    let (command, list) = info.split_once(' ').unwrap_or((info, ""));
    let properties = list
        .split(',')
        .filter(|pair| !pair.is_empty())
        .filter_map(|pair| pair.trim().split_once('='))
        .map(|(key, value)| {
            let value = value.replace("%0D", "\r").replace("%0A", "\n");
            let value = value.replace("%3A", ":").replace("%2C", ",").replace("%25", "%");
            (key.to_owned(), value)
        })
        .collect();
    Some(Workflow { command: command.to_owned(), properties, data: unescape(data) })
}

#[test]
fn github_annotations_read_back_as_the_runner_reads_them() {
    let text = render(&sample(), ReportFormat::Github);
    let read: Vec<Workflow> = text.lines().map(|line| runner_parse(line).unwrap()).collect();
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    assert_eq!(
        read[0],
        Workflow {
            command: "warning".into(),
            properties: pairs(&[
                ("file", "src/a b,c:d.rs"),
                ("line", "3"),
                ("endLine", "3"),
                ("col", "2"),
                ("endColumn", "5"),
                ("title", "aye check: pending"),
            ]),
            data: "prop_1 has waited for 2 days: 50% <done>, \"a: b\"\n\
                   hint: aye review prop_1\nhint: or aye reject prop_1"
                .into(),
        }
    );
    assert_eq!(read.len(), 3);
    assert_eq!(read[1].data, "bad\\x1b[31m\\r\\n::error::forged");
    assert_eq!(read[2].command, "notice");
}

proptest! {
    #[test]
    fn no_content_breaks_a_form(
        message in any::<String>(),
        hint in proptest::option::of(any::<String>()),
        path in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..12)),
        rule in "[a-z<&,:%]{0,6}",
        lines in (any::<u32>(), any::<u32>()),
    ) {
        let mut finding = Finding::new(rule, Level::Warning, message);
        if let Some(path) = path {
            finding = finding.path(path).lines(lines.0, lines.1).columns(lines.1, lines.0);
        }
        finding.hint = hint;
        let mut report = Report::new("check");
        report.push(finding);
        for format in FORMATS {
            let text = render(&report, format);
            prop_assert!(text.ends_with('\n'));
            match format {
                ReportFormat::Json => check_document(&serde_json::from_str(&text).unwrap()),
                ReportFormat::Sarif => { check_sarif(&text); }
                ReportFormat::Github => {
                    prop_assert_eq!(text.lines().count(), 1);
                    let read = runner_parse(text.trim_end_matches('\n')).unwrap();
                    prop_assert_eq!(read.command, "warning");
                    prop_assert!(read.properties.iter().any(|(key, _)| key == "title"));
                }
                ReportFormat::Text => {}
            }
            prop_assert!(!text.chars().any(|c| c != '\n' && crate::text::is_unsafe(c)));
        }
    }
}
