//go:build unix

package private

import (
	"bufio"
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// runReplace is the argv[0] that makes the test binary replace a file in the directory argv[1] until
// it is killed.
const runReplace = "mcp-jail-test-replace"

// versions are what the file has in turn.
var versions = [][]byte{bytes.Repeat([]byte("a"), 200_000), bytes.Repeat([]byte("b"), 300_000)}

func TestMain(m *testing.M) {
	testkit.Programs{runReplace: func() {
		d, err := Open(os.Args[1], ".")
		for i := 0; err == nil; i++ {
			if err = d.Replace("f", versions[i%2], How{Sync: i%3 == 0}); err == nil {
				_, err = os.Stdout.WriteString("\n")
			}
		}
		os.Exit(1)
	}}.Dispatch()
	os.Exit(m.Run())
}

// TestKilled tests that a process that is killed while it replaces a file leaves the old one or the
// new one, and that the next one removes what it left.
func TestKilled(t *testing.T) {
	d, err := Make(t.TempDir(), "d")
	must(t, err)
	defer d.Close()
	left := 0
	for round := range 40 {
		c := testkit.Self(runReplace, d.path)
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		lines := bufio.NewReader(out)
		for range 1 + round%5 {
			_, err := lines.ReadString('\n')
			must(t, err)
		}
		time.Sleep(time.Duration(round) * 50 * time.Microsecond) // another moment each time
		must(t, c.Process.Kill())
		c.Wait()
		if b, err := d.ReadFile("f", 1<<20); err != nil || !bytes.Equal(b, versions[0]) && !bytes.Equal(b, versions[1]) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		entries, err := d.Names()
		must(t, err)
		for _, e := range entries {
			if isUnfinished(e.Name()) {
				left++
				must(t, d.Touch(e.Name(), time.Now().Add(-time.Hour)))
			}
		}
	}
	must(t, d.Replace("f", nil, How{}))
	if entries, err := d.Names(); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
	t.Logf("%d unfinished files were left and removed", left)
}
