//! Finds the sections of a Markdown file, as byte offsets into its source.
//!
//! The parser only locates: no text is rendered from its tree, and edits keep all other bytes.
//!
//! A section is a top-level heading with an optional marker comment on the next line (or after one
//! blank line): `<!-- @id: use-postgres -->`. It reaches to the next heading of the same or a
//! higher level, so parents contain children. Headings inside code, HTML blocks, quotes and lists
//! are text. Setext headings count, as in CommonMark.

pub mod edit;
pub mod fields;
pub mod lines;
pub mod slug;

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6.
    pub level: u8,
    /// Without markup: `Use Postgres` for `## Use **Postgres** ##`.
    pub heading: String,
    /// Several lines if setext; with line ending.
    pub heading_line: Range<usize>,
    /// Underlined heading.
    pub setext: bool,
    /// From the marker.
    pub id: Option<String>,
    /// With line ending.
    pub marker: Option<Range<usize>>,
    /// Behind heading and marker.
    pub body: usize,
    /// Start of the first child, else [`Section::end`].
    pub own_end: usize,
    /// With children.
    pub end: usize,
    /// Index in [`Document::sections`].
    pub parent: Option<usize>,
}

impl Section {
    pub fn start(&self) -> usize {
        self.heading_line.start
    }

    /// With children.
    pub fn range(&self) -> Range<usize> {
        self.start()..self.end
    }

    /// Up to the first child.
    pub fn own_range(&self) -> Range<usize> {
        self.start()..self.own_end
    }

    /// Without heading, marker and children.
    pub fn own_body(&self) -> Range<usize> {
        self.body.min(self.own_end)..self.own_end
    }
}

#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub source: &'a str,
    /// Behind byte order mark and front matter.
    pub start: usize,
    pub sections: Vec<Section>,
    /// Code and HTML blocks, which hold no labelled fields.
    pub opaque: Vec<Range<usize>>,
    /// Id markers that follow no heading.
    pub stray_markers: Vec<usize>,
}

/// Never fails: every text is Markdown.
pub fn parse(source: &str) -> Document<'_> {
    let start = lines::content_start(source);
    let mut found = ParsedParts::default();
    found.collect(source, start);
    let ParsedParts { headings, opaque, markers } = found;

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
struct ParsedParts {
    headings: Vec<Heading>,
    opaque: Vec<Range<usize>>,
    markers: Vec<usize>,
}

impl ParsedParts {
    fn collect(&mut self, source: &str, start: usize) {
        let mut depth = 0usize;
        let mut heading: Option<Heading> = None;
        let mut is_opened = false;
        for (event, range) in Parser::new_ext(&source[start..], Options::empty()).into_offset_iter()
        {
            let range = range.start + start..range.end + start;
            // The parser counts link definitions above as part of a heading.
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

fn is_marker_like(html: &str) -> bool {
    html.match_indices("@id").any(|(at, _)| html[at + 3..].trim_start().starts_with(':'))
}

/// Allows one blank line before.
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

/// At most three spaces of indentation and one comment.
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

/// Without line ending.
pub fn marker(id: &str) -> String {
    format!("<!-- @id: {id} -->")
}

impl Document<'_> {
    /// More than one is an error of the file.
    pub fn by_id(&self, id: &str) -> Vec<usize> {
        self.sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.id.as_deref() == Some(id))
            .map(|(i, _)| i)
            .collect()
    }

    /// From the marker, else a unique slug of the heading. Operations accept both.
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

    pub fn begins_with_heading(&self) -> bool {
        self.sections.first().is_some_and(|s| self.source[..s.start()].trim().is_empty())
    }

    /// With children.
    pub fn text(&self, i: usize) -> &str {
        &self.source[self.sections[i].range()]
    }

    /// Without children.
    pub fn own_text(&self, i: usize) -> &str {
        &self.source[self.sections[i].own_range()]
    }

    pub fn own_body(&self, i: usize) -> &str {
        &self.source[self.sections[i].own_body()]
    }

    /// From the outermost heading down to `i`.
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

    /// False if an unclosed code fence, comment or HTML block would swallow added text.
    pub fn is_closed(&self) -> bool {
        let eol = lines::dominant_ending(self.source);
        let probe = format!("{}{eol}{eol}# probe{eol}", self.source);
        let parsed = parse(&probe);
        parsed.sections.len() == self.sections.len() + 1
            && parsed.sections.last().is_some_and(|s| s.heading == "probe" && s.level == 1)
    }

    /// Each once, in order.
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
