package commands

import "testing"

func TestIsWSL(t *testing.T) {
	for release, want := range map[string]bool{
		"5.15.167.4-microsoft-standard-WSL2": true, "4.4.0-22621-Microsoft": true, "6.6.87.2-microsoft-standard-WSL2+": true,
		"6.12.0-generic": false, "5.15.0-1057-azure": false, "": false,
	} {
		if got := isWSL(release); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}
