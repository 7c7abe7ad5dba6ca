#!/bin/bash
# needs.sh PROGRAM... names those of the programs that are missing, and how to install them. It fails without go or git.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^go //p' go.mod)
missing=() packages=() status=0
for program; do
	case $program in
	go) # An old one fails here as well, if it cannot download the version of go.mod.
		said=$(go list -m 2>&1) && continue
		missing+=("go $version") status=2
		;;
	pip)
		! python3 -m pip --version >/dev/null 2>&1 || continue
		missing+=(pip) packages+=(python3-pip)
		;;
	*)
		! command -v "$program" >/dev/null || continue
		missing+=("$program") packages+=("${program/%node/nodejs}")
		[ "$program" != git ] || status=2
		;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

{
	printf 'Missing programs:'
	printf ' %s' "${missing[@]}"
	echo
	if [[ " ${missing[*]} " == *" go "* ]]; then
		arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
		command -v go >/dev/null && echo "$said"
		echo "  Go, on Linux     wget -qO- https://go.dev/dl/go$version.linux-$arch.tar.gz | sudo tar -xz -C /usr/local"
		echo '                   export PATH="/usr/local/go/bin:$PATH"'
		echo '  Go, elsewhere    https://go.dev/doc/install'
	fi
	if [ ${#packages[@]} -gt 0 ]; then
		echo "  Debian, Ubuntu   sudo apt-get install --no-install-recommends ${packages[*]}"
		echo "  Fedora           sudo dnf install ${packages[*]}"
		names="${packages[*]}" # pip comes with python3 there
		echo "  macOS            brew install ${names/ python3-pip/}"
	fi
} >&2
exit $status
