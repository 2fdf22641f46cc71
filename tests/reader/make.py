#!/usr/bin/env python3
"""Makes random threads by git's plumbing, as docs/spec/ has them: genuine events, and some that are not.

usage: make.py REPOSITORY SEED STEPS        the repository must be there
"""
import hashlib, json, random, subprocess, sys
from datetime import datetime, timedelta, timezone

CLONES = [f"{n:016x}" for n in range(0xA1, 0xA5)]
ACTORS = [{"email": "", "kind": "agent", "name": "codex"}, {"email": "", "kind": "agent", "name": "rex"},
          {"email": "ada@x", "kind": "human", "name": "Ada"}, {"email": "bob@x", "kind": "human", "name": "Bob"},
          {"email": "ci@x", "kind": "ci", "name": "build"}]
VERDICTS = ["apply", "approve", "reject", "request_changes", "withdraw", "undo", "extend"]


def line(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def listed(hashes):
    return "".join(f"{one}\n" for one in sorted(set(hashes))).encode()


class Maker:
    def __init__(self, repo, seed):
        self.repo, self.random, self.clock = repo, random.Random(seed), datetime(2026, 3, 1, tzinfo=timezone.utc)
        self.tips, self.events, self.ancestors = {}, {}, {}

    def git(self, *args, stdin=b""):
        return subprocess.run(["git", "-C", self.repo, *args], input=stdin, check=True, stdout=subprocess.PIPE).stdout.decode().strip()

    def blob(self, data):
        return {"id": self.git("hash-object", "-w", "--stdin", stdin=data), "sha256": sha256(data)}

    def time(self):
        """Clocks of several machines."""
        self.clock += timedelta(seconds=self.random.randint(0, 90))
        when = self.clock + timedelta(seconds=self.random.choice([0, 0, -200, 500]))
        return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.random.randrange(1000):03}Z"

    def commit(self, event, statement, tree, parents):
        entries = "".join(f"100644 blob {id}\t{name}\n" for name, id in sorted(tree.items()))
        heads = [f"tree {self.git('mktree', stdin=entries.encode())}", *(f"parent {one}" for one in sorted(parents))]
        heads += ["author A <a@x> 1772323200 +0000", "committer A <a@x> 1772323200 +0000"]
        data = "\n".join(heads).encode() + b"\naye-event " + line(event)
        data += (b"\naye-statement " + line(statement) if statement else b"") + b"\n\n" + event["kind"].encode() + b"\n"
        id = self.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=data)
        self.events[id] = (event, statement)
        self.ancestors[id] = set(parents).union(*(self.ancestors[one] for one in parents))
        return id

    def side(self, text):
        return {**self.blob(text.encode()), "mode": self.random.choice(["100644", "100644", "100755"])}

    def changes(self):
        paths = self.random.sample(["src/a.rs", "b.txt", "\u00e9.md", ".agent-memory/notes.md"], self.random.randint(1, 2))
        return [{"path": path, "before": self.side(f"old {path}\n"), "after": self.side(f"{self.random.randrange(3)} {path}\n")} for path in paths]

    def event(self, kind, data, actor, clone, **more):
        return {"actor": actor, "clone": clone, "data": data, "kind": kind, "v": 2, **more}

    def propose(self):
        actor, clone = self.random.choice(ACTORS), self.random.choice(CLONES)
        changes, subject = self.changes(), self.random.choice(["code", "code", "memory"])
        if subject == "memory":
            changes = [{"path": ".agent-memory/notes.md", "after": self.side("note\n")}]
        expires = "2026-03-01T00:20:00.000Z" if self.random.random() < 0.2 else "2027-01-01T00:00:00.000Z"
        data = {"changes": changes, "expires_at": expires, "form": "tool", "proposed_by": actor["name"], "subject": subject, "description": "Say it"}
        id = self.commit(self.event("propose", data, actor, clone, time=self.time()), None, {}, [])
        self.tips[id] = {clone: id}

    def manifest(self, revision):
        side = lambda one: ":".join([one["mode"], one["id"], one["sha256"]]) if one else "-"
        records = []
        for change in self.events[revision][0]["data"]["changes"]:
            now = change.get("before") if self.random.random() < 0.8 else self.side("other\n")
            after = change.get("after") if self.random.random() < 0.9 else self.side("merged\n")
            records.append((change["path"].encode(), f"clean none {side(now)} {side(now)} {side(after)} ".encode()))
        return b"".join(head + path + b"\0" for path, head in sorted(records))

    def decide(self, thread, kind, actor, clone, parents):
        seen = set(parents).union(*(self.ancestors[one] for one in parents))
        revisions = [one for one in seen if self.events[one][0]["kind"] in ("propose", "revise")]
        decided = [sha256(line(self.events[one][1])) for one in sorted(seen) if self.events[one][1] and self.events[one][1]["verdict"] in ("apply", "reject", "withdraw")]
        revision, name = self.random.choice(revisions), lambda one: {"id": one, "sha256": sha256(line(self.events[one][0]))}
        effect = {"apply": self.random.choice(["files", "commit", "mark_only"]), "reject": self.random.choice([None, None, None, "mark_only"]),
                  "undo": self.random.choice(["files", None])}.get(kind)
        ends = self.random.sample(decided, self.random.randint(0, len(decided))) if kind in ("apply", "reject", "withdraw", "undo") and self.random.random() < 0.7 else []
        tree, manifest, reason = {}, None, self.random.choice([None, "because", "x" * 2000])
        if kind == "approve" or effect in ("files", "commit"):
            manifest = self.blob(self.manifest(revision))
            tree["manifest"] = manifest["id"]
        if ends:
            tree["ends"] = self.blob(listed(ends))["id"]
        long = reason is not None and len(reason) > 1024
        said = {"actor": actor, "effect": effect, "ends": sha256(listed(ends)) if ends else None, "evidence": self.random.choice(["terminal", "flag", "tool"]),
                "format": "aye-decision@2", "group": None, "key": None, "lines": 2, "manifest": manifest, "policy": None, "proposal": name(thread),
                "range": None, "reason": None if long else reason, "reason_sha256": sha256(reason.encode()) if long else None, "repository": None,
                "revision": name(revision), "seen": sha256(listed(parents)), "shown": None, "target": {"commit": None, "ref": "refs/heads/main"},
                "time": self.time(), "verdict": kind}
        spoil = self.random.random()
        if spoil < 0.04:
            said["seen"] = sha256(b"elsewhere")
        elif spoil < 0.06:
            said["revision"] = name(thread) | {"sha256": "0" * 64}
        event = self.event(kind, {"reason": reason} if long else {}, actor, clone)
        if spoil > 0.97 and kind == "apply":
            return self.commit(event, None, {}, parents)
        id = self.commit(event, said, tree, parents)
        if spoil > 0.9:  # the same statement once more, by another clone, at the same place
            self.tips[thread][self.random.choice(CLONES)] = self.commit({**event, "clone": self.random.choice(CLONES)}, said, tree, parents)
        return id

    def step(self):
        if not self.tips or self.random.random() < 0.08:
            return self.propose()
        thread, clone = self.random.choice(sorted(self.tips)), self.random.choice(CLONES)
        known = {one for at, one in self.tips[thread].items() if at == clone or self.random.random() < 0.6} or {thread}
        parents = sorted(one for one in known if not any(one in self.ancestors[other] for other in known))
        first, actor = self.events[thread][0], self.random.choice(ACTORS)
        if self.random.random() < 0.3:
            actor, clone = first["actor"], first["clone"]
        kind = self.random.choice(["comment", "revise", "check", "committed", "ratify"] + VERDICTS * 2)
        if kind in VERDICTS:
            actor = self.random.choice(ACTORS[2:4]) if kind != "withdraw" and self.random.random() < 0.6 else actor
            id = self.decide(thread, kind, actor, clone, parents)
        else:
            comments = [one for one in self.events if self.events[one][0]["kind"] == "comment"]
            data = {"comment": {"body": "hm", **({"resolves": self.random.choice(comments)} if comments and self.random.random() < 0.4 else {})},
                    "revise": {"changes": first["data"]["changes"] if self.random.random() < 0.5 else self.changes(), "reason": "answer"},
                    "check": {"command": ["make"], "duration_ms": 3, "exit_code": 0, "revision": thread}, "committed": {"commit": "9" * 40}}.get(kind, {})
            id = self.commit(self.event(kind, data, actor, clone, time=self.time()), None, {}, parents)
        self.tips[thread][clone] = id

    def refs(self):
        for thread, tips in self.tips.items():
            for clone, tip in tips.items():
                self.git("update-ref", f"refs/aye/p/{thread}" if clone == CLONES[0] else f"refs/aye/remotes/origin/{clone}/{thread}", tip)


if __name__ == "__main__":
    maker = Maker(sys.argv[1], int(sys.argv[2]))
    for _ in range(int(sys.argv[3])):
        maker.step()
    maker.refs()
