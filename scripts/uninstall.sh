#!/usr/bin/env bash
# Removes what scripts/install.sh installed. A daemon that runs finishes its jobs before.
#
# usage: scripts/uninstall.sh [--purge]     as root
#   --purge   also remove the state (compiled circuits and their names), a configuration that was changed, the
#             units' drop-ins, and the user cuzkd, whose files the state is
set -euo pipefail

purge=
case ${1:-} in
    --purge) purge=1 ;;
    '') ;;
    *)
        echo "usage: scripts/uninstall.sh [--purge]" >&2
        exit 1
        ;;
esac
if ((EUID != 0)); then
    echo "scripts/uninstall.sh: only root can uninstall" >&2
    exit 1
fi

units=(cuzkd.service cuzkd.socket cuzkd-ctl.socket)
if [[ -d /run/systemd/system ]]; then
    # the sockets first: a client must not start the daemon again
    systemctl stop cuzkd.socket cuzkd-ctl.socket cuzkd.service 2>/dev/null || true
fi
systemctl --quiet disable "${units[@]}" 2>/dev/null || true
rm -f "${units[@]/#//usr/lib/systemd/system/}" /usr/bin/cuzkd /usr/bin/cuzkctl
rm -f /usr/lib/sysusers.d/cuzkd.conf /usr/lib/modules-load.d/cuzkd.conf
rm -f /usr/share/man/man1/cuzkd.1 /usr/share/man/man1/cuzkctl.1 /usr/share/man/man5/cuzkd.toml.5
if [[ -n $purge ]] || cmp -s /etc/cuzkd/cuzkd.toml /usr/lib/cuzkd/cuzkd.toml; then
    rm -rf /etc/cuzkd
fi
rm -rf /usr/lib/cuzkd /run/cuzkd /var/cache/cuzkd
if [[ -n $purge ]]; then
    rm -rf /var/lib/cuzkd
    for unit in "${units[@]}"; do
        rm -rf "/etc/systemd/system/$unit.d"
    done
    if id cuzkd >/dev/null 2>&1; then
        userdel cuzkd
    fi
fi
if [[ -d /run/systemd/system ]]; then
    systemctl daemon-reload
    systemctl reset-failed "${units[@]}" 2>/dev/null || true
fi
