//! The guide for agents without hooks.

/// Markdown; `aye agents guide` prints it, and `aye init --agents` keeps it in the files that
/// agents read.
pub const TEXT: &str = "## Changes go through review

Do not edit the files of the checkout: propose changes with `aye`, and a person decides on them.

- In the work tree of a session (`aye run` started you)? Edit, test and commit as usual; aye proposes the
  result when you stop.
- Elsewhere: `aye propose PATH --old 'text' --new 'text' -m 'why'`; several edits at once:
  `aye propose --from-json - < edits.json`; a patch: `aye propose --patch FILE -m 'why'`.
- Edited a file already? `aye propose --worktree PATH -m 'why'`; the file gets the edit back when it is applied.
- Then `aye wait ID --timeout 10m`: exit 0 applied, 1 rejected (the reason is printed), 4 changes requested.
- Changes requested: `aye show ID --comments`, then `aye revise ID PATH --old 'text' --new 'text'`; `aye revise
  ID --take COMMENT` takes a suggestion, `aye comment ID --resolve COMMENT -m 'what'` resolves a comment.
- To change a pending proposal of yours, revise it: the files do not have it yet.
- If `.git` is not writable (a sandbox), use the tools of `aye mcp`: `changes`, `apply_patch`, `wait`, `revise`.
- Never run `aye apply`, `approve`, `reject` or `undo`; tell your user the id and `aye review ID` instead.
";
