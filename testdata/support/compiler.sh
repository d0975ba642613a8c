#!/bin/sh
# Stands in for the compiler where a comparison is tested: what goes wrong is
# the name of the module.
module=$2 statistics=$8
case $module in
endless) exec sleep 600 ;;
crash)
    echo oh >&2
    kill -SEGV $$
    ;;
broken) echo '{' >"$statistics" ;;
esac
