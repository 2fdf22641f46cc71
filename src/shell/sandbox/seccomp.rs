//! seccomp: system calls that change something or reach outside fail.
//!
//! A second layer beside Landlock. It sees no paths, but covers times, owners, modes and extended
//! attributes, and works without Landlock. A forbidden call returns `EPERM`. Calls that programs
//! can do without, and calls newer than this list, return `ENOSYS`.

use std::collections::BTreeMap;

use libc::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

mod tree;

const EPERM: u32 = libc::EPERM as u32;

/// The last judged call in the shared numbering (`file_setattr`). Later calls, and the far higher
/// x32 numbers, count as absent.
const LAST: u32 = 469;

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
/// Other processes, namespaces and the user; also the process group, by which aye kills everything.
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
/// Network and local sockets.
const NETWORK: &[c_long] =
    &[SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4];
/// Objects that outlive the process.
const LASTING: &[c_long] =
    &[SYS_shmget, SYS_semget, SYS_msgget, SYS_mq_open, SYS_mq_unlink, SYS_io_setup, SYS_io_submit];
/// `fchmodat2`, `setxattrat`, `removexattrat`, `open_tree_attr`, `file_setattr`: not yet named in
/// libc.
const NEWER: &[c_long] = &[452, 463, 466, 467, 469];

/// Older spellings that only some architectures have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    SYS_unlink, SYS_rename, SYS_renameat, SYS_mkdir, SYS_rmdir, SYS_symlink, SYS_link, SYS_mknod,
    SYS_creat, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_iopl,
    SYS_ioperm, SYS_modify_ldt, SYS_kexec_file_load, SYS_uselib, SYS_ustat,
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[c_long] = &[SYS_renameat, SYS_kexec_file_load];

/// Calls that hide arguments from a filter; libraries do without them.
const ABSENT: &[c_long] =
    &[SYS_clone3, SYS_openat2, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// `EPERM`.
    Forbidden,
    /// `ENOSYS`.
    Absent,
    /// Decided by the arguments.
    Arguments,
}

pub(super) fn is_offered() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: asks whether a filter may return an error, and installs none.
    #[allow(unsafe_code)]
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    answer == 0
}

/// A search tree over call numbers, then the filter on arguments.
///
/// A linear filter costs more than starting a program: every call passes it, and the kernel
/// evaluates it for every number on installation.
///
/// `names_held`: Landlock limits writing by path.
pub(super) fn filter(names_held: bool) -> Option<BpfProgram> {
    let looking = argument_rules(names_held)?;
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
    Some(tree::prepend_tree(&verdicts, arguments(looking)?))
}

/// Forbidden arguments, by call.
fn argument_rules(names_held: bool) -> Option<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.insert(SYS_openat, writing_opens(2, names_held)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(SYS_open, writing_opens(1, names_held)?);
    rules.insert(SYS_clone, new_namespaces()?);
    // An unnamed pair of local sockets reaches no other process. The standard library needs one
    // without posix_spawn, as in a static binary.
    let other_family = condition(0, Len::Dword, Op::Ne, AF_UNIX as u64)?;
    rules.insert(SYS_socketpair, vec![SeccompRule::new(vec![other_family]).ok()?]);
    // Reading limits is allowed, setting another process's is not. A program can only lower its
    // own: hard limits are set before it starts.
    let other = condition(0, Len::Dword, Op::Ne, 0)?;
    let new_value = condition(2, Len::Qword, Op::Ne, 0)?;
    rules.insert(SYS_prlimit64, vec![SeccompRule::new(vec![other, new_value]).ok()?]);
    // Locks and notifications through fcntl only read. An ioctl can type into a terminal or clone
    // file content.
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

fn arguments(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Option<BpfProgram> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch)
        .ok()?
        .try_into()
        .ok()
}

/// Forbids opening for writing, creating or truncating; `flags` is an argument's index.
///
/// Plain `O_RDWR` is allowed: git first opens `/dev/null` so, and a filter sees no names. Landlock
/// does; with it, git may also add `O_CLOEXEC` before it starts another git.
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
