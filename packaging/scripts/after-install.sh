#!/bin/sh
# Runs after the files are in place. The profile allows mcp-jail to create user namespaces on
# kernels that restrict them. AppArmor before version 4 cannot read it, and needs none.
set -e
root=${DPKG_ROOT:-}
profile=$root/etc/apparmor.d/mcp-jail
packaged=$root/usr/share/mcp-jail/apparmor/mcp-jail
if [ -d "$root/etc/apparmor.d" ] && command -v apparmor_parser >/dev/null &&
	apparmor_parser --skip-kernel-load --skip-cache "$packaged" >/dev/null 2>&1; then
	cp "$packaged" "$profile"
	if [ -z "$root" ] && [ -d /sys/kernel/security/apparmor ]; then
		apparmor_parser --replace "$profile" ||
			echo "mcp-jail: AppArmor did not load $profile: mcp-jail doctor says what is missing" >&2
	fi
fi
