//! Refs of aye that are not for the remote that they are pushed to. Pure.

/// One line of what git tells a pre-push hook about a ref that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The ref here, or what else names the commit.
    pub local: &'a str,
    /// The ref there.
    pub remote: &'a str,
}

/// What of aye's is this clone's own and never sent.
const NEVER: [&str; 7] =
    ["private/", "remotes/", "kept/", "broken/", "pending/", "session/", "before/"];

/// What is for one remote, whose name follows.
const OTHERS: [&str; 2] = ["for/", "archive-for/"];

/// Why `sent` may not go to the remote `to`; `is_for` says whether a remote named in a ref is that one.
pub fn refusal(sent: Sent<'_>, to: &str, is_for: impl Fn(&str) -> bool) -> Option<String> {
    let of = |name: &str| -> Option<String> {
        let name = name.strip_prefix("refs/aye/")?;
        if NEVER.iter().any(|never| name.starts_with(never)) {
            return Some("is for this clone alone".to_owned());
        }
        let rest = OTHERS.iter().find_map(|others| name.strip_prefix(others))?;
        // A remote's name may have slashes, and so may what follows it.
        let ends = rest.match_indices('/').map(|(end, _)| &rest[..end]);
        let remotes: Vec<&str> = ends.collect();
        if remotes.iter().any(|remote| is_for(remote)) {
            None
        } else {
            let whose = remotes.first().copied().unwrap_or(rest);
            Some(format!("is for the remote '{whose}', not for '{to}'"))
        }
    };
    // As in `+private/x:log/x`, either side may tell.
    let local = of(sent.local).map(|why| format!("{} {why}", sent.local));
    local.or_else(|| of(sent.remote).map(|why| format!("{} {why}", sent.remote)))
}

/// Whether a push refspec takes refs along that are not for the remote `to`: its left side is one of
/// them, or a pattern above them.
pub fn sends_others(refspec: &str, to: &str) -> bool {
    let refspec = refspec.strip_prefix('+').unwrap_or(refspec);
    let local = refspec.split(':').next().unwrap_or_default();
    if refspec.starts_with('^') || refspec.starts_with(':') {
        return false;
    }
    let sent = Sent { local, remote: "" };
    let above = match local.split_once('*') {
        Some((above, _)) => above,
        None => return refusal(sent, to, |remote| remote == to).is_some(),
    };
    let mine = OTHERS.map(|others| format!("refs/aye/{others}{to}/"));
    let is_mine = mine.iter().any(|mine| above.starts_with(mine));
    NEVER
        .iter()
        .chain(&OTHERS)
        .map(|others| format!("refs/aye/{others}"))
        .any(|others| others.starts_with(above) || above.starts_with(&others) && !is_mine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_goes_to_the_remote_that_it_is_for() {
        let refused = |local: &str, remote: &str, to: &str| {
            refusal(Sent { local, remote }, to, |name| name == to).is_some()
        };
        assert!(!refused("refs/aye/log/l", "refs/aye/log/l", "origin"));
        assert!(!refused("refs/heads/private/x", "refs/heads/private/x", "origin"));
        assert!(!refused("refs/aye/archive/l.1", "refs/aye/archive/l.1", "origin"));
        assert!(!refused("refs/aye/for/up/l", "refs/aye/log/l", "up"));
        assert!(!refused("refs/aye/for/a/b/l", "refs/aye/log/l", "a/b"));
        assert!(!refused("refs/aye/archive-for/up/l.1", "refs/aye/archive/l.1", "up"));
        assert!(refused("refs/aye/archive-for/up/l.1", "refs/aye/archive/l.1", "origin"));
        for never in [
            "private/l", "private/archive/l.1", "remotes/o/l", "kept/l", "broken/log/l",
            "pending/p", "session/s", "before/p",
        ] {
            let name = format!("refs/aye/{never}");
            assert!(refused(&name, "refs/aye/log/l", "up"), "{name}");
            assert!(refused("0123abcd", &name, "up"), "{name}");
        }
        for to in ["origin", "u", "upper"] {
            assert!(refused("refs/aye/for/up/l", "refs/aye/log/l", to), "{to}");
        }
    }

    #[test]
    fn a_refspec_may_take_lanes_of_others_along() {
        for fine in [
            "refs/aye/log/*",
            "+refs/heads/*:refs/heads/*",
            "refs/aye/for/up/*:refs/aye/log/*",
            ":refs/aye/private/x",
            "main",
            "refs/aye/archive/*",
        ] {
            assert!(!sends_others(fine, "up"), "{fine}");
        }
        for wrong in [
            "refs/*",
            "+refs/*:refs/*",
            "refs/aye/*",
            "*",
            "refs/aye/private/*:refs/x/*",
            "refs/aye/for/*:refs/aye/log/*",
            "refs/aye/for/other/*:refs/aye/log/*",
            "refs/aye/private/l",
            "refs/aye/pending/*",
            "refs/aye/session/*",
            "refs/aye/session/s",
        ] {
            assert!(sends_others(wrong, "up"), "{wrong}");
        }
    }
}
