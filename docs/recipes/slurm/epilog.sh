#!/bin/sh
# Slurm's Epilog: the same look after the job, so that a host found failed while the job ran is drained at once
# and not when the next job meets it. Any other end than 0 drains the node.
. "$(dirname "$0")/verdict.sh"
read_verdict
[ "$verdict" = failed ] || exit 0
say "failed, no job is started here any more: $text"
exit 1
