#!/usr/bin/env bash
# Stands in for GitHub's client, which would need an account: takes a comment, which has to hold a table.
set -euo pipefail
[ "$*" = "pr comment --body-file -" ] || exit 1
grep -q '^|.*|$'
