#!/bin/bash
# Prints the Homebrew formula of a release: formula.sh VERSION CHECKSUMS
set -euo pipefail
version=$1 checksums=$2

# sum SYSTEM_PROCESSOR prints the checksum of the archive for a system and a processor.
sum() {
	local found
	found=$(awk -v name="mcp-jail_${version}_$1.tar.gz" '$2 == name { print $1 }' "$checksums")
	if [ -z "$found" ]; then
		echo "$checksums has no archive for $1, version $version" >&2
		return 1
	fi
	echo "$found"
}
linux_amd64=$(sum linux_amd64)
linux_arm64=$(sum linux_arm64)
darwin_amd64=$(sum darwin_amd64)
darwin_arm64=$(sum darwin_arm64)
address=https://github.com/mcp-jail/mcp-jail/releases/download/v$version/mcp-jail_${version}
cat <<FORMULA
class McpJail < Formula
  desc "Starts MCP servers in a jail that the kernel enforces"
  homepage "https://github.com/mcp-jail/mcp-jail"
  version "$version"
  license "Apache-2.0"

  on_macos do
    on_intel do
      url "${address}_darwin_amd64.tar.gz"
      sha256 "$darwin_amd64"
    end
    on_arm do
      url "${address}_darwin_arm64.tar.gz"
      sha256 "$darwin_arm64"
    end
  end
  on_linux do
    on_intel do
      url "${address}_linux_amd64.tar.gz"
      sha256 "$linux_amd64"
    end
    on_arm do
      url "${address}_linux_arm64.tar.gz"
      sha256 "$linux_arm64"
    end
  end

  def install
    bin.install "mcp-jail", "mcp-jail-cli", "mcp-jail-tls"
    man1.install Dir["packaging/man/*.1"]
    bash_completion.install "packaging/completions/mcp-jail.bash" => "mcp-jail"
    zsh_completion.install "packaging/completions/_mcp-jail"
    fish_completion.install "packaging/completions/mcp-jail.fish"
    pkgshare.install "packaging/apparmor" if OS.linux?
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcp-jail --version")
  end
end
FORMULA
