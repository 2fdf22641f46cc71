//! The whole store, looked over: schema, ids, conflicts, secrets, sources, age, leftovers.

use super::Service;
use super::locate::Repository;
use crate::error::Result;
use crate::git::Git;
use crate::memory::guard::Guard as _;
use crate::memory::markdown::{self, fields, lines, slug};
use crate::memory::plan::{Files as _, check_sections, index_page};
use crate::memory::provenance::Sources as _;
use crate::memory::{DIR, MAX_FILE_BYTES};
use crate::render::report::{Finding, Level, Report, Rule};

/// What is looked for.
pub const RULES: [Rule; 15] = [
    Rule::new(
        "memory_unreadable",
        "a memory file cannot be read",
        "make it a UTF-8 file of moderate size",
    ),
    Rule::new(
        "memory_schema",
        "a section breaks meta/schema.yaml",
        "add or mend the field it names",
    ),
    Rule::new(
        "memory_duplicate_id",
        "a section id occurs twice in a file",
        "give one of the sections another id",
    ),
    Rule::new(
        "memory_invalid_id",
        "a section id has characters that ids may not have",
        "use letters, digits and hyphens",
    ),
    Rule::new(
        "memory_stray_marker",
        "an id marker stands where there is no heading",
        "put it on the line after its heading",
    ),
    Rule::new("memory_conflict", "conflict markers were left in a file", "settle the conflict"),
    Rule::new(
        "memory_secret",
        "a memory file holds a credential or personal data",
        "take it out, and revoke it",
    ),
    Rule::new(
        "memory_unsafe_text",
        "a memory file holds characters that mislead",
        "write plain characters",
    ),
    Rule::new(
        "memory_dead_source",
        "a cited file does not exist",
        "cite a file that does, or archive the section",
    ),
    Rule::new(
        "memory_stale",
        "nobody touched a file for longer than archive.stale_threshold_days",
        "confirm it, or archive it",
    ),
    Rule::new(
        "memory_orphan_notes",
        "working notes belong to a branch that is gone",
        "move what matters, then delete the file",
    ),
    Rule::new(
        "memory_unknown_file",
        "a file belongs to no category",
        "move it, or add a category to the schema",
    ),
    Rule::new(
        "memory_index",
        "index.md is not what the files make it",
        "run `aye memory init`, or any change through aye",
    ),
    Rule::new("memory_staging", "a staging folder was changed by hand", "run `aye memory sweep`"),
    Rule::new("memory_settings", "a setting is not in step with the repository", "see the message"),
];

impl Service<'_> {
    /// Looks the whole store over.
    ///
    /// # Errors
    /// Those of the store and the work tree.
    pub fn lint(&self) -> Result<Report> {
        let mut report =
            Report::new("memory-lint").rules(RULES).when_clean("the memory store is in order");
        let disk = self.disk();
        let paths = disk.markdown(&self.settings)?;
        for path in &paths {
            match disk.read(path) {
                Ok(Some(bytes)) if bytes.len() <= MAX_FILE_BYTES => {
                    match std::str::from_utf8(&bytes) {
                        Ok(text) => self.lint_file(path, text, &mut report),
                        Err(error) => report.push(finding(
                            "memory_unreadable",
                            Level::Error,
                            path,
                            1,
                            format!("not UTF-8 at byte {}", error.valid_up_to()),
                        )),
                    }
                }
                Ok(_) => {}
                Err(error) => report.push(finding(
                    "memory_unreadable",
                    Level::Error,
                    path,
                    1,
                    error.message().to_owned(),
                )),
            }
        }
        self.lint_strangers(&mut report)?;
        self.lint_age(&paths, &mut report);
        self.lint_notes(&paths, &mut report);
        self.lint_settings(&mut report)?;
        report.sort();
        Ok(report)
    }

    fn lint_file(&self, path: &str, text: &str, report: &mut Report) {
        let Some(category) = self.settings.schema.category(path) else { return };
        let document = markdown::parse(text);
        let line_of = |at: usize| lines::number_of(text, at);
        if lines::iter(text)
            .any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
        {
            let mut at = 0;
            for line in lines::iter(text) {
                if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
                    report.push(finding(
                        "memory_conflict",
                        Level::Error,
                        path,
                        line_of(at),
                        "conflict marker".into(),
                    ));
                }
                at += line.len();
            }
            return;
        }
        for id in document.duplicate_ids() {
            for i in document.by_id(id).into_iter().skip(1) {
                let at = document.sections[i].start();
                report.push(finding(
                    "memory_duplicate_id",
                    Level::Error,
                    path,
                    line_of(at),
                    format!("the id '{id}' occurs again"),
                ));
            }
        }
        for at in &document.stray_markers {
            report.push(finding(
                "memory_stray_marker",
                Level::Warning,
                path,
                line_of(*at),
                "an id marker without a heading".into(),
            ));
        }
        if category.server_managed {
            return;
        }
        for section in &document.sections {
            if let Some(id) = section.id.as_deref().filter(|id| !slug::is_valid(id)) {
                report.push(finding(
                    "memory_invalid_id",
                    Level::Warning,
                    path,
                    line_of(section.start()),
                    format!("'{id}' is no proper id"),
                ));
            }
        }
        for problem in check_sections(category, path, None, text) {
            let at = problem
                .section_id
                .as_deref()
                .and_then(|id| {
                    document.sections.iter().find(|s| s.id.as_deref().unwrap_or(&s.heading) == id)
                })
                .map_or(0, |section| section.start());
            let line = line_of(at) + problem.line.map_or(0, |line| line - 1);
            let mut found =
                finding("memory_schema", Level::Error, path, line, problem.message.clone());
            if let Some(fix) = &problem.fix {
                found = found.hint(fix);
            }
            report.push(found);
        }
        let screened = self.guard.screen("", text);
        for found in screened.blocking {
            let rule =
                if found.code.id == "unsafe_text" { "memory_unsafe_text" } else { "memory_secret" };
            report
                .push(finding(rule, Level::Error, path, found.line, found.message).hint(found.fix));
        }
        for found in screened.warnings {
            report.push(finding(
                "memory_unsafe_text",
                Level::Warning,
                path,
                found.line,
                found.message,
            ));
        }
        if category.git_tracked && category.name != "archive" {
            self.lint_sources(path, &document, report);
        }
    }

    /// Files cited in `Sources:` lines.
    fn lint_sources(&self, path: &str, document: &markdown::Document<'_>, report: &mut Report) {
        let repository = Repository(self.store);
        for i in 0..document.sections.len() {
            for field in fields::of_section(document, i) {
                if !matches!(field.name, "Sources" | "Source" | "Files") {
                    continue;
                }
                for source in field.value.split([',', ';']) {
                    let source = source.trim().trim_matches(['`', '*', ' ', '.']);
                    let source = source
                        .strip_prefix("file ")
                        .or_else(|| source.strip_prefix("file:"))
                        .unwrap_or(source)
                        .trim();
                    let looks_like_a_path = source.contains('/')
                        && !source.contains("://")
                        && !source.contains(char::is_whitespace)
                        && !source.contains(['*', '<', '{']);
                    if looks_like_a_path && let Err(why) = repository.check_file(source) {
                        let line = lines::number_of(document.source, field.at);
                        report.push(finding("memory_dead_source", Level::Warning, path, line, why));
                    }
                }
            }
        }
    }

    /// Markdown files that no category has.
    fn lint_strangers(&self, report: &mut Report) -> Result<()> {
        for dir in ["", "modules", "archive", "local", "sessions"] {
            for path in self.disk().list(dir)? {
                if self.settings.schema.category(&path).is_none() {
                    report.push(finding(
                        "memory_unknown_file",
                        Level::Warning,
                        &path,
                        1,
                        "no category of the schema has this file".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Durable files that no commit of the last days and no present edit touches.
    fn lint_age(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.archive.stale_threshold_days;
        if days == 0 {
            return;
        }
        let since = (self.now - chrono::Duration::days(days)).to_rfc3339();
        let git = |args: &[&str]| {
            Git::new(self.worktree.root())
                .config("core.quotePath", "false")
                .args(args)
                .args(["--", DIR])
                .run()
        };
        let touched =
            git(&["log", "--format=", "--name-only", "-z", &format!("--since={since}"), "HEAD"]);
        let edited = git(&["diff", "--name-only", "-z", "HEAD"]);
        let tracked = git(&["ls-files", "-z"]);
        // Without a history nothing can be told to be old.
        let (Ok(touched), Ok(edited), Ok(tracked)) = (touched, edited, tracked) else { return };
        let names = |bytes: &[u8]| -> std::collections::HashSet<String> {
            bytes
                .split(|b| *b == 0 || *b == b'\n')
                .map(|p| String::from_utf8_lossy(p).into_owned())
                .collect()
        };
        let (touched, edited, tracked) = (names(&touched), names(&edited), names(&tracked));
        for path in paths {
            let durable = self
                .settings
                .schema
                .category(path)
                .is_some_and(|c| c.git_tracked && !c.server_managed && c.name != "archive");
            let full = format!("{DIR}/{path}");
            if durable
                && tracked.contains(&full)
                && !touched.contains(&full)
                && !edited.contains(&full)
            {
                let count =
                    self.disk().text(path).map_or(0, |text| markdown::parse(&text).sections.len());
                report.push(finding(
                    "memory_stale",
                    Level::Note,
                    path,
                    1,
                    format!("nobody touched these {count} section(s) for {days} days"),
                ));
            }
        }
    }

    fn lint_notes(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.local_state.cleanup_orphans_warning_days;
        for path in self.orphans(paths) {
            let full = self.worktree.root().join(DIR).join(&path);
            let old =
                std::fs::metadata(full).and_then(|meta| meta.modified()).is_ok_and(|modified| {
                    self.now - chrono::DateTime::<chrono::Utc>::from(modified)
                        >= chrono::Duration::days(days)
                });
            if old {
                report.push(finding(
                    "memory_orphan_notes",
                    Level::Warning,
                    &path,
                    1,
                    format!("its branch is gone, and nobody touched it for {days} days"),
                ));
            }
        }
    }

    fn lint_settings(&self, report: &mut Report) -> Result<()> {
        let disk = self.disk();
        let page = index_page::render(&disk, &self.settings)?;
        if disk.text(index_page::PATH).is_some_and(|text| text != page) {
            report.push(finding(
                "memory_index",
                Level::Note,
                index_page::PATH,
                1,
                "the files have changed since it was generated".into(),
            ));
        }
        for tampering in self.tampering(&self.store.view()?)? {
            let place = format!("staging/{}/{}", tampering.staging_id, tampering.file);
            let level = if matches!(tampering.what, "changed" | "added") {
                Level::Error
            } else {
                Level::Warning
            };
            let file =
                if tampering.file.is_empty() { "the folder" } else { tampering.file.as_str() };
            let message = match tampering.what {
                "unknown" => "no proposal of the store has this id; it is not trusted".to_owned(),
                "decided" => "its proposal is decided already".to_owned(),
                what => format!("{file} was {what}; the store's own record is what counts"),
            };
            report.push(finding("memory_staging", level, place.trim_end_matches('/'), 1, message));
        }
        let manifest = &self.settings.manifest;
        let path = crate::memory::settings::manifest::PATH;
        for note in self.notes() {
            report.push(finding("memory_settings", Level::Note, path, 1, note));
        }
        if manifest.git.merge_driver_installed && !self.merge_driver_installed() {
            report.push(finding("memory_settings", Level::Note, path, 1, "git.merge_driver_installed is true, but this clone has no driver: `aye memory merge-driver --install`".into()));
        }
        let ignore = disk.0.root().join(DIR).join(".gitignore");
        let ignored = std::fs::read_to_string(ignore).unwrap_or_default();
        for (track, name, folder) in [
            (manifest.git.track_local, "git.track_local", "local/"),
            (manifest.git.track_sessions, "git.track_sessions", "sessions/"),
        ] {
            let is_ignored = ignored.lines().any(|line| line.trim() == folder);
            if track == is_ignored {
                let what =
                    if track { "true, but .gitignore has" } else { "false, but .gitignore lacks" };
                report.push(finding(
                    "memory_settings",
                    Level::Note,
                    path,
                    1,
                    format!("{name} is {what} {folder}"),
                ));
            }
        }
        Ok(())
    }
}

fn finding(rule: &'static str, level: Level, path: &str, line: usize, message: String) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    Finding::new(rule, level, message).path(format!("{DIR}/{path}")).lines(line, line)
}
