complete --keep-order --exclusive --command aye --arguments "(AYE_COMPLETE=fish aye -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
