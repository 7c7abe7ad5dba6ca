package session

import (
	"os/exec"
	"slices"
	"testing"
)

// TestTrialCommand: doctor and wrap try a jail on a machine without a program "true" too.
func TestTrialCommand(t *testing.T) {
	if want, err := exec.LookPath("true"); err == nil && !slices.Equal(trialCommand(), []string{want}) {
		t.Errorf("%q, want %s", trialCommand(), want)
	}
	t.Setenv("PATH", t.TempDir())
	command := trialCommand()
	if _, err := exec.LookPath(command[0]); err != nil || len(command) != 2 {
		t.Errorf("without a PATH: %q, %v", command, err)
	}
}
