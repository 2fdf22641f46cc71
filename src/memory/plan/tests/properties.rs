use proptest::prelude::*;

use super::*;

/// Random sections with ids and awkward contents.
fn arbitrary_file() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        Just(""),
        Just("text\n"),
        Just("- item\n  - nested\n\n"),
        Just("```md\n## not a heading\n```\n\n"),
        Just("    ## indented code\n\n"),
        Just("<div>\n## html\n</div>\n\n"),
        Just("Заметка: да\n\n> ## quoted\n\n"),
        Just("漢字 テキスト\n\n\n\n"),
        Just("trailing blanks   \n\n"),
    ];
    let sections = prop::collection::vec((1u8..4, body), 1..8);
    (sections, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(sections, crlf, mark, newline)| {
            let mut text = String::new();
            for (i, (level, body)) in sections.iter().enumerate() {
                text += &format!(
                    "{} Heading {i}\n<!-- @id: s{i} -->\n{body}",
                    "#".repeat((*level).into())
                );
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            if !newline {
                text.truncate(text.trim_end().len());
            }
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            if mark { format!("\u{feff}---\nx: 1\n---\n{text}") } else { text }
        },
    )
}

fn arbitrary_operation() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        Just("- b"),
        Just("new text\n"),
        Just("```\n# code\n```"),
        Just("#### deep\n\nx"),
        Just("строка\n\nещё"),
    ];
    (0usize..6, 0usize..8, content).prop_map(|(kind, target, content)| {
        let id = format!("s{target}");
        match kind {
            0 => json!({"operation": "append_to_section", "section_id": id, "content": content}),
            1 => json!({"operation": "replace_section_content", "section_id": id, "content": content}),
            2 => json!({"operation": "rename_heading", "section_id": id, "new_heading": "Другое имя"}),
            3 => json!({"operation": "append_section", "heading": "Added", "heading_level": 1, "content": format!("# Added\n\n{content}")}),
            4 => json!({"operation": "remove_section", "section_id": id, "archive_path": format!("archive/{id}.md")}),
            _ => json!({"operation": "replace_section_content", "section_id": id, "content": format!("pre\n\n{content}")}),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn untouched_sections_keep_their_bytes(file in arbitrary_file(), ops in prop::collection::vec(arbitrary_operation(), 1..4)) {
        let mut store = Store::new();
        store.insert("pitfalls.md".into(), file.clone().into_bytes());
        let mut ops = ops;
        for op in &mut ops {
            op["path"] = "pitfalls.md".into();
        }
        let request = request("add_pitfall", Value::Array(ops.clone()));
        let Ok(plan) = run(&store, &request).0 else { return Ok(()) };
        let text = String::from_utf8(plan.files["pitfalls.md"].after.clone()).unwrap();
        let (old, new) = (markdown::parse(&file), markdown::parse(&text));
        prop_assert!(new.duplicate_ids().is_empty());
        prop_assert_eq!(&file[..old.start], &text[..new.start]);
        // Sections without a named descendant or ancestor.
        let named: Vec<&str> = ops.iter().filter_map(|op| op["section_id"].as_str()).collect();
        for i in 0..old.sections.len() {
            let section = &old.sections[i];
            let subtree = (0..old.sections.len()).filter(|k| {
                let s = &old.sections[*k];
                s.start() >= section.start() && s.end <= section.end
            });
            let mut ancestors = vec![i];
            while let Some(parent) = old.sections[*ancestors.last().unwrap()].parent {
                ancestors.push(parent);
            }
            let concerned = subtree.chain(ancestors).any(|k| {
                old.sections[k].id.as_deref().is_some_and(|id| named.contains(&id))
            });
            if concerned {
                continue;
            }
            let found = new.by_id(section.id.as_deref().unwrap());
            prop_assert_eq!(found.len(), 1);
            let (was, is) = (old.own_text(i), new.own_text(found[0]));
            let next_named = old.sections.get(i + 1).is_none_or(|s| {
                s.end == file.len() || s.id.as_deref().is_some_and(|id| named.contains(&id))
            });
            if next_named || section.end == file.len() {
                // An append may follow the removal of the next section.
                prop_assert!(is.starts_with(was), "{:?} {:?}", was, is);
                prop_assert!(is[was.len()..].trim().is_empty());
            } else {
                prop_assert_eq!(was, is);
            }
        }
        let again = markdown::parse(&text);
        prop_assert_eq!(&again.sections, &new.sections);
    }

    #[test]
    fn nothing_panics(file in "(?s).{0,200}", content in "(?s).{0,80}") {
        let document = markdown::parse(&file);
        let _ = document.is_closed();
        for i in 0..document.sections.len() {
            let _ = markdown::edit::append_to_section(&document, i, &content);
            let _ = markdown::edit::replace_own_body(&document, i, &content);
            let _ = markdown::edit::replace_section(&document, i, &content);
            let _ = markdown::edit::remove_section(&document, i);
            let _ = markdown::edit::rename(&document, i, "x", 2);
        }
        let _ = markdown::edit::insert_section(&document, file.len(), &content);
        let _ = markdown::edit::with_ids(&file, None, markdown::edit::Mark::All, &[], |_| false);
    }
}
