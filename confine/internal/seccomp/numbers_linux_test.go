package seccomp

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSyscallNumbers compares both tables with those of golang.org/x/sys, and
// fails when it knows calls that are newer than the rules.
func TestSyscallNumbers(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be found: %v", err)
	}
	row := regexp.MustCompile(`^\s+SYS_(\w+)\s+= (\d+)$`)
	for _, arch := range bothArchs {
		f, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+arch.String()+".go"))
		if err != nil {
			testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be read: %v", err)
		}
		defer f.Close()
		want := make(map[string]uint32)
		for s := bufio.NewScanner(f); s.Scan(); {
			if m := row.FindStringSubmatch(s.Text()); m != nil {
				n, _ := strconv.Atoi(m[2])
				want[strings.ToLower(m[1])] = uint32(n)
				if n > lastKnownCall {
					t.Errorf("%s: %s (%d) is newer than the rules: judge it and raise LastKnownCall", arch, m[1], n)
				}
			}
		}
		if len(want) < 300 {
			t.Fatalf("%s: only %d numbers were read", arch, len(want))
		}
		for _, c := range syscallTable {
			got, has := CallNumber(arch, c.name)
			if n, ok := want[c.name]; ok != has || n != got {
				t.Errorf("%s: %s is %d (%v), want %d (%v)", arch, c.name, got, has, n, ok)
			}
		}
	}
}
