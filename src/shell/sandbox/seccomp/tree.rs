//! A search tree over system call numbers, as a classic BPF program.

use seccompiler::{BpfProgram, sock_filter};

use super::Verdict;

// Instructions from linux/bpf_common.h; return values from linux/seccomp.h.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_NOT_LESS: u16 = 0x35;
const RETURN: u16 = 0x06;
const RETURN_ALLOW: u32 = 0x7fff_0000;
const RETURN_ERRNO: u32 = 0x0005_0000;

/// Offsets into `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Prepends a tree that decides by number to `rest`. The last of `verdicts` covers all higher
/// numbers. `rest` decides calls whose arguments matter, and calls of another architecture.
pub(super) fn prepend_tree(verdicts: &[Verdict], rest: BpfProgram) -> BpfProgram {
    let mut runs: Vec<(u32, Verdict)> = Vec::new();
    for (number, verdict) in (0..).zip(verdicts) {
        if runs.last().is_none_or(|(_, last)| last != verdict) {
            runs.push((number, *verdict));
        }
    }
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        sock_filter { code: JUMP_IF_EQUAL, jt: 1, jf: 0, k: NATIVE },
        instruction(JUMP, 0),
        instruction(LOAD, NUMBER),
    ];
    let mut onward = vec![2];
    subtree(&runs, &mut program, &mut onward);
    let end = program.len();
    for at in onward {
        program[at].k = distance(at, end);
    }
    program.extend(rest);
    program
}

/// Instructions that a jump skips; programs have at most 4,096.
fn distance(from: usize, to: usize) -> u32 {
    u32::try_from(to - from - 1).unwrap_or(u32::MAX)
}

/// Every run of numbers has one verdict. `onward` collects jumps past the whole tree.
fn subtree(runs: &[(u32, Verdict)], program: &mut BpfProgram, onward: &mut Vec<usize>) {
    if let [(_, verdict)] = runs {
        let errno = |number: i32| RETURN_ERRNO | number.unsigned_abs();
        program.push(match verdict {
            Verdict::Allowed => instruction(RETURN, RETURN_ALLOW),
            Verdict::Forbidden => instruction(RETURN, errno(libc::EPERM)),
            Verdict::Absent => instruction(RETURN, errno(libc::ENOSYS)),
            Verdict::Arguments => {
                onward.push(program.len());
                instruction(JUMP, 0)
            }
        });
        return;
    }
    let (lower, upper) = runs.split_at(runs.len() / 2);
    let from_here_on = upper.first().map_or(0, |(number, _)| *number);
    program.push(sock_filter { code: JUMP_IF_NOT_LESS, jt: 0, jf: 1, k: from_here_on });
    let jump = program.len();
    program.push(instruction(JUMP, 0));
    subtree(lower, program, onward);
    program[jump].k = distance(jump, program.len());
    subtree(upper, program, onward);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(program: &[sock_filter], number: u32, architecture: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let holds = match step.code {
                LOAD => {
                    value = if step.k == NUMBER { number } else { architecture };
                    continue;
                }
                JUMP => {
                    at += step.k as usize;
                    continue;
                }
                RETURN => return step.k,
                JUMP_IF_EQUAL => value == step.k,
                JUMP_IF_NOT_LESS => value >= step.k,
                other => panic!("{other:#x}"),
            };
            at += usize::from(if holds { step.jt } else { step.jf });
        }
    }

    #[test]
    fn every_number_gets_its_verdict() {
        const REST: u32 = 0x1234_5678;
        let all = [Verdict::Allowed, Verdict::Forbidden, Verdict::Absent, Verdict::Arguments];
        let verdicts: Vec<Verdict> =
            (0..500_usize).map(|n| all[(n * n / 7 + n / 3) % all.len()]).collect();
        let program = prepend_tree(&verdicts, vec![instruction(RETURN, REST)]);
        assert!(program.len() < 4_096);
        for number in (0..700).chain([0x4000_0000, u32::MAX]) {
            let verdict = verdicts.get(number as usize).or(verdicts.last()).unwrap();
            let expected = match verdict {
                Verdict::Allowed => RETURN_ALLOW,
                Verdict::Forbidden => RETURN_ERRNO | 1,
                Verdict::Absent => RETURN_ERRNO | 38,
                Verdict::Arguments => REST,
            };
            assert_eq!(returned(&program, number, NATIVE), expected, "{number}");
            assert_eq!(returned(&program, number, 0x4000_0003), REST, "another architecture");
        }
    }
}
