//go:build seatbelt

package integration

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// TestSeatbeltDeaths: SIGKILL of the supervisor, of sandbox-exec, of the program inside or of the
// server at any moment leaves no process, no TMPDIR and no profile. The processes of the server stay in
// its session: one that leaves it while its supervisor is killed can go on, which is a gap of every plan.
func TestSeatbeltDeaths(t *testing.T) {
	jailtest.Needs(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	check := leavesNothing(t)
	var struck, started int
	for i := range jailtest.Rounds(30, 200) {
		moment := time.Duration(random.IntN(40_000)) * time.Microsecond
		prepared := confine.Launcher{}.Prepare()
		pipe := newWitness(t)
		killed := make(chan bool)
		go func() {
			time.Sleep(moment)
			victims := []int{0}
			for _, pid := range proc.Children(os.Getpid()) { // the supervisor
				victims = append(append(victims, pid), proc.Children(pid)...)
			}
			victim := victims[(i+1)%len(victims)]
			killed <- victim > 1 && unix.Kill(victim, unix.SIGKILL) == nil
		}()
		p := jailtest.Profile(t)
		p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "sleep 3600 & sleep 3600"}
		process, err := confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{Err: pipe.w})
		if <-killed {
			struck++
		}
		if err == nil {
			started++
			process.Kill()
			jailtest.Within(t, "the end of the jail", func() { <-process.Done() })
			if _, err := os.Lstat(process.Plan().Spec.TempDir); !os.IsNotExist(err) {
				t.Errorf("its TMPDIR is left: %v", err)
			}
		}
		pipe.gone(t)
	}
	t.Logf("%d struck, %d started", struck, started)
	check()
}
