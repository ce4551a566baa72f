#!/usr/bin/env bash
# Stands in for cargo: what the examples have it build or measure takes minutes. The chores, packages, benches and
# options that they name have to exist; where an example uses what a chore prints, the same is printed.
set -euo pipefail

fail() {
  echo "cargo: $*" >&2
  exit 101
}

# options_exist WORD...: the sources of the chores know every word that is an option.
options_exist() {
  local word
  for word in "$@"; do
    [[ $word != --* ]] || grep -rqF "\"$word\"" "$CHECKOUT/xtask/src" || fail "no chore has the option $word"
  done
}

# values_of OPTION WORD...: every word that follows the option.
values_of() {
  local option=$1
  shift
  while [ $# -gt 1 ]; do
    [ "$1" != "$option" ] || echo "$2"
    shift
  done
}

case $* in
  "install --locked --path "*) [ -f "$CHECKOUT/$4/Cargo.toml" ] || fail "no package $4" ;;
  "xtask "*)
    chore=$2
    shift 2
    # Not as a pipeline, which fails if grep ends before sed does.
    grep -q "^  $chore " <<< "$(sed -n '/^chores:/,/^";/p' "$CHECKOUT/xtask/src/main.rs")" || fail "no chore $chore"
    options_exist "$@"
    case $chore in
      hg-extension) echo "$HG_EXTENSION" ;;
      git-perf | git-suite)
        for folder in $(values_of --git-source "$@") $(values_of --variant "$@"); do
          [ -d "$folder" ] || fail "no folder $folder"
        done
        ;;
    esac
    ;;
  "bench -p repackbench-benches --bench "*)
    grep -qx "name = \"repackbench-benches\"" "$CHECKOUT/benches/Cargo.toml" || fail "no such package"
    grep -qx "name = \"$5\"" "$CHECKOUT/benches/Cargo.toml" || fail "no bench $5"
    ;;
  *) fail "no example should say: cargo $*" ;;
esac
