class McpJail < Formula
  desc "Starts MCP servers in a jail that the kernel enforces"
  homepage "https://github.com/mcp-jail/mcp-jail"
  version "9.9.9-test.1"
  license "Apache-2.0"

  on_macos do
    on_intel do
      url "https://github.com/mcp-jail/mcp-jail/releases/download/v9.9.9-test.1/mcp-jail_9.9.9-test.1_darwin_amd64.tar.gz"
      sha256 "00000000000000000000000000000000000000000000000000000000000000a3"
    end
    on_arm do
      url "https://github.com/mcp-jail/mcp-jail/releases/download/v9.9.9-test.1/mcp-jail_9.9.9-test.1_darwin_arm64.tar.gz"
      sha256 "00000000000000000000000000000000000000000000000000000000000000a4"
    end
  end
  on_linux do
    on_intel do
      url "https://github.com/mcp-jail/mcp-jail/releases/download/v9.9.9-test.1/mcp-jail_9.9.9-test.1_linux_amd64.tar.gz"
      sha256 "00000000000000000000000000000000000000000000000000000000000000a1"
    end
    on_arm do
      url "https://github.com/mcp-jail/mcp-jail/releases/download/v9.9.9-test.1/mcp-jail_9.9.9-test.1_linux_arm64.tar.gz"
      sha256 "00000000000000000000000000000000000000000000000000000000000000a2"
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
