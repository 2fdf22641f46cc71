//! Proposals expire, by the clock, without a daemon.

mod support;

use support::Repo;

#[test]
fn an_expired_proposal_is_history_and_cannot_be_decided() {
    let repo = Repo::with(&[("f", "a b\n")]);
    let id =
        repo.aye(&["propose", "f", "--old", "a", "--new", "A", "--expires-in", "1s"]).ok().id();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    repo.aye(&["list"]).ok().lacks(&id);
    repo.aye(&["list", "--status", "expired"]).ok().says(&id);
    repo.aye(&["reject", &id, "--yes"]).fails("not_pending", 5);
    // The next writer records it and takes the files away.
    repo.aye(&["propose", "f", "--old", "b", "--new", "B"]).ok();
    assert!(!repo.exists(&format!(".agent-memory/proposals/{id}")));
    assert_eq!(repo.git(&["for-each-ref", &format!("refs/aye/pending/{id}")]), "");
    repo.aye(&["log", &id]).ok().says("expire");
}

#[test]
fn the_lifetime_is_seven_days_unless_configured() {
    let repo = Repo::with(&[("f", "a b c\n")]);
    let days = |args: &[&str]| {
        let answer = repo.aye(args).ok().json();
        let list = repo.aye(&["list", "--json"]).ok().json();
        let item = list["proposals"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["proposal_id"] == answer["proposal_id"])
            .unwrap()
            .clone();
        let time =
            |key: &str| chrono::DateTime::parse_from_rfc3339(item[key].as_str().unwrap()).unwrap();
        (time("expires_at") - time("created_at")).num_days()
    };
    assert_eq!(days(&["propose", "--json", "f", "--old", "a", "--new", "A"]), 7);
    repo.git(&["config", "aye.expiresIn", "2w"]);
    assert_eq!(days(&["propose", "--json", "f", "--old", "b", "--new", "B"]), 14);
    let own = ["propose", "--json", "f", "--old", "c", "--new", "C", "--expires-in", "3d"];
    assert_eq!(days(&own), 3);
    repo.git(&["config", "aye.expiresIn", "soon"]);
    repo.aye(&["propose", "f", "--old", "a", "--new", "Z"]).fails("invalid_config", 2);
}
