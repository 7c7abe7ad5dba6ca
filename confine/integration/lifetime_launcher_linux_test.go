package integration

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

const launcherName = "mcp-jail-launcher" // a launcher of its own, to be killed

// witness is a pipe that every process of a jail holds. Its end shows that none of them is left.
type witness struct{ r, w *os.File }

func newWitness(t testing.TB) *witness {
	t.Helper()
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return &witness{r, w}
}

// gone closes the test's own end and waits for the end of all others.
func (p *witness) gone(t testing.TB) {
	t.Helper()
	p.w.Close()
	jailtest.Within(t, "the end of all processes that held the descriptor", func() { io.Copy(io.Discard, p.r) })
}

// runLauncher starts jails until it is killed. Descriptor 3 is the witness: the
// inits inherit it, and the programs have it as stderr.
func runLauncher() {
	var profiles []*policy.Profile
	if err := gob.NewDecoder(os.Stdin).Decode(&profiles); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Away from the numbers that the launcher itself uses in the prepared process (see stub.ReserveFD).
	fd, err := unix.FcntlInt(3, unix.F_DUPFD, 2*sys.MinFDTable)
	if err != nil {
		os.Exit(1)
	}
	unix.CloseOnExec(3)
	for _, p := range profiles {
		if _, err := networkLauncher().Start(context.Background(), p, jail.Stdio{Err: os.NewFile(uintptr(fd), "witness")}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("up")
	}
	select {}
}

// killLauncher kills a launcher of these jails after a moment, or when all of them are up. It
// waits until no process of them is left, and returns how many jails were up.
func killLauncher(t *testing.T, jails []*policy.Profile, moment time.Duration, allUp bool, env ...string) int {
	t.Helper()
	var order bytes.Buffer
	testkit.Must(t, gob.NewEncoder(&order).Encode(jails))
	pipe := newWitness(t)
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{launcherName}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = &order
	cmd.ExtraFiles = []*os.File{pipe.w}
	out := &jailtest.Output{}
	cmd.Stdout = out
	testkit.Must(t, cmd.Start())
	time.Sleep(moment)
	if allUp {
		testkit.Eventually(t, "all jails up", func() bool { return out.Count("up\n") == len(jails) })
	}
	cmd.Process.Kill()
	cmd.Wait()
	n := out.Count("up\n")
	if allUp && n != len(jails) {
		t.Fatalf("the control: %d of %d jails were up: %s", n, len(jails), out.Text)
	}
	pipe.gone(t)
	return n
}
