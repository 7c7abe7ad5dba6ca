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
	out, err := shell.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, shell.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	testkit.Must(t, err)
	grandchild := strings.TrimSpace(line)
	defer func() {
		kill(t, grandchild)
		shell.Wait()
	}()
	left, err := exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!").Output()
	testkit.Must(t, err)
	orphan := strings.TrimSpace(string(left))
	defer kill(t, orphan)
	if _, err := os.Stat("/proc/" + orphan); err != nil {
		t.Fatalf("control: the orphan does not live: %v", err)
	}

	all, err := Descendants()
	testkit.Must(t, err)
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
	n, err := strconv.Atoi(pid)
	testkit.Must(t, err)
	p, err := os.FindProcess(n)
	testkit.Must(t, err)
	p.Kill()
}
