package resolve

import (
	"strings"
	"testing"
)

// TestEnvProgram checks that envProgram finds the program that env(1) starts. It must not
// take the value of an option for it, because the program gets a grant.
func TestEnvProgram(t *testing.T) {
	for line, want := range map[string]string{
		"node": "node", "-i A=b node x": "node", "-S node --x": "node", "-Snode x": "node", "-iS node": "node", "-vSA=b node": "node",
		"-u /home/u/x node": "node", "-iu /home/u/x node": "node", "-iuX node": "node", "-C /home/u node": "node", "-a /home/u/x node": "",
		"--unset /home/u/x node": "node", "--chdir=/x node": "node", "-- node": "node", "-i": "", "": "",
		"--split-string=-u x node": "node", "- node": "node",
	} {
		if got := envProgram(strings.Fields(line)); got != want {
			t.Errorf("env %s: %q, want %q", line, got, want)
		}
	}
}
