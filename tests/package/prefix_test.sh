#!/usr/bin/env bash
# prefix_test.sh BUILD: `cmake --install` into a directory of one's own, which is moved then: the program there finds what
# belongs to it, every command has its manual page, and completion answers. Needs no rights; DPDK's module is opened as root.
set -euo pipefail
build=$(realpath "${1:?usage: prefix_test.sh BUILD}")
fail() { echo "failed: $1" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" || fail "cmake --install: $(tail -n 5 "$scratch/log")"
prefix=$scratch/moved
mv "$scratch/first" "$prefix"
export PATH=$prefix/bin:$PATH
cd "$scratch"

[ "$(command -v weft)" = "$prefix/bin/weft" ] || fail "there is no weft in bin"
weft --version | grep -q '^weft ' || fail "it does not say its version"
! ldd "$prefix"/bin/weft "$prefix"/lib/weft/*.so | grep 'not found' || fail "a library is missing"
! grep -rlF "$build" "$prefix" || fail "what is installed names the folder that it was built in"
! find "$prefix" -name '*.service' -o -name '*.timer' | grep . || fail "units are of the packages alone"

# What jobs load is beside the program that tells of it.
if [ -e "$prefix/lib/weft/libweft-nccl.so" ]; then
  weft nccl env | grep -qF "$prefix/lib/weft/libweft-nccl.so" || fail "weft nccl env: $(weft nccl env)"
fi
if [ -e "$prefix/lib/weft/libweft_dpdk.so" ] && [ "$(id -u)" = 0 ]; then
  printf 'fabric: small\nkind: roce\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n' >fabric.yaml
  weft lab up fabric.yaml --name "prefix$$" >/dev/null || fail "weft lab up"
  timeout 60 weft sweep --lab="prefix$$" --engine dpdk --load none --budget 2s >said 2>&1 || status=$?
  weft lab down --name "prefix$$" >/dev/null
  case ${status:-0} in 0 | 1 | 3) ;; *) fail "a sweep by DPDK: $(tail -n 5 said)" ;; esac
fi

# Every word that completion knows of has a page, which says what a page has to.
commands=$(weft --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 15 ] || fail "--help lists no commands"
for command in $commands; do
  page=$prefix/share/man/man1/weft-$command.1.gz
  [ -f "$page" ] || fail "weft $command has no manual page"
done
for page in "$prefix"/share/man/man1/*.gz; do
  gzip -dc "$page" | grep -q '^\.SH NAME' || fail "$page has no name"
  if command -v mandoc >/dev/null; then
    ! mandoc -T lint -W warning "$page" | grep -E 'WARNING|ERROR' || fail "$page is no good page"
  fi
done
# shellcheck disable=SC1091
. "$prefix/share/bash-completion/completions/weft"
completed() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _weft
  echo "${COMPREPLY[*]}"
}
[ "$(completed weft swe)" = sweep ] || fail "completion of swe: $(completed weft swe)"
[ "$(completed weft topology disc)" = discover ] || fail "completion of topology disc: $(completed weft topology disc)"
[ "$(completed weft sweep --bud)" = --budget ] || fail "completion of --bud: $(completed weft sweep --bud)"
[ -f "$prefix/share/zsh/vendor-completions/_weft" ] || fail "zsh has no completion"
echo "installed, moved and used: $(find "$prefix" -type f | wc -l) files"
