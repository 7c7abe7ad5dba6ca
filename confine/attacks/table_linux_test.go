package attacks

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

const (
	tableFile  = "../../docs/attack-matrix.md"
	tableBegin = "<!-- attacks: made by go test ./confine/attacks -run TestAttackTable -update -->\n"
	tableEnd   = "<!-- attacks: end -->\n"

	reportEnv = "MCPJAIL_ATTACK_REPORT" // where a run as one user writes what it found
	knownEnv  = "MCPJAIL_ATTACK_KNOWN"  // where another run has written it
)

// TestAttackTable makes every attack, as root and as an ordinary user, and compares the
// outcomes with the table in docs/attack-matrix.md. If an ordinary user runs it, it only makes the
// attacks. make test-all makes one form of each attack, in the jail with namespaces and in the one without. The
// other forms, and the comparison, are in make test-long.
func TestAttackTable(t *testing.T) {
	jailtest.Needs(t)
	if testing.Short() {
		t.Skip("-short")
	}
	report := os.Getenv(reportEnv)
	if report == "" && os.Getuid() == 0 {
		makeSetIDPrograms(t)
		user := attacksAs(t, "user")
		table := attackTable(attacksAs(t, "root"), user)
		if testkit.Long() && !t.Failed() {
			compareTable(t, table)
		}
		return
	}
	var known []finding
	if b, err := os.ReadFile(os.Getenv(knownEnv)); err == nil {
		testkit.Must(t, json.Unmarshal(b, &known))
	}
	found := runAttacks(t, known)
	if report == "" {
		return
	}
	b, err := json.Marshal(found)
	if err == nil {
		err = os.WriteFile(report, b, 0o644)
	}
	testkit.Must(t, err)
}

// makeSetIDPrograms makes a set-id program and one with a file capability, which only root can.
func makeSetIDPrograms(t *testing.T) {
	t.Helper()
	self, err := os.ReadFile(jailtest.Binary)
	testkit.Must(t, err)
	for _, name := range []string{setIDName, capabilityName} {
		p := filepath.Join(filepath.Dir(jailtest.Binary), name)
		testkit.Must(t, testkit.WriteProgram(p, self))
		if name == capabilityName {
			err = attacker.SetCapability([]string{p})
		} else if err = os.Chown(p, 12345, 12345); err == nil {
			err = os.Chmod(p, 0o755|os.ModeSetuid|os.ModeSetgid)
		}
		testkit.Must(t, err)
	}
}

const (
	setIDName      = "attack-set-id"
	capabilityName = "attack-capability"
)

// attacksAs makes all attacks in a process with a network namespace of its own, which has the
// addresses of the services, and an IPC namespace, whose end removes the IPC objects.
func attacksAs(t *testing.T, who string) []finding {
	t.Helper()
	dir := filepath.Join(filepath.Dir(jailtest.Binary), "attacks-"+who)
	testkit.Must(t, os.Mkdir(dir, 0o700))
	cmd := exec.Command(jailtest.Binary, "-test.run=^TestAttackTable$", "-test.v", "-test.timeout=60m", testkit.AtATime())
	if who == "user" {
		cmd.Args = append([]string{attacker.AsUserName, jailtest.Binary}, cmd.Args[1:]...)
		testkit.Must(t, os.Chown(dir, jailtest.OrdinaryUser, jailtest.OrdinaryUser))
	}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWIPC}
	report := filepath.Join(dir, "report")
	cmd.Env = append(os.Environ(), reportEnv+"="+report, "MCPJAIL_TEST_BINARY="+jailtest.Binary, jailtest.NetworkEnv+"=1", "TMPDIR="+dir, "HOME="+dir)
	if testkit.Long() { // with -update too, which the process does not get
		cmd.Env = append(cmd.Env, "MCPJAIL_LONG=1")
	}
	if who == "root" {
		cmd.Env = append(cmd.Env, knownEnv+"="+filepath.Join(filepath.Dir(dir), "attacks-user", "report"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("as %s: %v\n%s", who, err, complaints(out.String()))
	}
	b, err := os.ReadFile(report)
	var found []finding
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil {
		t.Fatalf("as %s there is no report: %v\n%s", who, err, out.String()[max(0, out.Len()-4000):])
	}
	return found
}

var complaint = regexp.MustCompile(`(?m)^ *([a-z_]+\.go:\d+:|panic:|--- FAIL).*$`)

func complaints(log string) string { return strings.Join(complaint.FindAllString(log, -1), "\n") }

// compareTable compares the committed table with the findings. On another kernel errnos and
// possible attacks differ: there an attack that was refused must be refused.
func compareTable(t *testing.T, table string) {
	t.Helper()
	b := testkit.Get(os.ReadFile(tableFile))(t)
	before, rest, ok := strings.Cut(string(b), tableBegin)
	committed, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	if testkit.Update() {
		testkit.Must(t, os.WriteFile(tableFile, []byte(before+tableBegin+table+tableEnd+after), 0o644))
		return
	}
	host := func(s string) string { head, _, _ := strings.Cut(s, ":"); return head }
	same := host(table) == host(committed) && !attacker.LacksI386()
	old := strings.Split(committed, "\n")
	for i, line := range strings.Split(table, "\n") {
		switch {
		case i == 0 || i < len(old) && old[i] == line:
		case i >= len(old) || cell(old[i], 1) != cell(line, 1):
			t.Fatalf("the table in %s is of other attacks (%s): run this test with -update", tableFile, cell(line, 1))
		case !same && (strings.Contains(old[i], "not possible here") || strings.Contains(line, "not possible here")):
			t.Logf("not the same as when the table was made:\n%s\nwas\n%s", line, old[i])
		case same:
			t.Errorf("found\n%s\nin %s it is\n%s", line, tableFile, old[i])
		case strings.Contains(line, "**succeeds**") && !strings.Contains(old[i], "**succeeds**"):
			t.Errorf("%s: refused on %s, not here", cell(line, 1), host(committed))
		}
	}
}

func cell(row string, n int) string {
	cells := strings.Split(row, "|")
	if n >= len(cells) {
		return row
	}
	return strings.TrimSpace(cells[n])
}
