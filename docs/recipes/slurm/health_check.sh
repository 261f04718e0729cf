#!/bin/sh
# Slurm's HealthCheckProgram: drains this node with the words of the verdict while it is `failed`, and lifts
# that when it is `healthy` again. A mark of somebody else is never touched. Slurm kills it after 60 s; it
# takes 3 s for the file and 10 s for each of two questions to the controller at most.
. "$(dirname "$0")/verdict.sh"
ours="weft: "

# A command of Slurm's, for 10 s at most.
ask() { timeout -k 1 10 "$@" </dev/null; }

read_verdict
case $verdict in failed | healthy) ;; *) exit 0 ;; esac
state=$(ask sinfo -h -N -n "$host" -o '%T|%E' | head -n 1) || exit 0
reason=${state#*|}
case $verdict in
  failed)
    # A drain would take the place of another's reason without a word.
    [ "$reason" = none ] || exit 0
    case ${state%%|*} in drain* | down* | maint* | fail*) exit 0 ;; esac
    ask scontrol update NodeName="$host" State=DRAIN Reason="$ours$text" && say "drained: $text"
    ;;
  healthy)
    # One with an id is a blacklist's, which takes it off itself.
    case $reason in "$ours"*" id="*) ;; "$ours"*) ask scontrol update NodeName="$host" State=UNDRAIN && say "back: healthy" ;; esac
    ;;
esac
exit 0
