# Read by prolog.sh, epilog.sh and health_check.sh, which stand beside it: the settings of a site, and how the
# verdict of this host is read.
# shellcheck shell=sh disable=SC2034

# The file of `weft gate publish`: in a directory that all hosts see, or a copy on each host.
WEFT_GATE=/var/lib/weft/gate
# A file that is older says nothing.
WEFT_MAX_AGE=48h

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
WEFT=${WEFT:-weft}
host=${SLURMD_NODENAME:-$(hostname -s)}

say() {
  echo "weft: $host: $*" >&2
  timeout -k 1 2 logger -t weft -p daemon.warning -- "$host: $*" 2>/dev/null || true
}

# Sets verdict (healthy, congested, degraded, failed or unknown) and text. weft gate waits for the file for 3 s.
read_verdict() {
  # The program weft-gate is weft gate, without the libraries of the rest.
  if command -v "$WEFT-gate" >/dev/null; then set -- "$WEFT-gate"; else set -- "$WEFT" gate; fi
  said=$(timeout -k 1 5 "$@" --file "$WEFT_GATE" --host "$host" --max-age "$WEFT_MAX_AGE" 2>/dev/null) ||
    said="unknown weft gate does not run here"
  verdict=${said%% *} text=${said#* }
  case $verdict in
    healthy | congested | degraded | failed | unknown) ;;
    *) verdict=unknown text="weft gate does not run here" ;;
  esac
}
