#!/usr/bin/env bash
# Stands in for git's t/perf/run: takes its arguments, and reads both repositories with the git of the PATH, as the
# scripts do.
set -euo pipefail
[ "$1 $3 $4 $6" = "--config --subsection zstd-5 --" ]
[ "$(git config --file "$2" perf.zstd-5.useScalar)" = false ]
[ -x "$5/git" ]
[ "$GIT_PERF_REPEAT_COUNT" -gt 0 ]
shift 6
for script in "$@"; do
  grep -qF "$script" "$CHECKOUT/docs/git-perf.md"
done
for repository in "$GIT_PERF_REPO" "$GIT_PERF_LARGE_REPO"; do
  env -u GIT_DIR git -C "$repository" rev-list --objects --all > /dev/null
done
