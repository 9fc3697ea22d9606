#!/bin/bash
# Installs Latchkey's units, users, policies, Info.plist files, scenarios and drivers into their places.
#   install-config.sh ROOT      ROOT is the root folder of a machine, or /
set -euo pipefail
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
  echo "usage: install-config.sh ROOT, a folder" >&2
  exit 64
fi
root=${1%/}
config=$(cd "$(dirname "$0")/../config" && pwd)
put() { install -D -m 0644 "$config/$1" "$root/$2"; }

for unit in latchkeyd latchkey-agent latchkey-lock; do
  put "systemd/system/$unit.service" "usr/lib/systemd/system/$unit.service"
  put "systemd/sysusers.d/$unit.conf" "usr/lib/sysusers.d/$unit.conf"
  put "systemd/tmpfiles.d/$unit.conf" "usr/lib/tmpfiles.d/$unit.conf"
done
put systemd/system/bluetooth.service.d/50-latchkey.conf usr/lib/systemd/system/bluetooth.service.d/50-latchkey.conf
put systemd/user/latchkey-alerts.service usr/lib/systemd/user/latchkey-alerts.service
put dbus/org.latchkey.System1.conf usr/share/dbus-1/system.d/org.latchkey.System1.conf
put dbus/org.latchkey.System1.service usr/share/dbus-1/system-services/org.latchkey.System1.service
put dbus/org.latchkey.System1.xml usr/share/dbus-1/interfaces/org.latchkey.System1.xml
put dbus/org.latchkey.Control1.xml usr/share/dbus-1/interfaces/org.latchkey.Control1.xml
put polkit/50-latchkey.rules usr/share/polkit-1/rules.d/50-latchkey.rules
for app in org.latchkey.agent org.latchkey.lock; do
  put "apps/$app/Info.plist" "usr/share/latchkey/apps/$app/Info.plist"
done
drivers=$config/../lockfirmware-sim/drivers
for driver in simulated-bolt raspberry-pi-bolt; do
  install -D -m 0755 "$drivers/$driver" "$root/usr/share/latchkey/drivers/$driver"
done
install -D -m 0644 "$drivers/latchkey_driver.py" "$root/usr/share/latchkey/drivers/latchkey_driver.py"
for scenario in "$config"/scenarios/*.yaml; do
  put "scenarios/${scenario##*/}" "usr/share/latchkey/scenarios/${scenario##*/}"
done
