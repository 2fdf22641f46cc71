_clap_complete_aye() {
    local IFS=$'\013'
    local _CLAP_COMPLETE_INDEX=${COMP_CWORD}
    local _CLAP_COMPLETE_COMP_TYPE=${COMP_TYPE}
    if compopt +o nospace 2> /dev/null; then
        local _CLAP_COMPLETE_SPACE=false
    else
        local _CLAP_COMPLETE_SPACE=true
    fi
    local words=("${COMP_WORDS[@]}")
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[COMP_CWORD]="$2"
    fi
    COMPREPLY=()
    local answer
    answer=$( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$_CLAP_COMPLETE_INDEX" \
        _CLAP_COMPLETE_COMP_TYPE="$_CLAP_COMPLETE_COMP_TYPE" \
        _CLAP_COMPLETE_SPACE="$_CLAP_COMPLETE_SPACE" \
        AYE_COMPLETE="bash" \
        "aye" -- "${words[@]}" \
    ) && [[ -n "$answer" ]] || return
    # Word splitting would expand patterns in names of files.
    read -r -d '' -a COMPREPLY < <(printf '%s\0' "$answer")
    # Names of files are readline's to quote; it knows whether a quote is open. A directory that is offered as
    # one ends in a slash: others are words that happen to have the name of one.
    local at files=false
    for at in "${!COMPREPLY[@]}"; do
        if [[ "${COMPREPLY[at]}" == */ || -e "${COMPREPLY[at]}" && ! -d "${COMPREPLY[at]}" ]]; then
            files=true
        fi
    done
    if [[ $files == false ]] || ! compopt -o filenames 2> /dev/null; then
        for at in "${!COMPREPLY[@]}"; do
            COMPREPLY[at]=$(printf '%q' "${COMPREPLY[at]}")
        done
    fi
    if [[ $_CLAP_COMPLETE_SPACE == false ]] && [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_aye aye
else
    complete -o nospace -o bashdefault -F _clap_complete_aye aye
fi
