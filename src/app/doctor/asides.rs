//! What a repair has set aside of lanes, in words.

use std::collections::BTreeSet;

use super::Problem;
use crate::store::Aside;
use crate::text::escape;

/// Most events that a question names: whoever can push here chooses how many there are.
const MOST_EVENTS: usize = 100;

/// What a person would type who says that something was said in this clone.
pub const COMMAND: &str = "aye doctor --repair --trust COMMIT";

/// What a person is asked about `aside`, in lines; safe for a terminal.
pub fn question(aside: &Aside) -> String {
    let Aside { name, tip, events, .. } = aside;
    let mut text =
        format!("{} of this clone's lane that nothing which is left of it names:\n", aside.count());
    for (_, event) in events.iter().take(MOST_EVENTS) {
        text += &format!("  {}\n", escape::line(event));
    }
    if let Some(more) = events.len().checked_sub(MOST_EVENTS + 1) {
        text += &format!("  and {} more\n", more + 1);
    }
    text += &format!(
        "They are in {name}, and somebody who can push here may have put them there (`git log -p {tip:.12}`).\n\
         Were they said in this clone, so that they go back into its lane?"
    );
    text
}

/// Every event of `found`, as a problem: it is kept, and does not count.
pub(super) fn problems(found: &[Aside]) -> Vec<Problem> {
    let mut known = BTreeSet::new();
    let mut problems = Vec::new();
    for aside in found {
        for (_, event) in aside.events.iter().filter(|(id, _)| known.insert(id.clone())) {
            let message = format!("{event} is in {} and does not count", aside.name);
            problems.push(Problem { hint: hint(aside), ..Problem::new("event_lost", message) });
        }
    }
    problems
}

/// A warning for each of `found`.
pub(super) fn warnings(found: &[Aside]) -> Vec<String> {
    let warning = |aside: &Aside| {
        let (count, name) = (aside.count(), &aside.name);
        format!("{name}, set aside by a repair, has {count} that no lane here has: {}", hint(aside))
    };
    found.iter().map(warning).collect()
}

fn hint(aside: &Aside) -> String {
    let Aside { name, tip, is_free, is_fetched, .. } = aside;
    match is_free {
        _ if *is_fetched => format!(
            "`git fetch --refetch REMOTE` gets it again from a remote that has it, where a plain fetch takes it \
             for fetched; `git log -p {name}` shows what was said, `git update-ref -d {name}` lets it go"
        ),
        true => format!(
            "if it was said in this clone (`git log -p {name}`): aye doctor --repair --trust {tip:.12}; \
             if not: git update-ref -d {name}"
        ),
        false => format!(
            "`git log -p {name}` shows what was said; say again here what still holds, then let it go: \
             git update-ref -d {name}"
        ),
    }
}
