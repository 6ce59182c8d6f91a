# Completion of answerd for bash. Made by scripts/manpage from the help texts of the commands: do not edit.
_answerd() {
    local word=${COMP_WORDS[COMP_CWORD]} options=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'serve render check diff validate-answer captures inventory installs install arm disarm forget wait import export apply history restore-document backup restore token config boot-config migrate -h --help --version' -- "$word")
        return
    fi
    case ${COMP_WORDS[1]} in
        serve) options='-h --help' ;;
        render) options='--format --body --query --header --replay --dir --state --why --explain --json -h --help' ;;
        check) options='--json -h --help' ;;
        diff) options='--summary --show-secrets --no-pager --json -h --help' ;;
        validate-answer) options='--format --release --product -h --help' ;;
        captures) options='--machine --status --since --json -h --help' ;;
        inventory) options='--to --dry-run --json -h --help' ;;
        installs) options='--group --state --unknown --json -h --help' ;;
        install) options='--json -h --help' ;;
        arm) options='--group --state -h --help' ;;
        disarm) options='--group --state -h --help' ;;
        forget) options='--group --state -h --help' ;;
        wait) options='--group --timeout -h --help' ;;
        import) options='--prune --from-db -h --help' ;;
        export) options='--force -h --help' ;;
        apply) options='--to --ca --dry-run --prune --yes --note --json -h --help' ;;
        history) options='--since --limit --show-secrets --json --no-pager -h --help' ;;
        restore-document) options='--revision --note -h --help' ;;
        backup) options='--force -h --help' ;;
        restore) options='--force -h --help' ;;
        token) options='--role -h --help' ;;
        config) options='-h --help' ;;
        boot-config) options='--url --proxy-dhcp -h --help' ;;
        migrate) options='-h --help' ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --format ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'toml yaml yml json ign xml autoyast unattend ks preseed seed cfg ipxe' -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _answerd answerd
