# Completion of answerd for bash. Made by scripts/manpage from the help texts of the commands: do not edit.
_answerd() {
    local word=${COMP_WORDS[COMP_CWORD]} options=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'serve render check diff validate-answer captures inventory adopt installs install arm disarm forget wait nodes import export apply history restore-document audit backup restore token config boot-config migrate -h --help --version' -- "$word")
        return
    fi
    case ${COMP_WORDS[1]} in
        serve) options='--help -h' ;;
        render) options='--format --body --query --header --replay --dir --state --why --explain --json --help -h' ;;
        check) options='--json --strict --help -h' ;;
        diff) options='--summary --show-secrets --json --help -h' ;;
        validate-answer) options='--format --release --product --help -h' ;;
        captures) options='--machine --json --help -h' ;;
        inventory) options='--fill --to --dry-run --json --help -h' ;;
        adopt) options='--name --set --said --count --free --to --from --ca --dry-run --yes --json --help -h' ;;
        installs) options='--where --group --state --summary --names --waiting --unknown --from --ca --json --help -h' ;;
        install) options='--show-secrets --json --help -h' ;;
        arm) options='--where --group --state --yes --help -h' ;;
        disarm) options='--where --group --state --help -h' ;;
        forget) options='--where --group --state --help -h' ;;
        wait) options='--where --group --state --timeout --grace --fail-fast --help -h' ;;
        nodes) options='--json --help -h' ;;
        import) options='--prune --follow-links --from-db --states --help -h' ;;
        export) options='--force --help -h' ;;
        apply) options='--to --ca --dry-run --prune --prune-inventories --strict --yes --note --follow-links --json --help -h' ;;
        history) options='--since --limit --summary --show-secrets --json --help -h' ;;
        restore-document) options='--revision --change --note --yes --help -h' ;;
        audit) options='--machine --who --since --until --limit --json --help -h' ;;
        backup) options='--force --help -h' ;;
        restore) options='--force --help -h' ;;
        token) options='--role --until --help -h' ;;
        config) options='--help -h' ;;
        boot-config) options='--url --ipv6 --without-ipxe --proxy-dhcp --snippet --help -h' ;;
        migrate) options='--follow-links --help -h' ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --format ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'toml yaml yml json ign xml autoyast unattend ks preseed seed cfg ipxe pxelinux grub erb jsonnet' -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _answerd answerd
