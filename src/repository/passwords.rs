//! Passwords in the URLs of remotes, plain text in git configuration.

use bstr::{BStr, ByteSlice as _};

use super::Repository;

/// Minimum length of a user name that counts as a token.
const TOKEN: usize = 20;

impl Repository {
    /// Such as `remote.origin.url`.
    pub fn passwords_of_remotes(&self) -> Vec<String> {
        let snapshot = self.repo().config_snapshot();
        let mut found = Vec::new();
        for section in snapshot.plumbing().sections_by_name("remote").into_iter().flatten() {
            let Some(name) = section.header().subsection_name() else { continue };
            for key in ["url", "pushurl"] {
                if section.values(key).iter().any(|url| holds_password(url.as_ref())) {
                    found.push(format!("remote.{}.{key}", name.to_str_lossy()));
                }
            }
        }
        found
    }
}

/// True for `https://user:password@host/` and `https://token@host/`.
fn holds_password(url: &BStr) -> bool {
    let Some((scheme, rest)) = url.split_once_str("://") else { return false };
    let authority = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once_str("@") else { return false };
    let is_web = scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https");
    match user.split_once_str(":") {
        Some((_, password)) => !password.is_empty(),
        None => is_web && user.len() >= TOKEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_told_from_users_and_ports() {
        let holds = |url: &str| holds_password(url.into());
        assert!(holds("https://ada:secret@example.com/a.git"));
        assert!(holds("ssh://ada:secret@example.com:22/a"));
        assert!(holds(&format!("https://{}@example.com/a", "t".repeat(40))));
        assert!(!holds("https://ada@example.com/a"));
        assert!(!holds("https://example.com:8443/a@b:c"));
        assert!(!holds("ssh://git@example.com/a"));
        assert!(!holds("git@example.com:a/b.git"));
        assert!(!holds("https://ada:@example.com/a"));
    }
}
