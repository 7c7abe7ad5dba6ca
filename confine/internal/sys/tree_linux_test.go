package sys

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDescendants tests that the children and their children are found, and that neither this
// process, nor its parent, nor an orphan that a child has left behind is.
func TestDescendants(t *testing.T) {
	shell := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	out := testkit.Get(shell.StdoutPipe())(t)
	testkit.Must(t, shell.Start())
	line := testkit.Get(bufio.NewReader(out).ReadString('\n'))(t)
	grandchild := strings.TrimSpace(line)
	defer func() {
		kill(t, grandchild)
		shell.Wait()
	}()
	left := testkit.Get(exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!").Output())(t)
	orphan := strings.TrimSpace(string(left))
	defer kill(t, orphan)
	testkit.Must(t, testkit.ErrorOf(os.Stat("/proc/"+orphan)))

	all := testkit.Get(Descendants())(t)
	for _, pid := range []string{strconv.Itoa(shell.Process.Pid), grandchild} {
		if !slices.Contains(all, pid) {
			t.Errorf("%s is not among %v", pid, all)
		}
	}
	for _, pid := range []string{strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid()), orphan} {
		if slices.Contains(all, pid) {
			t.Errorf("%s is among %v", pid, all)
		}
	}
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n := testkit.Get(strconv.Atoi(pid))(t)
	p := testkit.Get(os.FindProcess(n))(t)
	p.Kill()
}
