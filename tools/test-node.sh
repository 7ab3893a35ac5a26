#!/usr/bin/env bash
# Runs Node.js programs with IBM's package ibmmq, in its prebuilt form from npm, on an embedded queue manager.
#
#   VENV          the environment's folder, .venv unless told
#   NODE_MODULES  the folder node_modules that ibmmq is in, instead of fetching it
#
# Arguments are more for pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

IBMMQ=ibmmq@2.1.9
VENV=${VENV:-.venv}

for command in node npm; do
    command -v $command >/dev/null || { echo "make test-bindings OF=node needs $command (Node.js 18 or newer)" >&2; exit 1; }
done
if [[ -z ${NODE_MODULES:-} ]]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # No scripts: what they would fetch is IBM's client, and the embedded queue manager's is used.
    npm install --prefix "$work" --ignore-scripts --no-audit --no-fund --silent "$IBMMQ"
    NODE_MODULES=$work/node_modules
fi
# Not exec: the folder is removed at the end.
cd embedded
MQEMBEDDED_NODE_MODULES=$NODE_MODULES "$(realpath -s "$VENV/bin/python")" -m pytest --numprocesses 0 embedded_tests/test_node.py "$@"
