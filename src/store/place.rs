//! Which lane is this clone's own, and whether it still is.
//!
//! A copied, restored or synchronised repository brings `aye/lane` along, and two clones that
//! write one lane lose each other's decisions. So the lane belongs to one file: `aye/place` says
//! which inode `aye/lane` had when the lane began, and when that file was made. A copy has another
//! one, and begins a lane of its own with its first event. Device numbers say nothing: they change
//! with every mount of some file systems.

use std::fs;
use std::time::UNIX_EPOCH;

use bstr::BStr;

use super::refs::{self, Audience};
use crate::beneath::Access;
use crate::error::{Error, Result};
use crate::private::Directory;

/// The file that has the id of this clone's lane.
const LANE: &str = "lane";

/// The file that says which file that is.
const PLACE: &str = "place";

/// What tells one file from its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    inode: u64,
    /// Nanoseconds since 1970 at which it was made; `None` where the file system does not say.
    born: Option<u128>,
}

/// What `aye/place` says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    lane: String,
    identity: Identity,
    /// The lane that this one goes on from.
    from: Option<String>,
    /// The file that was there before, which still is where a crash has come between.
    before: Option<Identity>,
}

impl Identity {
    fn to_text(self) -> String {
        let born = self.born.map_or_else(|| "-".to_owned(), |born| born.to_string());
        format!("{} {born}", self.inode)
    }

    fn parse(text: &str) -> Option<Self> {
        let (inode, born) = text.split_once(' ')?;
        let born = match born {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        Some(Self { inode: inode.parse().ok()?, born })
    }
}

impl Place {
    fn to_text(&self) -> String {
        let from = self.from.as_ref().map(|from| format!("from {from}\n")).unwrap_or_default();
        let before = self.before.map(|before| format!("before {}\n", before.to_text()));
        let (identity, before) = (self.identity.to_text(), before.unwrap_or_default());
        format!("{} {identity}\n{from}{before}", self.lane)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (lane, identity) = lines.next()?.split_once(' ')?;
        let identity = Identity::parse(identity)?;
        let mut place = Self { lane: lane.to_owned(), identity, from: None, before: None };
        for line in lines {
            if let Some(from) = line.strip_prefix("from ") {
                place.from = Some(from.to_owned()).filter(|from| refs::is_lane_name(from));
            } else if let Some(before) = line.strip_prefix("before ") {
                place.before = Identity::parse(before);
            }
        }
        Some(place)
    }
}

/// The name of the file `base` of the lane for `audience`.
fn file(base: &str, audience: &Audience) -> String {
    match audience {
        Audience::Default => base.to_owned(),
        Audience::Private => format!("{base}.private"),
        Audience::Remote(remote) => {
            let hex: String = remote.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("{base}.for.{hex}")
        }
    }
}

/// The lane that the next event goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// Whom it is for.
    audience: Audience,
    /// Its id.
    pub(super) lane: String,
    /// The lane that it goes on from, if it has begun elsewhere.
    pub(super) from: Option<String>,
    /// What has to be written before its first event.
    due: Due,
}

impl Own {
    /// A lane that is named, and not noted here.
    pub(super) fn named(lane: &str) -> Self {
        let audience = Audience::Default;
        Self { audience, lane: lane.to_owned(), from: None, due: Due::Nothing }
    }
}

/// What [`claim`] has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// Nothing.
    Nothing,
    /// Note the place of a lane that an older version began.
    Bind,
    /// Note a new lane.
    Begin,
}

/// The id of this clone's lane for `audience`, as it was noted; `None` if nothing usable is. Whether
/// it is another clone's that was copied is for writers to ask.
///
/// # Errors
/// `private_dir_unsafe`, `io_error`.
pub(super) fn noted(directory: &Directory, audience: &Audience) -> Result<Option<String>> {
    Ok(noted_epoch(directory, audience)?.map(|(lane, _)| lane))
}

/// As [`noted`], with the epoch that the note names. It is written before the ref of that epoch, so
/// that version 0.1.0, which takes `<lane>.<n>` for no lane, never goes on with the one before.
///
/// # Errors
/// As [`noted`].
pub(super) fn noted_epoch(
    directory: &Directory,
    audience: &Audience,
) -> Result<Option<(String, u64)>> {
    let Some(bytes) = directory.read(&file(LANE, audience))? else { return Ok(None) };
    let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
    let (id, epoch) = match text.trim().split_once('.') {
        None => (text.trim(), 1),
        Some((id, number)) => match number.parse() {
            Ok(epoch) if epoch > 1 && number == format!("{epoch}") => (id, epoch),
            _ => return Ok(None),
        },
    };
    let valid = (8..=40).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    Ok(valid.then(|| (id.to_owned(), epoch)))
}

/// Notes that this clone's lane is in `epoch`, with its place. The caller holds the store's lock, and
/// the lane is this clone's own and noted.
///
/// # Errors
/// As [`noted`].
pub(super) fn advance(directory: &Directory, own: &Own, epoch: u64) -> Result<()> {
    let text = format!("{}.{epoch}\n", own.lane);
    let lane_file = file(LANE, &own.audience);
    let before = identity(&directory.file(BStr::new(&lane_file), Access::Read)?)?;
    directory.replace_after(&lane_file, text.as_bytes(), true, |file: &fs::File| {
        note(directory, own, file, Some(before))
    })
}

fn note(
    directory: &Directory,
    own: &Own,
    noted: &fs::File,
    before: Option<Identity>,
) -> Result<()> {
    let (lane, from) = (own.lane.clone(), own.from.clone());
    let place = Place { lane, identity: identity(noted)?, from, before };
    directory.replace(&file(PLACE, &own.audience), place.to_text().as_bytes(), true)
}

/// The lane that events of this clone for `audience` go to: the noted one; a new one where there is
/// none, where the note is a copy, and where somebody else `shares` the lane. Nothing is written
/// before [`claim`].
///
/// # Errors
/// As [`noted`].
pub(super) fn own(
    directory: &Directory,
    audience: &Audience,
    shares: impl FnOnce(&str) -> bool,
) -> Result<Own> {
    let audience = audience.clone();
    let begin = |from: Option<String>| {
        let lane = format!("{:016x}", crate::beneath::random());
        Own { audience: audience.clone(), lane, from, due: Due::Begin }
    };
    let Some(lane) = noted(directory, &audience)? else { return Ok(begin(None)) };
    if shares(&lane) {
        return Ok(begin(Some(lane)));
    }
    Ok(match bound(directory, &audience, &lane)? {
        Bound::Here { from } => Own { audience, lane, from, due: Due::Nothing },
        Bound::Nowhere => Own { audience, lane, from: None, due: Due::Bind },
        Bound::Elsewhere => begin(Some(lane)),
    })
}

/// Where a noted lane belongs.
enum Bound {
    /// To the file that is here.
    Here { from: Option<String> },
    /// An older version has not said.
    Nowhere,
    /// To another file, of which this is a copy.
    Elsewhere,
}

fn bound(directory: &Directory, audience: &Audience, lane: &str) -> Result<Bound> {
    let place =
        directory.read(&file(PLACE, audience))?.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(place) = place.as_deref().and_then(Place::parse) else { return Ok(Bound::Nowhere) };
    let noted = directory.file(BStr::new(&file(LANE, audience)), Access::Read)?;
    let noted = identity(&noted)?;
    let is_here = place.identity == noted || place.before == Some(noted);
    Ok(if place.lane == lane && is_here {
        Bound::Here { from: place.from }
    } else {
        Bound::Elsewhere
    })
}

/// Whether `lane`, as noted for `audience`, is a copy of another clone's, so that the next event begins
/// a new one.
///
/// # Errors
/// As [`noted`].
pub(super) fn is_copy(directory: &Directory, audience: &Audience, lane: &str) -> Result<bool> {
    Ok(matches!(bound(directory, audience, lane)?, Bound::Elsewhere))
}

/// Whether `lane`, as noted for `audience`, was begun in this clone.
///
/// # Errors
/// As [`noted`].
pub(super) fn is_here(directory: &Directory, audience: &Audience, lane: &str) -> Result<bool> {
    Ok(matches!(bound(directory, audience, lane)?, Bound::Here { .. }))
}

/// Notes the lane of `own`, where that is due: its place first, so that no crash leaves a new lane
/// that any copy could take for its own.
///
/// # Errors
/// As [`noted`].
pub(super) fn claim(directory: &Directory, own: &mut Own) -> Result<()> {
    let lane_file = file(LANE, &own.audience);
    match own.due {
        Due::Nothing => return Ok(()),
        Due::Bind => {
            let noted = directory.file(BStr::new(&lane_file), Access::Read)?;
            note(directory, own, &noted, None)?;
        }
        Due::Begin => {
            if own.audience != Audience::Default {
                // A hook of an older version holds the stamp against the lanes for the default
                // remote alone.
                directory.remove(super::idle::NAME);
            }
            let text = format!("{}\n", own.lane);
            let note = |file: &fs::File| note(directory, own, file, None);
            directory.replace_after(&lane_file, text.as_bytes(), true, note)?;
        }
    }
    own.due = Due::Nothing;
    Ok(())
}

/// Takes back the note of this clone's lane for `audience`, if that is `lane`: nothing is left of it.
///
/// # Errors
/// As [`noted`].
pub(super) fn forget(directory: &Directory, audience: &Audience, lane: &str) -> Result<()> {
    if noted(directory, audience)?.is_some_and(|own| own == lane) {
        directory.remove(&file(LANE, audience));
    }
    Ok(())
}

fn identity(file: &fs::File) -> Result<Identity> {
    let failed = |error: std::io::Error| Error::io("look at aye/lane in the git directory", &error);
    let facts = file.metadata().map_err(failed)?;
    let born = facts.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let born = born.map(|since| since.as_nanos()).filter(|nanos| *nanos > 0);
    Ok(Identity { inode: inode(&facts), born })
}

fn inode(facts: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for (born, from) in
            [(Some(1_700_000_000_123_456_789), None), (None, Some("parent0".into()))]
        {
            let identity = Identity { inode: u64::MAX, born };
            for before in [None, Some(Identity { inode: 1, born })] {
                let from = from.clone();
                let place = Place { lane: "00ff00ff".into(), identity, from, before };
                assert_eq!(Place::parse(&place.to_text()), Some(place));
            }
        }
        for bad in ["", "lane", "lane 1", "lane x -", "lane 1 x", "lane 1 2 3", "lane -1 -"] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_the_file_that_was_noted_is_this_clones() {
        let outer = tempfile::tempdir().unwrap();
        let directory = |name: &str| Directory::make(&outer.path().join(name)).unwrap();
        let here = directory("a");
        let mut first = own(&here, &Audience::Default, |_| false).unwrap();
        assert_eq!(noted(&here, &Audience::Default).unwrap(), None, "nothing is written yet");
        claim(&here, &mut first).unwrap();
        let again = own(&here, &Audience::Default, |_| false).unwrap();
        assert_eq!((again.lane.as_str(), again.due), (first.lane.as_str(), Due::Nothing));
        // Somebody else writes the same lane.
        let other = own(&here, &Audience::Default, |_| true).unwrap();
        assert_eq!((other.from, other.due), (Some(first.lane.clone()), Due::Begin));
        // Moved away within the file system it is the same; copied it is not.
        std::fs::rename(here.path(), outer.path().join("b")).unwrap();
        let moved = directory("b");
        assert_eq!(own(&moved, &Audience::Default, |_| false).unwrap().due, Due::Nothing);
        let copy = directory("c");
        for name in [LANE, PLACE] {
            std::fs::copy(moved.path().join(name), copy.path().join(name)).unwrap();
        }
        let mut copied = own(&copy, &Audience::Default, |_| false).unwrap();
        assert_eq!((copied.from.clone(), copied.due), (Some(first.lane.clone()), Due::Begin));
        claim(&copy, &mut copied).unwrap();
        assert_eq!(
            own(&copy, &Audience::Default, |_| false).unwrap().from,
            Some(first.lane.clone())
        );
        // As an older version left it: bound where it is.
        std::fs::remove_file(moved.path().join(PLACE)).unwrap();
        let mut unbound = own(&moved, &Audience::Default, |_| false).unwrap();
        assert_eq!((unbound.lane.clone(), unbound.due), (first.lane, Due::Bind));
        claim(&moved, &mut unbound).unwrap();
        assert_eq!(own(&moved, &Audience::Default, |_| false).unwrap().due, Due::Nothing);
    }

    #[test]
    fn a_crash_between_place_and_lane_disowns_nothing() {
        let outer = tempfile::tempdir().unwrap();
        let here = Directory::make(&outer.path().join("a")).unwrap();
        let mut first = own(&here, &Audience::Default, |_| false).unwrap();
        claim(&here, &mut first).unwrap();
        let lane = || own(&here, &Audience::Default, |_| false).unwrap();
        // As `advance` does it, up to the rename that the crash prevents.
        let mut next = tempfile::NamedTempFile::new_in(here.path()).unwrap();
        let there = here.file(BStr::new(LANE), Access::Read).unwrap();
        let before = identity(&there).unwrap();
        note(&here, &first, next.as_file_mut(), Some(before)).unwrap();
        drop(next);
        assert_eq!((lane().lane, lane().due), (first.lane.clone(), Due::Nothing));
        advance(&here, &first, 2).unwrap();
        assert_eq!((lane().lane, lane().due), (first.lane.clone(), Due::Nothing));
        assert_eq!(noted_epoch(&here, &Audience::Default).unwrap(), Some((first.lane.clone(), 2)));
        let copy = Directory::make(&outer.path().join("b")).unwrap();
        for name in [LANE, PLACE] {
            std::fs::copy(here.path().join(name), copy.path().join(name)).unwrap();
        }
        let copied = own(&copy, &Audience::Default, |_| false).unwrap();
        assert_eq!((copied.from, copied.due), (Some(first.lane), Due::Begin));
    }

    #[test]
    fn each_audience_has_a_lane_of_its_own() {
        let outer = tempfile::tempdir().unwrap();
        let here = Directory::make(&outer.path().join("a")).unwrap();
        let remote = |name: &str| Audience::Remote(name.to_owned());
        let audiences = [Audience::Default, Audience::Private, remote("private"), remote("a/b")];
        let mut lanes = Vec::new();
        for audience in &audiences {
            let mut own = own(&here, audience, |_| false).unwrap();
            claim(&here, &mut own).unwrap();
            lanes.push(own.lane);
        }
        for (audience, lane) in audiences.iter().zip(&lanes) {
            let again = own(&here, audience, |_| false).unwrap();
            assert_eq!((&again.lane, again.due), (lane, Due::Nothing), "{audience:?}");
        }
        assert_eq!(file(LANE, &remote("a/b")), "lane.for.612f62");
    }
}
