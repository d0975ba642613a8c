#!/bin/sh
# Stands in for the compiler where a comparison is tested: what goes wrong is
# the name of the module, its last argument.
while [ $# -gt 1 ]; do
    case $1 in
    --stats) statistics=$2 ;;
    esac
    shift
done
case $1 in
endless) exec sleep 600 ;;
crash)
    echo oh >&2
    kill -SEGV $$
    ;;
broken) echo '{' >"$statistics" ;;
esac
