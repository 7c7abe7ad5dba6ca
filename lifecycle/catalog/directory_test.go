//go:build unix

package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestBadFiles: a file that is not to be trusted counts as missing, and the next Put
// replaces it if it is a file.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	text := func(f func(string) string) func(string) error {
		return func(file string) error {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, []byte(f(string(b))), 0o600)
		}
	}
	replace := func(old, new string) func(string) error {
		return text(func(s string) string {
			if !strings.Contains(s, old) {
				panic(s + " has no " + old)
			}
			return strings.Replace(s, old, new, 1)
		})
	}
	for name, row := range map[string]struct {
		spoil    func(file string) error
		readable bool // the control
		stays    bool // Put is an error too
	}{
		"untouched":             {func(string) error { return nil }, true, false},
		"gone":                  {os.Remove, false, false},
		"empty":                 {text(func(string) string { return "" }), false, false},
		"cut":                   {text(func(s string) string { return s[:len(s)/2] }), false, false},
		"something behind":      {text(func(s string) string { return s + "{}" }), false, false},
		"another format":        {replace(`"format":1`, `"format":2`), false, false},
		"another server":        {replace(`"server":"s"`, `"server":"t"`), false, false},
		"another key":           {replace(aKey, strings.Repeat("0", 64)), false, false},
		"an unknown member":     {replace(`"format"`, `"new":1,"format"`), false, false},
		"a result that is none": {replace(`"result":"e`, `"result":"f`), false, false},
		"no base64":             {replace(`"result":"`, `"result":"!`), false, false},
		"neither":               {replace(`"result"`, `"error":"","result":"","x"`), false, false},
		"both":                  {replace(`"stored"`, `"error":"e30=","stored"`), false, false},
		"a result that is a 1": {text(func(s string) string {
			i := strings.Index(s, `"result":"`)
			return s[:i] + `"result":"MQ==",` + s[strings.Index(s, `"stored"`):]
		}), false, false},
		"a negative time":        {replace(`"stored"`, `"ttl_ms":-1,"stored"`), false, false},
		"a year":                 {replace(`"stored"`, `"ttl_ms":31536000000,"stored"`), false, false},
		"a second":               {replace(`"stored"`, `"ttl_ms":1000,"stored"`), true, false},
		"from tomorrow":          {replace(`"stored":"2026-08-01`, `"stored":"2026-08-02`), false, false},
		"from long ago":          {replace(`"stored":"2026`, `"stored":"1926`), false, false},
		"no time":                {replace(`"stored":"2026-08-01T12:00:00Z"`, `"stored":"then"`), false, false},
		"too large":              {func(f string) error { return os.Truncate(f, MaxFile+1) }, false, false},
		"too large, with spaces": {text(func(s string) string { return s + strings.Repeat(" ", MaxFile) }), false, false},
		"writable by all":        {func(f string) error { return os.Chmod(f, 0o602) }, false, true},
		"readable by all":        {func(f string) error { return os.Chmod(f, 0o644) }, true, false},
		"a link":                 {func(f string) error { return errors.Join(os.Rename(f, f+".real"), os.Symlink(f+".real", f)) }, false, true},
		"a link inside": {func(f string) error {
			return errors.Join(os.Rename(f, filepath.Dir(f)+"/real"), os.Symlink("real", f))
		}, false, true},
		"a fifo":                     {func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) }, false, false},
		"a directory":                {func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, false, true},
		"a directory that all write": {func(f string) error { return os.Chmod(filepath.Dir(f), 0o1777) }, false, true},
		"a directory that all read":  {func(f string) error { return os.Chmod(filepath.Dir(f), 0o755) }, true, false},
		"a linked directory": {func(f string) error {
			d := filepath.Dir(f)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		}, false, true},
		"a file for a directory": {func(f string) error {
			d := filepath.Dir(f)
			return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600))
		}, false, true},
	} {
		c, _ := newCatalog(t)
		file := put(t, c, "s", aKey)
		if err := row.spoil(file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e, ok := c.Get("s", aKey); ok != row.readable || ok && string(e.Answers["tools/list"].Result) != string(result) {
			t.Errorf("%s: read %v", name, ok)
		}
		if err := c.Put("s", aKey, anEntry(start)); (err != nil) != row.stays {
			t.Errorf("%s: put again: %v", name, err)
		}
		if _, ok := c.Get("s", aKey); ok == row.stays {
			t.Errorf("%s: after the next Put: %v", name, ok)
		}
		if left, _ := filepath.Glob(filepath.Join(c.Dir, ".*")); len(left) > 0 {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}

// TestOtherOwners needs root: other users cannot give files away.
func TestOtherOwners(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	for name, what := range map[string]func(file string) string{"the file": func(f string) string { return f }, "the directory": filepath.Dir} {
		c, _ := newCatalog(t)
		file := put(t, c, "s", aKey)
		if _, ok := c.Get("s", aKey); !ok {
			t.Fatal("the control fails")
		}
		switch err := os.Chown(what(file), 12345, 0); {
		case errors.Is(err, syscall.EINVAL): // user_namespaces(7)
			t.Skip("this user namespace maps no other user to give files to")
		case err != nil:
			t.Fatal(err)
		}
		if _, ok := c.Get("s", aKey); ok {
			t.Errorf("%s of another user is used", name)
		}
	}
}

// TestPrune: files that are not used, and the least recently used of too many, are
// removed.
func TestPrune(t *testing.T) {
	t.Parallel()
	c, clock := newCatalog(t)
	key := func(i int) string { return fmt.Sprintf("%064x", i) }
	for i := range maxPerServer + 3 {
		*clock = start.Add(time.Duration(i) * time.Minute)
		put(t, c, "s", key(i))
	}
	there := func(server string, i int) bool { _, ok := c.Get(server, key(i)); return ok }
	for i := range maxPerServer + 3 {
		if there("s", i) != (i >= 3) {
			t.Errorf("file %d: %v", i, there("s", i))
		}
	}
	// Used files stay, others go.
	for day := range 40 {
		*clock = start.Add(time.Duration(day) * 24 * time.Hour)
		there("s", 7)
	}
	foreign := []string{"README", "x.json", "s." + aKey[1:] + ".json", "s." + strings.ToUpper(aKey) + ".json", ".hidden", "s." + aKey + ".json.bak"}
	for _, name := range foreign {
		testkit.Must(t, os.WriteFile(filepath.Join(c.Dir, name), nil, 0o600))
	}
	testkit.Must(t, os.Mkdir(filepath.Join(c.Dir, fileName("dir", aKey)), 0o700))
	for _, name := range foreign {
		testkit.Must(t, os.Chtimes(filepath.Join(c.Dir, name), start, start))
	}
	put(t, c, "t", aKey)
	files, err := os.ReadDir(c.Dir)
	testkit.Must(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := append([]string{fileName("s", key(7)), fileName("t", aKey), fileName("dir", aKey)}, foreign...)
	if len(names) != len(want) {
		t.Errorf("left are %s", names)
	}
	for _, w := range want {
		if _, err := os.Lstat(filepath.Join(c.Dir, w)); err != nil {
			t.Error(err)
		}
	}
	// Too many files in all; then files that were written while the clock was wrong.
	for i := range maxFiles + 10 {
		put(t, c, fmt.Sprintf("server%d", i), aKey)
	}
	if files, _ := os.ReadDir(c.Dir); len(files) != maxFiles+len(foreign)+1 {
		t.Errorf("%d files", len(files))
	}
	*clock = start.Add(-10 * 24 * time.Hour)
	put(t, c, "s", aKey)
	if files, _ := os.ReadDir(c.Dir); len(files) != 1+len(foreign)+1 {
		t.Errorf("%d files after the clock was set back", len(files))
	}
}
