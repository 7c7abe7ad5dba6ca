package confine

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailProcessors: where the shim's threads run while it builds the jail is over when
// the server runs, and never was the server's business.
func TestJailProcessors(t *testing.T) {
	needsJail(t)
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	p := jailProfile(t)
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("wait")})...)
	for range 8 { // a builder that had to wait for long gives them back early
		startAndLook(t, p, own)
	}
}

func startAndLook(t *testing.T, p *policy.Profile, own unix.CPUSet) {
	var out strings.Builder
	proc, _, err := startJail(t, Launcher{}, p, &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { proc.Kill(); <-proc.Done() }()
	names, err := os.ReadDir("/proc/" + strconv.Itoa(proc.PID()) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	server := startedBy(proc.PID())
	if len(names) < 8 || len(server) != 1 {
		t.Errorf("%d threads of the init were seen, and the servers %v", len(names), server)
	}
	for _, name := range names {
		tid, _ := strconv.Atoi(name.Name())
		server = append(server, tid)
	}
	for _, tid := range server {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &set); err != nil {
			t.Error(tid, err)
		} else if set != own {
			t.Errorf("thread %d may run on %d processors, and the launcher on %d", tid, set.Count(), own.Count())
		}
	}
}
