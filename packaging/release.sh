#!/bin/bash
# Builds a release below dist/, as CI does for a tag:
#
#   packaging/release.sh --snapshot --skip=sign,docker    # a trial, of any checkout
#   packaging/release.sh                                  # for a tag; uploads a draft
#
# The arguments are those of goreleaser release. It needs go, node, npm, unzip,
# goreleaser and cyclonedx-gomod; to sign it needs cosign, and for the image docker. Beside what goreleaser
# makes, dist/npm gets the packages for npm, dist/homebrew the formula, dist/winget the manifest
# of winget, and dist/devcontainer the feature of dev containers.
set -euo pipefail
cd "$(dirname "$0")/.."

# A release for macOS that Apple has not notarised would not start there, so it is none.
case " $* " in
*" --snapshot "*) echo "a snapshot: the programs for macOS are neither signed nor notarised" >&2 ;;
*)
	for name in MACOS_SIGN_P12 MACOS_SIGN_PASSWORD MACOS_NOTARY_ISSUER_ID MACOS_NOTARY_KEY_ID MACOS_NOTARY_KEY; do
		if [ -z "${!name:-}" ]; then
			echo "$name is not set: the programs for macOS cannot be signed and notarised" >&2
			exit 1
		fi
	done
	;;
esac

goreleaser release --clean "$@"

version=$(node -p 'require("./dist/metadata.json").version')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unpack SYSTEM_PROCESSOR prints the directory of the programs in an archive, which must be whole.
unpack() {
	local archive="dist/mcp-jail_${version}_$1"
	mkdir "$work/$1"
	case $1 in
	windows_*)
		unzip -q "$archive.zip" -d "$work/$1"
		mv "$work/$1/mcp-jail_${version}_$1"/* "$work/$1"
		bash packaging/complete.sh "$work/$1" .exe >&2
		;;
	*)
		tar -C "$work/$1" --strip-components=1 -xzf "$archive.tar.gz"
		bash packaging/complete.sh "$work/$1" >&2
		;;
	esac
	echo "$work/$1"
}
linux_x64=$(unpack linux_amd64)
linux_arm64=$(unpack linux_arm64)
darwin_x64=$(unpack darwin_amd64)
darwin_arm64=$(unpack darwin_arm64)
win32_x64=$(unpack windows_amd64)
win32_arm64=$(unpack windows_arm64)
node packaging/npm/stage.mjs "$version" "$work/npm" \
	"linux-x64=$linux_x64" "linux-arm64=$linux_arm64" "darwin-x64=$darwin_x64" "darwin-arm64=$darwin_arm64" \
	"win32-x64=$win32_x64" "win32-arm64=$win32_arm64"
mkdir -p dist/npm dist/homebrew
for package in linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64 win32-arm64 mcp-jail; do # the launcher last: it needs the others
	(cd "$work/npm/$package" && npm pack --loglevel=error --pack-destination "$OLDPWD/dist/npm")
done
bash packaging/formula.sh "$version" dist/checksums.txt >dist/homebrew/mcp-jail.rb
bash packaging/winget.sh "$version" dist/checksums.txt dist/winget
node packaging/devcontainer/stage.mjs "$version" dist/checksums.txt dist/devcontainer
