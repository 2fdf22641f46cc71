//! The gate's settings are the stricter of HEAD's and the work tree's.
//!
//! Edits of `meta/` tighten the gate at once but loosen it only with a commit: otherwise an agent
//! could open its gate before it proposes. This concerns approval, scanners, their allow-list,
//! provenance, the schema's rules and the set of files. Sizes, times and texts come from the work
//! tree.

use super::schema::{Category, FieldSpec, Provenance, SOURCE_TYPES, Schema, SectionSchema};
use super::{Approval, Manifest, Settings};

impl Settings {
    /// Returns the loosened settings in words.
    pub fn limit_to(mut self, agreed: &Self) -> (Self, Vec<String>) {
        let mut loosened = self.manifest.hold_to(&agreed.manifest);
        loosened.extend(self.schema.hold_to(&agreed.schema));
        (self, loosened)
    }

    /// For unreadable committed settings: every change waits for a person; default scanners run.
    pub fn closed() -> Self {
        let mut closed = Self::default();
        for slot in closed.manifest.updates.approval.values_mut() {
            *slot = (*slot).max(Approval::Stage);
        }
        for category in closed.schema.categories.values_mut() {
            category.approval = category.approval.max(Approval::Stage);
        }
        closed
    }
}

/// Reports a difference in `loosened`.
fn set_strict<T: PartialEq + std::fmt::Display>(
    loosened: &mut Vec<String>,
    key: &str,
    value: &mut T,
    strict: T,
) {
    if *value != strict {
        loosened.push(format!("{key}: {strict} holds"));
        *value = strict;
    }
}

impl Manifest {
    fn hold_to(&mut self, agreed: &Self) -> Vec<String> {
        let mut loosened = Vec::new();
        for (slot, theirs) in &agreed.updates.approval {
            let mine = self.updates.approval.entry(*slot).or_insert(*theirs);
            let (key, strict) = (format!("updates.approval.{}", slot.as_str()), *theirs.max(mine));
            set_strict(&mut loosened, &key, mine, strict);
        }
        let (mine, theirs) = (&mut self.security, &agreed.security);
        for (key, mine, theirs) in [
            ("security.secret_scan", &mut mine.secret_scan, theirs.secret_scan),
            (
                "security.reject_untrusted_durable_updates",
                &mut mine.reject_untrusted_durable_updates,
                theirs.reject_untrusted_durable_updates,
            ),
        ] {
            let strict = *mine || theirs;
            set_strict(&mut loosened, key, mine, strict);
        }
        let (mine, theirs) = (&mut mine.allowlist_limits, &theirs.allowlist_limits);
        for (key, mine, theirs) in [
            ("max_bytes_per_file", &mut mine.max_bytes_per_file, theirs.max_bytes_per_file),
            ("max_regions_per_file", &mut mine.max_regions_per_file, theirs.max_regions_per_file),
            ("max_bytes_per_region", &mut mine.max_bytes_per_region, theirs.max_bytes_per_region),
        ] {
            let strict = theirs.min(*mine);
            set_strict(&mut loosened, key, mine, strict);
        }
        // The work tree must not start git actions either.
        let (mine, theirs) = (&mut self.git, &agreed.git);
        for (key, mine, theirs) in [
            ("git.auto_stage_changes", &mut mine.auto_stage_changes, theirs.auto_stage_changes),
            ("git.auto_commit", &mut mine.auto_commit, theirs.auto_commit),
        ] {
            let strict = *mine && theirs;
            set_strict(&mut loosened, key, mine, strict);
        }
        loosened
    }
}

impl Schema {
    /// The committed categories and files, each with the stricter rules.
    fn hold_to(&mut self, agreed: &Self) -> Vec<String> {
        let mut loosened = Vec::new();
        for name in self.categories.keys().filter(|name| !agreed.categories.contains_key(*name)) {
            loosened.push(format!("categories.{name}: has no files until it is committed"));
        }
        let mut held = agreed.categories.clone();
        for (name, theirs) in &mut held {
            let mine = self.categories.get(name);
            let strict = mine.map_or_else(|| theirs.clone(), |mine| strictest_of(theirs, mine));
            if mine.is_none_or(|mine| strictest_of(mine, mine) != strict) {
                loosened.push(format!("categories.{name}: the committed rules hold"));
            }
            *theirs = strict;
        }
        self.categories = held;
        loosened
    }
}

/// The rules of both, with the name and files of `theirs`.
fn strictest_of(theirs: &Category, mine: &Category) -> Category {
    let (fields, more) = (&theirs.section_schema, &mine.section_schema);
    Category {
        name: theirs.name.clone(),
        file: theirs.file.clone(),
        file_glob: theirs.file_glob.clone(),
        section_id_required: theirs.section_id_required || mine.section_id_required,
        section_schema: SectionSchema {
            required_top_level_heading: fields.required_top_level_heading
                || more.required_top_level_heading,
            per_section_required_fields: both(
                &fields.per_section_required_fields,
                &more.per_section_required_fields,
            ),
            per_section_optional_fields: both(
                &fields.per_section_optional_fields,
                &more.per_section_optional_fields,
            ),
        },
        approval: theirs.approval.max(mine.approval),
        server_managed: theirs.server_managed || mine.server_managed,
        agent_writable: theirs.agent_writable && mine.agent_writable,
        write_once: theirs.write_once || mine.write_once,
        git_tracked: theirs.git_tracked || mine.git_tracked,
        provenance: strictest_provenance(&theirs.provenance, &mine.provenance),
    }
}

fn both(theirs: &[FieldSpec], mine: &[FieldSpec]) -> Vec<FieldSpec> {
    let mut all = theirs.to_vec();
    all.extend(mine.iter().filter(|spec| !theirs.iter().any(|known| known == *spec)).cloned());
    all
}

fn strictest_provenance(theirs: &Provenance, mine: &Provenance) -> Provenance {
    let any = |provenance: &Provenance, kind: &str| {
        let allowed = &provenance.allowed_source_types;
        (allowed.is_empty() || allowed.iter().any(|known| known == kind))
            && !provenance.forbidden_source_types.iter().any(|known| known == kind)
    };
    let (allowed, forbidden): (Vec<&str>, Vec<&str>) =
        SOURCE_TYPES.iter().partition(|kind| any(theirs, kind) && any(mine, kind));
    let owned = |kinds: Vec<&str>| kinds.into_iter().map(str::to_owned).collect();
    Provenance {
        required: theirs.required || mine.required,
        required_for_new_sections: theirs.required_for_new_sections
            || mine.required_for_new_sections,
        allowed_source_types: owned(allowed),
        forbidden_source_types: owned(forbidden),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::settings::Slot;

    fn read(manifest: &str, schema: &str) -> Settings {
        Settings::read(Some(manifest.as_bytes()), Some(schema.as_bytes())).unwrap()
    }

    #[test]
    fn the_work_tree_tightens_and_does_not_loosen() {
        let agreed = read("", "");
        let mine = read(
            "updates: {approval: {decisions: apply, pitfalls_append: stage}}\n\
             security: {secret_scan: false, allowlist_limits: {max_regions_per_file: 99, max_bytes_per_file: 1}}\n\
             git: {auto_commit: true}\nbudgets: {max_file_chars: 77}\n",
            "",
        );
        let (held, loosened) = mine.limit_to(&agreed);
        let manifest = &held.manifest;
        assert_eq!(manifest.updates.approval[&Slot::Decisions], Approval::Stage);
        assert_eq!(manifest.updates.approval[&Slot::PitfallsAppend], Approval::Stage);
        assert!(manifest.security.secret_scan);
        assert_eq!(manifest.security.allowlist_limits.max_regions_per_file, 10);
        assert_eq!(manifest.security.allowlist_limits.max_bytes_per_file, 1);
        assert!(!manifest.git.auto_commit);
        assert_eq!(manifest.budgets.max_file_chars, 77, "sizes are not the gate's");
        assert_eq!(loosened.len(), 4, "{loosened:#?}");
        assert!(loosened.contains(&"updates.approval.decisions: stage holds".to_owned()));
    }

    #[test]
    fn categories_keep_their_committed_rules() {
        let mine = read(
            "",
            "categories:\n  decisions: {approval: apply, section_id_required: false, provenance: {required: false, forbidden_source_types: [], allowed_source_types: [external]}, section_schema: {per_section_required_fields: []}}\n  pitfalls: {write_once: true}\n  aa: {file: conventions.md, approval: apply}\n  notes: {file: notes.md}\n",
        );
        let (held, loosened) = mine.limit_to(&Settings::default());
        let decisions = held.schema.category("decisions.md").unwrap();
        assert_eq!(decisions.approval, Approval::Stage);
        assert!(decisions.provenance.required && decisions.section_id_required);
        assert_eq!(decisions.section_schema.per_section_required_fields.len(), 3);
        assert_eq!(decisions.provenance.allowed_source_types, Vec::<String>::new());
        assert_eq!(decisions.provenance.forbidden_source_types.len(), SOURCE_TYPES.len());
        assert!(held.schema.category("pitfalls.md").unwrap().write_once, "tightening counts");
        let conventions = held.schema.category("conventions.md").unwrap();
        assert_eq!(
            (conventions.name.as_str(), conventions.approval),
            ("conventions", Approval::Stage)
        );
        assert!(held.schema.category("notes.md").is_none());
        assert_eq!(loosened.len(), 3, "{loosened:#?}");
    }

    #[test]
    fn what_is_the_same_is_held_to_nothing() {
        let (held, loosened) = Settings::default().limit_to(&Settings::default());
        assert_eq!(loosened, Vec::<String>::new());
        assert_eq!(held.schema.category("modules/a.md").unwrap().name, "modules");
    }
}
