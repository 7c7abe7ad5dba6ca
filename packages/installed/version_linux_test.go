package installed

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestMain(m *testing.M) {
	confine.RunSupervisor()
	testkit.Programs{withoutNamespaces: withoutNamespacesMain}.Dispatch()
	os.Exit(m.Run())
}

// an interpreter is a shell script in a HOME, and the host of that HOME.
func interpreter(t *testing.T, text string) (host *hostfs.Host, file string) {
	t.Helper()
	local := testkit.Get(hostfs.LocalHost())(t)
	local.Home = testkit.ShortDir(t)
	local.Environ = append(local.Environ, "NODE_OPTIONS=--require=/evil", "TOKEN=secret")
	file = filepath.Join(local.Home, ".fnm/node-versions/x/installation/bin/node")
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.Must(t, testkit.WriteProgram(file, []byte("#!/bin/sh\n"+text)))
	return &local, file
}

// TestAskVersion: an interpreter answers in its jail, which it does not leave: it has none of the
// user's variables and files, no network, and nothing to write that is there afterwards.
func TestAskVersion(t *testing.T) {
	host, file := interpreter(t, `
echo "$1 $NODE_OPTIONS$TOKEN$(cat ~/../secret HOME/secret 2>/dev/null)"
echo x >HOME/planted; echo x >"$0"; echo x >~/kept
grep -c . /proc/net/dev
`)
	t.Setenv("TMPDIR", t.TempDir())
	testkit.WriteFile(t, filepath.Join(host.Home, "secret"), "a secret\n")
	text := testkit.Get(os.ReadFile(file))(t)
	testkit.Must(t, testkit.WriteProgram(file, []byte(strings.ReplaceAll(string(text), "HOME", "'"+host.Home+"'"))))
	got, err := askVersion(t.Context(), host, nil, file)
	if err != nil || !strings.HasPrefix(got, "--version \n") {
		t.Errorf("%q, %v", got, err)
	}
	testkit.Fails(t, "it wrote into HOME", testkit.ErrorOf(os.Lstat(filepath.Join(host.Home, "planted"))), "")
	testkit.Empty(t, "left behind", testkit.Get(os.ReadDir(os.TempDir()))(t))
	control := exec.Command(file, "--version")
	control.Env = append(host.Environ, "HOME="+host.Home)
	if out, _ := control.Output(); !strings.HasPrefix(string(out), "--version --require=/evilsecreta secret\n") {
		t.Errorf("control: without a jail it says %q", out)
	}
	testkit.Works(t, "control", testkit.ErrorOf(os.Lstat(filepath.Join(host.Home, "planted"))))
}

// TestAskVersionLimits tests what an interpreter cannot do to mcp-jail.
func TestAskVersionLimits(t *testing.T) {
	for text, want := range map[string]string{"exit 3": "/node --version: exit status 3", "kill -9 $$": "/node --version: exit status 137"} {
		host, file := interpreter(t, text)
		testkit.Fails(t, text, testkit.ErrorOf(askVersion(t.Context(), host, nil, file)), want)
	}
	for text, end := range map[string]bool{"it did not end within": false, "context canceled": true} {
		host, file := interpreter(t, "sleep 1000")
		ctx, cancel := context.WithCancel(t.Context())
		if end {
			cancel()
		}
		testkit.Fails(t, "one that sleeps", testkit.ErrorOf(askVersion(ctx, host, nil, file)), text)
		cancel()
	}
	host, file := interpreter(t, "echo a warning >&2; echo v20.1.0")
	testkit.Equal(t, "with a warning", testkit.Get(askVersion(t.Context(), host, nil, file))(t), "v20.1.0\n")
	host, file = interpreter(t, "yes | head -c 100000")
	if got, err := askVersion(t.Context(), host, nil, file); len(got) != maxVersion || err != nil {
		t.Error(len(got), err)
	}
}
