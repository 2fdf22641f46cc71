//! seccomp: the system calls that change something, or reach outside, fail.
//!
//! A second layer beside Landlock: it knows no paths, but it also covers what Landlock does not
//! (times, owners, modes, extended attributes), and stands where Landlock is missing. The answer
//! is "not permitted", or "no such call" for calls that programs are prepared to do without, and
//! for every call newer than this list.

use std::collections::BTreeMap;

use libc::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

mod tree;

const EPERM: u32 = libc::EPERM as u32;

/// The last call of the numbering shared by all architectures that this list has judged
/// (`file_setattr`). Later ones do not exist as far as the programs are concerned; nor do calls
/// of the x32 numbering, which are far above.
const LAST: u32 = 469;

/// Names, modes, owners, times, attributes and sizes of files.
const FILES: &[c_long] = &[
    SYS_unlinkat, SYS_renameat2, SYS_mkdirat, SYS_symlinkat, SYS_linkat, SYS_mknodat, SYS_truncate,
    SYS_ftruncate, SYS_fallocate, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat,
    SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, SYS_copy_file_range, SYS_name_to_handle_at, SYS_open_by_handle_at,
];
/// The system.
const SYSTEM: &[c_long] = &[
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_swapon, SYS_swapoff, SYS_reboot,
    SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_acct, SYS_quotactl,
    SYS_quotactl_fd, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_sethostname, SYS_setdomainname, SYS_syslog, SYS_vhangup, SYS_personality, SYS_sync,
    SYS_syncfs,
];
/// Other processes, name spaces, the own user; and the process group, by which all of it ends.
const PROCESSES: &[c_long] = &[
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_unshare, SYS_setns, SYS_setsid, SYS_setpgid, SYS_setuid, SYS_setgid,
    SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    SYS_setgroups, SYS_capset, SYS_setrlimit,
];
/// Kernel interfaces with a long history of holes.
const INTERFACES: &[c_long] = &[
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, SYS_keyctl, SYS_request_key,
    SYS_fanotify_init,
];
/// The network, local sockets with it.
const NETWORK: &[c_long] =
    &[SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4];
/// Things that outlive the process.
const LASTING: &[c_long] =
    &[SYS_shmget, SYS_semget, SYS_msgget, SYS_mq_open, SYS_mq_unlink, SYS_io_setup, SYS_io_submit];
/// `fchmodat2`, `setxattrat`, `removexattrat`, `open_tree_attr`, `file_setattr`: newer than the names.
const NEWER: &[c_long] = &[452, 463, 466, 467, 469];

/// The older spellings of calls above that only some architectures have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    SYS_unlink, SYS_rename, SYS_renameat, SYS_mkdir, SYS_rmdir, SYS_symlink, SYS_link, SYS_mknod,
    SYS_creat, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_iopl,
    SYS_ioperm, SYS_modify_ldt, SYS_kexec_file_load, SYS_uselib, SYS_ustat,
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[c_long] = &[SYS_renameat, SYS_kexec_file_load];

/// Calls that hide their arguments from a filter and that libraries do without.
const ABSENT: &[c_long] =
    &[SYS_clone3, SYS_openat2, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register];

/// What becomes of a call, as far as its number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// "Not permitted".
    Forbidden,
    /// "No such call".
    Absent,
    /// Its arguments decide.
    Arguments,
}

pub(super) fn is_offered() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: asks whether a filter may answer with an error, and installs none.
    #[allow(unsafe_code)]
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    answer == 0
}

/// The filter: a search tree over the numbers, and behind it what looks at arguments.
///
/// One comparison after the other would be passed by every call, and by the kernel for every
/// number when it takes the filter in, which costs more than starting a program.
///
/// `names_held`: Landlock is in force, and says where may be written.
pub(super) fn filter(names_held: bool) -> Option<BpfProgram> {
    let looking = looking(names_held)?;
    let mut verdicts = vec![Verdict::Allowed; LAST as usize + 1];
    let mut set = |call: c_long, verdict| {
        let index = usize::try_from(call).ok()?;
        *verdicts.get_mut(index)? = verdict;
        Some(())
    };
    let forbidden = [FILES, SYSTEM, PROCESSES, INTERFACES, NETWORK, LASTING, NEWER, OLDER];
    for call in forbidden.into_iter().flatten() {
        set(*call, Verdict::Forbidden)?;
    }
    for call in ABSENT {
        set(*call, Verdict::Absent)?;
    }
    for call in looking.keys() {
        set(c_long::try_from(*call).ok()?, Verdict::Arguments)?;
    }
    verdicts.push(Verdict::Absent);
    Some(tree::before(&verdicts, arguments(looking)?))
}

/// The calls whose arguments decide, and the arguments that are not permitted.
fn looking(names_held: bool) -> Option<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.insert(SYS_openat, writing_opens(2, names_held)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(SYS_open, writing_opens(1, names_held)?);
    rules.insert(SYS_clone, new_namespaces()?);
    // A nameless pair of local sockets reaches nobody; the standard library starts programs with
    // one where it cannot use posix_spawn, as in a statically linked binary.
    let other_family = condition(0, Len::Dword, Op::Ne, AF_UNIX as u64)?;
    rules.insert(SYS_socketpair, vec![SeccompRule::new(vec![other_family]).ok()?]);
    // prlimit64 reads limits too: forbidden with a new value for another process. Its own a
    // program may only lower: the hard limits are set before it starts.
    let other = condition(0, Len::Dword, Op::Ne, 0)?;
    let new_value = condition(2, Len::Qword, Op::Ne, 0)?;
    rules.insert(SYS_prlimit64, vec![SeccompRule::new(vec![other, new_value]).ok()?]);
    // Locking and notifying through fcntl is reading; ioctl that pushes input into a terminal
    // or clones file content is not.
    let ioctls = [0x5412_u64, 0x541c, 0x4004_9409, 0x4020_940d, 0x4008_6602, 0x401c_5820];
    let ioctl = ioctls.iter().map(|request| {
        let condition = condition(1, Len::Dword, Op::Eq, *request)?;
        SeccompRule::new(vec![condition]).ok()
    });
    rules.insert(SYS_ioctl, ioctl.collect::<Option<Vec<_>>>()?);
    Some(rules)
}

fn condition(argument: u8, length: Len, op: Op, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, length, op, value).ok()
}

/// The filter that looks at arguments; it allows every other call.
fn arguments(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Option<BpfProgram> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch)
        .ok()?
        .try_into()
        .ok()
}

/// Opening for writing, creating or truncating; `flags` is the index of the flags argument.
///
/// But for `O_RDWR` and nothing else: git opens `/dev/null` so before anything, and a filter
/// cannot see names. Landlock does; where it holds them, git may also do so before it starts
/// another git (`O_CLOEXEC`).
fn writing_opens(flags: u8, names_held: bool) -> Option<Vec<SeccompRule>> {
    let bits = |mask: i32, value: i32| {
        condition(flags, Len::Dword, Op::MaskedEq(mask as u64), value as u64)
    };
    let mut update = vec![bits(O_ACCMODE, O_RDWR)?];
    let also = if names_held { O_RDWR | O_CLOEXEC } else { O_RDWR };
    for permitted in [O_RDWR, also] {
        update.push(condition(flags, Len::Dword, Op::Ne, permitted as u64)?);
    }
    let rules = [
        vec![bits(O_ACCMODE, O_WRONLY)?],
        vec![bits(O_ACCMODE, O_ACCMODE)?],
        vec![bits(O_CREAT, O_CREAT)?],
        vec![bits(O_TRUNC, O_TRUNC)?],
        update,
    ];
    rules.into_iter().map(|rule| SeccompRule::new(rule).ok()).collect()
}

fn new_namespaces() -> Option<Vec<SeccompRule>> {
    [
        CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
        CLONE_NEWCGROUP,
    ]
    .into_iter()
    .map(|flag| {
        let value = flag as u32 as u64;
        SeccompRule::new(vec![condition(0, Len::Dword, Op::MaskedEq(value), value)?]).ok()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn restrict() -> bool {
        filter(false).is_some_and(|filter| seccompiler::apply_filter(&filter).is_ok())
    }

    #[test]
    fn a_confined_thread_reads_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let (path, inside) = (dir.path().to_owned(), file.clone());
        std::thread::spawn(move || {
            assert!(restrict());
            let denied = |result: std::io::Result<()>| {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
            };
            assert_eq!(std::fs::read_to_string(&inside).unwrap(), "text");
            denied(std::fs::write(&inside, "other"));
            denied(std::fs::write(path.join("new"), ""));
            denied(std::fs::remove_file(&inside));
            denied(std::fs::create_dir(path.join("sub")));
            denied(std::fs::rename(&inside, path.join("moved")));
            denied(std::os::unix::fs::symlink("x", path.join("link")));
            denied(std::fs::hard_link(&inside, path.join("hard")));
            denied(std::fs::set_permissions(
                &inside,
                std::os::unix::fs::PermissionsExt::from_mode(0o777),
            ));
            denied(std::fs::OpenOptions::new().append(true).open(&inside).map(drop));
            denied(std::net::TcpListener::bind("127.0.0.1:0").map(drop));
        })
        .join()
        .unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
