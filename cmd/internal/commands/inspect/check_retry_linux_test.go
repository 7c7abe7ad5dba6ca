package inspect

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMain runs the tests, or the supervisor of a jail, which is the test binary, too.
func TestMain(m *testing.M) {
	confine.RunSupervisor()
	os.Exit(m.Run())
}

// listingServer is an MCP server with one tool.
const listingServer = `#!/bin/sh
while read -r line; do
	id=${line#*'"id":'}
	id=${id%%[,\}]*}
	case $line in
	*'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lister","version":"1"}}' ;;
	*'"tools/list"'*) result='{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
`

// TestCheckRetriesAfterHostChange replaces the program of a server between the resolution of
// its policy and the start by check --probe.
func TestCheckRetriesAfterHostChange(t *testing.T) {
	for _, feature := range []string{"landlock", "seccomp", "userns", "mount_api"} {
		if f, err := confine.Probe().Has(feature); err != nil || f.Answer != confine.Yes {
			testkit.Skip(t, feature, "%v %s", err, f.Detail)
		}
	}
	// A session makes its process undumpable, here the test process. Other tests could then
	// not create user namespaces.
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, keys := range []string{"", "stateful = false\n"} {
		base := testkit.ShortDir(t) // not below /tmp: a jail has its own
		program, config := filepath.Join(base, "server"), filepath.Join(base, "again.toml")
		ok(testkit.WriteProgram(program, []byte(listingServer)))
		ok(os.WriteFile(config, []byte("version = 1\n[servers.s]\ncommand = \""+program+"\"\n"+keys), 0o644))
		t.Setenv("HOME", base)
		work := filepath.Join(base, "work")
		ok(os.Mkdir(work, 0o755))
		t.Chdir(work)
		found, err := session.Resolve(cmdline.ConfigFlags{Config: []string{config}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
		ok(err)
		ok(testkit.WriteProgram(program+".new", []byte(listingServer)))
		ok(os.Rename(program+".new", program))
		if _, err := (confine.Launcher{}).Start(t.Context(), found.Profile, confine.Stdio{}); err == nil {
			t.Error("the control: the change is not noticed")
		}
		r := serverReport{Server: "s"}
		if err := tryServer(found, terminal.New(nil, nil, os.Stderr), &r, time.Minute); err != nil || len(r.Tools) != 1 {
			t.Errorf("%q: %d tools, %v", keys, len(r.Tools), err)
		}
	}
}
