//! The eight operations, each on the text that the ones before it left.

use super::precondition::{Policy, Precondition, hash, name};
use super::{Planner, check_path};
use crate::memory::codes;
use crate::memory::markdown::edit::{self, Mark};
use crate::memory::markdown::{self, Document, lines, slug};
use crate::memory::problem::Problem;
use crate::memory::provenance;
use crate::memory::request::{IfExists, IfMissing, Kind, Operation};
use crate::memory::settings::Category;

/// A new text of the file, and whether a section was added to it.
struct Edited {
    text: String,
    adds_section: bool,
}

/// What stops an operation.
type Stop = Problem;

impl Planner<'_> {
    /// Performs operation `i` on the file at `path`, or says what stops it.
    pub(super) fn perform(&mut self, i: usize, op: &Operation, path: &str, category: &Category) {
        let Some(state) = self.state(i, path) else { return };
        let before = state.clone().unwrap_or_default();
        if state.is_some() && category.write_once {
            self.problems.push(
                Problem::new(
                    &codes::WRITE_ONCE,
                    format!("{path} is there already and is written once"),
                )
                .at(i)
                .field("path")
                .fix("choose another file name"),
            );
            return;
        }
        if has_conflict_markers(&before) {
            self.problems.push(
                Problem::new(
                    &codes::PLAN_FAILED,
                    format!("{path} holds an unresolved merge conflict"),
                )
                .at(i)
                .field("path")
                .fix("resolve it first; `aye memory lint` shows where"),
            );
            return;
        }
        let result = match op.kind {
            Kind::CreateFile => self.create_file(i, op, path, category, state.as_deref()),
            Kind::AppendSection => self.append_section(i, op, path, category, state.as_deref()),
            _ => self.on_target(i, op, path, category, state.as_deref()),
        };
        match result {
            Ok(edited) => {
                let adds = edited.adds_section;
                if has_duplicates(&edited.text) {
                    self.problems.push(duplicate(&edited.text, path).at(i));
                }
                self.problems.extend(provenance::check_operation(
                    i,
                    self.request,
                    category,
                    adds,
                    self.world.settings,
                ));
                self.states.insert(path.to_owned(), Some(edited.text));
            }
            Err(problem) => self.problems.push(problem.at(i)),
        }
    }

    fn expect(
        &mut self,
        i: usize,
        path: &str,
        section: Option<String>,
        policy: Policy,
        hash: Option<String>,
    ) {
        self.preconditions.push(Precondition {
            operation_index: i,
            path: path.to_owned(),
            section_id: section,
            policy,
            hash,
        });
    }

    fn create_file(
        &mut self,
        i: usize,
        op: &Operation,
        path: &str,
        category: &Category,
        state: Option<&str>,
    ) -> Result<Edited, Stop> {
        let content = op.content.strip_prefix('\u{feff}').unwrap_or(&op.content);
        closed("content", content)?;
        match state {
            None => {
                // Appending to a file that is not there yet is met by one that is there by then.
                if op.if_exists != IfExists::Append {
                    self.expect(i, path, None, Policy::RequireFileAbsent, None);
                }
            }
            Some(text) => {
                let pinned = (op.if_exists == IfExists::Replace).then(|| hash(text));
                self.expect(i, path, None, Policy::RequireFilePresent, pinned);
            }
        }
        let mark = if category.section_id_required { Some(Mark::All) } else { None };
        match (state, op.if_exists) {
            (Some(_), IfExists::Reject) => {
                Err(Problem::new(&codes::PLAN_FAILED, format!("{path} exists already"))
                    .field("path")
                    .fix("edit its sections, or set if_exists to append or replace"))
            }
            (Some(text), IfExists::Append) => {
                let document = markdown::parse(text);
                open_end(&document, path)?;
                let content = match mark {
                    Some(mark) => edit::with_ids(content, None, mark, &[], |id| {
                        !document.by_id(id).is_empty()
                    }),
                    None => content.to_owned(),
                };
                let text = edit::insert_section(&document, text.len(), &content);
                let count = document.sections.len();
                guard_others(&document, count..count, &text)?;
                Ok(Edited { adds_section: !markdown::parse(&content).sections.is_empty(), text })
            }
            (before, _) => {
                let known = before.map(ids_of).unwrap_or_default();
                let text = match mark {
                    Some(mark) => edit::with_ids(content, None, mark, &known, |_| false),
                    None => content.to_owned(),
                };
                Ok(Edited { adds_section: true, text })
            }
        }
    }

    fn append_section(
        &mut self,
        i: usize,
        op: &Operation,
        path: &str,
        category: &Category,
        state: Option<&str>,
    ) -> Result<Edited, Stop> {
        let fixed = matches!(category.files, crate::memory::settings::schema::Files::One(_));
        if state.is_none() && category.git_tracked && !fixed {
            return Err(Problem::new(&codes::PLAN_FAILED, format!("there is no file {path}"))
                .field("path")
                .fix("create it with create_file"));
        }
        let source = state.unwrap_or_default();
        let document = markdown::parse(source);
        let level = op.heading_level.unwrap_or(2);
        whole_section("content", &op.content, Some(level))?;
        let parsed = markdown::parse(&op.content);
        let heading = op.heading.as_deref().unwrap_or_default();
        if !same_heading(&parsed, 0, heading) {
            return Err(Problem::new(
                &codes::INVALID_MARKDOWN,
                format!(
                    "the content begins with the heading '{}', not '{heading}'",
                    parsed.sections[0].heading
                ),
            )
            .field("content")
            .line(1)
            .fix("make `heading` and the first line of `content` the same"));
        }
        let (at, index) = match &op.parent_section_id {
            None => (source.len(), document.sections.len()),
            Some(parent) => {
                let p = by_id(&document, path, parent, "parent_section_id")?;
                self.expect(i, path, Some(parent.clone()), Policy::RequireSectionResolvable, None);
                let section = &document.sections[p];
                if level <= section.level {
                    return Err(Problem::new(
                        &codes::PLAN_FAILED,
                        format!(
                            "a section of level {level} cannot be inside '{parent}' of level {}",
                            section.level
                        ),
                    )
                    .field("heading_level")
                    .fix(format!("use level {}", (section.level + 1).min(6))));
                }
                let end = section.end;
                (end, document.sections.iter().filter(|s| s.start() < end).count())
            }
        };
        if at == source.len() {
            open_end(&document, path)?;
        }
        let mark = if category.section_id_required { Mark::All } else { Mark::First };
        let content =
            edit::with_ids(&op.content, None, mark, &[], |id| !document.by_id(id).is_empty());
        let text = edit::insert_section(&document, at, &content);
        guard_others(&document, index..index, &text)?;
        self.warn_of_double(&document, &parsed, path);
        Ok(Edited { text, adds_section: true })
    }

    /// Says when a section like the new one is there already.
    fn warn_of_double(&mut self, document: &Document<'_>, new: &Document<'_>, path: &str) {
        use crate::memory::similar::Shingles;
        let shingles = Shingles::of(new.own_body(0));
        for i in 0..document.sections.len() {
            if shingles.is_near(&Shingles::of(document.own_body(i))) {
                self.warn(format!("{path}#{} says nearly the same already", name(document, i)));
                return;
            }
        }
    }

    fn on_target(
        &mut self,
        i: usize,
        op: &Operation,
        path: &str,
        category: &Category,
        state: Option<&str>,
    ) -> Result<Edited, Stop> {
        let source = state.unwrap_or_default();
        let document = markdown::parse(source);
        let target = resolve(&document, op, path, state.is_some());
        let target = match target {
            Ok(target) => target,
            Err(problem) if op.kind == Kind::ReplaceSection && missing(&problem) => {
                return self.replace_missing(i, op, path, category, state, problem);
            }
            Err(problem) => return Err(problem),
        };
        let named = name(&document, target);
        let (policy, pinned) = match op.kind {
            Kind::AppendToSection | Kind::RenameHeading => (Policy::RequireSectionResolvable, None),
            Kind::ReplaceSectionContent => {
                (Policy::RequireSectionContentMatch, Some(hash(document.own_text(target))))
            }
            _ => (Policy::RequireSectionContentMatch, Some(hash(document.text(target)))),
        };
        self.expect(i, path, Some(named), policy, pinned);
        let level = document.sections[target].level;
        let subtree = target
            ..document
                .sections
                .iter()
                .filter(|s| s.start() < document.sections[target].end)
                .count();
        let mark = if category.section_id_required { Mark::All } else { Mark::First };
        let old_id = document.sections[target].id.clone();
        let taken = |id: &str| document.by_id(id).iter().any(|k| !subtree.contains(k));
        match op.kind {
            Kind::AppendToSection => {
                let adds = inner("content", &op.content, level)?;
                if document.sections[target].end == source.len() {
                    open_end(&document, path)?;
                }
                let content = if adds {
                    edit::with_ids(&op.content, None, Mark::All, &[], |id| {
                        !document.by_id(id).is_empty()
                    })
                } else {
                    op.content.clone()
                };
                let text = edit::append_to_section(&document, target, &content);
                guard_others(&document, subtree, &text)?;
                Ok(Edited { text, adds_section: adds })
            }
            Kind::ReplaceSectionContent => {
                let adds = inner("content", &op.content, level)?;
                if adds {
                    let first = markdown::parse(&op.content);
                    if first.sections[0].start() == 0 {
                        return Err(Problem::new(
                            &codes::INVALID_MARKDOWN,
                            "the content begins with a heading",
                        )
                        .field("content")
                        .line(1)
                        .fix("give the text under the heading only, or use replace_section"));
                    }
                }
                let content = if adds {
                    edit::with_ids(&op.content, None, Mark::All, &[], |id| {
                        !document.by_id(id).is_empty()
                    })
                } else {
                    op.content.clone()
                };
                let text = edit::replace_own_body(&document, target, &content);
                guard_others(&document, target..target + 1, &text)?;
                Ok(Edited { text, adds_section: adds })
            }
            Kind::ReplaceSection => {
                whole_section("content", &op.content, Some(level))?;
                keeps_id("content", &op.content, old_id.as_deref())?;
                let before: Vec<_> = subtree_ids(&document, subtree.clone());
                let content = if old_id.is_some() || category.section_id_required {
                    edit::with_ids(&op.content, old_id.as_deref(), mark, &before, taken)
                } else {
                    op.content.clone()
                };
                let text = edit::replace_section(&document, target, &content);
                let adds = new_ids(source, &text);
                guard_others(&document, subtree, &text)?;
                Ok(Edited { text, adds_section: adds })
            }
            Kind::ArchiveSection => {
                self.archive(i, op, path, &document, target)?;
                let stub = self.stub(op, &document, target, mark, &taken)?;
                let text = edit::replace_section(&document, target, &stub);
                guard_others(&document, subtree, &text)?;
                Ok(Edited { text, adds_section: false })
            }
            Kind::RemoveSection => {
                self.archive(i, op, path, &document, target)?;
                let text = edit::remove_section(&document, target);
                guard_others(&document, subtree, &text)?;
                Ok(Edited { text, adds_section: false })
            }
            _ => {
                let text = self.rename(op, &document, target, category)?;
                guard_others(&document, target..target + 1, &text)?;
                Ok(Edited { text, adds_section: false })
            }
        }
    }

    /// `replace_section` where there is no such section.
    fn replace_missing(
        &mut self,
        i: usize,
        op: &Operation,
        path: &str,
        category: &Category,
        state: Option<&str>,
        problem: Problem,
    ) -> Result<Edited, Stop> {
        match (op.if_missing, state) {
            (IfMissing::Append, Some(_)) | (IfMissing::CreateFile, _) => {}
            (IfMissing::Append, None) => {
                return Err(problem.fix("set if_missing to create_file, or use create_file"));
            }
            (IfMissing::Reject, _) => return Err(problem),
        }
        let source = state.unwrap_or_default();
        let document = markdown::parse(source);
        whole_section("content", &op.content, None)?;
        keeps_id("content", &op.content, op.section_id.as_deref())?;
        open_end(&document, path)?;
        let policy =
            if state.is_some() { Policy::RequireFilePresent } else { Policy::RequireFileAbsent };
        self.expect(i, path, None, policy, None);
        let mark = if category.section_id_required { Mark::All } else { Mark::First };
        let content = edit::with_ids(&op.content, op.section_id.as_deref(), mark, &[], |id| {
            !document.by_id(id).is_empty()
        });
        let text = edit::insert_section(&document, source.len(), &content);
        let count = document.sections.len();
        guard_others(&document, count..count, &text)?;
        Ok(Edited { text, adds_section: true })
    }

    /// Copies section `target` into its archive file.
    fn archive(
        &mut self,
        i: usize,
        op: &Operation,
        path: &str,
        document: &Document<'_>,
        target: usize,
    ) -> Result<(), Stop> {
        let to = &op.archive_path;
        if let Err(problem) = check_path(to) {
            return Err(problem.field("archive_path"));
        }
        let category = self.world.settings.schema.category(to);
        if category.is_none_or(|category| category.name != "archive") {
            return Err(Problem::new(
                &codes::INVALID_PATH,
                format!("'{to}' is not a file of the archive"),
            )
            .field("archive_path")
            .fix("choose a path such as archive/decisions-2026.md"));
        }
        if category.is_some_and(|category| {
            self.world.settings.schema.category(path).is_some_and(|c| c.name == category.name)
        }) {
            return Err(Problem::new(&codes::WRITE_ONCE, "archived sections stay where they are")
                .field("path"));
        }
        let Some(existing) = self.state(i, to) else { return Ok(()) };
        if existing.is_some() {
            self.expect(i, to, None, Policy::RequireFilePresent, None);
            return Err(Problem::new(&codes::ARCHIVE_EXISTS, format!("{to} is there already"))
                .field("archive_path")
                .fix("choose another file name; archives are written once"));
        }
        self.expect(i, to, None, Policy::RequireFileAbsent, None);
        let eol = lines::dominant_ending(document.source);
        let mut text = document.text(target).trim_end().to_owned();
        text += eol;
        text += eol;
        text += &format!(
            "<!-- @archived: {} from {path}#{} -->{eol}",
            self.world.at.format("%Y-%m-%d"),
            slug::slug(&name(document, target)),
        );
        if let Some(reason) = &op.reason {
            let reason = reason.replace("--", "- -").replace('>', "&gt;");
            text += &format!("<!-- @reason: {reason} -->{eol}");
        }
        self.states.insert(to.clone(), Some(text));
        if let Some(category) = category {
            self.router.say(category.approval, format!("category {}", category.name));
        }
        Ok(())
    }

    /// What stays in the place of an archived section: `replacement` as it is where it begins
    /// with a heading, else under the old heading and marker.
    fn stub(
        &mut self,
        op: &Operation,
        document: &Document<'_>,
        target: usize,
        mark: Mark,
        taken: &dyn Fn(&str) -> bool,
    ) -> Result<String, Stop> {
        let section = &document.sections[target];
        let parsed = markdown::parse(&op.replacement);
        let begins =
            parsed.sections.first().is_some_and(|s| op.replacement[..s.start()].trim().is_empty());
        if begins {
            whole_section("replacement", &op.replacement, Some(section.level))?;
            keeps_id("replacement", &op.replacement, section.id.as_deref())?;
            return Ok(match &section.id {
                Some(id) => edit::with_ids(&op.replacement, Some(id), mark, &[], taken),
                None => op.replacement.clone(),
            });
        }
        inner("replacement", &op.replacement, section.level)?;
        let head = &document.source[section.start()..section.body];
        let eol = lines::dominant_ending(document.source);
        let gap = if lines::ends_line(head) { "" } else { eol };
        Ok(format!("{head}{gap}{eol}{}", op.replacement))
    }

    fn rename(
        &mut self,
        op: &Operation,
        document: &Document<'_>,
        target: usize,
        category: &Category,
    ) -> Result<String, Stop> {
        let section = &document.sections[target];
        let new = op.new_heading.trim();
        let parsed_line = format!("# {new}");
        let parsed = markdown::parse(&parsed_line);
        let plain = parsed.sections.len() == 1 && !parsed.sections[0].heading.is_empty();
        if !plain || new.contains(['\n', '\r']) || new.contains("<!--") || new.starts_with('#') {
            return Err(Problem::new(
                &codes::INVALID_MARKDOWN,
                format!("'{new}' cannot be a heading"),
            )
            .field("new_heading")
            .fix("give one line of text, without the # marks"));
        }
        let level = match op.new_heading_level {
            0 => section.level,
            level => level,
        };
        if level.abs_diff(section.level) > 1 {
            return Err(Problem::new(
                &codes::PLAN_FAILED,
                format!(
                    "a heading of level {} cannot become one of level {level} at once",
                    section.level
                ),
            )
            .field("new_heading_level")
            .fix("change it by one, or leave it at 0"));
        }
        if section.setext
            && level == section.level
            && new.starts_with(['-', '*', '+', '>', '=', '<', '`', '~', '|'])
        {
            return Err(Problem::new(
                &codes::INVALID_MARKDOWN,
                format!("'{new}' cannot be an underlined heading"),
            )
            .field("new_heading")
            .fix("begin it with a word"));
        }
        if level != section.level {
            let moved = document.sections.iter().filter(|s| s.parent == Some(target)).count();
            if moved > 0 || section.parent.is_some() {
                self.warn(format!(
                    "changing the level of '{}' changes what it is inside of, or what is inside it",
                    section.heading
                ));
            }
        }
        let text = edit::rename(document, target, new, level);
        if section.id.is_none() && category.section_id_required {
            // The id would have come from the heading; it stays what it was.
            let id = slug::unique(&section.heading, |id| !document.by_id(id).is_empty());
            let renamed = markdown::parse(&text);
            let at = renamed.sections[target].heading_line.end;
            let eol = lines::dominant_ending(&text);
            let lead = if lines::ends_line(&text[..at]) { "" } else { eol };
            return Ok(edit::splice(
                &text,
                at..at,
                &format!("{lead}{}{eol}", markdown::marker(&id)),
            ));
        }
        Ok(text)
    }
}

/// Which section the operation means.
fn resolve(
    document: &Document<'_>,
    op: &Operation,
    path: &str,
    exists: bool,
) -> Result<usize, Stop> {
    if !exists {
        return Err(Problem::new(&codes::PLAN_FAILED, format!("there is no file {path}"))
            .field("path")
            .fix("create it with create_file, or check the path"));
    }
    if let Some(id) = &op.section_id {
        return by_id(document, path, id, "section_id");
    }
    let heading = op.heading.as_deref().unwrap_or_default();
    let found: Vec<usize> = (0..document.sections.len())
        .filter(|&i| {
            same_heading(document, i, heading)
                && op.heading_level.is_none_or(|level| document.sections[i].level == level)
        })
        .collect();
    match (found.len(), op.occurrence) {
        (0, _) => Err(not_found(document, path, heading, "heading", |s| Some(s.heading.clone()))),
        (1, None) => Ok(found[0]),
        (count, Some(n)) => found.get(n as usize - 1).copied().ok_or_else(|| {
            Problem::new(
                &codes::PLAN_FAILED,
                format!(
                    "'{heading}' occurs {count} time(s) in {path}, so there is no occurrence {n}"
                ),
            )
            .field("occurrence")
            .fix(format!("use 1 to {count}"))
        }),
        (count, None) => Err(Problem::new(
            &codes::PLAN_FAILED,
            format!("'{heading}' occurs {count} times in {path}"),
        )
        .field("heading")
        .fix("say which with section_id, heading_level or occurrence")),
    }
}

fn by_id(document: &Document<'_>, path: &str, id: &str, field: &str) -> Result<usize, Stop> {
    match document.by_id(id).as_slice() {
        [one] => Ok(*one),
        [] => Err(not_found(document, path, id, field, |s| s.id.clone()).section(id)),
        many => Err(Problem::new(
            &codes::DUPLICATE_SECTION_ID,
            format!("'{id}' is the id of {} sections in {path}", many.len()),
        )
        .field(field)
        .section(id)
        .fix("give them different ids by hand; `aye memory lint` shows where")),
    }
}

fn not_found(
    document: &Document<'_>,
    path: &str,
    wanted: &str,
    field: &str,
    name: impl Fn(&markdown::Section) -> Option<String>,
) -> Problem {
    let names: Vec<String> = document.sections.iter().filter_map(name).collect();
    let near = crate::memory::settings::nearest(wanted, names.iter().map(String::as_str));
    let fix = match near {
        Some(near) => format!("did you mean '{near}'?"),
        None if names.is_empty() => {
            format!("{path} has no such sections; add one with append_section")
        }
        None => {
            let shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
            let more = if names.len() > 12 { ", …" } else { "" };
            format!("there are: {}{more}", shown.join(", "))
        }
    };
    Problem::new(&codes::PLAN_FAILED, format!("{path} has no section '{wanted}'"))
        .field(field)
        .fix(fix)
}

/// True for the problem of a target that is not there.
fn missing(problem: &Problem) -> bool {
    problem.code.id == codes::PLAN_FAILED.id
        && (problem.message.contains(" has no section ")
            || problem.message.starts_with("there is no file"))
}

fn same_heading(document: &Document<'_>, i: usize, wanted: &str) -> bool {
    let section = &document.sections[i];
    let wanted = wanted.trim();
    let bare = wanted.trim_start_matches('#');
    let wanted =
        if bare.len() < wanted.len() && bare.starts_with(' ') { bare.trim() } else { wanted };
    if section.heading == wanted {
        return true;
    }
    let line = document.source[section.heading_line.clone()].trim();
    !section.setext && line.trim_matches('#').trim() == wanted
}

/// The content is one whole section: it begins with a heading of `level`, and no other heading in
/// it is of that level or higher.
fn whole_section(field: &str, content: &str, level: Option<u8>) -> Result<(), Stop> {
    closed(field, content)?;
    let document = markdown::parse(content);
    let wrong = |message: String, line: usize, fix: String| {
        Err(Problem::new(&codes::INVALID_MARKDOWN, message).field(field).line(line).fix(fix))
    };
    let sharps = "#".repeat(level.unwrap_or(2).into());
    let Some(first) = document.sections.first() else {
        return wrong("there is no heading".into(), 1, format!("begin with `{sharps} Heading`"));
    };
    if document.start > 0 || !content[..first.start()].trim().is_empty() {
        return wrong(
            "there is text before the heading".into(),
            1,
            format!("begin with `{sharps} {}`", first.heading),
        );
    }
    if first.heading.is_empty() {
        return wrong("the heading is empty".into(), 1, "give it a text".into());
    }
    if let Some(level) = level
        && first.level != level
    {
        return wrong(
            format!("the heading is of level {}, not {level}", first.level),
            1,
            format!("write `{sharps} {}`", first.heading),
        );
    }
    if let Some(id) =
        document.sections.iter().filter_map(|s| s.id.as_deref()).find(|id| !slug::is_valid(id))
    {
        return wrong(
            format!("'{id}' cannot be an id"),
            1,
            "use at most 64 letters, digits and hyphens".into(),
        );
    }
    match document.sections.iter().skip(1).find(|s| s.level <= first.level) {
        None => Ok(()),
        Some(other) => wrong(
            format!("a second section begins: '{}'", other.heading),
            lines::number_of(content, other.start()),
            "one section per operation; use deeper headings inside it".into(),
        ),
    }
}

/// The content belongs inside a section of `level`: its headings are deeper. True if it has any.
fn inner(field: &str, content: &str, level: u8) -> Result<bool, Stop> {
    closed(field, content)?;
    let document = markdown::parse(content);
    if document.start > 0 {
        return Err(Problem::new(
            &codes::INVALID_MARKDOWN,
            "front matter cannot stand inside a section",
        )
        .field(field)
        .line(1)
        .fix("leave it out"));
    }
    match document.sections.iter().find(|s| s.level <= level) {
        None => Ok(!document.sections.is_empty()),
        Some(section) => Err(Problem::new(
            &codes::INVALID_MARKDOWN,
            format!("the heading '{}' would end the section it is put into", section.heading),
        )
        .field(field)
        .line(lines::number_of(content, section.start()))
        .fix(format!("use a level deeper than {level}, or append_section"))),
    }
}

/// A marker in the content carries the id the section has.
fn keeps_id(field: &str, content: &str, id: Option<&str>) -> Result<(), Stop> {
    let document = markdown::parse(content);
    match (&document.sections[0].id, id) {
        (Some(new), Some(old)) if new != old => Err(Problem::new(
            &codes::VALIDATION_FAILED,
            format!("the marker says '{new}', but the section is '{old}'"),
        )
        .field(field)
        .line(2)
        .section(old)
        .fix("ids stay: leave the marker out or make it the same")),
        _ => Ok(()),
    }
}

fn closed(field: &str, content: &str) -> Result<(), Stop> {
    if content.trim().is_empty() {
        return Err(Problem::new(&codes::INVALID_MARKDOWN, "there is nothing but blanks")
            .field(field)
            .fix("give it a text"));
    }
    if markdown::parse(content).is_closed() {
        return Ok(());
    }
    Err(Problem::new(
        &codes::INVALID_MARKDOWN,
        "a code fence, a comment or an HTML block is never closed, so it would swallow what follows",
    )
    .field(field)
    .line(lines::iter(content).count().max(1))
    .fix("close it"))
}

fn open_end(document: &Document<'_>, path: &str) -> Result<(), Stop> {
    if document.is_closed() {
        return Ok(());
    }
    Err(Problem::new(
        &codes::INVALID_MARKDOWN,
        format!("{path} ends inside a code fence, a comment or an HTML block"),
    )
    .field("path")
    .fix("close it by hand"))
}

fn guard_others(
    before: &Document<'_>,
    touched: std::ops::Range<usize>,
    after: &str,
) -> Result<(), Stop> {
    if edit::keeps_others(before, touched, &markdown::parse(after)) {
        return Ok(());
    }
    Err(Problem::new(&codes::INVALID_MARKDOWN, "the edit would change sections around it")
        .field("content")
        .fix("close code fences and comments, and use deeper headings inside a section"))
}

fn ids_of(text: &str) -> Vec<(u8, String, String)> {
    let document = markdown::parse(text);
    let count = document.sections.len();
    subtree_ids(&document, 0..count)
}

fn subtree_ids(
    document: &Document<'_>,
    range: std::ops::Range<usize>,
) -> Vec<(u8, String, String)> {
    document.sections[range]
        .iter()
        .filter_map(|s| s.id.clone().map(|id| (s.level, s.heading.clone(), id)))
        .collect()
}

/// True if `after` has a section that `before` has not.
fn new_ids(before: &str, after: &str) -> bool {
    let old = markdown::parse(before);
    let new = markdown::parse(after);
    new.sections.len() > old.sections.len()
        || new.sections.iter().any(|s| s.id.as_deref().is_some_and(|id| old.by_id(id).is_empty()))
}

fn has_duplicates(text: &str) -> bool {
    !markdown::parse(text).duplicate_ids().is_empty()
}

fn duplicate(text: &str, path: &str) -> Problem {
    let document = markdown::parse(text);
    let id = document.duplicate_ids().first().copied().unwrap_or_default().to_owned();
    Problem::new(
        &codes::DUPLICATE_SECTION_ID,
        format!("'{id}' would be the id of two sections in {path}"),
    )
    .field("content")
    .fix("leave the marker out to get a free id, or edit the section that has it")
    .section(id)
}

/// Left-over conflict markers at the beginning of a line.
pub(super) fn has_conflict_markers(text: &str) -> bool {
    let has = |mark: &str| lines::iter(text).any(|line| line.starts_with(mark));
    has("<<<<<<< ") && has(">>>>>>> ")
}
