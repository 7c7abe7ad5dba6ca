package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestBuiltWithCgo tests that a mcp-jail built with cgo starts no server and says why. go
// install uses cgo if there is a C compiler.
func TestBuiltWithCgo(t *testing.T) {
	testkit.NeedsLong(t) // a build of everything, with another tag
	need(t, "jail", "gcc", "go")
	w := newWorld(t)
	const message = `step "init" failed: this program was built with cgo, and so needs libraries to be executed in a jail: build it with CGO_ENABLED=0`
	for _, tt := range []struct {
		cgo    string
		bare   bool
		says   string
		status int
		starts bool
	}{
		{cgo: "1", says: message, status: 3},
		{cgo: "0", starts: true},
		{cgo: "1", bare: true, says: message, status: 3},
		{cgo: "0", bare: true, starts: true},
	} {
		t.Run(fmt.Sprintf("CGO_ENABLED=%s, without namespaces %t", tt.cgo, tt.bare), func(t *testing.T) {
			w.program = filepath.Join(w.base, "cgo"+tt.cgo)
			build := exec.Command("go", "build", "-trimpath", "-o", w.program, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED="+tt.cgo, "GOPROXY=off")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			witness := filepath.Join(w.work, fmt.Sprint("witness", tt.cgo, tt.bare))
			cmd := w.jail("--waive", "fs", "--waive", "process", "--waive", "limits", "--", "/usr/bin/touch", witness)
			if tt.bare {
				const forbid = `echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"`
				cmd.Args = append([]string{"unshare", "-U", "-r", "sh", "-c", forbid, "sh", cmd.Path}, cmd.Args[1:]...)
				var err error
				if cmd.Path, err = exec.LookPath("unshare"); err != nil {
					t.Fatal(err)
				}
			}
			out, _ := cmd.CombinedOutput()
			_, err := os.Stat(witness)
			if status := cmd.ProcessState.ExitCode(); status != tt.status || !strings.Contains(string(out), tt.says) || (err == nil) != tt.starts {
				t.Errorf("status %d, started %v, it said:\n%s", status, err == nil, out)
			}
		})
	}
}
