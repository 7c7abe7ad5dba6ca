package selftest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// landlocked restricts this process, if the text of the fake sandbox-exec has lines for that. What it
// executes then is restricted too.
func landlocked(text string) {
	var rules []landlock.Rule
	for line := range strings.Lines(text) {
		switch how, dir, _ := strings.Cut(strings.TrimSpace(line), " "); how {
		case "ro":
			rules = append(rules, landlock.RODirs(dir).IgnoreIfMissing())
		case "rw":
			rules = append(rules, landlock.RWDirs(dir).IgnoreIfMissing())
		}
	}
	if rules != nil {
		if err := landlock.V1.RestrictPaths(rules...); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(71)
		}
	}
}

// TestRealWall makes the attempts behind a real wall: Landlock with the same grants, as far as it has
// such rules. Those about other files are refused, and those about granted ones work. So an attempt
// can tell a wall from none.
func TestRealWall(t *testing.T) {
	r := testRunner(t)
	r.compile = func(in seatbelt.Input) (seatbelt.Text, error) {
		tree := filepath.Dir(in.Profile.Dir)
		lines := []string{"ro " + filepath.Dir(in.Self), "ro /proc", "rw /dev", "rw " + in.TempDir, "ro " + tree + "/g", "ro " + tree + "/ex", "rw " + tree + "/w", "rw " + tree + "/v"}
		for _, dir := range systemDirs["linux"] {
			lines = append(lines, "ro "+dir)
		}
		return seatbelt.Text{Profile: strings.Join(lines, "\n") + "\n"}, nil
	}
	got := run(t, r)
	want := map[string]string{
		"R1a": works, "R1b": works, "R1c": works, "F1a": works, "F1c": works, "F1d": works, "F1e": works, "F1f": works, "F12a": works, "F12b": works,
		"R2a": "EACCES", "R2e": "EACCES", "R2f": "EACCES", "R4a": "EACCES", "R4b": "EACCES",
		"F2m": "EACCES", "F2n": "EACCES", "F4c": "EACCES", "F4e": "EACCES", "F10b": "EACCES", "F10c": "EACCES", "F10f": "EACCES", "F10i": "EACCES",
		"F13b": "EACCES", "F13d": "EACCES", "F13f": "EACCES", "F13h": "EACCES", "X1a": works,
	}
	for _, row := range got.Rows {
		if outcome, ok := want[row.ID]; ok && row.Got != outcome {
			t.Errorf("%s %s: %s, not %s", row.ID, row.Try, row.Got, outcome)
		}
		if row.Verdict == NoEvidence {
			t.Errorf("%s %s: the control: %s", row.ID, row.Try, row.Control)
		}
		delete(want, row.ID)
	}
	if len(want) > 0 {
		t.Errorf("not in the table: %v", want)
	}
}
