#!/bin/sh
# Installs mcp-jail into an image, as a feature of a dev container. The implementing tool runs it as
# root, in the directory of the feature, with the options in capitals: SOURCE and VERSION.
# It needs no network where SOURCE names the programs. It is safe to run again.
set -eu

name=mcp-jail
programs="mcp-jail mcp-jail-cli mcp-jail-tls"
to=/usr/local/bin
releases=https://github.com/mcp-jail/mcp-jail/releases/download
here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "$name: $1" >&2
	shift
	for line in "$@"; do echo "  $line" >&2; done
	exit 1
}

[ "$(id -u)" = 0 ] || fail "install.sh must run as root, as dev containers do."
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there are no programs for the processor $(uname -m), only for x86_64 and aarch64." ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# download ADDRESS FILE
download() {
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$2" "$1"
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1"
	else
		fail "neither curl nor wget is in this image." \
			"Install one before this feature, or name the programs: \"source\": \"PATH\""
	fi || fail "$1 cannot be downloaded." "Name the programs instead: \"source\": \"PATH\""
}

# release prints the path of the archive of VERSION, whose digest it has compared.
release() {
	version=${VERSION#v}
	file=mcp-jail_${version}_linux_$arch.tar.gz
	download "$releases/v$version/$file" "$work/$file"
	if [ -e "$here/checksums.txt" ]; then
		cp "$here/checksums.txt" "$work/checksums.txt" # of the release that brought this feature
	else
		download "$releases/v$version/checksums.txt" "$work/checksums.txt"
	fi
	(cd "$work" && grep " \*\{0,1\}$file\$" checksums.txt | sha256sum -c - >/dev/null) ||
		fail "the digest of $file is not that of checksums.txt."
	echo "$work/$file"
}

# unpack ARCHIVE prints the directory with the programs.
unpack() {
	mkdir "$work/unpacked"
	tar -xzf "$1" -C "$work/unpacked" || fail "$1 cannot be unpacked: it must be a tar archive, packed by gzip."
	for dir in "$work/unpacked" "$work"/unpacked/*/; do
		[ -e "$dir/mcp-jail" ] && echo "${dir%/}" && return
	done
	fail "there is no mcp-jail in $1."
}

source=${SOURCE:-}
case $source in
"" | /*) ;;
*) source=$here/$source ;;
esac
if [ -z "$source" ] && [ -z "${VERSION:-}" ]; then
	fail "nothing says where its programs are." \
		"\"source\": \"PATH\" names a directory with them or an archive, in the image or in the folder of this feature." \
		"\"version\": \"1.2.3\" names a release to download."
elif [ -z "$source" ]; then
	source=$(release)
fi
if [ -f "$source" ]; then
	source=$(unpack "$source")
elif [ ! -d "$source" ]; then
	fail "$source does not exist." "A relative source is relative to the folder of this feature, $here."
fi
for program in $programs; do
	[ -f "$source/$program" ] || fail "$program is not in $source." "It must have all three: $programs."
done

mkdir -p "$to"
for program in $programs; do
	# A copy, and a rename: a program that runs is not changed.
	cp "$source/$program" "$to/.$program.new"
	chmod 755 "$to/.$program.new"
	mv -f "$to/.$program.new" "$to/$program"
done
mkdir -p /usr/local/share/doc/mcp-jail
for text in LICENSE THIRD_PARTY_LICENSES; do
	if [ -e "$source/$text" ]; then cp "$source/$text" /usr/local/share/doc/mcp-jail/; fi
done
"$to/mcp-jail" --version || fail "the program does not run here." "It is for Linux on another processor: this one is $(uname -m)."
echo "$name: installed in $to. Put the servers of a client into jails as ${_REMOTE_USER:-your user}: mcp-jail wrap"
