package confine

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// What is let go is less memory, and nothing is lost by it.
func TestLetGo(t *testing.T) {
	file := func() (kB int) {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
				kB, _ = strconv.Atoi(strings.Fields(rest)[0])
			}
		}
		return kB
	}
	before := file()
	LetGo()
	after := file()
	if t.Logf("%d kB, then %d", before, after); after > before*3/4 {
		t.Errorf("of %d kB of the program %d are there still", before, after)
	}
	if planProfile().Server == "" { // whatever is touched comes back
		t.Error("a profile without a name")
	}
}
