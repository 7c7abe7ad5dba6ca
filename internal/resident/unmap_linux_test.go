package resident

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// What no code reads, so that a page of it that is mapped was never unmapped.
const (
	hundreds = "...................................................................................................."
	tens     = hundreds + hundreds + hundreds + hundreds + hundreds + hundreds + hundreds + hundreds + hundreds + hundreds
	many     = tens + tens + tens + tens + tens + tens + tens + tens + tens + tens
	unread   = many + many + many + many + many + many + many + many + many + many + many + many + many + many + many
)

var written = bytes.Repeat([]byte{1}, 1<<16) // in the data that the program can write

// TestUnmap maps all of this program, has it unmapped, and looks at pages that nothing reads: the rest
// is mapped again as the program continues. What it has written is there.
func TestUnmap(t *testing.T) {
	written[len(written)-1] = 2
	for _, segment := range readOnly() {
		testkit.Must(t, unix.Madvise(segment, unix.MADV_POPULATE_READ))
	}
	testkit.MustEqual(t, "mapped", mapped(t), true)
	unmap()
	testkit.Equal(t, "mapped after unmap", mapped(t), false)
	if written[0] != 1 || written[len(written)-1] != 2 {
		t.Error("data of the program is lost")
	}
}

// mapped says whether the page in the middle of what no code reads is present (pagemap(5)).
func mapped(t *testing.T) bool {
	text := unread
	page := uintptr(unsafe.Pointer(unsafe.StringData(text[len(text)/2:]))) / uintptr(unix.Getpagesize())
	pages, err := os.Open("/proc/self/pagemap")
	testkit.Must(t, err)
	defer pages.Close()
	entry := make([]byte, 8)
	_, err = pages.ReadAt(entry, int64(page)*8)
	testkit.Must(t, err)
	return binary.LittleEndian.Uint64(entry)>>63 == 1
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
