#!/usr/bin/env bash
# Stands in for zstd, which the tests do not need otherwise: the folder that it would compress has to hold files.
set -euo pipefail
[ "$1 $2 $#" = "-b3 -r 3" ]
[ -n "$(find "$3" -type f -size +0)" ]
