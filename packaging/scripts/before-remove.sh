#!/bin/sh
# Runs before the files are removed. An upgrade keeps the profile: dpkg calls this with
# "upgrade", rpm with the number of versions that stay.
set -e
root=${DPKG_ROOT:-}
profile=$root/etc/apparmor.d/mcp-jail
case "$1" in
remove | 0)
	if [ -e "$profile" ]; then
		if [ -z "$root" ] && [ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null; then
			apparmor_parser --remove "$profile" || true
		fi
		rm -f "$profile"
	fi
	;;
esac
