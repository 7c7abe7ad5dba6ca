package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const askedMore = "[servers.notes.access]\nworkspace = \"write\"\nfs = [{ path = \"~/notes\", read = true }]\n"

// TestOldWish: a session starts its server again for a wish since it was loaded, and for none from before that, also if a
// file changes while it begins.
func TestOldWish(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, since bool // a wish, as seen from the load
	}{
		{"none", false, false},
		{"before", true, false},
		{"since", false, true},
		{"both", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, write := askedServer(t, "", "")
			wish := func(is bool) {
				t.Helper()
				if is {
					testkit.Must(t, records.WishRestart(first.target().Host, askedID))
				}
			}
			wish(tt.before)
			target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{ID: askedID}, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
			testkit.Must(t, err)
			write(askedMore)
			wish(tt.since)
			f := target.Follow(terminal.Console{})
			defer f.Close()
			if r := f.Refresh(); r.Kept == nil || (r.Next != nil) != tt.since {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestWishWithProblem: a wish that meets a file with a mistake has its effect when the mistake is gone.
func TestWishWithProblem(t *testing.T) {
	f, write := askedServer(t, "", "")
	write("nonsense = 1\n")
	testkit.Must(t, records.WishRestart(f.target().Host, askedID))
	for range 2 {
		if r := f.Refresh(); r.Problem == "" || r.Next != nil || r.Kept == nil || r.Kept.Why == "" {
			t.Fatalf("%+v", r)
		}
	}
	write(askedMore)
	if r := f.Refresh(); r.Problem != "" || r.Next == nil {
		t.Errorf("%+v", r)
	}
}

// TestChangedWhileItStarts: files that change while the server is started again are compared with the new process.
func TestChangedWhileItStarts(t *testing.T) {
	f, write := askedServer(t, "", "")
	write(askedMore + `net = [{ host = "one.example.com", allow = true }]`)
	testkit.Must(t, records.WishRestart(f.target().Host, askedID))
	next := f.Refresh().Next
	write(askedMore + `net = [{ host = "one.example.com", allow = true }, { host = "two.example.com", allow = true }]`)
	old := f.Refresh().Kept
	next.Done(true)
	r := f.Refresh()
	if old == nil || r.Kept == nil || len(r.Kept.Rows) == 0 || len(r.Kept.Rows) >= len(old.Rows) || r.Notice != "" {
		t.Fatalf("%+v, before %+v", r, old)
	}
	if again := f.Refresh(); again.Kept != r.Kept {
		t.Error("it is compared again, and nothing has changed")
	}
}
