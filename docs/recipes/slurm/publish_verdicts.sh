#!/bin/sh
# publish_verdicts.sh DIAGNOSIS.json FABRIC.yaml DIRECTORY: writes the verdict of each host of the fabric, a
# file a host, for prolog.sh and its like. A host has the worst of what names it: an entry under hosts, its
# own cables, its leaf as a whole. A host that was not tested, whose cables too few probes crossed or may be at
# fault, or of a sweep that was cut short, is unknown.
# A sweep of some hosts alone (--hosts) clears nobody: publish sweeps of all.
# Faults between switches are nobody's: routes and weft blacklist keep jobs off those. Needs jq.
set -eu
[ $# -eq 3 ] || { echo "usage: publish_verdicts.sh DIAGNOSIS.json FABRIC.yaml DIRECTORY" >&2; exit 64; }
fabric=$("${WEFT:-weft}" topology show "$2" -o json)
now=$(date +%s)
mkdir -p "$3"
lines=$(printf '%s' "$fabric" | jq -r --arg now "$now" --slurpfile found "$1" '
  def rank: {"healthy": 0, "unknown": 1, "congested": 2, "degraded": 3, "failed": 4}[.] // 1;
  def of_host($name): split("->") | any(split("/")[0] == $name);
  . as $fabric | $found[0] as $d
  | if $d.schema != "weft.diagnosis/1" then error("no weft.diagnosis/1") else . end
  | if $d.fabric != $fabric.fabric then error("the diagnosis is of \($d.fabric), the file of \($fabric.fabric)") else . end
  | $fabric.nodes[] | select(.kind == "host") | .name as $host
  | ([$fabric.links[] | select(.a.node == $host) | .b.node] +
     [$fabric.links[] | select(.b.node == $host) | .a.node]) as $leaves
  | ([$d.hosts[] | select(.host == $host) | {verdict, text: (.evidence[0] // .cause // "")}] +
     [$d.links[] | select(.a.node == $host or .b.node == $host)
      | {verdict, text: "\(.link): \(.cause)"}] +
     [$d.groups[] | select([.nodes[]] | any(. as $n | $leaves | index($n)))
      | {verdict: (.verdict // "failed"), text: "\(.nodes | join(", ")): \(.cause)"}] +
     [($d.coverage.missing // [])[], ($d.coverage.thin // [])[] | select(of_host($host))
      | {verdict: "unknown", text: "\(.): crossed by too few probes"}] +
     [($d.ambiguous // [], $d.sets // []) | .. | strings | select(contains("->") and of_host($host))
      | {verdict: "unknown", text: "\(.): may be at fault"}] +
     [($d.coverage.not_tested // [])[] | select(.host == $host) | {verdict: "unknown", text: .why}] +
     (if ($d.coverage.out_of_scope // 0) > 0
      then [{verdict: "unknown", text: "the sweep was of some hosts alone"}] else [] end) +
     (if $d.coverage.cut_short then [{verdict: "unknown", text: $d.coverage.cut_short}] else [] end) +
     [if $d.verdict == "unknown" then {verdict: "unknown", text: "the sweep could not tell"}
      else {verdict: "healthy", text: "nothing found"} end])
  | max_by(.verdict | rank)
  | "\($host)\t\(.verdict) \($now) \(.text | gsub("[[:cntrl:]]"; " "))"')
[ -n "$lines" ] || { echo "publish_verdicts.sh: $2 has no host: nothing was written" >&2; exit 65; }
printf '%s\n' "$lines" |
  while IFS="$(printf '\t')" read -r name line; do
    case $name in */* | .* | '') continue ;; esac
    printf '%s\n' "$line" >"$3/.$name.new"
    mv "$3/.$name.new" "$3/$name" # a reader sees the old line or the new one
  done
