package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const askedMore = "[servers.notes.access]\nworkspace = \"write\"\nfs = [{ path = \"~/notes\", read = true }]\n"

// wish wants that the server be started again under a policy that its file has now.
func wish(t *testing.T, runs string) records.Wish {
	t.Helper()
	now := askedTarget(t)
	w := records.Wish{Made: diagnostics.Made{Runs: runs, Files: now.Written()}}
	var err error
	w.ID, err = records.WishRestart(now.Host, askedID, w.Made)
	testkit.Must(t, err)
	return w
}

func askedTarget(t *testing.T) *Target {
	t.Helper()
	target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{ID: askedID}, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
	testkit.Must(t, err)
	return target
}

const oneHost = askedMore + "net = [{ host = \"one.example.com\", allow = true }]\n"

// TestWish: a session starts its server again for a wish that is about what it runs and what its files say, as both were
// shown, and for no other one. A wish from before the session has done its work.
func TestWish(t *testing.T) {
	for name, c := range map[string]struct {
		shown, runs, files string // what was shown, what the session begins with, and what its file has then
		begins             bool   // the session begins before the wish
		next               bool
		why                string
	}{
		"as shown":                    {shown: askedMore, files: askedMore, begins: true, next: true},
		"while it begins":             {shown: askedMore, files: askedMore, next: true},
		"from before":                 {shown: askedMore, runs: askedMore, files: askedMore},
		"from before, and an edit":    {shown: askedMore, runs: askedMore, files: oneHost},
		"from before an edit":         {shown: askedMore, runs: oneHost, files: oneHost},
		"nothing differs":             {shown: "", files: "", begins: true, next: true},
		"changed since it was shown":  {shown: askedMore, files: oneHost, begins: true, why: "its files have changed since they were shown. See what differs: mcp-jail grant notes"},
		"changed before it was shown": {shown: askedMore, runs: oneHost, files: askedMore, begins: true, why: "it runs under another policy than was shown. See what differs: mcp-jail grant notes"},
	} {
		t.Run(name, func(t *testing.T) {
			first, write := askedServer(t, "", "")
			shown := first.target().Written()
			write(c.shown)
			var w records.Wish
			if !c.begins {
				w = wish(t, shown)
			}
			write(c.runs)
			f := askedTarget(t).Follow(terminal.Console{})
			defer f.Close()
			write(c.shown)
			if c.begins {
				w = wish(t, shown)
			}
			write(c.files)
			r := f.Refresh()
			if (r.Next != nil) != c.next || c.next && r.Next.Wish != w.ID {
				t.Errorf("%+v", r)
			}
			if c.why == "" {
				if r.Restart != nil {
					t.Errorf("%+v", r.Restart)
				}
				return
			}
			if want := (diagnostics.Restart{Wish: w.ID, Why: c.why, Failed: true}); r.Restart == nil || *r.Restart != want || r.Kept == nil || r.Kept.Why != c.why {
				t.Errorf("%+v, %+v", r.Restart, r.Kept)
			}
			if again := f.Refresh(); again.Restart != nil || again.Next != nil {
				t.Errorf("%+v", again)
			}
		})
	}
}

// TestWishAfterNothing: files that have changed, but not what they give, are those of the process.
func TestWishAfterNothing(t *testing.T) {
	f, write := askedServer(t, "", "")
	write("log = \"off\"\n")
	if r := f.Refresh(); r.Kept != nil {
		t.Fatalf("%+v", r.Kept)
	}
	now := askedTarget(t).Written()
	write("log = \"off\"\n" + askedMore)
	if w, r := wish(t, now), f.Refresh(); r.Next == nil || r.Next.Wish != w.ID {
		t.Errorf("%+v, %+v", r, r.Restart)
	}
}

// TestWishWithProblem: a wish that meets a file with a mistake has its effect when the mistake is gone.
func TestWishWithProblem(t *testing.T) {
	f, write := askedServer(t, "", "")
	write(askedMore)
	w := wish(t, f.target().Written())
	write("nonsense = 1\n")
	for range 2 {
		if r := f.Refresh(); r.Problem == "" || r.Next != nil || r.Kept == nil || r.Kept.Why == "" || r.Restart != nil && (r.Restart.Failed || r.Restart.Why == "") {
			t.Fatalf("%+v", r)
		}
	}
	write(askedMore)
	if r := f.Refresh(); r.Problem != "" || r.Next == nil || r.Next.Wish != w.ID {
		t.Errorf("%+v", r)
	}
}

// TestChangedWhileItStarts: files that change while the server is started again are compared with the new process.
func TestChangedWhileItStarts(t *testing.T) {
	f, write := askedServer(t, "", "")
	write(oneHost)
	wish(t, f.target().Written())
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
