package records

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func refusalOf(what string) diagnostics.Refusal {
	return diagnostics.Refusal{Time: time.Now(), Count: 1, Diagnosis: diagnostics.Diagnosis{What: what, Cause: "c"}}
}

// readUntil reads what is told until a refusal of that text has come, and returns all texts, each after
// the name of its server.
func readUntil(t *testing.T, f *Follower, last string) (texts []string) {
	t.Helper()
	testkit.Eventually(t, last+" is told", func() bool {
		for _, r := range f.Read() {
			texts = append(texts, r.Kept+" "+r.What)
		}
		return len(texts) > 0 && strings.HasSuffix(texts[len(texts)-1], last)
	})
	return texts
}

// TestFollow tests that a follower is told the refusals of sessions that began before it and after it,
// also of a server that had none, and not those of before. Each session may end meanwhile.
func TestFollow(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	first := Follow(host, "") // there is no directory yet
	defer first.Close()
	before := New(host, "a")
	before.Project, before.File = "/p/.mcp-jail.toml", "/c.toml"
	before.MarkStart()
	before.Refused([]diagnostics.Refusal{refusalOf("1")})
	all, one := Follow(host, ""), Follow(host, "b")
	defer all.Close()
	defer one.Close()
	before.Refused([]diagnostics.Refusal{refusalOf("2"), refusalOf("3")})
	New(host, "b").Refused([]diagnostics.Refusal{refusalOf("4")})
	New(host, "a").Refused([]diagnostics.Refusal{refusalOf("5")})
	for _, c := range []struct {
		f    *Follower
		last string
		want string
	}{{first, "5", "a 1,a 2,a 3,b 4,a 5"}, {all, "5", "a 2,a 3,b 4,a 5"}, {one, "4", "b 4"}} {
		if got := strings.Join(readUntil(t, c.f, c.last), ","); got != c.want {
			t.Errorf("told %s, not %s", got, c.want)
		}
	}
	must(t, os.RemoveAll(Path(host, "a"))) // mcp-jail rm
	before.Refused([]diagnostics.Refusal{refusalOf("6")})
	for _, r := range all.Read() {
		if r.What != "6" || r.Project != before.Project || r.File != before.File {
			t.Errorf("%+v", r)
		}
	}
	must(t, before.LastError())
}

// TestFollowWakes tests that a change ends the wait of a follower, for a server and a file that it has
// not seen. Without inotify(7) it looks again soon.
func TestFollowWakes(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, os.MkdirAll(filepath.Join(host.StateDir, ServersDir), 0o700))
	for _, watched := range []bool{true, false} {
		f := Follow(host, "")
		defer f.Close()
		if !watched {
			f.watch.close()
			f.watch = &watch{}
		}
		if (f.watch.events != nil) != watched || (f.watch.pause() > pollPause) != watched {
			t.Errorf("watched: %+v", f.watch)
		}
		for i := range 2 { // the second time to a file that it knows
			k := New(host, fmt.Sprint("s", watched))
			what := fmt.Sprint(i)
			var writing sync.WaitGroup
			writing.Go(func() { k.Refused([]diagnostics.Refusal{refusalOf(what)}) })
			told := ""
			for end := time.Now().Add(testkit.Patience); told != what && time.Now().Before(end); {
				if f.Wait(nil, time.Hour) != nil {
					t.Error("it was stopped")
				}
				for _, r := range f.Read() {
					told = r.What
				}
			}
			writing.Wait()
			if told != what {
				t.Errorf("told %q", told)
			}
		}
	}
	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	f := Follow(host, "")
	defer f.Close()
	if f.Wait(stop, time.Hour) != os.Interrupt {
		t.Error("it is not stopped")
	}
}

// TestRefusedBounded tests that two sessions of one server, which write many refusals at once, keep two
// files of bounded size, and that a follower reads each refusal once and in order.
func TestRefusedBounded(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	f := Follow(host, "s")
	defer f.Close()
	const sessions, each = 2, 60
	long := strings.Repeat("x", maxRefusedFile/25)
	var writing sync.WaitGroup
	read := make(chan struct{}, 8) // how many more may be written: a follower that is behind by two files misses some
	for range cap(read) {
		read <- struct{}{}
	}
	for n := range sessions {
		k := New(host, "s")
		writing.Go(func() {
			for i := range each {
				<-read
				k.Refused([]diagnostics.Refusal{refusalOf(fmt.Sprintf("%d %d %s", n, i, long))})
			}
			if k.LastError() != nil {
				t.Error(k.LastError())
			}
		})
	}
	over := make(chan struct{})
	go func() { writing.Wait(); close(over) }()
	next := map[int]int{}
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
		}
		for _, r := range f.Read() {
			var n, i int
			fmt.Sscan(r.What, &n, &i)
			if i != next[n] {
				t.Fatalf("session %d: %d follows %d", n, i, next[n]-1)
			}
			next[n]++
			select {
			case read <- struct{}{}:
			default:
			}
		}
	}
	if next[0] != each || next[1] != each {
		t.Errorf("told: %v", next)
	}
	files, err := os.ReadDir(filepath.Join(Path(host, "s"), refusedDir))
	must(t, err)
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Size() > maxRefusedFile+2*int64(len(long)) || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if len(files) != 2 {
		t.Errorf("there are %d files", len(files))
	}
}

// TestFollowBroken tests that a line that was cut off, one that is not JSON and one without an end cost
// no other.
func TestFollowBroken(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	f := Follow(host, "")
	defer f.Close()
	k := New(host, "s")
	k.Refused([]diagnostics.Refusal{refusalOf("1")})
	file := filepath.Join(Path(host, "s"), refusedDir, refusedNow)
	var texts []string
	for i, broken := range []string{`{"what":"cut`, "no JSON\n", strings.Repeat("x", maxRest+1)} {
		out, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = out.WriteString(broken)
		must(t, err)
		must(t, out.Close())
		if i == 2 {
			texts = readUntil(t, f, "3")
			if n := len(f.servers["s"].rest); n > maxRest {
				t.Errorf("%d bytes are kept", n)
			}
		}
		k.Refused([]diagnostics.Refusal{refusalOf(fmt.Sprint(i + 2))})
	}
	if got := strings.Join(append(texts, readUntil(t, f, "4")...), ","); got != "s 1,s 2,s 3,s 4" {
		t.Error(got)
	}
}

// TestRefusedPlanted tests that links below the state directory neither lead refusals elsewhere nor
// provide any.
func TestRefusedPlanted(t *testing.T) {
	for _, planted := range []string{"servers/s", "servers/s/refused", "servers/s/refused/now.jsonl"} {
		state, elsewhere := t.TempDir(), t.TempDir()
		host := hostfs.Host{StateDir: state}
		target := elsewhere
		if strings.HasSuffix(planted, ".jsonl") {
			target = filepath.Join(elsewhere, "file")
			must(t, os.WriteFile(target, nil, 0o600))
		}
		must(t, os.MkdirAll(filepath.Join(state, filepath.Dir(planted)), 0o700))
		must(t, os.Symlink(target, filepath.Join(state, planted)))
		f := Follow(host, "")
		k := New(host, "s")
		k.Refused([]diagnostics.Refusal{refusalOf("1")})
		if err := k.LastError(); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v", planted, err)
		}
		line, err := refusalOf("1").Encode()
		must(t, err)
		for _, name := range []string{"file", "now.jsonl", "refused/now.jsonl"} {
			must(t, os.MkdirAll(filepath.Join(elsewhere, "refused"), 0o700))
			must(t, os.WriteFile(filepath.Join(elsewhere, name), append(line, '\n'), 0o600))
		}
		if told := f.Read(); told != nil {
			t.Errorf("%s: %v", planted, told)
		}
		f.Close()
	}
}
