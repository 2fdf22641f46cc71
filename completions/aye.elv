set edit:completion:arg-completer[aye] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) AYE_COMPLETE="elvish" aye -- $@words) | to-lines
}
