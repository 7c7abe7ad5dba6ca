package diagnose_test

import (
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestKinds: what testdata/kinds.toml names is of its kind, and nothing weighs more.
func TestKinds(t *testing.T) {
	var table struct {
		Kind []struct {
			Kind                                 policy.ReasonKind
			Read, Write, Execute, Host, Variable []string
		}
	}
	data, err := os.ReadFile("testdata/kinds.toml")
	testkit.Must(t, err)
	testkit.Must(t, toml.Unmarshal(data, &table))
	on := fakeHost(slices.Concat(executed, harmlessFiles, []string{
		"/home/u/.config/", "/home/u/.cache/", "/home/u/.npm/", "/home/u/.cache/uv/", "/home/u/docs/", "/home/u/docs/id_rsa", "/home/u/docs/server.pem", "/home/v/", "/run/docker.sock", "/run/other.sock", "/home/u/s/agent.sock", "/home/u/.netrc", "/home/u/.npmrc",
		"/home/u/.aws/credentials", "/home/u/work/.env", "/usr/bin/sudo", "/opt/", "/dev/sda", "/dev/ttyUSB0",
	}))
	on.Environ = append(on.Environ, "HTTPS_PROXY=http://proxy.test:3128", "SSH_AUTH_SOCK=/home/u/s/agent.sock")
	lstat := on.Lstat
	on.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := lstat(p)
		if p == "/usr/bin/sudo" {
			info.Mode |= fs.ModeSetuid
		}
		return info, err
	}
	check := func(kind policy.ReasonKind, about string, reasons []policy.Reason) {
		t.Helper()
		if len(reasons) == 0 || reasons[0].Kind != kind {
			t.Errorf("%s: %v, want %s", about, reasons, kind)
		}
	}
	for _, row := range table.Kind {
		for rights, paths := range map[policy.Rights][]string{policy.Read: row.Read, policy.Read | policy.Write: row.Write, policy.Read | policy.Execute: row.Execute} {
			for _, path := range paths {
				check(row.Kind, path, resolve.Reasons(&on, &policy.Policy{}, path, rights))
			}
		}
		for _, host := range row.Host {
			check(row.Kind, host, resolve.ReasonsOfHost(&on, policy.NetRule{Host: host, Allow: true}))
		}
		for _, name := range row.Variable {
			check(row.Kind, name, policy.ReasonsOfVariable(name))
		}
	}
	for _, path := range []string{"/home/u/work/out.txt", "/home/u/notes/a.md", "/data/notes/x.md"} {
		if reasons := resolve.Reasons(&on, &policy.Policy{}, path, policy.Read|policy.Write); len(reasons) > 0 {
			t.Errorf("%s: %v", path, reasons)
		}
	}
}
