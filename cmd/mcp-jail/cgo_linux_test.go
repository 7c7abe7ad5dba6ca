package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuiltWithCgo: where there is a C compiler, go install takes it unless it is told
// not to. What comes of that starts nothing, and says so.
func TestBuiltWithCgo(t *testing.T) {
	need(t, "jail", "gcc", "go")
	w := newWorld(t)
	const message = `step "capabilities" failed: this program was built with cgo, and so cannot take the capabilities from all threads of a jail's init: build it with CGO_ENABLED=0`
	if built() == "" {
		t.Skip("nothing can be built here: the test binary was compiled elsewhere")
	}
	for _, tt := range []struct {
		cgo, says string
		status    int
		starts    bool
	}{
		{cgo: "1", says: message, status: 3},
		{cgo: "0", starts: true},
	} {
		t.Run("CGO_ENABLED="+tt.cgo, func(t *testing.T) {
			w.program = filepath.Join(w.base, "cgo"+tt.cgo)
			build := exec.Command("go", "build", "-o", w.program, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED="+tt.cgo, "GOPROXY=off")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			witness := filepath.Join(w.work, "witness"+tt.cgo)
			cmd := w.jail("--", "/usr/bin/touch", witness)
			out, _ := cmd.CombinedOutput()
			_, err := os.Stat(witness)
			if status := cmd.ProcessState.ExitCode(); status != tt.status || !strings.Contains(string(out), tt.says) || (err == nil) != tt.starts {
				t.Errorf("status %d, started %v, it said:\n%s", status, err == nil, out)
			}
		})
	}
}
