package hostfs

import "testing"

// TestNamesOfVariables tests that names of variables have no case on Windows, and have it elsewhere.
func TestNamesOfVariables(t *testing.T) {
	for system, want := range map[string]string{"windows": `C:\new`, "linux": `C:\old`, "darwin": `C:\old`} {
		h := &Host{OS: system, Environ: []string{`PATH=C:\old`, `Path=C:\new`, "PATHEXT=.EXE"}}
		if got, ok := h.Getenv("PATH"); got != want || !ok {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
		if _, ok := h.UserEnv("path"); ok != (system == "windows") {
			t.Errorf("%s: path is set: %t", system, ok)
		}
	}
}
