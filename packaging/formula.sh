#!/bin/bash
# Prints the Homebrew formula of a release: formula.sh VERSION CHECKSUMS
set -euo pipefail
version=$1 checksums=$2

# sum PROCESSOR prints the checksum of the archive for a processor.
sum() {
	local found
	found=$(awk -v name="mcp-jail_${version}_linux_$1.tar.gz" '$2 == name { print $1 }' "$checksums")
	if [ -z "$found" ]; then
		echo "$checksums has no archive for Linux on $1, version $version" >&2
		return 1
	fi
	echo "$found"
}
amd64=$(sum amd64)
arm64=$(sum arm64)
address=https://github.com/mcp-jail/mcp-jail/releases/download/v$version/mcp-jail_${version}_linux
cat <<FORMULA
class McpJail < Formula
  desc "Starts MCP servers in a jail that the Linux kernel enforces"
  homepage "https://github.com/mcp-jail/mcp-jail"
  version "$version"
  license "Apache-2.0"

  on_intel do
    url "${address}_amd64.tar.gz"
    sha256 "$amd64"
  end
  on_arm do
    url "${address}_arm64.tar.gz"
    sha256 "$arm64"
  end

  depends_on :linux

  def install
    bin.install "mcp-jail", "mcp-jail-cli", "mcp-jail-tls"
    man1.install Dir["packaging/man/*.1"]
    bash_completion.install "packaging/completions/mcp-jail.bash" => "mcp-jail"
    zsh_completion.install "packaging/completions/_mcp-jail"
    fish_completion.install "packaging/completions/mcp-jail.fish"
    pkgshare.install "packaging/apparmor"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcp-jail version")
  end
end
FORMULA
