//! Where the sections of a Markdown file are, as byte offsets into its source.
//!
//! The parser only locates; nothing is ever rendered back from its tree. Whatever an edit does
//! not name keeps its bytes.
//!
//! A section is a heading at the top level of the document, with an optional marker comment on
//! the next line (one blank line of slack): `<!-- @id: use-postgres -->`. It reaches to the next
//! heading of the same or a higher level, so parents contain children. Headings inside code,
//! HTML blocks, block quotes and lists are text. Setext headings are headings, as in CommonMark.

pub mod edit;
pub mod fields;
pub mod lines;
pub mod slug;

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// One section, in byte offsets of [`Document::source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6.
    pub level: u8,
    /// The heading's text without its markup (`Use Postgres` for `## Use **Postgres** ##`).
    pub heading: String,
    /// The heading's line (two lines or more where it is setext), with its line ending.
    pub heading_line: Range<usize>,
    /// True for the underlined form.
    pub setext: bool,
    /// The id of the marker comment, if there is one.
    pub id: Option<String>,
    /// The marker's line, with its line ending.
    pub marker: Option<Range<usize>>,
    /// Where the text under the heading (and marker) begins.
    pub body: usize,
    /// Where the first child begins; [`Section::end`] without children.
    pub own_end: usize,
    /// Where the section ends, children included.
    pub end: usize,
    /// Index of the section this one is in.
    pub parent: Option<usize>,
}

impl Section {
    /// Where the section begins.
    pub fn start(&self) -> usize {
        self.heading_line.start
    }

    /// The whole section, children included.
    pub fn range(&self) -> Range<usize> {
        self.start()..self.end
    }

    /// Heading, marker and the text before the first child.
    pub fn own_range(&self) -> Range<usize> {
        self.start()..self.own_end
    }

    /// The text between heading (and marker) and the first child.
    pub fn own_body(&self) -> Range<usize> {
        self.body.min(self.own_end)..self.own_end
    }
}

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The text that was parsed.
    pub source: &'a str,
    /// Where Markdown begins: after a byte order mark and front matter.
    pub start: usize,
    /// Sections in document order.
    pub sections: Vec<Section>,
    /// Code blocks and HTML blocks, where no labelled field is looked for.
    pub opaque: Vec<Range<usize>>,
    /// Offsets of comments that look like an id marker but follow no heading.
    pub stray_markers: Vec<usize>,
}

/// Parses `source`. Never fails: every text is Markdown.
pub fn parse(source: &str) -> Document<'_> {
    let start = lines::content_start(source);
    let mut found = Found::default();
    found.collect(source, start);
    let Found { headings, opaque, markers } = found;

    let mut sections: Vec<Section> = Vec::with_capacity(headings.len());
    for heading in headings {
        let marker = marker_after(source, heading.line.end);
        let body = marker.as_ref().map_or(heading.line.end, |(range, _)| range.end);
        let (marker, id) = match marker {
            Some((range, id)) => (Some(range), Some(id)),
            None => (None, None),
        };
        sections.push(Section {
            level: heading.level,
            heading: heading.text,
            heading_line: heading.line,
            setext: heading.setext,
            id,
            marker,
            body,
            own_end: source.len(),
            end: source.len(),
            parent: None,
        });
    }
    nest(&mut sections, source.len());
    let claimed: Vec<Range<usize>> = sections.iter().filter_map(|s| s.marker.clone()).collect();
    let is_claimed = |at: usize| {
        let next = claimed.partition_point(|range| range.end <= at);
        claimed.get(next).is_some_and(|range| range.contains(&at))
    };
    let stray_markers = markers.into_iter().filter(|at| !is_claimed(*at)).collect();
    Document { source, start, sections, opaque, stray_markers }
}

/// Fills in ends and parents, with a stack of open sections.
fn nest(sections: &mut [Section], len: usize) {
    let mut open: Vec<usize> = Vec::new();
    for i in 0..sections.len() {
        let (at, level) = (sections[i].start(), sections[i].level);
        while let Some(&last) = open.last() {
            if sections[last].level < level {
                break;
            }
            sections[last].end = at;
            open.pop();
        }
        if let Some(before) = i.checked_sub(1) {
            sections[before].own_end = at;
        }
        sections[i].parent = open.last().copied();
        open.push(i);
    }
    for i in open {
        sections[i].end = len;
    }
}

struct Heading {
    level: u8,
    text: String,
    line: Range<usize>,
    setext: bool,
}

#[derive(Default)]
struct Found {
    headings: Vec<Heading>,
    opaque: Vec<Range<usize>>,
    markers: Vec<usize>,
}

impl Found {
    fn collect(&mut self, source: &str, start: usize) {
        let mut depth = 0usize;
        let mut heading: Option<Heading> = None;
        let mut is_opened = false;
        for (event, range) in Parser::new_ext(&source[start..], Options::empty()).into_offset_iter()
        {
            let range = range.start + start..range.end + start;
            // The parser counts the link definitions above an underlined heading as part of it.
            if let Some(heading) = heading.as_mut().filter(|heading| heading.setext && is_opened)
                && !matches!(event, Event::End(TagEnd::Heading(_)))
            {
                heading.line.start = lines::start_of(source, range.start);
            }
            is_opened = false;
            match event {
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    depth += 1;
                    let line = lines::start_of(source, range.start)
                        ..lines::end_of(source, range.end.max(range.start + 1) - 1);
                    let setext = !source[line.clone()].trim_start().starts_with('#')
                        || source[line.clone()].trim_end().lines().count() > 1;
                    let text = String::new();
                    heading = Some(Heading { level: level as u8, text, line, setext });
                    is_opened = true;
                }
                Event::Start(tag) => {
                    depth += 1;
                    if matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock) {
                        self.opaque.push(range);
                    }
                }
                Event::End(TagEnd::Heading(_)) if depth == 1 => {
                    depth = 0;
                    if let Some(mut done) = heading.take() {
                        done.text = done.text.trim().to_owned();
                        self.headings.push(done);
                    }
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.text += &text;
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(heading) = &mut heading {
                        heading.text.push(' ');
                    }
                }
                Event::Html(html) | Event::InlineHtml(html) if is_marker_like(&html) => {
                    self.markers.push(range.start);
                }
                _ => {}
            }
        }
    }
}

/// Whether a piece of HTML speaks the marker's language.
fn is_marker_like(html: &str) -> bool {
    html.match_indices("@id").any(|(at, _)| html[at + 3..].trim_start().starts_with(':'))
}

/// The marker on the line at `at`, or after one blank line.
fn marker_after(source: &str, at: usize) -> Option<(Range<usize>, String)> {
    let mut at = at;
    let end = lines::end_of(source, at);
    if source[at..end].trim().is_empty() {
        at = end;
    }
    if at >= source.len() {
        return None;
    }
    let end = lines::end_of(source, at);
    parse_marker(&source[at..end]).map(|id| (at..end, id.to_owned()))
}

/// The id in a marker line, if it is one: at most three blanks of indentation, one comment,
/// nothing else.
pub fn parse_marker(line: &str) -> Option<&str> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    if indent > 3 {
        return None;
    }
    let inner = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let id = inner.trim().strip_prefix("@id")?.trim_start().strip_prefix(':')?.trim();
    let plain = !id.is_empty() && !id.contains(char::is_whitespace) && !id.contains("--");
    plain.then_some(id)
}

/// The marker line for `id`, without a line ending.
pub fn marker(id: &str) -> String {
    format!("<!-- @id: {id} -->")
}

impl Document<'_> {
    /// Indices of the sections whose marker carries `id`; more than one is an error of the file.
    pub fn by_id(&self, id: &str) -> Vec<usize> {
        self.sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.id.as_deref() == Some(id))
            .map(|(i, _)| i)
            .collect()
    }

    /// The id of each section: of its marker, else one made of its heading that no other section
    /// has. Operations take both.
    pub fn ids(&self) -> Vec<String> {
        let mut taken: HashSet<String> =
            self.sections.iter().filter_map(|section| section.id.clone()).collect();
        let mut id = |section: &Section| {
            section.id.clone().unwrap_or_else(|| {
                let id = slug::unique(&section.heading, |id| taken.contains(id));
                taken.insert(id.clone());
                id
            })
        };
        self.sections.iter().map(&mut id).collect()
    }

    /// True where nothing but whitespace stands before the first heading.
    pub fn begins_with_heading(&self) -> bool {
        self.sections.first().is_some_and(|s| self.source[..s.start()].trim().is_empty())
    }

    /// The whole text of section `i`, children included.
    pub fn text(&self, i: usize) -> &str {
        &self.source[self.sections[i].range()]
    }

    /// Heading, marker and own text of section `i`, without children.
    pub fn own_text(&self, i: usize) -> &str {
        &self.source[self.sections[i].own_range()]
    }

    /// The text of section `i` between its heading and its first child.
    pub fn own_body(&self, i: usize) -> &str {
        &self.source[self.sections[i].own_body()]
    }

    /// Headings from the outermost section down to `i`.
    pub fn trail(&self, i: usize) -> Vec<&str> {
        let mut trail = vec![self.sections[i].heading.as_str()];
        let mut at = i;
        while let Some(parent) = self.sections[at].parent {
            trail.push(self.sections[parent].heading.as_str());
            at = parent;
        }
        trail.reverse();
        trail
    }

    /// True when nothing but headings may follow: text added at the end stays text of the last
    /// section. False where the file ends inside a code fence, a comment or another HTML block
    /// that would swallow it.
    pub fn is_closed(&self) -> bool {
        let eol = lines::dominant_ending(self.source);
        let probe = format!("{}{eol}{eol}# probe{eol}", self.source);
        let parsed = parse(&probe);
        parsed.sections.len() == self.sections.len() + 1
            && parsed.sections.last().is_some_and(|s| s.heading == "probe" && s.level == 1)
    }

    /// Ids that occur more than once, each once, in order.
    pub fn duplicate_ids(&self) -> Vec<&str> {
        let (mut seen, mut duplicates) = (HashSet::new(), Vec::new());
        for id in self.sections.iter().filter_map(|s| s.id.as_deref()) {
            if !seen.insert(id) && !duplicates.contains(&id) {
                duplicates.push(id);
            }
        }
        duplicates
    }
}

#[cfg(test)]
mod tests;
