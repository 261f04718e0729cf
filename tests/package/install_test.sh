#!/usr/bin/env bash
# install_test.sh BUILD: makes the Debian packages, installs them in a fresh Debian 12, and runs there what a user runs first:
# the version, a manual page, a configuration of the host, the demo. The units of the services are verified there, and
# nothing is started. Exits with 77, and says why, where that cannot be.
set -euo pipefail
build=$(realpath "${1:?usage: install_test.sh BUILD}")
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "failed: $1" >&2; exit 1; }

[ "$(id -u)" = 0 ] || skip "only root can make a root of its own"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap"
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "bookworm" { print $1; exit }')
mirror=${mirror:-http://deb.debian.org/debian/}
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
timeout 30 /usr/lib/apt/apt-helper -o Acquire::Retries=0 download-file "${mirror}dists/bookworm/InRelease" \
  "$scratch/InRelease" >/dev/null 2>&1 || skip "no mirror of Debian 12 can be reached: $mirror"

(cd "$build" && cpack -G DEB -B "$scratch/made" >"$scratch/cpack.log" 2>&1) || fail "cpack: $(tail -n 5 "$scratch/cpack.log")"
mkdir "$scratch/debs"
cp "$scratch"/made/*.deb "$scratch/debs"
lintian --fail-on error --tag-display-limit 0 "$scratch"/debs/*.deb || fail "lintian has errors"
version=$(dpkg-deb -f "$scratch"/debs/weft_*.deb Version)
for name in weft-agent weft-watch; do
  deb=$(ls "$scratch"/debs/${name}_*.deb)
  [ "$(dpkg-deb -f "$deb" Depends)" = "weft (= $version), init-system-helpers (>= 1.52)" ] || fail "$name depends on $(dpkg-deb -f "$deb" Depends)"
  # What stands in /etc is the site's: the packages bring directories alone.
  ! dpkg-deb -c "$deb" | grep -v '^d' | grep ' \./etc/' || fail "$name brings a configuration file"
done

# Debian starts services as they are installed; this root has none.
export root=$scratch/root
timeout 400 mmdebstrap --quiet --variant=apt --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
  --customize-hook='printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"' \
  --customize-hook="copy-in $scratch/debs /root" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y -qq systemd /root/debs/*.deb >/root/install.log 2>&1" || { tail -n 20 "$1/root/install.log" >&2; exit 1; }' \
  bookworm "$root" "$mirror" || fail "the packages cannot be installed"

units="weft-agent.service weft-watch@.service weft-bus@.service weft-blacklist@.service"
for unit in $units; do
  [ -f "$root/lib/systemd/system/$unit" ] || fail "$unit is not installed"
  chroot "$root" systemd-analyze verify --man=no "${unit/@/@pod1}" >"$scratch/verified" 2>&1 || fail "verify $unit: $(cat "$scratch/verified")"
  ! grep -F "$unit" "$scratch/verified" || fail "verify $unit: $(cat "$scratch/verified")"
  chroot "$root" systemd-analyze security --offline=true --threshold=30 "${unit/@/@pod1}" >"$scratch/security" 2>&1 ||
    fail "security of $unit: $(tail -n 2 "$scratch/security")"
  grep 'Overall exposure' "$scratch/security"
done
# What docs/operations.md has a site add to its units.
add_to() { mkdir -p "$root/etc/systemd/system/$1.d" && cat >"$root/etc/systemd/system/$1.d/site.conf"; }
awk '/^and by `systemctl edit weft-agent`:/ { ours = 1 } ours && /^```/ { if (inside) exit; inside = 1; next } inside' \
  "$(dirname "$0")/../../docs/operations.md" | add_to weft-agent.service
printf '[Service]\nLoadCredential=page-token:/etc/weft/watch/page-token\n' | add_to weft-watch@.service
grep -qx 'User=root' "$root/etc/systemd/system/weft-agent.service.d/site.conf" || fail "docs/operations.md: what weft-agent needs to give labels"
for unit in weft-agent.service weft-watch@.service; do
  chroot "$root" systemd-analyze verify --man=no "${unit/@/@pod1}" >"$scratch/verified" 2>&1 || fail "verify $unit of a site: $(cat "$scratch/verified")"
  ! grep -F -e "$unit" -e site.conf "$scratch/verified" || fail "verify $unit of a site: $(cat "$scratch/verified")"
done
chroot "$root" systemd-analyze security --offline=true weft-agent.service >"$scratch/security" 2>&1 || fail "security of a site's agent"
grep -q 'runs as root user' "$scratch/security" || fail "the agent of a site that gives labels does not run as root"
rm -r "$root"/etc/systemd/system/weft-*.d
chroot "$root" systemd-analyze verify --man=no weft-blacklist@pod1.timer >"$scratch/verified" 2>&1 || fail "verify the timer: $(cat "$scratch/verified")"
[ -L "$root/etc/systemd/system/multi-user.target.wants/weft-agent.service" ] || fail "weft-agent is not enabled"
! ls "$root"/etc/systemd/system/multi-user.target.wants | grep -E 'weft-(watch|bus)' || fail "a watcher is enabled that nobody asked for"
! ls "$root"/etc/systemd/system/timers.target.wants 2>/dev/null | grep weft || fail "a timer is enabled that nobody asked for"
# The agent has one capability, the others have none.
grep -qx 'CapabilityBoundingSet=CAP_NET_RAW' "$root/lib/systemd/system/weft-agent.service" || fail "the agent's capabilities"
! ls -l /proc/[0-9]*/root 2>/dev/null | grep -F "$root" || fail "something was started in the new root"
touch "$root/etc/weft/agent/pod1.json"
chroot "$root" dpkg -P weft-agent weft-watch >"$scratch/purged" 2>&1 || fail "purge: $(cat "$scratch/purged")"
[ -f "$root/etc/weft/agent/pod1.json" ] || fail "a purge took the site's credential"
! ls "$root"/lib/systemd/system | grep weft || fail "a purge left units"
rm "$root/etc/weft/agent/pod1.json"

cat >"$root/root/first_hour" <<'TEXT'
set -eu
weft --version
for page in weft weft-sweep weft-lab-up; do gzip -dc "/usr/share/man/man1/$page.1.gz" | grep -q '^.SH OPTIONS\|^.SH COMMANDS'; done
. /usr/share/bash-completion/completions/weft
ls /usr/share/doc/weft/copyright /usr/share/doc/weft/docs/schema/diagnosis.schema.json /usr/share/zsh/vendor-completions/_weft
mkdir -p /etc/weft
cp /usr/share/doc/weft/examples/weft.yaml /etc/weft/weft.yaml
weft config sweep | grep -A1 -e '--budget 60s' | grep -q 'from /etc/weft/weft.yaml:8'
echo 'sweep: {budgt: 60s}' >/etc/weft/weft.yaml
status=0
weft sweep 2>said || status=$?
[ "$status" = 64 ] && grep -q "/etc/weft/weft.yaml:1: 'sweep' has no option 'budgt'" said
rm /etc/weft/weft.yaml
status=0
/usr/share/doc/weft/demo/run /usr/bin/weft >demo 2>&1 || status=$?
tail -n 1 demo
[ "$status" = 2 ] && grep -q 'the blacklist has 3 entries' demo
TEXT
unshare -nm --propagation private sh -c 'mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
  mount -t tmpfs none "$root/run" && ip link set lo up && timeout 150 chroot "$root" bash -c "cd /root && bash first_hour"' ||
  fail "what a user runs first: $(tail -n 20 "$root/root/demo" 2>/dev/null)"
du -b "$scratch"/debs/weft_*.deb | awk '{ printf "the package: %.2f MB\n", $1 / 1e6 }'
