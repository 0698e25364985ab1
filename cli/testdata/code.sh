# code.sh WANT ARG...: runs conjunct and fails unless it exits with WANT.
want=$1
shift
conjunct "$@" >/dev/null 2>&1
got=$?
[ "$got" = "$want" ] || { echo "conjunct $*: exit $got, want $want"; exit 1; }
