#!/usr/bin/env bash
# What the action in action.yml does. It also runs on any other machine, with these variables:
#
#   INPUT_MODE          gate or estimate
#   INPUT_PROGRAM       repackbench, by path or by name; empty: it is compiled from the checkout that has this script
#   INPUT_OLD           gate: the older records
#   INPUT_NEW           gate: the newer records
#   INPUT_GATE          gate: the percentage for `repackbench diff --gate`
#   INPUT_ABSOLUTE      gate: true for `repackbench diff --absolute`
#   INPUT_COMMENT       gate: true for a comment on the pull request, by gh
#   INPUT_PULL_REQUEST  gate: the number of the pull request
#   INPUT_GITHUB_TOKEN  gate: the token for gh; empty: gh finds its own
#   INPUT_PATH          estimate: the repository
#   INPUT_TIME          estimate: the time for `repackbench estimate --time`
#   INPUT_RECORDS       estimate: the file for the records; it must not exist
#
# GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name files to which the Markdown and the outputs are appended. Without the first
# the Markdown goes to stdout. With it, no text from records goes to the log, where GitHub would take some lines for
# commands.
set -euo pipefail

# The longest body of a comment that GitHub accepts has 65,536 characters.
LONGEST_COMMENT=65000

fail() {
  echo "run.sh: $*" >&2
  exit 2
}

# is_true NAME VALUE: whether a switch is on. Anything but true, false and nothing is an error.
is_true() {
  case $2 in
    true) return 0 ;;
    false | '') return 1 ;;
    *) fail "$1: expected true or false" ;;
  esac
}

# output NAME VALUE: sets an output of the action.
output() {
  case $2 in
    *$'\n'*) fail "$1: expected a single line" ;;
  esac
  [ -z "${GITHUB_OUTPUT:-}" ] || printf '%s=%s\n' "$1" "$2" >> "$GITHUB_OUTPUT"
}

# publish FILE: shows Markdown in the summary of the job, and names the file as an output.
publish() {
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat -- "$1" >> "$GITHUB_STEP_SUMMARY"
  else
    cat -- "$1"
  fi
  output markdown "$1"
}

# Compiles the program from the checkout that has this script. It leaves out the library for `exec`, which neither mode
# uses.
install_program() {
  local source
  source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  # rust-toolchain.toml applies inside of the checkout.
  (cd "$source" && cargo install --locked --no-default-features --path crates/cli --root "$work/installed" >&2)
  program=$work/installed/bin/repackbench
}

# comment SHORT LONG: comments on the pull request with the longer file that GitHub accepts. A comment that cannot be
# made, as for a pull request from a fork, changes no result.
comment() {
  local body=$2
  if [ -z "$pull_request" ]; then
    echo "run.sh: no pull request, so no comment" >&2
    return
  fi
  [ "$(wc -c < "$body")" -le "$LONGEST_COMMENT" ] || body=$1
  local repository=()
  [ -z "${GITHUB_REPOSITORY:-}" ] || repository=(--repo "$GITHUB_REPOSITORY")
  [ -z "$token" ] || export GH_TOKEN=$token
  if ! gh pr comment "$pull_request" ${repository[@]+"${repository[@]}"} --body-file "$body" >&2; then
    echo "::warning::repackbench: no comment could be made; the job needs the permission pull-requests: write"
  fi
}

gate() {
  local old=${INPUT_OLD:-} new=${INPUT_NEW:-} percent=${INPUT_GATE:-3%} code=0 what
  if [ -z "$old" ] || [ -z "$new" ]; then fail "old, new: expected the paths of two files of records"; fi
  local options=(--gate "$percent" --markdown -)
  if is_true absolute "${INPUT_ABSOLUTE:-}"; then options+=(--absolute); fi
  local comments=false
  if is_true comment "${INPUT_COMMENT:-}"; then comments=true; fi

  "$program" diff "${options[@]}" -- "$old" "$new" > "$work/diff.md" || code=$?
  case $code in
    0) what="Nothing got worse by more than ${percent%\%} %." ;;
    3) what="**Something got worse by more than ${percent%\%} %, or is missing in the newer records.**" ;;
    *) exit "$code" ;;
  esac
  {
    printf '### repackbench: newer records compared with older ones\n\n%s\n\n' "$what"
    cat "$work/diff.md"
  } > "$work/short.md"
  {
    cat "$work/short.md"
    "$program" report --markdown - -- "$new"
  } > "$work/gate.md"
  publish "$work/gate.md"
  if $comments; then comment "$work/short.md" "$work/gate.md"; fi
  exit "$code"
}

estimate() {
  local records=${INPUT_RECORDS:-$work/estimate.jsonl}
  output records "$records"
  "$program" estimate --time "${INPUT_TIME:-60s}" --json "$records" --markdown - -- "${INPUT_PATH:-.}" \
    > "$work/estimate.md"
  publish "$work/estimate.md"
}

# No program but gh gets the token.
token=${INPUT_GITHUB_TOKEN:-} pull_request=${INPUT_PULL_REQUEST:-}
unset INPUT_GITHUB_TOKEN
case ${INPUT_MODE:-} in
  gate | estimate) ;;
  *) fail "mode: expected gate or estimate" ;;
esac
work=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/repackbench.XXXXXX")
program=${INPUT_PROGRAM:-}
[ -n "$program" ] || install_program
"$INPUT_MODE"
