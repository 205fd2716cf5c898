#!/bin/sh
# sh scripts/run.sh <name> [arguments]: runs scripts/<name>.ts, in a fresh clone too.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
. "$root/scripts/runtime.sh"
script=$root/scripts/$1.ts
shift
exec "$node" --disable-warning=ExperimentalWarning "$script" "$@"
