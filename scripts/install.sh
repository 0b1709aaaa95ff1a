#!/usr/bin/env bash
# Installs cuzkd for this machine, or upgrades it in place: program, units, user, configuration, man pages.
#
# usage: scripts/install.sh [--wheels DIR]     as root
#   --wheels DIR   take cuzkd and what it needs from the wheels in DIR, without a network or a compiler
#
# Each version is an environment of its own in /usr/lib/cuzkd; /usr/lib/cuzkd/current is the one in force. A daemon
# that runs is restarted with the new one, and finishes its jobs before; the old one is removed after that.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
home=/usr/lib/cuzkd
units=/usr/lib/systemd/system
sockets=(cuzkd.socket cuzkd-ctl.socket)

fail() {
    printf 'scripts/install.sh: %s\n' "$1" >&2
    exit 1
}

wheels=
while (($#)); do
    case $1 in
        --wheels)
            [[ -d ${2:-} ]] || fail "--wheels needs a folder"
            wheels=$(realpath "$2")
            shift 2
            ;;
        *) fail "unknown argument $1 (usage: scripts/install.sh [--wheels DIR])" ;;
    esac
done
((EUID == 0)) || fail "only root can install"
command -v systemd-sysusers >/dev/null || fail "needs systemd"
python=$(command -v "${PYTHON:-python3}") || fail "needs Python 3.11 or newer"
"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "needs Python 3.11 or newer with venv (on Debian: apt-get install python3-venv)"

booted() { [[ -d /run/systemd/system ]]; }
active() { booted && systemctl is-active --quiet "$1"; }

# ---- the program: complete beside the one in force before that is replaced
umask 022
mkdir -p "$home"
version=$(mktemp -d "$home/version.XXXXXXXX")
trap 'rm -rf "$version"' EXIT
chmod 755 "$version"
"$python" -m venv "$version"
pip=("$version/bin/python" -m pip --disable-pip-version-check --quiet --no-cache-dir install)
if [[ -n $wheels ]]; then
    # nothing of the caller's pip configuration may add a place to look at
    PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS='' "${pip[@]}" --no-index --find-links "$wheels" cuzkd
else
    "${pip[@]}" "$root"
fi
"$version/bin/cuzkd" --version

# ---- what systemd reads
changed_sockets=()
for socket in "${sockets[@]}"; do
    cmp -s "$root/systemd/$socket" "$units/$socket" || changed_sockets+=("$socket")
done
install -D -m 644 -t "$units" "$root"/systemd/cuzkd.service "${sockets[@]/#/$root/systemd/}"
install -D -m 644 -t /usr/lib/sysusers.d "$root/systemd/sysusers.d/cuzkd.conf"
if modinfo nvidia_uvm >/dev/null 2>&1; then
    install -D -m 644 -t /usr/lib/modules-load.d "$root/systemd/modules-load.d/cuzkd.conf"
fi
systemd-sysusers /usr/lib/sysusers.d/cuzkd.conf

# ---- man pages and configuration; a file that is there is the administrator's
for page in "$root"/systemd/man/*.[1-9]; do
    install -D -m 644 -t "/usr/share/man/man${page##*.}" "$page"
done
install -D -m 644 "$root/systemd/cuzkd.toml" "$home/cuzkd.toml"
[[ -e /etc/cuzkd/cuzkd.toml ]] || install -D -m 644 "$root/systemd/cuzkd.toml" /etc/cuzkd/cuzkd.toml

# ---- switch
ln -sfn "${version##*/}" "$home/next"
mv -T "$home/next" "$home/current"
trap - EXIT
for program in cuzkd cuzkctl; do
    ln -sfn "$home/current/bin/$program" "/usr/bin/$program"
done
systemctl --quiet enable "${sockets[@]}"
if booted; then
    systemctl daemon-reload
    if ((${#changed_sockets[@]})) && active cuzkd.service; then
        # a socket cannot be made anew under a daemon that has it
        systemctl stop cuzkd.service
        systemctl restart "${sockets[@]}"
        systemctl start cuzkd.service
    else
        ((${#changed_sockets[@]})) && systemctl restart "${sockets[@]}" || systemctl start "${sockets[@]}"
        systemctl try-restart cuzkd.service
    fi
fi
find "$home" -mindepth 1 -maxdepth 1 -name 'version.*' ! -name "${version##*/}" -exec rm -rf {} +

echo "cuzkd is installed; members of the group cuzkd may ask for proofs: usermod -aG cuzkd NAME"
