#!/usr/bin/env python3
"""Reads the threads of a repository by docs/spec/ alone and prints one JSON object a thread.

usage: reader.py [REPOSITORY]

It is independent of the program on purpose: nothing here was taken from its source, so that a disagreement
shows a fault of the program, of this file, or of the pages. AYE_NOW is the clock, as in the program.
"""
import base64, hashlib, heapq, json, os, re, subprocess, sys
from datetime import datetime, timedelta, timezone

EPOCH, MEMORY, MIB = "1970-01-01T00:00:00.000Z", b".agent-memory/", 1 << 20
DECISIONS = {"apply", "approve", "reject", "request_changes", "withdraw", "undo", "extend"}
KINDS = {"propose", "revise", "comment", "check", "committed", "plan", "patch", "sign", "purge"} | DECISIONS
WRITING = {"files", "index", "commit"}
ALPHABET, HEX = "0123456789abcdefghjkmnpqrstvwxyz", "[0-9a-f]{40}|[0-9a-f]{64}"


class Bad(Exception):
    """What is wrong with an object, a ref, or an event."""


class Missing(Bad):
    """An object that is not here."""


class Git:
    def __init__(self, repo):
        start = lambda *args: subprocess.Popen(["git", "-C", repo, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                               env=dict(os.environ, GIT_NO_REPLACE_OBJECTS="1", GIT_NO_LAZY_FETCH="1"))
        listed = start("for-each-ref", "--format=%(refname) %(objectname)", "refs/aye").communicate()[0].decode("utf-8", "replace")
        self.refs, self.batch = sorted(line.split(" ") for line in listed.splitlines()), start("cat-file", "--batch")
        self.remotes = start("remote").communicate()[0].decode("utf-8", "replace").split("\n")[:-1]

    def get(self, kind, oid):
        self.batch.stdin.write(oid.encode() + b"\n")
        self.batch.stdin.flush()
        header = self.batch.stdout.readline().split()
        if header[-1] == b"missing":
            raise Missing(f"{oid} is missing")
        data = self.batch.stdout.read(int(header[2]) + 1)[:-1]
        if header[1].decode() != kind:
            raise Bad(f"{oid} is not a {kind}")
        return data

    def tree(self, oid):
        data, found, width = self.get("tree", oid), {}, len(oid) // 2
        while data:
            head, rest = data.split(b"\0", 1)
            found[head.split(b" ", 1)[1]], data = rest[:width].hex(), rest[width:]
        return found


sha256 = lambda data: hashlib.sha256(data).hexdigest()
hash_of = lambda lines: sha256("".join(line + "\n" for line in sorted(set(lines))).encode())


def canonical(data):
    """The value of canonical JSON. Any other number is read as a text, so that it is not written again as it was."""
    depth = deepest = 0
    for mark in re.sub(rb'"(?:[^"\\]|\\.)*"|[^][{}]', b"", data):
        depth += 1 if mark in b"[{" else -1
        deepest = max(deepest, depth)
    try:
        integer = lambda text: int(text) if abs(int(text)) < 1 << 53 else text
        value = json.loads(data.decode(), parse_int=integer, parse_float=str, parse_constant=str) if deepest <= 127 else None
        if json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() == data:
            return value
    except ValueError as error:
        raise Bad(f"not canonical: {error}")
    raise Bad("not canonical")


def instant(value):
    """The moment of a time in its one form; None for any other text."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z", value, re.A):
            return datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    except (TypeError, ValueError):
        pass


def as_bytes(value):
    """The bytes of a text, or of an object with `base64`; None for anything else."""
    try:
        found = value.encode() if isinstance(value, str) else base64.b64decode(value["base64"], validate=True)
        plain = found.decode("utf-8", "ignore").encode() == found
        return found if isinstance(value, str) == plain and (plain or base64.b64encode(found).decode() == value["base64"]) else None
    except (TypeError, KeyError, ValueError):
        return None


def path_ok(path):
    """Whether it is relative, and no spelling of `.git` that git guards against is in it."""
    def ok(part):
        plain = re.sub("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]", "", part.decode("utf-8", "replace")).lower()
        return part not in (b"", b".", b"..") and len(part) <= 255 and plain.split(":")[0].rstrip(" .") not in (".git", "git~1")
    return path is not None and len(path) <= 4096 and b"\0" not in path and not re.match(rb"[A-Za-z]:", path) and all(map(ok, path.split(b"/"))) \
        and all(ok(part) or part == b"." for part in re.split(rb"[/\\]+", path) if part)


# The values of the pages: a function, or the keys of an object. "?" may be absent or null, "|null" may be null,
# "[x]" is a list of x. Unknown keys are ignored, but in what begins with "!".
number = lambda least, most: lambda value: type(value) is int and least <= value < most
short = lambda most: lambda value: isinstance(value, str) and len(json.dumps(value, ensure_ascii=False).encode()) - 2 <= most
TYPES = {
    "text": lambda value: isinstance(value, str), "object": lambda value: isinstance(value, dict), "bool": lambda value: isinstance(value, bool),
    "any": lambda value: True, "bytes": lambda value: as_bytes(value) is not None, "path": lambda value: path_ok(as_bytes(value)), "time": lambda value: instant(value) is not None,
    "text128": short(128), "text256": short(256), "text512": short(512), "text1024": short(1024),
    "count": number(0, 1 << 53), "line": number(0, 1 << 32), "status": number(-1 << 31, 1 << 31), "version": number(1, 1 << 53),
    **{name: lambda value, form=re.compile(form): isinstance(value, str) and form.fullmatch(value) is not None for name, form in {
        "id": HEX, "sha256": "[0-9a-f]{64}", "clone": "[0-9a-f]{16}", "repository": "[0-9a-f]{32}", "mode": "[0-7]{6}",
        "proposal": f"prop_[{ALPHABET}]{{10,}}", "who": "human|agent|ci", "subject": "code|memory", "verdict": "|".join(DECISIONS),
        "evidence": "terminal|flag|tool|hook", "effect": "files|index|commit|mark_only", "format": "aye-decision@2"}.items()},
    "event": "actor:actor clone:clone data:object kind:text v:version",
    "actor": "email:text kind:who name:text", "target": "!commit?:text ref?:text", "blob": "id:text sha256:text",
    "side": "id:id mode:mode sha256:sha256", "entry": "id:text mode:text", "snippet": "new:bytes old:bytes occurrence?:text",
    "change": "path:path after?:side before?:side origin?:path snippets?:[snippet]", "left": "path:path reason:text",
    "written": "outcome:text path:path after?:entry before?:entry", "on": "proposal:proposal revision:text",
    "imported": "by:actor result:text time:time",
    "propose": "changes:[change] expires_at:time form:text proposed_by:text subject:subject base?:text branch?:text changes_blob?:blob description?:text"
               " domain?:text incomplete?:[left] instead_of?:proposal memory?:any on?:on related_task_id?:text target?:target",
    "revise": "changes:[change] reason:text base?:text changes_blob?:blob description?:text expires_at?:time incomplete?:[left] memory?:any"
              " note?:text on?:on target?:target",
    "comment": "body:text end_line?:line kind?:text line?:line path?:path replacement?:text resolves?:text revision?:text",
    "check": "command:[text] duration_ms:count revision:text exit_code?:status imported?:imported",
    "committed": "commit:text amended?:[written] statement?:text", "plan": "branch:text plan:[any]", "sign": "statement:text",
    "patch": "evidence:text written:[written] written_blob?:blob", "purge": "evidence:text reason:text thread:text asked?:bool blob?:text",
    **{kind: "reason?:text" for kind in DECISIONS},
    "statement": "!actor:!actor effect:effect|null ends:sha256|null evidence:evidence format:format group:sha256|null key:text128|null lines:count|null"
                 " manifest:!blob|null policy:!blob|null proposal:!blob|null range:!range|null reason:text1024|null reason_sha256:sha256|null"
                 " repository:repository|null revision:!blob|null seen:sha256 shown:count|null target:!target time:time verdict:verdict",
    "!actor": "!email:text256 kind:who name:text256", "!blob": "!id:id sha256:sha256", "!range": "!from:id to:id", "!target": "!commit:id|null ref:text512|null",
}


def fits(kind, value):
    if kind.endswith("|null"):
        return value is None or fits(kind[:-5], value)
    if kind.startswith("["):
        return isinstance(value, list) and all(fits(kind[1:-1], one) for one in value)
    form = TYPES[kind]
    if callable(form):
        return form(value)
    keys = dict(one.split(":", 1) for one in form.lstrip("!").split())
    return isinstance(value, dict) and not (form.startswith("!") and set(value) - {key.rstrip("?") for key in keys}) and all(
        value.get(key[:-1]) is None or fits(of, value[key[:-1]]) if key.endswith("?") else key in value and fits(of, value[key]) for key, of in keys.items())


def statement_of(line):
    value = canonical(line) if len(line) <= 4096 else None
    if not fits("statement", value) or value["reason"] is not None and value["reason_sha256"] is not None \
            or len({value["range"] is None, value["proposal"] is not None, value["revision"] is not None}) > 1:
        raise Bad("the statement cannot be read")
    return value


SIDE = rb"(-|[0-7]{6}:(?:%s):[0-9a-f]{64})" % HEX.encode()
RECORD = re.compile(rb"(clean|merged|already|edited|derived=[a-z-]+@[0-9]+) (?:none|taken|not_taken) %s %s %s ([^\0]+)\0" % (SIDE, SIDE, SIDE))


def manifest_of(data):
    """path -> (outcome, NOW, AFTER) of a canonical manifest; a side is (mode, sha256) or None."""
    records, at, last = {}, 0, b""
    while at < len(data):
        record = RECORD.match(data, at)
        if not record or record[5] <= last or not path_ok(record[5]):
            raise Bad("the manifest cannot be read")
        at, last = record.end(), record[5]
        records[last] = (record[1].decode(), *(None if raw == b"-" else (raw[:6].decode(), raw[-64:].decode()) for raw in (record[3], record[4])))
    return records


def headers(data):
    """Tree, parents, and the other headers of a commit: (name, lines) in order."""
    tree, parents, found = None, [], []
    for line in data.split(b"\n\n", 1)[0].split(b"\n"):
        name, _, value = line.partition(b" ")
        if name == b"tree" and tree is None:
            tree = value.decode()
        elif name == b"parent" and not found:
            parents.append(value.decode())
        elif name == b"" and found:
            found[-1][1].append(value)
        else:
            found.append((name, [value]))
    return tree or "none", parents, found


class Event:
    def __init__(self, git, oid):
        data = git.get("commit", oid)
        self.id, self.size, (tree, self.parents, found) = oid, len(data), headers(data)
        lines, statements = ([value for name, value in found if name == key] for key in (b"aye-event", b"aye-statement"))
        if len(data) > MIB or len(self.parents) > 16 or self.parents != sorted(set(self.parents)) or len(lines) != 1 or len(statements) > 1 \
                or any(len(value) > 1 for value in lines + statements) or re.search(rb"\naye-(event|statement) ", b"\n" + data.partition(b"\n\n")[2]):
            raise Bad(f"{oid} is not an event")
        line, self.sha256 = canonical(lines[0][0]), sha256(lines[0][0])
        if not fits("event", line):
            raise Bad(f"{oid} is not an event")
        self.actor, self.clone, self.data, time = line["actor"], line["clone"], line["data"], line.get("time")
        self.who = tuple(self.actor[key] for key in ("name", "email", "kind"))
        self.kind = line["kind"] if line["v"] == 2 and line["kind"] in KINDS else None
        if self.kind and not (fits(self.kind, self.data) and ("time" not in line if self.kind in DECISIONS else fits("time", time))):
            raise Bad(f"{oid} is not an event: its {self.kind} does not fit")
        self.time, self.statement, self.identity, self.manifest, self.ends, self.fault = time if fits("time", time) else EPOCH, None, None, None, [], None
        if self.kind in DECISIONS:
            try:
                self.statement = statement_of(statements[0][0] if statements else b"")
                self.identity, self.time = sha256(statements[0][0]), self.statement["time"]
            except Bad as why:
                self.fault = str(why)
        said, blobs = self.statement or {}, git.tree(tree) if self.statement else {}
        if said.get("manifest"):
            self.check(self.read(git, blobs, "manifest", said["manifest"]["id"]), said["manifest"]["sha256"], manifest_of, "manifest")
        if said.get("ends"):
            self.check(self.read(git, blobs, "ends"), said["ends"], hashes_of, "ends")
        for key in ("changes", "written"):
            blob = self.data.get(key + "_blob") if self.kind in ("propose", "revise", "patch") else None
            if blob:
                listed = self.read(git, git.tree(tree), key, blob["id"])
                if sha256(listed) != blob["sha256"] or not listed.endswith(b"\n"):
                    raise Bad(f"{oid}: {key} is not the list that is named")
                self.data[key] = canonical(listed[:-1])
                if not fits(self.kind, self.data):
                    raise Bad(f"{oid}: {key} does not fit")

    def read(self, git, blobs, name, oid=None):
        found = blobs.get(name.encode())
        if found is None or oid not in (None, found):
            raise Bad(f"{self.id}: its tree has no such {name}")
        return git.get("blob", found)

    def check(self, data, named, parse, name):
        try:
            setattr(self, name, parse(data))
        except Bad as why:
            self.fault = str(why)
        if sha256(data) != named:
            self.fault = f"{name} has other bytes than the statement names"


def hashes_of(data):
    lines = data.decode("ascii", "replace").split("\n")[:-1]
    if hash_of(lines) != sha256(data) or not fits("[sha256]", lines):
        raise Bad("the list of what it ends cannot be read")
    return lines


class Thread:
    """The events of one thread after the checks, in order."""

    def __init__(self, git, id, tips):
        self.id, self.events, self.aside, self.own_fault, self.fault = id, {}, [], None, None
        for name, tip, own in tips:
            try:
                self.events.update(self.walk(git, tip))
            except Bad as why:
                self.aside.append({"ref": name, "why": str(why)})
                fault = "incomplete" if isinstance(why, Missing) else "damaged"
                self.own_fault, self.fault = self.own_fault or (own and fault), fault if self.fault is None else max(self.fault, fault)
        self.order, self.before, self.index, children = [], {}, {}, {}
        left = {id: len(set(event.parents)) for id, event in self.events.items()}
        for event in self.events.values():
            for parent in set(event.parents):
                children.setdefault(parent, []).append(event.id)
        heap = [(self.events[id].time, id) for id, count in left.items() if count == 0]
        while heap:
            id = heapq.heappop(heap)[1]
            self.before[id], self.index[id] = 0, len(self.order)
            for parent in self.events[id].parents:
                self.before[id] |= self.before[parent] | 1 << self.index[parent]
            self.order.append(self.events[id])
            for child in children.get(id, []):
                left[child] -= 1
                if left[child] == 0:
                    heapq.heappush(heap, (self.events[child].time, child))

    def walk(self, git, tip):
        seen, waiting, size = {}, [tip], 0
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen[at] = event = self.events.get(at) or Event(git, at)
            size += event.size
            if len(seen) > 1000 or size > 16 * MIB:
                raise Bad("over 1,000 events or 16 MiB")
            if not event.parents and at != self.id:
                raise Bad(f"{at} begins another thread")
            waiting.extend(event.parents)
        return seen

    def saw(self, event, id):
        return bool(self.before[event.id] >> self.index[id] & 1)

    def saw_statement(self, event, identity):
        return any(other.identity == identity and self.saw(event, other.id) for other in self.order)


class Fold:
    def __init__(self, thread, now):
        self.thread, self.now, self.first = thread, now, thread.order[0]
        self.subject, self.expires, self.undone = self.first.data.get("subject"), self.first.data.get("expires_at", EPOCH), False
        self.revisions, self.requests, self.comments, self.approvals, self.standing, self.used, self.skipped = [], [], {}, [], [], set(), []
        for event in thread.order:
            try:
                self.step(event, event.actor["kind"] == "human", (event.actor["name"], event.actor["kind"], event.clone) ==
                          (self.first.actor["name"], self.first.actor["kind"], self.first.clone))
            except Bad as why:
                self.skipped.append({"event": event.id, "why": str(why)})

    def known(self, event):
        """The standing decisions that it has seen."""
        return [decided for decided in self.standing if self.thread.saw_statement(event, decided.identity)]

    def answer(self, event):
        self.requests = [asked for asked in self.requests if not self.thread.saw_statement(event, asked.identity)]

    def step(self, event, person, own):
        if event is self.first:
            self.revisions.append(event)
        elif event.kind in DECISIONS:
            need(event.fault is None, event.fault)
            self.hold(event, event.statement, person, own)
            if event.identity not in self.used and not event.is_mark:
                self.used.add(event.identity)
                self.decide(event, event.statement)
        elif event.kind == "revise":
            need(self.first.kind == "propose" and (person or own), "neither a person's nor the proposer's")
            need(not self.known(event), "it had seen a decision that stands")
            need(self.subject == "code" or in_memory(event), "outside of .agent-memory/")
            self.revisions.append(event)
            self.expires = event.data.get("expires_at") or self.expires
            self.answer(event)
        elif event.kind == "comment":
            other = self.comments.get(event.data.get("resolves"))
            if not (other and (person or own or event.who == other.who)):
                self.comments[event.id] = event
        else:
            need(event.kind not in (None, "propose", "patch"), "an unknown kind or version, or a second beginning")

    def hold(self, event, said, person, own):
        """Holds a statement against its event: whether it fits."""
        need(said["verdict"] == event.kind and tuple(said["actor"][key] for key in ("name", "email", "kind")) == event.who, "another actor or verdict")
        need(said["range"] is None and said["proposal"] == {"id": self.first.id, "sha256": self.first.sha256}, "another proposal")
        event.revision = next((one for one in self.revisions if said["revision"] == {"id": one.id, "sha256": one.sha256}), None)
        need(event.revision and self.thread.saw(event, event.revision.id), "another revision")
        need(said["seen"] == hash_of(event.parents), "made at another place")
        reason = event.data.get("reason")
        need(said["reason_sha256"] == (None if reason is None else sha256(reason.encode())), "another reason")
        effects = {"apply": WRITING | {"mark_only"}, "reject": {None, "mark_only"}, "undo": {"files", "index", None}}
        need(said["effect"] in effects.get(event.kind, {None}), "an effect that its kind does not have")
        need(bool(said["manifest"]) == (event.kind == "approve" or said["effect"] in WRITING), "with or without a manifest")
        need(said["ends"] is None or event.kind in ("apply", "reject", "withdraw", "undo") and event.actor["kind"] != "agent", "it ends nothing")
        event.is_mark = event.kind in ("apply", "reject") and said["effect"] == "mark_only" and said["evidence"] == "tool"
        memory = event.kind == "apply" and self.subject == "memory" and (said["evidence"], said["effect"]) == ("tool", "files")
        need({"approve": person and said["evidence"] in ("terminal", "flag"), "withdraw": own, "extend": person or own}.get(
            event.kind, event.is_mark or memory or event.actor["kind"] != "agent"), "its actor may not")
        if event.kind in ("apply", "approve") and event.manifest is not None:
            changes = {as_bytes(one["path"]): one for one in event.revision.data.get("changes", [])}
            need(event.manifest and all(self.allows(changes, at, *one) for at, one in event.manifest.items()), "the manifest does not fit")

    def allows(self, changes, at, outcome, now, after):
        if outcome == "already" or outcome.startswith("derived="):
            return outcome == "already" or at.startswith(MEMORY)
        own = changes.get(at)
        if self.subject == "memory" or own is None:
            return self.subject == "memory" and at.startswith(MEMORY)
        return bool(own.get("origin")) or name_of(own.get("before")) != now or name_of(own.get("after")) == after

    def decide(self, event, said):
        known, is_final = self.known(event), event.kind in ("apply", "reject", "withdraw")
        ended = [decided for decided in known if decided.identity in event.ends]
        need(not known or not (is_final or event.kind == "approve") or is_final and len(known) == len(ended), "it had seen a decision that stands")
        need(not self.standing or event.kind != "extend", "it is decided")
        self.standing = [decided for decided in self.standing if decided not in ended]
        if ended or event.kind in ("request_changes", "reject", "withdraw"):
            self.approvals = [(one, True) for one, _ in self.approvals]
        if is_final:
            self.standing.append(event)
        elif event.kind == "request_changes":
            self.requests.append(event)
        elif event.kind == "approve":
            key = lambda one: (one.who, one.revision, one.statement["manifest"]["sha256"])
            if all(is_ended or key(one) != key(event) for one, is_ended in self.approvals):
                self.approvals.append((event, False))
        elif event.kind == "undo" and said["ends"] is None:
            self.undone = True
            if not self.standing:
                self.answer(event)
        elif event.kind == "extend":
            until = min(instant(said["time"]), instant("9999-12-01T00:00:00.000Z")) + timedelta(days=7)
            self.expires = max(self.expires, until.isoformat(timespec="milliseconds")[:-6] + "Z")

    def result(self):
        decision = next((one for one in self.standing if one.kind == "apply"), (self.standing or [None])[0])
        revision = decision.revision if decision else self.revisions[-1]
        status = ("applied" if decision.kind == "apply" else "rejected") if decision else "expired" if instant(self.expires) <= self.now else "pending"
        in_force = [one for one, ended in self.approvals if not ended and one.revision is revision and status != "rejected"]
        return {"status": status, "contested": len({makes(one) for one in self.standing}) > 1, "revision": revision.id,
                "revisions": [one.id for one in self.revisions], "comments": len(self.comments), "expires_at": self.expires,
                "approvals": [{"by": one.actor["name"], "statement": one.identity} for one in in_force],
                "requests_open": [one.id for one in self.requests], "standing": [one.identity for one in self.standing]}


def need(holds, why):
    if not holds:
        raise Bad(why)


def name_of(side):
    return (side["mode"], side["sha256"]) if side else None


def makes(decision):
    """What two decisions have in common if they are alike."""
    if decision.kind != "apply":
        return "rejection"
    if decision.manifest is not None:
        return frozenset((at, after) for at, (_, _, after) in decision.manifest.items())
    return frozenset((as_bytes(one["path"]), name_of(one.get("after"))) for one in decision.revision.data.get("changes", []))


def in_memory(event):
    return all(as_bytes(one["path"]).startswith(MEMORY) for one in event.data["changes"])


def entries_of(git, chunk):
    """(thread, tips) of each entry of a chunk of the ledger."""
    _, parts, lines = headers(git.get("commit", chunk))
    firsts = [value[0].decode() for name, value in lines if name == b"aye-from"]
    if len(parts) != len(firsts) or firsts != sorted(set(firsts)):
        raise Bad("not a chunk of a ledger")
    for part, first, end in zip(parts, firsts, [*firsts[1:], "g"]):
        _, tips, lines = headers(git.get("commit", part))
        listed = [value[0].decode().split(" ") for name, value in lines if name == b"aye-thread"]
        if listed != sorted(listed) or len(listed) > 32 or sum(int(count) for _, count in listed) != len(tips):
            raise Bad("not a part of a chunk")
        for id, count in listed:
            if first <= id < end:
                yield id, tips[:int(count)]
            tips = tips[int(count):]


def read(repo, now):
    git, threads, gone, aside = Git(repo), {}, {}, []
    form = re.compile(rf"refs/aye/(?:(p|private)|remotes/(.+)/[0-9a-f]{{16}}|kept/.+/[0-9a-f]{{16}}\.[0-9a-f]{{8}})/(closed/|gone/|)({HEX})")
    for name, tip in git.refs:
        space, remote, place, id = (form.fullmatch(name) or re.match("()()()()", name)).groups()
        if len(id) != len(tip) or remote and remote not in git.remotes and any(remote.startswith(one + "/") for one in git.remotes):
            continue
        if place == "gone/" and space:
            gone[id] = space
        elif place == "":
            threads.setdefault(id, []).append((name, tip, space))
        try:
            for id, tips in list(entries_of(git, tip)) if place == "closed/" else []:
                threads.setdefault(id, []).extend((name, one, space) for one in tips)
        except (Bad, ValueError) as why:
            aside.append({"ref": name, "why": str(why)})
    yield from (thread_of(git, id, threads.get(id, []), gone.get(id), now) for id in sorted(set(threads) | set(gone)))
    yield from ({"aside": one} for one in aside)


def thread_of(git, id, tips, gone, now):
    private = gone == "private" or not gone and "p" not in [space for _, _, space in tips] and "private" in [space for _, _, space in tips]
    about = {"id": id, "space": "private" if private else "shared", "purged": bool(gone), "aside": [], "skipped": []}
    if gone:
        return about
    tips = sorted(tips, key=lambda one: (one[2] is None, one[0]), reverse=True)
    counts = list({tip: (name, tip, space is not None) for name, tip, space in tips if (space == "private") == private}.values())[::-1]
    many = [tip for tip in counts if not tip[2]][64:]
    thread = Thread(git, id, [tip for tip in counts if tip not in many])
    thread.aside += [{"ref": name, "why": "too many refs"} for name, _, _ in many]
    thread.aside += [{"ref": name, "why": "published elsewhere"} for name, _, space in tips if private and space is None]
    about["aside"] = thread.aside
    if thread.own_fault or not thread.order:
        return {**about, "status": thread.own_fault or thread.fault}
    first, about["kind"] = thread.order[0], thread.order[0].kind
    if first.kind not in ("propose", "plan", "patch") or first.kind == "propose" and first.data["subject"] == "memory" and not in_memory(first):
        return {**about, "status": "none"}
    fold = Fold(thread, now)
    about["skipped"] = fold.skipped
    return {**about, **fold.result()} if first.kind == "propose" else {**about, "undone": fold.undone}


if __name__ == "__main__":
    at = os.environ.get("AYE_NOW", datetime.now(timezone.utc).isoformat()).replace("Z", "+00:00")
    for found in read(sys.argv[1] if len(sys.argv) > 1 else ".", datetime.fromisoformat(at)):
        print(json.dumps(found, sort_keys=True))
