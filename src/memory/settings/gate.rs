//! The gate's settings are the strictest of what was committed and of what lies in the work tree.
//!
//! Whoever edits `meta/` in the work tree may tighten the gate at once, but loosens it only with a
//! commit: otherwise an agent could open its own gate before it proposes. That concerns who lets
//! changes in, the scanners, their allow-list, provenance, the schema's rules and which files
//! there are; sizes, times and texts count as they lie in the work tree.

use std::collections::BTreeMap;

use super::schema::{Category, FieldSpec, Provenance, SOURCE_TYPES, Schema};
use super::{Approval, Manifest, Settings};

impl Settings {
    /// These settings, held to `agreed`; and what of them `agreed` does not allow, in words.
    pub fn held_to(mut self, agreed: &Self) -> (Self, Vec<String>) {
        let mut loosened = self.manifest.hold_to(&agreed.manifest);
        loosened.extend(self.schema.hold_to(&agreed.schema));
        (self, loosened)
    }

    /// What holds where the committed settings cannot be read: every change waits for a person,
    /// and every scanner runs.
    pub fn closed() -> Self {
        let mut closed = Self::default();
        for (_, slot) in closed.manifest.updates.approval.slots_mut() {
            *slot = (*slot).max(Approval::Stage);
        }
        for category in closed.schema.categories.values_mut() {
            category.approval = category.approval.max(Approval::Stage);
        }
        let security = &mut closed.manifest.security;
        security.secret_scan = true;
        security.reject_untrusted_durable_updates = true;
        closed
    }
}

/// One setting as the work tree has it, and what holds.
struct Held<'a> {
    key: &'a str,
    loosened: Vec<String>,
}

impl Held<'_> {
    fn key(&mut self, key: &'static str) -> &mut Self {
        self.key = key;
        self
    }

    /// Puts `strict` in the place of `value`, and says so where that is another one.
    fn to<T: PartialEq>(&mut self, value: &mut T, strict: T, say: impl Fn(&T) -> String) {
        if *value != strict {
            self.loosened.push(format!("{}: {} holds", self.key, say(&strict)));
            *value = strict;
        }
    }
}

impl Manifest {
    fn hold_to(&mut self, agreed: &Self) -> Vec<String> {
        let mut held = Held { key: "", loosened: Vec::new() };
        let slots = self.updates.approval.slots_mut();
        for ((key, mine), (_, theirs)) in slots.into_iter().zip(agreed.updates.approval.slots()) {
            let strict = theirs.max(*mine);
            held.key(key).to(mine, strict, |mode| mode.as_str().to_owned());
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
            held.key(key).to(mine, strict, bool::to_string);
        }
        let (mine, theirs) = (&mut mine.allowlist_limits, &theirs.allowlist_limits);
        for (key, mine, theirs) in [
            ("max_bytes_per_file", &mut mine.max_bytes_per_file, theirs.max_bytes_per_file),
            ("max_regions_per_file", &mut mine.max_regions_per_file, theirs.max_regions_per_file),
            ("max_bytes_per_region", &mut mine.max_bytes_per_region, theirs.max_bytes_per_region),
        ] {
            let strict = theirs.min(*mine);
            held.key(key).to(mine, strict, usize::to_string);
        }
        // What aye does in git on its own is not for the work tree to begin with either.
        let (mine, theirs) = (&mut self.git, &agreed.git);
        for (key, mine, theirs) in [
            ("git.auto_stage_changes", &mut mine.auto_stage_changes, theirs.auto_stage_changes),
            ("git.auto_commit", &mut mine.auto_commit, theirs.auto_commit),
        ] {
            let strict = *mine && theirs;
            held.key(key).to(mine, strict, bool::to_string);
        }
        held.loosened
    }
}

/// What was agreed on, next to a schema that differs from it.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    schema: Schema,
    /// By the names of the agreed category and of the work tree's.
    strictest: BTreeMap<(String, String), Category>,
}

impl Agreed {
    /// The category of `path`: one that both have, as strict as the stricter.
    pub(super) fn category(&self, path: &str, mine: &Category) -> Option<&Category> {
        let theirs = self.schema.category(path)?;
        self.strictest.get(&(theirs.name.clone(), mine.name.clone()))
    }
}

impl Schema {
    fn hold_to(&mut self, agreed: &Self) -> Vec<String> {
        let mut loosened = Vec::new();
        let mut strictest = BTreeMap::new();
        for theirs in agreed.categories.values() {
            for mine in self.categories.values() {
                let strict = strictest_of(theirs, mine);
                if mine.name == theirs.name && !same(&strict, mine) {
                    loosened.push(format!("categories.{}: the committed rules hold", mine.name));
                }
                strictest.insert((theirs.name.clone(), mine.name.clone()), strict);
            }
        }
        for name in self.categories.keys().filter(|name| !agreed.categories.contains_key(*name)) {
            loosened.push(format!("categories.{name}: has no files until it is committed"));
        }
        self.agreed = Some(Box::new(Agreed { schema: agreed.clone(), strictest }));
        loosened
    }
}

/// The rules of both, under the name and for the files of `theirs`.
fn strictest_of(theirs: &Category, mine: &Category) -> Category {
    Category {
        name: theirs.name.clone(),
        files: theirs.files.clone(),
        section_id_required: theirs.section_id_required || mine.section_id_required,
        required_top_level_heading: theirs.required_top_level_heading
            || mine.required_top_level_heading,
        required_fields: both(&theirs.required_fields, &mine.required_fields),
        optional_fields: both(&theirs.optional_fields, &mine.optional_fields),
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

/// Whether `strict` asks for nothing that `mine` does not ask for.
fn same(strict: &Category, mine: &Category) -> bool {
    let provenance = strictest_provenance(&mine.provenance, &mine.provenance);
    let plain = |category: &Category| {
        (
            category.files.clone(),
            category.section_id_required,
            category.required_top_level_heading,
            category.approval,
            category.server_managed,
            category.agent_writable,
            category.write_once,
            category.git_tracked,
            category.required_fields.len(),
            category.optional_fields.len(),
        )
    };
    plain(strict) == plain(mine) && strict.provenance == provenance
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (held, loosened) = mine.held_to(&agreed);
        let manifest = &held.manifest;
        assert_eq!(manifest.updates.approval.decisions, Approval::Stage);
        assert_eq!(manifest.updates.approval.pitfalls_append, Approval::Stage);
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
        let (held, loosened) = mine.held_to(&Settings::default());
        let decisions = held.schema.category("decisions.md").unwrap();
        assert_eq!(decisions.approval, Approval::Stage);
        assert!(decisions.provenance.required && decisions.section_id_required);
        assert_eq!(decisions.required_fields.len(), 3);
        assert_eq!(decisions.provenance.allowed_source_types, Vec::<String>::new());
        assert_eq!(decisions.provenance.forbidden_source_types.len(), SOURCE_TYPES.len());
        assert!(held.schema.category("pitfalls.md").unwrap().write_once, "tightening counts");
        // A second category for a file does not take it out of the first one.
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
        let (held, loosened) = Settings::default().held_to(&Settings::default());
        assert_eq!(loosened, Vec::<String>::new());
        assert_eq!(held.schema.category("modules/a.md").unwrap().name, "modules");
    }
}
