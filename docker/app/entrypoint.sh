#!/bin/sh
# Hands the password that is in a file, a secret of Compose's, to a program that takes it from the environment.
set -eu
if [ -n "${MQGROUPS_PASSWORD_FILE:-}" ]; then
    MQGROUPS_PASSWORD=$(cat "$MQGROUPS_PASSWORD_FILE")
    export MQGROUPS_PASSWORD
    unset MQGROUPS_PASSWORD_FILE
fi
exec "$@"
