#!/bin/bash
# Installs missing dependencies of Latchkey, except Swift. If none are missing, it does nothing and needs no privileges.
# install-dependencies.sh tests: also the dependencies of the tests.
# install-dependencies.sh vm: those of the virtual machines, which do not need Swift.
# install-dependencies.sh packages: also those for building and testing the Debian packages.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

swift_version=6.3
if [ "${1:-}" != vm ] && ! command -v swift >/dev/null; then
  say "Swift ${swift_version} is needed, but there is no 'swift' on the PATH: see https://www.swift.org/install/linux/"
  exit 1
fi

# need PACKAGE PATTERN...: the package is missing unless a file matches one of the patterns.
missing=()
need() {
  local package=$1
  shift
  local file
  for file in "$@"; do
    # The pattern must be expanded, because multiarch folders differ.
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

# The tests also use clients of bluetoothd from other projects: bluetoothctl, and bleak, which is installed unmodified from
# PyPI into a folder of the build.
bleak_folder=$(cd "$(dirname "$0")/.." && pwd)/.build/python
# gpiozero, with pins that it simulates, is for the driver of a Raspberry Pi's bolt.
bleak_packages=(bleak==3.1.0 dbus-fast==5.2.0 gpiozero==2.0.1)
bleak_stamp=$bleak_folder/latchkey-packages
bleak_is_wanted=false
if [ "${1:-}" = tests ]; then
  need bluez '/usr/bin/bluetoothctl'
  # For a machine over ssh, on loopback. The tests start their own server.
  need openssh-client '/usr/bin/ssh'
  need openssh-server '/usr/sbin/sshd'
  # For the firmware on a board.
  need qemu-system-arm '/usr/bin/qemu-system-arm'
  need gcc-arm-none-eabi '/usr/bin/arm-none-eabi-gcc'
  # For the machine that the tests boot.
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
    say "bleak and gpiozero could not be installed from PyPI. The tests that use them will fail; everything else"
    say "works without it. Try again with a network, or with PIP_INDEX_URL or PIP_FIND_LINKS set."
    return
  fi
  echo "${bleak_packages[*]}" >"$bleak_stamp"
}

# optional PROGRAM WHAT [PACKAGE]: installs the program's package if that is possible. Everything but one test works without it.
optional() {
  local package=${3:-$1}
  if [ -x "/usr/bin/$1" ]; then return; fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null \
    || ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"; } >&2; then
    say "$1 is not installed; $2 is left out (apt install $package)."
  fi
}

install_optional() {
  if [ "${1:-}" != tests ]; then return; fi
  optional zsh "the test of completions in zsh"
  optional fish "the test of completions in fish"
  optional dunst "the test of notifications on a desktop"
  optional Xvfb "the test of notifications on a desktop" xvfb
  # It is large.
  optional chromium "the test of pictures in a browser"
}

if [ ${#missing[@]} -eq 0 ]; then
  install_bleak
  install_optional "$@"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  say "Missing: ${missing[*]} (names in Debian). Install your distribution's packages of them and try again."
  exit 1
fi
install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root=(sudo)
else
  say "Missing: ${missing[*]}. This user can't install them. As root, run"
  say "  ${install[*]}"
  say "and try again."
  exit 1
fi
say "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" "${install[@]}" >&2
install_bleak
install_optional "$@"
