# Read by prolog.sh, epilog.sh and health_check.sh, which stand beside it: the settings of a site, and how the
# verdict of this host is read. One file a host, one line: VERDICT SECONDS_SINCE_1970 TEXT, as
# publish_verdicts.sh writes it.
# shellcheck shell=sh disable=SC2034

# Where the files are: a directory that all hosts see, or a copy on each host.
WEFT_VERDICTS=/var/lib/weft/verdicts
# A verdict that is older, in seconds, is unknown.
WEFT_MAX_AGE=172800
# Seconds to wait for the file: a file server that hangs is no reason to wait longer.
WEFT_READ_LIMIT=3

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
host=${SLURMD_NODENAME:-$(hostname -s)}

say() {
  echo "weft: $host: $*" >&2
  timeout -k 1 2 logger -t weft -p daemon.warning -- "$host: $*" 2>/dev/null || true
}

# Sets verdict (healthy, congested, degraded, failed or unknown) and text.
read_verdict() {
  verdict=unknown
  text="no verdict of this host in $WEFT_VERDICTS"
  case $host in */* | .*) text="a host's name is no path"; return ;; esac
  line=$(timeout -k 1 "$WEFT_READ_LIMIT" head -c 1000 "$WEFT_VERDICTS/$host" 2>/dev/null) || return 0
  read -r said when words <<END
$line
END
  case $when in '' | *[!0-9]* | 0* | ????????????*) text="the verdict of this host cannot be read"; return ;; esac
  age=$(($(date +%s) - when))
  if [ "$age" -gt "$WEFT_MAX_AGE" ] || [ "$age" -lt -300 ]; then
    text="the verdict of this host is $age s old"
    return
  fi
  case $said in
    healthy | congested | degraded | failed | unknown)
      verdict=$said text=$(printf '%s' "$words" | tr -d '[:cntrl:]') ;;
    *) text="the verdict of this host cannot be read" ;;
  esac
}
