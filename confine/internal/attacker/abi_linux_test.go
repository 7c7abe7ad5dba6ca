package attacker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestABINumbers compares the table with that of golang.org/x/sys.
func TestABINumbers(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be found: %v", err)
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_386.go"))
	if err != nil {
		testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be read: %v", err)
	}
	defer f.Close()
	row := regexp.MustCompile(`^\s+SYS_(\w+)\s+= (\d+)$`)
	seen := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if m := row.FindStringSubmatch(s.Text()); m != nil {
			if n, ok := i386Calls[strings.ToLower(m[1])]; ok {
				seen++
				testkit.Equal(t, m[1], fmt.Sprint(n), m[2])
			}
		}
	}
	testkit.Equal(t, "of … were compared", seen, len(i386Calls))
}
