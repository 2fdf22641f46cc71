//! Clones of one bare repository, which exchange threads by plain push and fetch.

use serde_json::Value;

use super::Repo;

/// What fetches the threads of all clones from the remote `origin`.
pub const FETCH: &str = "refs/aye/by/*:refs/aye/remotes/origin/*";

/// Makes `server` the remote `origin` of `repo`.
pub fn join(repo: &Repo, server: &Repo) {
    origin(repo);
    repo.git(&["config", "remote.origin.url", &server.root().to_string_lossy()]);
}

/// Lets `repo` have a remote `origin`: names of remotes are those of git's configuration.
pub fn origin(repo: &Repo) {
    if !repo.text(".git/config").contains("[remote \"origin\"]") {
        repo.git(&["remote", "add", "origin", "../nowhere"]);
    }
}

/// A clone with the server's branch `main` checked out.
pub fn clone(server: &Repo) -> Repo {
    let clone = Repo::new();
    join(&clone, server);
    fetch(&clone);
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    clone
}

/// Sends the shared threads below this clone's own directory, if it has written any.
pub fn push(repo: &Repo) {
    if let Some(clone) = name(repo) {
        repo.git(&["push", "-q", "origin", &format!("refs/aye/p/*:refs/aye/by/{clone}/*")]);
    }
}

/// Fetches branches and threads.
pub fn fetch(repo: &Repo) {
    repo.git(&["fetch", "-q", "origin"]);
    repo.git(&["fetch", "-q", "origin", FETCH]);
}

/// The directory of `repo` at every remote, once it has written something.
pub fn name(repo: &Repo) -> Option<String> {
    let run = repo.try_git(&["config", "--local", "aye.clone"]);
    (run.status == 0).then(|| run.out().trim().to_owned())
}

/// Lets `to` have what `from` shares, as fetched from the remote `origin`.
pub fn exchange(to: &Repo, from: &Repo) {
    origin(to);
    let clone = name(from).expect("it has written something");
    let threads = format!("+refs/aye/p/*:refs/aye/remotes/origin/{clone}/*");
    to.git(&["fetch", "-q", &from.root().to_string_lossy(), &threads]);
}

/// The names of the refs below `prefixes`, without `refs/aye/`.
pub fn refs(repo: &Repo, prefixes: &[&str]) -> Vec<String> {
    let names = repo.git(&[&["for-each-ref", "--format=%(refname:lstrip=2)"], prefixes].concat());
    names.lines().map(str::to_owned).collect()
}

/// The commit id of the first event of the proposal, of which its id is the beginning.
#[track_caller]
pub fn thread(repo: &Repo, id: &str) -> String {
    let spaces = ["refs/aye/p", "refs/aye/private", "refs/aye/remotes", "refs/aye/kept"];
    let names = refs(repo, &spaces);
    let mut ids = names.iter().filter_map(|name| name.rsplit('/').next());
    ids.find(|hex| short(hex) == id).unwrap_or_else(|| panic!("no ref of {id}: {names:?}")).into()
}

/// The id of the proposal whose first event is the commit `hex`: its first 50 bits in base 32.
pub fn short(hex: &str) -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let Some(Ok(bits)) = hex.get(..13).map(|head| u64::from_str_radix(head, 16)) else {
        return String::new();
    };
    // 13 digits are 52 bits.
    let digit = |at: u64| char::from(DIGITS[(bits >> (47 - 5 * at) & 31) as usize]);
    format!("prop_{}", (0..10).map(digit).collect::<String>())
}

/// The tip of this clone's ref of a thread.
#[track_caller]
pub fn tip(repo: &Repo, thread: &str) -> String {
    let own = [format!("refs/aye/p/{thread}"), format!("refs/aye/private/{thread}")];
    let found = repo.git(&["for-each-ref", "--format=%(objectname)", &own[0], &own[1]]);
    assert_eq!(found.lines().count(), 1, "{thread}: {found}");
    found
}

/// True of a proposal that stays in its clone, by what `list` and `show` print of it.
pub fn is_private(item: &Value) -> bool {
    item["space"] == "private"
}

/// Every object of the repository, as text.
pub fn objects(repo: &Repo) -> String {
    repo.git(&["cat-file", "--batch", "--batch-all-objects", "--unordered"])
}
