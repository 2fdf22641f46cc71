//! `core.sharedRepository`: access of group and others to the git directory (git-config(1),
//! <https://git-scm.com/docs/git-config>).
//!
//! Git changes permissions per file. aye lowers its umask once, and passes the original one to the
//! writer of work tree files, which stay the user's own.

use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::Mode;
use rustix::process::umask;

use super::Repository;
use crate::beneath::Access;

impl Repository {
    /// Lowers the umask for a shared repository; child programs inherit it.
    pub fn share(&self) {
        let Some(bits) = self.config("core.sharedRepository").as_deref().and_then(parse) else {
            return;
        };
        let present = umask(Mode::empty());
        umask(present & !Mode::from_raw_mode(bits as _));
        #[allow(clippy::useless_conversion)]
        crate::beneath::set_worktree_umask(present.as_raw_mode().into());
        // SQLite creates the cache with narrower permissions. Only the owner can widen them; a
        // failure is ignored.
        if let Ok(Some(private)) = self.private()
            && let Ok(cache) = private.file("cache.sqlite".into(), Access::Read)
        {
            let permissions = std::fs::Permissions::from_mode(0o600 | bits & 0o66);
            let _ = cache.set_permissions(permissions);
        }
    }
}

/// Permission bits for group and others; `None` if the umask alone decides.
fn parse(value: &str) -> Option<u32> {
    let bits = match value.trim().to_ascii_lowercase().as_str() {
        "group" | "true" | "1" | "yes" | "on" => 0o060,
        "all" | "world" | "everybody" | "2" | "3" => 0o064,
        "umask" | "false" | "0" | "no" | "off" | "" => return None,
        octal => u32::from_str_radix(octal, 8).ok()? & 0o066,
    };
    // Read permission on a directory implies entering it.
    Some(bits | (bits & 0o044) >> 2).filter(|bits| *bits != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_git_says() {
        for group in ["group", "true", "1", "0660", "GROUP"] {
            assert_eq!(parse(group), Some(0o070), "{group}");
        }
        for all in ["all", "world", "everybody", "0664"] {
            assert_eq!(parse(all), Some(0o075), "{all}");
        }
        assert_eq!(parse("0640"), Some(0o050));
        for none in ["umask", "false", "0", "", "0600", "nonsense"] {
            assert_eq!(parse(none), None, "{none}");
        }
    }
}
