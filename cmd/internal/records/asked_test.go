package records

import (
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestAsked: of a server there are three questions a day, however many sessions ask, and a no holds for the day.
func TestAsked(t *testing.T) {
	host := hostfs.Host{StateDir: t.TempDir()}
	if !ReadAsked(host, "notes").May("--net a.test") {
		t.Error("nothing may be asked about a server that was never asked about")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	for range 8 {
		wg.Go(func() {
			if CountAsked(host, "notes") {
				mu.Lock()
				counted++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if counted != maxAsked || ReadAsked(host, "notes").May("--net a.test") || !ReadAsked(host, "other").May("--net a.test") {
		t.Errorf("%d questions were counted; %+v", counted, ReadAsked(host, "notes"))
	}
	testkit.Must(t, NoteNo(host, "other", "--net a.test"))
	if a := ReadAsked(host, "other"); a.May("--net a.test") || !a.May("--net b.test") {
		t.Errorf("after a no: %+v", a)
	}
	d, err := makeDir(host, "other/"+askedDir)
	testkit.Must(t, err)
	defer d.Close()
	testkit.Must(t, d.Replace(askedFile, []byte(`{"day":"2001-01-01","count":3,"no":["--net a.test"]}`), private.How{}))
	if !ReadAsked(host, "other").May("--net a.test") {
		t.Error("a no holds on the next day too")
	}
}
