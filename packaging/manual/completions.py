# SPDX-License-Identifier: GPL-3.0-or-later
"""Completions for bash, zsh and fish, from the table of commands."""

from __future__ import annotations

from commands import Command, Option

ADAPTERS = "--hciN"  # stands for --hci0, --hci1 and so on


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


#: The commands that list values of a running daemon, without waiting for one that does not respond. Some values come from the
#: phone, and bash's compgen -W expands its argument, so only characters without a meaning for a shell pass.
LIVE = {
    "notification": """ancsd list --json --timeout 2 2>/dev/null | sed -n 's/.*"uid":\\([0-9]*\\).*/\\1/p'""",
    "app": """ancsd apps --json --timeout 2 2>/dev/null | sed -n 's/.*"app_id":"\\([A-Za-z0-9._-]*\\)".*/\\1/p'""",
    "phone": """ancsd phones --json --timeout 2 2>/dev/null | sed -n 's/.*"phone":"\\([0-9A-Fa-f:]*\\)".*/\\1/p'""",
}


#: For shells that show a description beside a value, and evaluate neither: the titles are escaped by --template.
TITLED = "ancsd list --template '{uid}SEPARATOR{app} {title}' --timeout 2 2>/dev/null"


def words(command: Command) -> list[str]:
    """The options' names, with a `=` after those whose value can't be a separate word."""
    return [name + ("=" if option.is_optional and name.startswith("--") else "")
            for option in command.options for name in option.names if name != ADAPTERS] + ["--help"]


BASH = r"""# Completion of ancsd for bash, generated from its table of commands (ancsd help --json).
_ancsd()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" word
    # bash treats “=” as a separate word.
    [ "$current" = "=" ] && current=""
    [ "$previous" = "=" ] && previous=${COMP_WORDS[COMP_CWORD - 2]}
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        case $word in
@NAMES@) command=$word; break ;;
        esac
    done
    local adapters="" adapter
    for adapter in /sys/class/bluetooth/hci*; do
        case ${adapter##*/} in *:* | 'hci*') ;; *) adapters="$adapters --${adapter##*/}" ;; esac
    done
    if [ -z "$command" ] && [[ $current != -* && $previous != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@ help" -- "$current")
        return
    fi
    case ${command:-run} in
@CASES@
    esac
    case ${COMPREPLY[*]} in *=) compopt -o nospace ;; esac
}
complete -F _ancsd ancsd
"""


def bash(commands: list[Command]) -> str:
    cases = []
    for command in commands:
        values: dict[str, list[str]] = {}
        for option in command.options:
            action = bash_values(option)
            if action:
                values.setdefault(action, []).extend(option.names)
        offered = " ".join(words(command))
        has_adapters = any(ADAPTERS in option.names for option in command.options)
        cases += [f"        {command.name})", '            case $previous in']
        for action, names in values.items():
            cases.append(f"                {' | '.join(names)}) {action}; return ;;")
        cases += ["            esac",
                  "            if [[ $current == -* ]]; then",
                  f'                mapfile -t COMPREPLY < <(compgen -W "{offered}{" $adapters" if has_adapters else ""}" -- "$current")',
                  "            else"]
        lists = " ".join([*command.words, *(f"$({LIVE[operand.kind]})" for operand in command.operands if operand.kind in LIVE)])
        if lists:
            cases.append(f'                mapfile -t COMPREPLY < <(compgen -W "{lists}" -- "$current")')
        for kind in filter(command.takes, BASH_FILES):
            cases += ["                compopt -o filenames",
                      f'                mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <({BASH_FILES[kind]})']
        cases += ["                :", "            fi", "            ;;"]
    names = " | ".join(command.name for command in commands)
    return (BASH.replace("@NAMES@", f"            {names}").replace("@CASES@", "\n".join(cases))
            .replace("@COMMANDS@", " ".join(command.name for command in commands)))


#: What lists files in bash, where a pattern of compgen does not hold for folders.
BASH_FILES = {
    "file": 'compgen -f -- "$current"',
    "settings": """compgen -f -X '!*.toml' -- "$current"; compgen -d -- "$current\"""",
    "directory": 'compgen -d -- "$current"',
}


def bash_values(option: Option) -> str:
    """The command that completes an option's value; empty if none can."""
    if option.choices:
        return f'mapfile -t COMPREPLY < <(compgen -W "{" ".join(option.choices)}" -- "$current")'
    if option.kind in BASH_FILES:
        return f'compopt -o filenames; mapfile -t COMPREPLY < <({BASH_FILES[option.kind]})'
    if option.kind in LIVE:
        return f'mapfile -t COMPREPLY < <(compgen -W "$({LIVE[option.kind]})" -- "$current")'
    # Nothing to offer, not even option names.
    return ":" if option.value and not option.is_optional else ""


def zsh(commands: list[Command]) -> str:
    lines = ["#compdef ancsd", "# Completion of ancsd for zsh, generated from its table of commands (ancsd help --json).", ""]
    titled = TITLED.replace("SEPARATOR", ":")
    lines.append(f'_ancsd_live_notification() {{ local -a found=(${{(f)"$({titled})"}}); _describe -V notification found }}')
    for kind, listing in LIVE.items():
        if kind == "notification":
            continue
        lines.append(f'_ancsd_live_{kind}() {{ compadd "$@" -- ${{(f)"$({listing})"}} }}')
    lines.append("")
    for command in commands:
        lines += [f"_ancsd_{command.name}() {{", "    local -a adapters=(/sys/class/bluetooth/hci<->(N:t))",
                  "    _arguments -s -S : \\"]
        for option in command.options:
            lines += [f"        {spec} \\" for spec in zsh_specs(option)]
        live = [operand.kind for operand in command.operands if operand.kind in LIVE]
        if live:
            words_too = f" compadd -- {' '.join(command.words)};" if command.words else ""
            lines.append(f"        {quoted(f'*:{live[0]}:{{{words_too} _ancsd_live_{live[0]} }}')} \\")
        elif command.words and command.takes("settings"):
            lines.append(f"        {quoted('1:' + command.name + ':(' + ' '.join(command.words) + ')')} "
                         f"{quoted('*:file:' + ZSH_FILES['settings'])} \\")
        elif command.words:
            lines.append(f"        {quoted('*:' + command.name + ':(' + ' '.join(command.words) + ')')} \\")
        elif command.takes("file"):
            lines.append("        '*:file:_files' \\")
        lines += ["        '--help[show this help]'", "}", ""]
    described = " ".join(quoted(f"{command.name}:{command.summary}") for command in commands)
    lines += [
        "_ancsd() {", f"    local -a commands=({described})", "    local command=${words[2]}",
        "    if (( CURRENT == 2 )) && [[ $command != -* ]]; then", "        _describe command commands",
        "    elif (( $+functions[_ancsd_$command] )); then", "        shift words; (( CURRENT-- ))",
        "        _ancsd_$command", "    else", "        _ancsd_run", "    fi", "}", "", '_ancsd "$@"', "",
    ]
    return "\n".join(lines)


ZSH_FILES = {"file": "_files", "settings": '_files -g "*.toml"', "directory": "_files -/"}


def zsh_specs(option: Option) -> list[str]:
    text = option.text.replace("[", "(").replace("]", ")").replace(":", "\\:")
    specs = []
    for name in option.names:
        if name == ADAPTERS:
            specs.append('"${(@)adapters/#/--}"')
            continue
        # Long texts make the list unreadable.
        short = text if len(text) <= 70 else text[:67].rsplit(" ", 1)[0] + "..."
        spec = f"*{name}{'=-' if option.is_optional else ''}[{short}]"
        if option.value:
            action = ZSH_FILES.get(option.kind, " ")
            if option.kind in LIVE:
                action = f"_ancsd_live_{option.kind}"
            if option.choices:
                action = f"({' '.join(option.choices)})"
            spec += f"{':' if option.is_optional else ''}:{option.value.replace(':', ' ')}:{action}"
        specs.append(quoted(spec))
    return specs


def fish(commands: list[Command]) -> str:
    names = " ".join(command.name for command in commands)
    lines = ["# Completion of ancsd for fish, generated from its table of commands (ancsd help --json).",
             f"set -l commands {names}", "complete -c ancsd -f"]
    for command in commands:
        lines.append(f"complete -c ancsd -n \"not __fish_seen_subcommand_from $commands\" -a {command.name} "
                     f"-d {fish_quoted(command.summary)}")
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name}"
        if command.name == "run":
            seen = f"{seen}; or not __fish_seen_subcommand_from $commands"
        for option in command.options:
            lines.append(f'complete -c ancsd -n "{seen}" {fish_option(option)} -d {fish_quoted(option.text)}')
        if command.words:
            lines.append(f'complete -c ancsd -n "{seen}" -a {fish_quoted(" ".join(command.words))}')
        for operand in command.operands:
            if operand.kind in LIVE:
                lines.append(f'complete -c ancsd -n "{seen}" -a {fish_quoted("(" + fish_live(operand.kind) + ")")}')
        if command.takes("file"):
            lines.append(f'complete -c ancsd -n "{seen}" -F')
        if command.takes("settings"):
            lines.append(f'complete -c ancsd -n "{seen}" -a {FISH_SETTINGS}')
    return "\n".join(lines) + "\n"


#: Folders and files of settings; __fish_complete_suffix offers all other files, too.
FISH_SETTINGS = r"""'(__fish_complete_path (commandline -ct) | string match -r ".*(?:/|\.toml)(?:\t.*)?\$")'"""


def fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_live(kind: str) -> str:
    return TITLED.replace("SEPARATOR", "\\t") if kind == "notification" else LIVE[kind]


def fish_option(option: Option) -> str:
    if ADAPTERS in option.names:
        return "-a '(path basename /sys/class/bluetooth/hci* | string match -r \"^hci[0-9]+\\$\" | string replace -- hci --hci)'"
    parts = [f"-s {name[1:]}" if len(name) == 2 else f"-l {name[2:]}" for name in option.names]
    if option.value and not option.is_optional:
        parts.append("-r" if option.kind == "file" else "-x")
    if option.choices:
        parts.append(f"-a {fish_quoted(' '.join(option.choices))}")
    elif option.kind in LIVE:
        parts.append(f"-a {fish_quoted('(' + LIVE[option.kind] + ')')}")
    elif option.kind == "file":
        parts.append("-F")
    elif option.kind == "settings":
        parts.append(f"-a {FISH_SETTINGS}")
    elif option.kind == "directory":
        parts.append("-a '(__fish_complete_directories)'")
    return " ".join(parts)
