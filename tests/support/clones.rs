//! Clones of one bare repository, which exchange lanes by plain push and fetch.

use super::Repo;

/// Makes `server` the remote `origin` of `repo`, from which lanes are fetched too.
pub fn join(repo: &Repo, server: &Repo) {
    repo.git(&["remote", "add", "origin", &server.root().to_string_lossy()]);
    let lanes = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    repo.git(&["config", "--add", "remote.origin.fetch", lanes]);
}

/// A clone with the server's branch `main` checked out.
pub fn clone(server: &Repo) -> Repo {
    let clone = Repo::new();
    join(&clone, server);
    fetch(&clone);
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    clone
}

/// Sends the lanes that are for the default remote.
pub fn push(repo: &Repo) {
    repo.git(&["push", "-q", "origin", "refs/aye/log/*"]);
}

/// Fetches branches and lanes.
pub fn fetch(repo: &Repo) {
    repo.git(&["fetch", "-q", "origin"]);
}

/// The id of the lane that `repo` writes for the default remote.
pub fn lane(repo: &Repo) -> String {
    repo.text(".git/aye/lane").trim().split('.').next().expect("an id").to_owned()
}
