//! Prints the conversation about a proposal.

use chrono::{DateTime, Utc};

use crate::proposal::Proposal;
use crate::proposal::conversation::{CommentLocation, ContributionKind};
use crate::render::age;
use crate::render::style::{Palette, Role};
use crate::text::escape;

pub(super) fn conversation_text(
    proposal: &Proposal,
    places: &[CommentLocation],
    palette: &Palette,
    now: DateTime<Utc>,
) -> String {
    let prefix = proposal.comment_prefix();
    let mut out = String::new();
    for saying in proposal.conversation(places) {
        let who = palette.paint(Role::Title, escape::name(&saying.by.titled()));
        let place = saying.place().map(|place| format!(" on {}", escape::name(&place)));
        let what = match saying.kind {
            ContributionKind::Comment => String::new(),
            ContributionKind::Request => match saying.earlier {
                Some(number) => format!(" requests changes of revision {number}"),
                None => " requests changes".to_owned(),
            },
            ContributionKind::Answered => " requested changes (answered, or taken back)".to_owned(),
        };
        let mut title =
            format!("\n{who} {}{}{what}", age::ago(saying.at, now), place.unwrap_or_default());
        if let Some(remark) = saying.remark {
            let wants = saying.wants().map(|wants| format!("  {}", escape::name(wants)));
            let id = &remark.event[..prefix.min(remark.event.len())];
            title += &format!("{}  {}", wants.unwrap_or_default(), palette.paint(Role::Id, id));
        }
        out += &format!("{title}\n");
        let quote = saying.place.and_then(|place| place.quote.as_deref());
        let replacement = saying.remark.and_then(|remark| remark.comment.replacement.as_deref());
        let (role, sign) = match replacement {
            Some(_) => (Role::Old, "- "),
            None => (Role::Dim, "> "),
        };
        push_lines(&mut out, palette, role, sign, quote);
        push_lines(&mut out, palette, Role::New, "+ ", replacement);
        for line in escape::block(saying.body.unwrap_or("see the comments")).lines() {
            out += &format!("    {line}\n");
        }
        if let Some(resolved) = saying.resolved() {
            let (by, ago) = (escape::name(&resolved.by.titled()), age::ago(resolved.at, now));
            let note = escape::line(&resolved.note);
            let line = format!("resolved by {by} {ago}: {note}");
            out += &format!("    {}\n", palette.paint(Role::Good, line));
        }
    }
    out
}

fn push_lines(out: &mut String, palette: &Palette, role: Role, sign: &str, text: Option<&str>) {
    let lines: Vec<&str> = text.iter().flat_map(|text| text.lines()).collect();
    for line in lines.iter().take(MOST_QUOTED) {
        let line = palette.paint(role, format!("{sign}{}", escape::line(line)));
        *out += &format!("    {line}\n");
    }
    if lines.len() > MOST_QUOTED {
        *out += &format!("    {sign}… {} more lines\n", lines.len() - MOST_QUOTED);
    }
}

const MOST_QUOTED: usize = 40;
