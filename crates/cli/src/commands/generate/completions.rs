//! Shell completions.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::Generated;

const PROGRAM: &str = env!("CARGO_BIN_NAME");

/// The folders that each shell reads.
const PLACES: [(Shell, &str); 5] = [
    (Shell::Bash, "bash-completion/completions/repackbench"),
    (Shell::Zsh, "zsh/site-functions/_repackbench"),
    (Shell::Fish, "fish/vendor_completions.d/repackbench.fish"),
    (Shell::Elvish, "repackbench/completions/repackbench.elv"),
    (Shell::PowerShell, "repackbench/completions/_repackbench.ps1"),
];

/// bash-completion loads this file for the command `git-repackbench`, git's completion for `git repackbench`.
const GIT_IN_BASH: &str = "bash-completion/completions/git-repackbench";

/// The function that git's completion calls. It provides the words and the position of the subcommand, and expects a
/// space after a complete word.
const GIT_FUNCTION_IN_BASH: &str = r#"
_git_repackbench() {
    local first=${__git_cmd_idx:-1} index
    while ((first < cword)) && [[ ${words[first]} != repackbench ]]; do
        ((++first))
    done
    local -a COMP_WORDS=(repackbench "${words[@]:first+1}")
    local COMP_CWORD=$((cword - first))
    _repackbench repackbench "$cur" "$prev"
    for index in "${!COMPREPLY[@]}"; do
        [[ -e ${COMPREPLY[index]} ]] || COMPREPLY[index]+=' '
    done
}

complete -F _repackbench -o bashdefault -o default git-repackbench
"#;

/// The function that the git completion of zsh calls.
const GIT_IN_ZSH: (&str, &str) = (
    "zsh/site-functions/_git-repackbench",
    "#compdef git-repackbench\n#description show what other codecs would do to a repository\n_repackbench \"$@\"\n",
);

/// Print the completions for a shell
///
/// Write them to where the shell looks for them, such as
///   ~/.local/share/bash-completion/completions/repackbench
///   a folder of zsh's $fpath, as _repackbench
///   ~/.config/fish/completions/repackbench.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArguments {
    /// The completions of `program` for the shell.
    pub(crate) fn script(&self, program: &Command) -> Vec<u8> {
        script(program, self.shell)
    }
}

/// Every script.
pub(super) fn scripts(program: &Command) -> Vec<Generated> {
    let mut scripts = Vec::new();
    for (shell, place) in PLACES {
        let script = script(program, shell);
        if shell == Shell::Bash {
            scripts.push((PathBuf::from(GIT_IN_BASH), script.clone()));
        }
        scripts.push((PathBuf::from(place), script));
    }
    let (place, script) = GIT_IN_ZSH;
    scripts.push((PathBuf::from(place), script.into()));
    scripts
}

fn script(program: &Command, shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program.clone(), PROGRAM, &mut script);
    if shell == Shell::Bash {
        script.extend_from_slice(GIT_FUNCTION_IN_BASH.as_bytes());
    }
    script
}
