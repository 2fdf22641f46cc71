//! What each fuzz target does with its bytes. A target is a function here, a file of three lines
//! in `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, and a line in `tests/fuzz_targets.rs`.

/// An event as it lies in a lane: read or refused; what was read is written again and read to the
/// same event, and the fold of it with itself never panics.
pub fn event(bytes: &[u8]) {
    use aye::proposal::{Data, Event, Stamped, fold};
    let Ok(event) = Event::from_bytes(bytes) else { return };
    // Of a newer version: kept, skipped by the fold, never written by this one.
    if matches!(event.data, Data::Unknown(..)) {
        return;
    }
    let Ok(written) = event.to_bytes() else { return };
    let again = Event::from_bytes(&written).expect("what was written can be read");
    assert_eq!(again.to_bytes().expect("written again"), written, "one canonical form");
    let stamped = |id: &str| Stamped { id: id.repeat(40), event: again.clone() };
    let _ = fold(&[stamped("a"), stamped("b"), stamped("a")]);
}

/// A proposal id or a prefix as somebody types it.
pub fn id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(normal) = aye::proposal::id::normalize(text) else { return };
    assert_eq!(aye::proposal::id::normalize(&normal).ok().as_deref(), Some(normal.as_str()));
}

/// A path from outside: refused, or one that stays inside the repository.
pub fn path(bytes: &[u8]) {
    let Ok(path) = aye::changeset::RepoPath::new(bytes) else { return };
    for component in path.components() {
        assert!(!component.is_empty() && component != "." && component != "..");
        assert!(!component.eq_ignore_ascii_case(b".git"));
        assert!(!component.contains(&b'/') && !component.contains(&0));
    }
    assert!(path.to_path().is_relative());
}
