package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const askedID = "notes-4k7q2m9x3vt5"

// askedServer returns the session of a server with an id, and a function that writes its file with more lines. project
// is the file of its project; "" is none.
func askedServer(t *testing.T, lines, project string) (f *Followed, write func(lines string)) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	work, servers := filepath.Join(home, "work"), filepath.Join(home, ".config/mcp-jail/servers")
	for _, dir := range []string{work, servers, filepath.Join(home, "d/notes"), filepath.Join(home, "d/more")} {
		testkit.Must(t, os.MkdirAll(dir, 0o700))
	}
	t.Chdir(work)
	write = func(lines string) {
		t.Helper()
		text := "version = 1\n[servers.notes]\nid = \"" + askedID + "\"\ncommand = \"sh\"\ndirectory = \"workspace\"\n" + lines
		testkit.Must(t, os.WriteFile(filepath.Join(servers, "notes.toml"), []byte(text), 0o600))
	}
	write(lines)
	time.Sleep(100 * time.Millisecond) // or it may have changed since
	target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{ID: askedID}, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
	testkit.Must(t, err)
	if project != "" {
		target.Policy.Narrow = &policy.Policy{}
	}
	f = target.Follow(terminal.Console{})
	t.Cleanup(f.Close)
	return f, write
}

// TestAskingPerCall: what is allowed in the client is in the policy of the tool alone, adds up, and stays when the
// configuration changes. The file of the server does not have it.
func TestAskingPerCall(t *testing.T) {
	f, write := askedServer(t, "stateful = false\n", "")
	a := f.asking()
	notes, more := filepath.Join(os.Getenv("HOME"), "d/notes"), filepath.Join(os.Getenv("HOME"), "d/more")
	rights := func(tool, path string) policy.Rights {
		t.Helper()
		of, err := f.target().Tool(tool)
		testkit.Must(t, err)
		return of.Profile.RightsAt(path)
	}
	yes := func(tool string, words []string) {
		t.Helper()
		if next, err := a.Yes(tool, words); next != nil || err != nil {
			t.Fatal(next, err)
		}
	}
	if rights("read", notes) != 0 {
		t.Fatal("the control: the tool has it already")
	}
	work := rights("read", f.target().Profile.Workspace)
	if !work.Has(policy.Update) {
		t.Fatal("the control: the tool has no workspace")
	}
	yes("read", []string{"--read", "~/d/notes"})
	yes("read", []string{"--read", "~/d/more"})
	for range 2 {
		if rights("read", notes) != policy.Read || rights("read", more) != policy.Read || rights("write", notes) != 0 {
			t.Errorf("read has %v and %v, write has %v", rights("read", notes), rights("read", more), rights("write", notes))
		}
		write("stateful = false\ncall_timeout_secs = 7\n")
		f.Refresh()
	}
	yes("read", []string{"--net", "a.test"})
	of, err := f.target().Tool("read")
	if testkit.Must(t, err); len(of.Profile.Net) == 0 || rights("read", f.target().Profile.Workspace) != work {
		t.Errorf("hosts %v, and %v in the workspace", of.Profile.Net, rights("read", f.target().Profile.Workspace))
	}
	if f.target().Policy.Call == 0 {
		t.Error("the new configuration is not in force")
	}
	text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".config/mcp-jail/servers/notes.toml"))
	if testkit.Must(t, err); len(text) > 200 {
		t.Errorf("%s", text)
	}
	if _, err := a.Yes("read", []string{"--read", "~/x/*"}); err == nil || rights("read", notes) != policy.Read {
		t.Errorf("what cannot be given: %v", err)
	}
	for _, words := range [][]string{{"--write", "~/d/more"}, {"--read", "~/.ssh"}, {"--net", "10.0.0.1"}} {
		if _, err := a.Yes("write", words); err == nil {
			t.Errorf("%q is given, though it is not asked about by now", words)
		}
	}
	write("stateful = no\n")
	if _, err := a.Yes("write", []string{"--read", "~/d/more"}); err == nil {
		t.Error("it is given beside a file that cannot be used")
	}
	write("stateful = false\n")
	yes("write", []string{"--read", "~/d/notes"}) // the next one is given
	if rights("write", more) != 0 || rights("write", notes) != policy.Read {
		t.Errorf("write has %v of what could not be given, and %v", rights("write", more), rights("write", notes))
	}
}

// TestAskingStateful: a stateful server has what is allowed once it is started again, and nothing else that its file has by
// then.
func TestAskingStateful(t *testing.T) {
	f, write := askedServer(t, "", "")
	a, runs := f.asking(), f.target()
	next, err := a.Yes("", []string{"--net", "a.test"})
	if testkit.Must(t, err); len(next.Profile.Net) != 1 || f.target() == runs {
		t.Fatalf("%+v", next.Profile.Net)
	}
	if next.Done(false); f.target() != runs {
		t.Error("what could not be started counts")
	}
	write("[servers.notes.access]\nworkspace = \"write\"\nfs = [{ path = \"~/d/notes\", read = true }]\n")
	if next, err := a.Yes("", []string{"--net", "b.test"}); err == nil {
		t.Errorf("a yes takes what was written without an answer: %+v", next.Profile.Entries)
	}
}

// TestAskingThenWish: what is allowed at a terminal adds to what was allowed in the client, and is compared with the files.
func TestAskingThenWish(t *testing.T) {
	f, write := askedServer(t, "", "")
	files := f.target().Written()
	next, err := f.asking().Yes("", []string{"--net", "a.test"})
	testkit.Must(t, err)
	next.Done(true)
	write(oneHost)
	w := wish(t, files)
	r := f.Refresh()
	if r.Next == nil || r.Next.Wish != w.ID || r.Restart != nil || len(r.Next.Profile.Net) != 2 {
		t.Errorf("%+v, %+v", r, r.Restart)
	}
}

// TestAskingWhere: nothing is asked about a server whose file or project says so. Of a stateful server whose client shows
// forms the jail records reads.
func TestAskingWhere(t *testing.T) {
	for _, tt := range []struct {
		name, lines, project, client string
		asks, reads                  bool
	}{
		{"stateful", "", "", "claude-code", true, true},
		{"another client", "", "", "claude-ai", true, false},
		{"no client yet", "", "", "", true, false},
		{"per call", "stateful = false\n", "", "claude-code", true, false},
		{"ask = false", "ask = false\n", "", "claude-code", false, false},
		{"narrowed by a project", "", "narrows", "claude-code", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := askedServer(t, tt.lines, tt.project)
			if tt.client != "" {
				r := records.New(f.target().Host, f.target().Policy.KeptName())
				r.About = f.target().about
				r.ClientNamed(tt.client, "1")
			}
			if s := f.AskingSession(terminal.Console{}, confine.Launcher{}); (s.Asker != nil) != tt.asks || s.Reads != tt.reads {
				t.Fatalf("asks %t, records reads %t", s.Asker != nil, s.Reads)
			}
		})
	}
}
