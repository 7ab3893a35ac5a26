#!/usr/bin/env bash
# Runs ibmmq's own test suite, unmodified, from its source distribution on PyPI, on an embedded queue manager.
#
# It knows nothing of this project, which is what makes it worth running. Fails when fewer tests pass than PASSES.
#
#   VENV          the environment's folder, .venv unless told
#   IBMMQ_TESTS   code/tests of an unpacked distribution, instead of one that is fetched
#
# Arguments are more for pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

IBMMQ=ibmmq==2.1.2
DDT=ddt==1.7.2
PASSES=103
VENV=${VENV:-.venv}
PYTHON=$(realpath -s "$VENV/bin/python")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip() { "$PYTHON" -m pip --disable-pip-version-check --quiet "$@"; }

if [[ -z ${IBMMQ_TESTS:-} ]]; then
    # pip asks the distribution for its name, and for that it wants an MQ client's headers; nothing of it is installed.
    MQ_FILE_PATH=$("$PYTHON" -m mqembedded build --print-dir) \
        pip download --no-deps --no-binary ibmmq --dest "$work" "$IBMMQ"
    tar -xzf "$work"/ibmmq-*.tar.gz -C "$work"
    IBMMQ_TESTS=$(echo "$work"/ibmmq-*/code/tests)
fi
# The headers declare what the binding is written against.
includes=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
"${CC:-cc}" -fsyntax-only -Werror -I"$("$PYTHON" -m mqembedded build --print-dir)/inc" -I"$includes" \
    "$IBMMQ_TESTS/../ibmmq/ibmmqc.c"
"$PYTHON" -c 'import ddt' 2>/dev/null || pip install "$DDT"

# What the suite expects beyond what every queue manager has: credentials are required (its own default setting), a queue
# with a message on it, and a queue whose description begins with the product's name.
cat >"$work/suite.mqsc" <<'MQSC'
ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQUIRED)
DEFINE QLOCAL(SUITE.MESSAGES) DESCR('IBM MQ test suite: a queue with a message') REPLACE
MQSC
cat >"$work/one_message.py" <<'PYTHON'
import os
import ibmmq
name, conn_name = os.environ["PY_IBMMQ_TEST_QM_NAME"], os.environ["MQGROUPS_CONN_NAME"]
user, password = os.environ["PY_IBMMQ_TEST_QM_USER"], os.environ["PY_IBMMQ_TEST_QM_PASSWORD"]
q_mgr = ibmmq.connect(name, os.environ["PY_IBMMQ_TEST_QM_CHANNEL"], conn_name, user, password)
q_mgr.put1("SUITE.MESSAGES", b"one")
q_mgr.disconnect()
PYTHON
cat >"$work/run" <<'BASH'
address=${MQGROUPS_CONN_NAME%)}
export PY_IBMMQ_TEST_QM_HOST=${address%(*} PY_IBMMQ_TEST_QM_PORT=${address#*(}
# The suite sets it for itself where a test wants it.
unset MQSERVER
"$1" "$2/one_message.py"
cd "$3"
exec "$1" -m pytest -c /dev/null --rootdir . -p no:cacheprovider -p no:randomly -q -ra --junitxml "$2/result.xml" "${@:4}"
BASH

# Where OpenTelemetry is installed ibmmq looks for trace context in MQRFH2 headers, and trips over its own (bytes and text).
export MQIPY_NOOTEL=1
password() { "$PYTHON" -c 'import secrets; print(secrets.token_hex(6))'; }
export PY_IBMMQ_TEST_QM_NAME=QM1 PY_IBMMQ_TEST_QM_CHANNEL=DEV.ADMIN.SVRCONN PY_IBMMQ_TEST_QM_APP_CHANNEL=DEV.APP.SVRCONN
export PY_IBMMQ_TEST_QM_USER=admin PY_IBMMQ_TEST_QM_APP_USER=app
PY_IBMMQ_TEST_QM_PASSWORD=$(password)
PY_IBMMQ_TEST_QM_APP_PASSWORD=$(password)
export PY_IBMMQ_TEST_QM_PASSWORD PY_IBMMQ_TEST_QM_APP_PASSWORD

# Tests that fail are told by the number that pass.
"$PYTHON" -m mqembedded exec --mqsc "$work/suite.mqsc" \
    --user admin:PY_IBMMQ_TEST_QM_PASSWORD --user app:PY_IBMMQ_TEST_QM_APP_PASSWORD \
    -- bash "$work/run" "$PYTHON" "$work" "$IBMMQ_TESTS" "$@" || true

"$PYTHON" - "$work/result.xml" "$PASSES" <<'PYTHON'
import sys
from xml.etree import ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
tests, failures, errors, skipped = (int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))
passed, wanted = tests - failures - errors - skipped, int(sys.argv[2])
print(f"ibmmq's own suite: {passed} of {tests} passed, {failures + errors} failed, {skipped} skipped; at least {wanted} must pass")
sys.exit(passed < wanted)
PYTHON
