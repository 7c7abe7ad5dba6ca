#!/bin/bash
# Writes the manifest of a release for winget: winget.sh VERSION CHECKSUMS DIRECTORY
#
# The directory gets three files, as the repository of winget takes them: the version, where the
# archives are, and what a user reads. On Windows, `winget validate DIRECTORY` checks them, and
# `winget install --manifest DIRECTORY` installs from them.
set -euo pipefail
version=$1 checksums=$2 into=$3
package=mcp-jail.mcp-jail
schema=1.6.0

# sum PROCESSOR prints the checksum of the archive for a processor.
sum() {
	local found
	found=$(awk -v name="mcp-jail_${version}_windows_$1.zip" '$2 == name { print toupper($1) }' "$checksums")
	if [ -z "$found" ]; then
		echo "$checksums has no archive for windows_$1, version $version" >&2
		return 1
	fi
	echo "$found"
}
amd64=$(sum amd64)
arm64=$(sum arm64)
mkdir -p "$into"

# write KIND ENDING writes a file of the manifest, whose own lines come from the standard input.
write() {
	{
		echo "# yaml-language-server: \$schema=https://aka.ms/winget-manifest.$1.$schema.schema.json"
		echo "PackageIdentifier: $package"
		echo "PackageVersion: $version"
		cat
		echo "ManifestType: $1"
		echo "ManifestVersion: $schema"
	} >"$into/$package$2.yaml"
}

# archive ARCHITECTURE PROCESSOR SHA256 prints where winget finds the programs for a processor. The
# program that a user types finds mcp-jail-cli and mcp-jail-tls beside its file.
archive() {
	cat <<YAML
- Architecture: $1
  InstallerUrl: https://github.com/mcp-jail/mcp-jail/releases/download/v$version/mcp-jail_${version}_windows_$2.zip
  InstallerSha256: $3
  NestedInstallerFiles:
  - RelativeFilePath: mcp-jail_${version}_windows_$2\\mcp-jail.exe
    PortableCommandAlias: mcp-jail
  - RelativeFilePath: mcp-jail_${version}_windows_$2\\mcp-jail-cli.exe
    PortableCommandAlias: mcp-jail-cli
YAML
}

write version "" <<YAML
DefaultLocale: en-US
YAML
write installer .installer <<YAML
InstallerType: zip
NestedInstallerType: portable
Commands:
- mcp-jail
- mcp-jail-cli
Installers:
$(archive x64 amd64 "$amd64")
$(archive arm64 arm64 "$arm64")
YAML
write defaultLocale .locale.en-US <<YAML
PackageLocale: en-US
Publisher: The mcp-jail authors
PublisherUrl: https://github.com/mcp-jail
PublisherSupportUrl: https://github.com/mcp-jail/mcp-jail/issues
PackageName: mcp-jail
PackageUrl: https://github.com/mcp-jail/mcp-jail
License: Apache-2.0
LicenseUrl: https://github.com/mcp-jail/mcp-jail/blob/v$version/LICENSE
ShortDescription: Starts MCP servers with limits on Windows, and in a jail in WSL 2
Description: |-
  mcp-jail stands between an MCP client and a server. On Windows it bounds the server's processes,
  memory, privileges and variables, and restricts neither files nor hosts. In a Linux of WSL 2 it
  starts the server in a jail that the kernel enforces.
Moniker: mcp-jail
Tags:
- mcp
- model-context-protocol
- sandbox
- security
- wsl
ReleaseNotesUrl: https://github.com/mcp-jail/mcp-jail/releases/tag/v$version
YAML
