#!/bin/sh
# Runs as root inside the new root file system once the packages are there.
set -eu

# A login shell must start in milliseconds, under gVisor too: Debian's profile starts several processes.
# PATH and LANG come from the image's environment instead.
rm -rf /etc/profile.d
mkdir /etc/profile.d
echo '# Kept empty: PATH and LANG come from the environment, and login shells start fast.' >/etc/profile
rm -f /root/.profile /root/.bash_profile /root/.bash_login

# Repositories written by the host or by another user inside the workspace are the agent's own.
git config --system safe.directory '*'
git config --system init.defaultBranch main

mkdir -p /workspace
rm -f /etc/machine-id /var/lib/dbus/machine-id /etc/hostname
: >/etc/machine-id
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
rm -rf /usr/share/man/* /usr/share/info/*
# Only our own file: mmdebstrap keeps its apt configuration in /tmp, and without it cleans up the host's lists.
rm -f /tmp/finish.sh
