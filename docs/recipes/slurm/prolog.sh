#!/bin/sh
# Slurm's Prolog: keeps jobs off a host that a sweep found failed. It asks no daemon of Slurm and waits for
# nothing but one file, for 3 s at most. Any other end than 0 drains the node and sends the job back to the
# queue; so only `failed` ends so. What is only suspected, or not known, is reported and the job runs.
. "$(dirname "$0")/verdict.sh"
read_verdict
case $verdict in
  healthy) exit 0 ;;
  failed)
    say "failed, the job is not started here: $text"
    exit 1
    ;;
  *)
    say "$verdict, the job is started: $text"
    exit 0
    ;;
esac
