//! The guide for agents without hooks.

/// Markdown; `aye agents guide` prints it, and `aye init --agents` keeps it in the files that
/// agents read.
pub const TEXT: &str = "## Changes go through review

Do not edit the files of the checkout: propose changes with `aye`, and a person decides on them.

- In the work tree of a session (`aye run` started you)? Edit, test and commit as usual; what you leave is
  proposed when you are done.
- Elsewhere: `aye propose PATH --old 'text' --new 'text' -m 'why'`; several edits at once:
  `aye propose --from-json - < edits.json`; a patch: `aye propose --patch FILE -m 'why'`.
- Edited a file already? `aye propose --worktree PATH -m 'why'`; it has the edit again once it is applied.
- Then `aye wait ID --timeout 10m`: exit 0 applied, 1 rejected (the reason is printed), 4 changes requested.
- Changes requested: `aye show ID --comments`, then `aye revise ID PATH --old 'text' --new 'text'`; a suggestion is
  taken by `aye revise ID --take COMMENT`, any comment resolved by `aye comment ID --resolve COMMENT -m 'what'`.
- To build on a proposal of yours that is still pending, revise it: the files do not have it yet.
- Where `.git` cannot be written (a sandbox), use the tools of `aye mcp`: `changes`, `apply_patch`, `wait`, `revise`.
- Never run `aye apply`, `approve`, `reject` or `undo`; tell your user the id and `aye review ID` instead.
";
