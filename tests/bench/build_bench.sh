#!/usr/bin/env bash
# How long weft takes to build, against a commit before: `./bootstrap bench build [COMMIT]`. Both trees are built by turns on
# this machine, without a compiler cache, in user seconds of the compilers, which other work disturbs less than the clock.
#   cold_build_ratio    the program `weft` from nothing
#   touch_fabric_ratio  what is rebuilt of it after the header of Fabric was touched
#   unit_test_s         a unit-test program (tests/topology/model) from nothing
# Counted in this tree: tiny_units_share (a .hpp with its .cpp of less than 60 lines in all, of units with a header) and
# one_user_headers (headers that one other file includes, and no test).
set -euo pipefail
export CCACHE_DISABLE=1
cd "$(dirname "$0")/../.."

readonly before_commit=${1:-23856f0} place=build/bench/build runs=${WEFT_BUILD_RUNS:-1}

git cat-file -e "$before_commit^{commit}" 2>/dev/null || {
  echo "bench build: no commit $before_commit in this checkout (a shallow clone has not all of them)" >&2
  exit 64
}

# user_seconds COMMAND...: of the command and all it starts; what it says goes to a log.
user_seconds() {
  local seconds
  seconds=$({ TIMEFORMAT=%U; time "$@" >>"$place/log" 2>&1; } 2>&1) || {
    echo "bench build: '$*' failed:" >&2
    tail -n 20 "$place/log" >&2
    exit 70
  }
  echo "$seconds"
}

# As `./bootstrap build` does it; a tree that knows no batches ignores the word.
configure() {
  rm -rf "$place/$1/build"
  cmake -S "$place/$1" -B "$place/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_BATCHES=ON >>"$place/log" 2>&1
}

figures=()
add() {
  figures+=("\"$1\": $2")
  printf '%-20s %8s   (%s)\n' "$1" "$2" "$3"
}

rm -rf "$place"
mkdir -p "$place"
git worktree prune
git clone -q --no-checkout . "$place/before"
git -C "$place/before" checkout -q "$before_commit"
git clone -q . "$place/now"

declare -A cold touched
for ((run = 0; run < runs; run++)); do
  for tree in before now; do
    configure $tree
    cold[$tree]+=" $(user_seconds cmake --build "$place/$tree/build" --target weft)"
    touch "$place/$tree/topology/model/fabric.hpp"
    touched[$tree]+=" $(user_seconds cmake --build "$place/$tree/build" --target weft)"
  done
done
least() { printf '%s\n' "$@" | sort -g | head -n 1; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
# shellcheck disable=SC2086  # lists of numbers
{
  cold_now=$(least ${cold[now]}) cold_before=$(least ${cold[before]})
  touched_now=$(least ${touched[now]}) touched_before=$(least ${touched[before]})
}
add cold_build_ratio "$(ratio "$cold_now" "$cold_before")" "$cold_now s of $cold_before s; to reach: at most 0.6"
add touch_fabric_ratio "$(ratio "$touched_now" "$touched_before")" "$touched_now s of $touched_before s; to reach: at most 0.6"
configure now
add unit_test_s "$(user_seconds cmake --build "$place/now/build" --target test_topology_model)" "from nothing"

count() {
  git ls-files '*.hpp' '*.cpp' | awk '
    { file = $0; test = file ~ /^tests\//; unit = file; sub(/\.[ch]pp$/, "", unit)
      while ((getline line < file) > 0) {
        if (!test) lines[unit]++
        if (match(line, /^#include "[^"]+"/)) {
          header = substr(line, 11, RLENGTH - 11); own = header; sub(/\.hpp$/, ".cpp", own)
          if (own != file) { users[header]++; if (test) tested[header] = 1 }
        }
      }
      close(file)
      if (!test && file ~ /\.hpp$/) headers[file] = unit }
    END { for (h in headers) { n++; if (lines[headers[h]] < 60) tiny++; if (users[h] == 1 && !tested[h]) one++ }
          printf "%.3f %d\n", tiny / n, one }'
}
read -r tiny one < <(count)
add tiny_units_share "$tiny" "to reach: at most 0.10"
add one_user_headers "$one" "to reach: at most 10"
rm -rf "$place"
printf '{"schema":"weft.bench/1","figures":{%s}}\n' "$(IFS=,; echo "${figures[*]}")" >build/bench/build.json
