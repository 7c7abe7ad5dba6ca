//go:build unix

package ownfile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Programs{"alternate": alternate}.Dispatch()
	os.Exit(m.Run())
}

// content is what one round writes: its number, many times.
func content(round int) []byte { return bytes.Repeat([]byte(strconv.Itoa(round)+"\n"), 20_000) }

// alternate replaces the file that it is given until it is killed.
func alternate() {
	for round := 0; ; round++ {
		f, err := Read(os.Args[1])
		if err == nil {
			err = f.Replace(content(round % 10))
		}
		if err != nil {
			panic(err)
		}
	}
}

// TestReplaceKilled kills a process that replaces a file at moments of chance. The file must
// be one of those that were written.
func TestReplaceKilled(t *testing.T) {
	rounds := 40
	if testkit.Long() {
		rounds = 1000
	}
	name := place(t, string(content(0)))
	link := name + ".link"
	testkit.Must(t, os.Symlink("mcp.json", link))
	unfinished := 0
	for range rounds {
		cmd := testkit.Self("alternate", link)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		testkit.Must(t, cmd.Start())
		time.Sleep(time.Duration(10+rand.IntN(30)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if stderr.Len() != 0 {
			t.Fatal(stderr.String())
		}
		b, err := os.ReadFile(link)
		if err != nil || len(b) == 0 || !bytes.Equal(b, content(int(b[0]-'0'))) {
			t.Fatalf("the file has %d bytes: %v", len(b), err)
		}
		testkit.MustEqual(t, "", testkit.Get(os.Lstat(name))(t).Mode(), 0o640)
		entries, _ := os.ReadDir(filepath.Dir(name))
		if len(entries) > 3 {
			t.Fatalf("unfinished files pile up: %v", entries)
		}
		unfinished += len(entries) - 2
	}
	t.Logf("%d of %d kills left an unfinished file", unfinished, rounds)
}

// TestReplaceAtOnce lets several replace one file. Each either succeeds or is refused, and
// the file is what the last one wrote: a number that grows by one each time, so that a lost
// change would show.
func TestReplaceAtOnce(t *testing.T) {
	name := place(t, "0")
	var wg sync.WaitGroup
	var mu sync.Mutex
	done, refused := 0, 0
	for range 4 {
		wg.Go(func() {
			for range 25 {
				f, err := Read(name)
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(f.Data))
				err = f.Replace([]byte(strconv.Itoa(n + 1)))
				mu.Lock()
				switch {
				case err == nil:
					done++
				case errors.Is(err, errBusy) || errors.Is(err, ErrChanged):
					refused++
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(name); string(b) != strconv.Itoa(done) || done+refused != 100 || done == 0 {
		t.Errorf("%s, %v after %d changes and %d refusals", b, err, done, refused)
	}
}

func TestReadFifo(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := Read(name)
	wantRefused(t, err, "it is no regular file")
}

// TestOtherUser needs root: it gives files and links to another user.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		name := "/etc/passwd"
		link := filepath.Join(t.TempDir(), "link")
		testkit.Must(t, os.Symlink(name, link))
		for _, name := range []string{name, link} {
			_, err := Read(name)
			wantRefused(t, err, "it belongs to user 0")
		}
		return
	}
	name := place(t, "old")
	link := name + ".link"
	testkit.Must(t, errors.Join(os.Symlink(name, link), os.Lchown(link, 12345, -1)))
	_, err := Read(link)
	wantRefused(t, err, "belongs to user 12345")
	testkit.Must(t, os.Chown(name, -1, 54321))
	testkit.Must(t, read(t, name).Replace([]byte("new")))
	info, err := os.Stat(name)
	if err != nil || info.Sys().(*syscall.Stat_t).Gid != 54321 || info.Mode() != 0o640 {
		t.Errorf("%+v, %v", info, err)
	}
	testkit.Must(t, os.Chown(name, 12345, -1))
	_, err = Read(name)
	wantRefused(t, err, "it belongs to user 12345, and you are user 0")
}

// TestReplaceReadOnlyDirectory means a user: root may write everywhere.
func TestReplaceReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("root may write everywhere")
		return
	}
	name := place(t, "old")
	dir := filepath.Dir(name)
	testkit.Must(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	f := read(t, name)
	err := f.Replace([]byte("new"))
	wantRefused(t, err, "no file can be made in "+dir)
	testkit.Fails(t, "", err, "permission denied")
}
