//! What two versions of a memory file differ in, section by section.

use crate::memory::markdown;

/// One section, before and after.
#[derive(Clone, Debug)]
pub struct SectionChange {
    /// File, relative to the store.
    pub file: String,
    /// Section id, or heading.
    pub section_id: String,
    /// Its text before; absent where it is new.
    pub before: Option<String>,
    /// Its text after; absent where it goes.
    pub after: Option<String>,
}

/// What is different in `file`, section by section; the whole text where no section is.
pub fn sections_between(file: &str, before: &str, after: &str) -> Vec<SectionChange> {
    let touched = crate::memory::plan::touched(file, before, after);
    let change = |section_id: String, before, after| SectionChange {
        file: file.to_owned(),
        section_id,
        before,
        after,
    };
    if touched.is_empty() {
        return vec![change(String::new(), Some(before.to_owned()), Some(after.to_owned()))];
    }
    touched
        .into_iter()
        .map(|section| {
            let id = section.section_id;
            let (was, is) = (section_text(before, &id), section_text(after, &id));
            change(id, was, is)
        })
        .collect()
}

/// The text of `section` in `text`, children left out.
fn section_text(text: &str, section: &str) -> Option<String> {
    let document = markdown::parse(text);
    let i = document.ids().iter().position(|id| id == section)?;
    Some(document.own_text(i).trim_end().to_owned())
}
