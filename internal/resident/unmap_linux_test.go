package resident

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var written = bytes.Repeat([]byte{1}, 1<<16) // in the data that the program can write

// TestUnmap maps all of this program, has it unmapped, and looks at how much is mapped then. The
// program continues, and what it has written is there.
func TestUnmap(t *testing.T) {
	written[len(written)-1] = 2
	for _, segment := range readOnly() {
		testkit.Must(t, unix.Madvise(segment, unix.MADV_POPULATE_READ))
	}
	before := memory(t, "RssFile")
	if before < 2000 {
		t.Fatalf("%d kB of the program are mapped: less than it has", before)
	}
	unmap()
	if after := memory(t, "RssFile"); after > before/2 {
		t.Errorf("%d kB of the program's file are mapped, and were %d before", after, before)
	}
	if written[0] != 1 || written[len(written)-1] != 2 {
		t.Error("data of the program is lost")
	}
}

// TestShrink waits until what is no longer used is given back.
func TestShrink(t *testing.T) {
	after = [len(after)]time.Duration{}
	unused := bytes.Repeat([]byte{1}, 16<<20)
	unused[0]++
	before := memory(t, "RssAnon")
	Shrink()
	testkit.Eventually(t, "16 MB are given back", func() bool { return memory(t, "RssAnon") < before-15<<10 })
}

// memory returns a line of this process's status, in kB.
func memory(t *testing.T, line string) int {
	status, err := os.ReadFile("/proc/self/status")
	testkit.Must(t, err)
	_, rest, _ := strings.Cut(string(status), "\n"+line+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	testkit.Must(t, err)
	return n
}
