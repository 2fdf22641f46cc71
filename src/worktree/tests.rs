use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Scratch {
    directory: tempfile::TempDir,
    worktree: Worktree,
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("top")).unwrap();
        let worktree = Worktree::open(&directory.path().join("top")).unwrap();
        Self { directory, worktree }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.worktree.root().join(path)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn write(scratch: &Scratch, to: &str, text: &str) -> Result<()> {
    scratch.worktree.write_file(&path(to), text.as_bytes(), Mode::Regular, Flush::No)
}

#[test]
fn a_file_is_written_read_and_removed_with_its_directories() {
    let scratch = Scratch::new();
    assert!(scratch.worktree.file(&path("a/b/c")).unwrap().is_none());
    write(&scratch, "a/b/c", "one\n").unwrap();
    write(&scratch, "a/b/c", "two\n").unwrap();
    let file = scratch.worktree.file(&path("a/b/c")).unwrap().unwrap();
    assert_eq!((file.bytes.as_slice(), file.mode), (&b"two\n"[..], Mode::Regular));
    assert_eq!(scratch.worktree.names(&path("a/b")).unwrap(), ["c"]);
    assert!(scratch.worktree.remove_file(&path("a/b/c")).unwrap());
    assert!(!scratch.at("a").exists());
    assert!(!scratch.worktree.remove_file(&path("a/b/c")).unwrap());
    assert!(scratch.worktree.root().exists());
}

/// An interrupted run may have removed the lower ones.
#[test]
fn emptied_directories_go_though_some_are_gone() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.at("top/a/b")).unwrap();
    let mut directories = directories::Directories::new(&scratch.worktree.root);
    write::remove_empty(&mut directories, "top/a/b/c/d".into(), "top".into());
    assert!(scratch.at("top").exists() && !scratch.at("top/a").exists());
    let deep = format!("{}x/y", "top/".repeat(70));
    std::fs::create_dir_all(scratch.at(&deep)).unwrap();
    std::fs::write(scratch.at("top/top/f"), "x").unwrap();
    write::remove_empty(&mut directories, deep.as_str().into(), "".into());
    assert!(scratch.at("top/top/f").exists() && !scratch.at("top/top/top").exists());
    std::fs::remove_file(scratch.at("top/top/f")).unwrap();
    write::remove_empty(&mut directories, deep.as_str().into(), "".into());
    assert!(!scratch.at("top").exists());
}

#[test]
fn permissions_stay_but_for_the_executable_bits() {
    let scratch = Scratch::new();
    write(&scratch, "f", "one").unwrap();
    std::fs::set_permissions(scratch.at("f"), PermissionsExt::from_mode(0o640)).unwrap();
    let bits = || scratch.at("f").metadata().unwrap().permissions().mode() & 0o7777;
    write(&scratch, "f", "two").unwrap();
    assert_eq!(bits(), 0o640);
    scratch.worktree.write_file(&path("f"), b"two", Mode::Executable, Flush::Yes).unwrap();
    assert_eq!(bits(), 0o750);
    assert_eq!(scratch.worktree.file(&path("f")).unwrap().unwrap().mode, Mode::Executable);
    write(&scratch, "f", "two").unwrap();
    assert_eq!(bits(), 0o640);
}

#[test]
fn symlinks_are_neither_followed_nor_replaced() {
    let scratch = Scratch::new();
    let secret = scratch.outside("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("f"), "secret").unwrap();
    symlink(&secret, scratch.at("dir")).unwrap();
    symlink("../secret", scratch.at("relative")).unwrap();
    symlink(secret.join("f"), scratch.at("file")).unwrap();
    symlink("nowhere", scratch.at("dangling")).unwrap();
    std::fs::create_dir(scratch.at("inner")).unwrap();
    symlink("inner", scratch.at("within")).unwrap();
    for target in ["dir/f", "relative/f", "file", "dangling", "within/new", "dir/deep/er"] {
        let target = path(target);
        let refused = [
            scratch.worktree.file(&target).unwrap_err(),
            scratch.worktree.check_writable(&target).unwrap_err(),
            scratch.worktree.write_file(&target, b"x", Mode::Regular, Flush::No).unwrap_err(),
            scratch.worktree.remove_file(&target).unwrap_err(),
            scratch.worktree.remove_dir_all(&target).unwrap_err(),
        ];
        for error in refused {
            assert!(error.is(&crate::beneath::codes::SYMLINK), "{target:?}: {error}");
        }
    }
    assert_eq!(std::fs::read(secret.join("f")).unwrap(), b"secret");
    assert_eq!(std::fs::read_dir(&secret).unwrap().count(), 1);
    assert!(!scratch.at("inner/new").exists());
    assert!(scratch.at("dangling").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn what_is_no_ordinary_file_is_refused_by_name() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.at("sub/.git")).unwrap();
    std::fs::create_dir_all(scratch.at("linked")).unwrap();
    std::fs::write(scratch.at("linked/.git"), "gitdir: elsewhere").unwrap();
    std::fs::create_dir_all(scratch.at("directory/deep")).unwrap();
    std::fs::write(scratch.at("plain"), "x").unwrap();
    std::fs::write(scratch.at("setuid"), "x").unwrap();
    std::fs::set_permissions(scratch.at("setuid"), PermissionsExt::from_mode(0o4755)).unwrap();
    std::fs::write(scratch.outside("shared"), "shared").unwrap();
    std::fs::hard_link(scratch.outside("shared"), scratch.at("shared")).unwrap();
    let fifo = scratch.at("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    for (target, code) in [
        ("sub", &crate::beneath::codes::SUBMODULE),
        ("sub/f", &crate::beneath::codes::SUBMODULE),
        ("sub/deep/f", &crate::beneath::codes::SUBMODULE),
        ("linked/f", &crate::beneath::codes::SUBMODULE),
        ("directory", &crate::changeset::codes::DIRECTORY),
        ("fifo", &codes::SPECIAL_FILE),
        ("plain/f", &codes::NOT_A_DIRECTORY),
        ("setuid", &codes::SETUID),
        ("shared", &codes::HARD_LINK),
    ] {
        for error in [
            scratch.worktree.check_writable(&path(target)).unwrap_err(),
            write(&scratch, target, "y").unwrap_err(),
        ] {
            assert!(error.is(code), "{target}: {} {error}", error.code().id);
        }
    }
    assert_eq!(std::fs::read(scratch.outside("shared")).unwrap(), b"shared");
    assert!(scratch.worktree.file(&path("plain/f")).unwrap().is_none());
    assert!(scratch.worktree.file(&path("shared")).unwrap().is_some());
    assert!(scratch.worktree.file(&path("fifo")).unwrap_err().is(&codes::SPECIAL_FILE));
}

#[test]
fn the_size_limit_holds_for_reads() {
    let scratch = Scratch::new();
    let worktree = Worktree::open(scratch.worktree.root()).unwrap().with_size_limit(3);
    std::fs::write(scratch.at("f"), "abc").unwrap();
    assert!(worktree.file(&path("f")).unwrap().is_some());
    std::fs::write(scratch.at("f"), "abcd").unwrap();
    assert!(worktree.file(&path("f")).unwrap_err().is(&common::SIZE_LIMIT));
}

#[test]
fn removing_a_directory_leaves_what_its_symlinks_point_to() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.at("a/b")).unwrap();
    std::fs::write(scratch.at("a/b/f"), "x").unwrap();
    std::fs::create_dir(scratch.outside("kept")).unwrap();
    std::fs::write(scratch.outside("kept/f"), "x").unwrap();
    symlink(scratch.outside("kept"), scratch.at("a/link")).unwrap();
    assert!(scratch.worktree.remove_dir_all(&path("a")).unwrap());
    assert!(!scratch.at("a").exists());
    assert!(scratch.outside("kept/f").exists());
    assert!(!scratch.worktree.remove_dir_all(&path("a")).unwrap());
    std::fs::create_dir_all(scratch.at("a/nested/.git")).unwrap();
    assert!(
        scratch
            .worktree
            .remove_dir_all(&path("a"))
            .unwrap_err()
            .is(&crate::beneath::codes::SUBMODULE)
    );
}

#[test]
fn a_failed_write_leaves_no_trace() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.at("closed")).unwrap();
    std::fs::write(scratch.at("closed/f"), "old").unwrap();
    std::fs::set_permissions(scratch.at("closed"), PermissionsExt::from_mode(0o555)).unwrap();
    let done = write(&scratch, "closed/f", "new");
    std::fs::set_permissions(scratch.at("closed"), PermissionsExt::from_mode(0o755)).unwrap();
    // The superuser may write everywhere.
    if let Err(error) = done {
        assert!(error.is(&common::READ_ONLY), "{error}");
        assert_eq!(std::fs::read(scratch.at("closed/f")).unwrap(), b"old");
    }
    assert_eq!(std::fs::read_dir(scratch.at("closed")).unwrap().count(), 1);
}

/// Another thread swaps `d` for a symlink to the outside and back.
#[test]
fn a_directory_swapped_for_a_symlink_during_the_run_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.outside("outside")).unwrap();
    std::fs::create_dir(scratch.at("d")).unwrap();
    let over = AtomicBool::new(false);
    let (outside, directory, link) =
        (scratch.outside("outside"), scratch.at("d"), scratch.at("link"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            symlink(&outside, &link).unwrap();
            while !over.load(Ordering::Relaxed) {
                // The exchange is one step: `d` is always the directory or the symlink.
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &directory,
                    rustix::fs::CWD,
                    &link,
                    rustix::fs::RenameFlags::EXCHANGE,
                )
                .unwrap();
            }
        });
        let (mut written, mut refused) = (0, 0);
        while (written < 200 || refused < 200) && written + refused < 20_000 {
            match write(&scratch, &format!("d/deep{}/f", written % 7), "x") {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_dir(scratch.outside("outside")).unwrap().count(), 0);
}

#[test]
fn a_submodule_that_is_not_checked_out_takes_no_files() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.at("empty")).unwrap();
    let worktree = Worktree::open(scratch.worktree.root())
        .unwrap()
        .with_submodules(["empty".into(), "absent/deep".into()]);
    for target in ["empty", "empty/f", "absent/deep", "absent/deep/f", "absent/deep/er/f"] {
        let target = path(target);
        for error in [
            worktree.file(&target).unwrap_err(),
            worktree.write_file(&target, b"x", Mode::Regular, Flush::No).unwrap_err(),
        ] {
            assert!(error.is(&crate::beneath::codes::SUBMODULE), "{target:?}: {error}");
        }
    }
    worktree.write_file(&path("absent/other"), b"x", Mode::Regular, Flush::No).unwrap();
}
