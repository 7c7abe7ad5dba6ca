package integration

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

//go:embed testdata/hostile-starts.c
var hostileSource []byte

// TestJailCommandsHostile: threads of a process rewrite the memory with the arguments, the path
// and the environment while the kernel reads it.
func TestJailCommandsHostile(t *testing.T) {
	jailtest.Needs(t)
	hostileStarts(t, confine.Launcher{Waive: []policy.Axis{policy.AxisFs}})
}

func TestHostNSCommandsHostile(t *testing.T) {
	jailtest.NeedsHostNS(t)
	hostileStarts(t, jailtest.WaivesGaps)
}

func hostileStarts(t *testing.T, l confine.Launcher) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		testkit.Skip(t, "gcc", "the attacker is a program in C: %v", err)
	}
	c := newCommands(t)
	program := testkit.Plant(t) + "/hostile-starts"
	testkit.Must(t, os.WriteFile(program+".c", hostileSource, 0o600))
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-static", "-o", program, program+".c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	p := *c.profile
	p.Program, p.OwnPrograms, p.Env = program, []string{program}, nil
	p.Programs = append([]string{program}, p.Programs...)
	p.Entries = append(p.Entries, jailtest.Entry(t, jailtest.Grant{Path: program, Rights: policy.Read | policy.Execute}))
	jailtest.SortEntries(&p)
	count := jailtest.Rounds(1000, 12000)
	p.Argv = []string{program, fmt.Sprint(count), c.echo, c.env}

	ran, good, killed := runHostileStarts(t, l, &p)
	delete(ran, "good")
	delete(ran, "GOOD=yes")
	if len(ran) > 0 || good == 0 || killed == 0 {
		t.Errorf("of %d starts %d ran and %d were killed, and what was printed has %v", count, good, killed, ran)
	}
	p.CommandArgs, p.Commands, p.OwnPrograms = nil, nil, nil
	p.Argv[1] = "200"
	if ran, _, _ := runHostileStarts(t, l, &p); ran["evil"] == 0 || ran["EVIL=yes"] == 0 {
		t.Errorf("control: without arguments in the rules: %v", ran)
	}
}

// runHostileStarts returns how often each line was printed by what was started, and how many
// programs ended well and were killed.
func runHostileStarts(t *testing.T, l confine.Launcher, p *policy.Profile) (ran map[string]int, good, killed int) {
	t.Helper()
	var out, errs bytes.Buffer
	proc, wait, err := jailtest.Start(t, l, p, &out, &errs)
	testkit.Must(t, err)
	exit, _ := proc.Wait()
	wait()
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	last, other := lines[len(lines)-1], 0
	if n, err := fmt.Sscanf(last, "good %d killed %d other %d", &good, &killed, &other); n != 3 {
		t.Fatalf("%+v, %v: %s", exit, err, errs.String())
	}
	ran = map[string]int{}
	for line := range strings.Lines(out.String()) {
		ran[strings.TrimSpace(line)]++
	}
	t.Log(last, ran)
	return ran, good, killed
}
