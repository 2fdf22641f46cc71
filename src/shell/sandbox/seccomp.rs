//! seccomp: the system calls that change something, or reach outside, fail.
//!
//! A second layer beside Landlock: it knows no paths, but it also covers what Landlock does not
//! (times, owners, modes, extended attributes), and stands where Landlock is missing. The answer
//! is "not permitted", or "no such call" for calls that programs are prepared to do without, and
//! for every call newer than this list.

use std::collections::BTreeMap;

use libc::c_long;
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

/// Calls that are never permitted.
const FORBIDDEN: &[c_long] = &[
    // Files: names, modes, owners, times, attributes, sizes.
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    452, // fchmodat2
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
    libc::SYS_copy_file_range,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    467, // open_tree_attr
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_personality,
    libc::SYS_sync,
    libc::SYS_syncfs,
    // Other processes and name spaces.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_setsid,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    libc::SYS_setrlimit,
    // Kernel interfaces with a long history of holes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    // The network, local sockets with it.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Things that outlive the process.
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
];

/// The older spellings of calls above that only some architectures have.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_OLD: &[c_long] = &[
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_link,
    libc::SYS_mknod,
    libc::SYS_creat,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(target_arch = "aarch64")]
const FORBIDDEN_OLD: &[c_long] = &[libc::SYS_renameat, libc::SYS_kexec_file_load];

/// Calls that hide their arguments from a filter and that libraries do without.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

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

/// Restricts the calling thread; true when the filter is in force.
///
/// `names_held`: Landlock is in force, and says where may be written.
pub(super) fn restrict(names_held: bool) -> bool {
    filter(names_held).is_some_and(|filter| seccompiler::apply_filter(&filter).is_ok())
}

/// The filter: a search tree over the numbers, and behind it what looks at arguments.
///
/// One comparison after the other would be passed by every call, and by the kernel for every
/// number when it takes the filter in, which costs more than starting a program.
fn filter(names_held: bool) -> Option<BpfProgram> {
    let looking = looking(names_held)?;
    let mut verdicts = vec![Verdict::Allowed; LAST as usize + 1];
    let mut set = |call: c_long, verdict| {
        let index = usize::try_from(call).ok()?;
        *verdicts.get_mut(index)? = verdict;
        Some(())
    };
    for call in FORBIDDEN.iter().chain(FORBIDDEN_OLD) {
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
    rules.insert(libc::SYS_openat, writing_opens(2, names_held)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, writing_opens(1, names_held)?);
    rules.insert(libc::SYS_clone, new_namespaces()?);
    // A nameless pair of local sockets reaches nobody; the standard library starts programs with
    // one where it cannot use posix_spawn, as in a statically linked binary.
    let other_family = condition(0, Len::Dword, Op::Ne, libc::AF_UNIX as u64)?;
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![other_family]).ok()?]);
    // prlimit64 reads limits too: forbidden with a new value for another process. Its own a
    // program may only lower: the hard limits are set before it starts.
    let other = condition(0, Len::Dword, Op::Ne, 0)?;
    let new_value = condition(2, Len::Qword, Op::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other, new_value]).ok()?]);
    // Locking and notifying through fcntl is reading; ioctl that pushes input into a terminal
    // or clones file content is not.
    let ioctls = [0x5412_u64, 0x541c, 0x4004_9409, 0x4020_940d, 0x4008_6602, 0x401c_5820];
    let ioctl = ioctls.iter().map(|request| {
        let condition = condition(1, Len::Dword, Op::Eq, *request)?;
        SeccompRule::new(vec![condition]).ok()
    });
    rules.insert(libc::SYS_ioctl, ioctl.collect::<Option<Vec<_>>>()?);
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
    let mut update = vec![bits(libc::O_ACCMODE, libc::O_RDWR)?];
    let also = if names_held { libc::O_RDWR | libc::O_CLOEXEC } else { libc::O_RDWR };
    for permitted in [libc::O_RDWR, also] {
        update.push(condition(flags, Len::Dword, Op::Ne, permitted as u64)?);
    }
    let rules = [
        vec![bits(libc::O_ACCMODE, libc::O_WRONLY)?],
        vec![bits(libc::O_ACCMODE, libc::O_ACCMODE)?],
        vec![bits(libc::O_CREAT, libc::O_CREAT)?],
        vec![bits(libc::O_TRUNC, libc::O_TRUNC)?],
        update,
    ];
    rules.into_iter().map(|rule| SeccompRule::new(rule).ok()).collect()
}

fn new_namespaces() -> Option<Vec<SeccompRule>> {
    [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWCGROUP,
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

    #[test]
    fn a_confined_thread_reads_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let (path, inside) = (dir.path().to_owned(), file.clone());
        std::thread::spawn(move || {
            assert!(restrict(false));
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

    /// Both ways of the standard library to start a program: posix_spawn, and fork, which it
    /// takes in a statically linked binary; a name to look up makes it take the second here.
    #[test]
    fn a_confined_thread_starts_programs_either_way() {
        std::thread::spawn(|| {
            assert!(restrict(false));
            for program in ["/bin/true", "true"] {
                let mut command = std::process::Command::new(program);
                command.env("PATH", "/usr/bin:/bin").current_dir("/");
                let run = std::os::unix::process::CommandExt::process_group(&mut command, 0);
                assert!(run.status().unwrap().success(), "{program}");
            }
        })
        .join()
        .unwrap();
    }
}
