//! Groups with a single user, by group(5) and passwd(5).
//!
//! Groups of users from elsewhere (LDAP) do not count.

use std::fs;

/// Contents of both files.
#[derive(Default)]
pub(super) struct Private(Option<(String, String)>);

impl Private {
    pub(super) fn is_of(&mut self, group: u32, user: u32) -> bool {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (groups, users) =
            self.0.get_or_insert_with(|| (read("/etc/group"), read("/etc/passwd")));
        is_private(groups, users, group, user)
    }
}

fn is_private(groups: &str, users: &str, group: u32, user: u32) -> bool {
    // `name:password:user:group:…`: first groups.
    let users = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, user, group) = (fields.next()?, fields.nth(1)?, fields.next()?);
        Some((name, user.parse::<u32>().ok()?, group.parse::<u32>().ok()?))
    });
    let (own, others): (Vec<_>, Vec<_>) = users.partition(|(_, number, _)| *number == user);
    let is_first = own.iter().any(|(_, _, first)| *first == group);
    let is_shared = others.iter().any(|(_, _, first)| *first == group);
    // `name:password:group:member,member`: additional members.
    let mut members = groups.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (number, members) = (fields.nth(2)?, fields.next()?);
        (number.parse::<u32>().ok()? == group).then_some(members)
    });
    let is_own = |name: &str| name.is_empty() || own.iter().any(|(own, _, _)| *own == name.trim());
    is_first && !is_shared && members.all(|names| names.split(',').all(is_own))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\n\
                         bob:x:1001:1001::/home/bob:/bin/sh\neve:x:1002:100::/home/eve:/bin/sh\n\
                         mia:x:1003:100::/home/mia:/bin/sh\n";

    #[test]
    fn a_group_is_private_where_nobody_else_is_in_it() {
        let groups = "root:x:0:\nada:x:1000:\nbob:x:1001:bob,ada\nusers:x:100:\nadm:x:4:ada\n";
        for (group, user, expected) in [
            (0, 0, true),
            (1000, 1000, true),
            (1000, 1001, false),
            (1001, 1001, false),
            (100, 1002, false),
            (4, 1000, false),
            (7, 1000, false),
        ] {
            assert_eq!(is_private(groups, USERS, group, user), expected, "{group} {user}");
        }
        assert!(!is_private("", "", 1000, 1000), "who is not there");
        let users = format!("{USERS}toor:x:1000:1000::/:/bin/sh\n");
        assert!(is_private("ada:x:1000:toor\n", &users, 1000, 1000));
        assert!(!is_private("ada:x:1000:\nall:x:1000:bob\n", USERS, 1000, 1000));
    }
}
