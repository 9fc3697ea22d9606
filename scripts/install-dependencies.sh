#!/bin/bash
# Installs what Latchkey needs besides Swift and is missing; does nothing, and needs no right, where nothing is.
# install-dependencies.sh tests: what its tests need too.
# install-dependencies.sh vm: what its virtual machines need; not Swift, which they do without.
# install-dependencies.sh packages: what building and trying its Debian packages needs.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

swift_version=6.3
if [ "${1:-}" != vm ] && ! command -v swift >/dev/null; then
  say "Swift ${swift_version} is needed and there is no 'swift' on the PATH: see https://www.swift.org/install/linux/"
  exit 1
fi

# The package that brings a thing, and a file that shows that it is there.
missing=()
need() {
  local package=$1
  shift
  local file
  for file in "$@"; do
    # The pattern is meant to be expanded: multiarch folders differ.
    # shellcheck disable=SC2086
    if compgen -G "$file" >/dev/null; then return; fi
  done
  missing+=("$package")
}

if [ "${1:-}" = vm ]; then
  need qemu-system-x86 '/usr/bin/qemu-system-x86_64'
  need qemu-utils '/usr/bin/qemu-img'
  need mmdebstrap '/usr/bin/mmdebstrap'
  need e2fsprogs '/sbin/mkfs.ext4' '/usr/sbin/mkfs.ext4'
  need cpio '/bin/cpio' '/usr/bin/cpio'
  need xz-utils '/usr/bin/xz'
  need kmod '/sbin/modprobe' '/usr/sbin/modprobe'
  need openssh-client '/usr/bin/ssh'
  need python3 '/usr/bin/python3'
  if ! python3 -m pip --version >/dev/null 2>&1; then missing+=(python3-pip); fi
else
  need libsystemd-dev '/usr/include/systemd/sd-bus.h'
  need libbluetooth-dev '/usr/include/bluetooth/bluetooth.h'
  need libsqlite3-dev '/usr/include/sqlite3.h'
  need pkg-config '/usr/bin/pkg-config' '/usr/bin/pkgconf'
  need dbus '/usr/share/dbus-1/system.conf'
fi

# The tests' clients of bluetoothd that are not ours: bluetoothctl, and bleak, which comes from PyPI, unmodified, into a
# folder of the build's.
bleak_folder=$(cd "$(dirname "$0")/.." && pwd)/.build/python
bleak_packages=(bleak==3.1.0 dbus-fast==5.2.0)
bleak_stamp=$bleak_folder/latchkey-packages
bleak_is_wanted=false
if [ "${1:-}" = tests ]; then
  need bluez '/usr/bin/bluetoothctl'
  # A machine over ssh, on loopback; the tests start their own server.
  need openssh-client '/usr/bin/ssh'
  need openssh-server '/usr/sbin/sshd'
  # A machine of their own, which they boot, needs these two.
  need systemd '/usr/lib/systemd/systemd' '/lib/systemd/systemd'
  need polkitd '/usr/lib/polkit-1/polkitd' '/usr/libexec/polkitd'
  if [ "$(cat "$bleak_stamp" 2>/dev/null)" != "${bleak_packages[*]}" ]; then
    bleak_is_wanted=true
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then missing+=(python3-venv); fi
  fi
fi

if [ "${1:-}" = packages ]; then
  need dpkg-dev '/usr/bin/dpkg-buildpackage'
  need debhelper '/usr/bin/dh'
  need lintian '/usr/bin/lintian'
  need mmdebstrap '/usr/bin/mmdebstrap'
fi

install_bleak() {
  if ! "$bleak_is_wanted"; then return; fi
  say "Installing ${bleak_packages[*]} into $bleak_folder"
  rm -rf "$bleak_folder"
  mkdir -p "$(dirname "$bleak_folder")"
  if ! python3 -m venv "$bleak_folder" >&2 \
    || ! "$bleak_folder/bin/python3" -m pip install --quiet --disable-pip-version-check "${bleak_packages[@]}" >&2; then
    rm -rf "$bleak_folder"
    say "bleak could not be installed from PyPI. Everything works without it but the tests of clients that are not"
    say "ours, and they will fail. With a network, or with PIP_INDEX_URL or PIP_FIND_LINKS set, try again."
    return
  fi
  echo "${bleak_packages[*]}" >"$bleak_stamp"
}

if [ ${#missing[@]} -eq 0 ]; then
  install_bleak
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  say "Missing: ${missing[*]} (Debian's names). Install your distribution's packages of them and try again."
  exit 1
fi
install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root=(sudo)
else
  say "Missing: ${missing[*]}. This user may not install them. As root, run"
  say "  ${install[*]}"
  say "and try again."
  exit 1
fi
say "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" "${install[@]}" >&2
install_bleak
