#!/bin/sh
# needs.sh PROGRAM... names those of the programs that are missing, and how to install them. The status is 1 then, and 2 if
# go or git is one of them.
set -eu
cd "$(dirname "$0")/.."

missing= packages= status=0
for program; do
	package=$program
	case $program in
	go) # An old one downloads the version of go.mod here, and says so.
		command -v go >/dev/null && go list -m >/dev/null && continue
		package=
		;;
	pip)
		python3 -m pip --version >/dev/null 2>&1 && continue
		package=python3-pip
		;;
	*)
		command -v "$program" >/dev/null && continue
		[ "$program" != node ] || package=nodejs
		;;
	esac
	missing="$missing $program" packages="$packages${package:+ $package}"
	case $program in
	go | git) status=2 ;;
	*) [ $status = 2 ] || status=1 ;;
	esac
done
[ $status != 0 ] || exit 0

{
	echo "Missing programs:$missing"
	case "$missing " in
	*" go "*)
		version=$(sed -n 's/^go //p' go.mod) arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
		echo "  Go $version, Linux  wget https://go.dev/dl/go$version.linux-$arch.tar.gz"
		echo "                    sudo rm -rf /usr/local/go"
		echo "                    sudo tar -C /usr/local -xzf go$version.linux-$arch.tar.gz"
		echo "                    export PATH=\"/usr/local/go/bin:\$PATH\""
		echo "  elsewhere         https://go.dev/doc/install"
		;;
	esac
	if [ -n "$packages" ]; then
		echo "  Debian, Ubuntu    sudo apt-get install --no-install-recommends$packages"
		echo "  Fedora            sudo dnf install$packages"
		echo "  macOS             brew install$(echo "$packages" | sed -E 's/nodejs npm|nodejs|npm/node/; s/python3 python3-pip|python3-pip/python3/')" # npm and pip come with them
	fi
} >&2
exit $status
