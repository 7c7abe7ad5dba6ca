//go:build unix

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	start  = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	result = json.RawMessage("{ \"tools\" : [ {\"name\":\"<a>\\u00e9\"} ]\t}") // not as an encoder would write it
)

func anEntry(stored time.Time) *Entry {
	return &Entry{Answers: map[string]Answer{"tools/list": {Result: result, Stored: stored}}}
}

// newCatalog is a catalogue in a directory that does not exist, at a clock of its own.
func newCatalog(t *testing.T) (c *Catalog, clock *time.Time) {
	now := start
	return &Catalog{Dir: filepath.Join(t.TempDir(), "mcp-jail", "catalog"), Now: func() time.Time { return now }}, &now
}

func put(t *testing.T, c *Catalog, server, key string) string {
	t.Helper()
	if err := c.Put(server, key, anEntry(c.now())); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(c.Dir, fileName(server, key))
}

func TestRoundTrip(t *testing.T) {
	for _, disk := range []bool{true, false} {
		c, clock := newCatalog(t)
		if !disk {
			c.Dir = ""
		}
		want := &Entry{Answers: map[string]Answer{
			"tools/list":               {Result: result, Stored: start},
			`tools/list {"cursor":""}`: {Result: json.RawMessage("{}"), Stored: start, TTL: 90 * time.Second, HasTTL: true},
			"prompts/list":             {Error: json.RawMessage(`{"code":-32601, "message":"x"}`), Stored: start.Add(-time.Hour)},
		}}
		for _, server := range []string{"s", "", ".", "..", "a/b", "a.b", "A", strings.Repeat("long", 100), "\x00\xff\n", "ä %41~"} {
			if _, ok := c.Get(server, aKey); ok {
				t.Errorf("%q is there already", server)
			}
			if err := c.Put(server, aKey, want); err != nil {
				t.Fatalf("%q: %v", server, err)
			}
			if got, ok := c.Get(server, aKey); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %+v, %v", server, got, ok)
			}
		}
		if _, ok := c.Get("s", strings.Repeat("0", 64)); ok {
			t.Error("another key is there")
		}
		*clock = start.Add(2 * time.Minute)
		if got, ok := c.Get("s", aKey); !ok || len(got.Answers) != 2 {
			t.Errorf("what expired is returned, or more is missing: %+v", got)
		}
		*clock = start.Add(-time.Minute)
		if got, _ := c.Get("s", aKey); len(got.Answers) != 1 {
			t.Errorf("the clock was set back: %+v", got)
		}
		if !disk {
			continue
		}
		files, err := os.ReadDir(c.Dir)
		if err != nil || len(files) != 10 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, f := range files {
			if fi, err := f.Info(); err != nil || fi.Mode() != 0o600 || len(f.Name()) > 255 {
				t.Errorf("%s: %v, %v", f.Name(), fi.Mode(), err)
			}
		}
		for _, dir := range []string{c.Dir, filepath.Dir(c.Dir)} {
			if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", dir, fi.Mode(), err)
			}
		}
	}
	var none *Catalog
	if _, ok := none.Get("s", aKey); ok || none.Put("s", aKey, anEntry(start)) != nil {
		t.Error("a nil catalogue keeps something")
	}
}

func TestFresh(t *testing.T) {
	for _, row := range []struct {
		a    Answer
		age  time.Duration
		want bool
	}{
		{Answer{}, 0, true}, {Answer{}, MaxAge - 1, true}, {Answer{}, MaxAge, false}, {Answer{}, -1, false},
		{Answer{TTL: time.Second, HasTTL: true}, time.Second - 1, true}, {Answer{TTL: time.Second, HasTTL: true}, time.Second, false}, {Answer{TTL: time.Second, HasTTL: true}, -time.Hour, false},
		{Answer{HasTTL: true}, 0, false}, {Answer{TTL: -time.Second, HasTTL: true}, 0, false}, {Answer{TTL: 1e18, HasTTL: true}, MaxTTL, false},
	} {
		row.a.Stored = start
		if got := row.a.Fresh(start.Add(row.age)); got != row.want {
			t.Errorf("%+v after %v: %v", row.a, row.age, got)
		}
	}
}

// TestBadFiles: whatever is not to be trusted is not there, and is replaced by the
// next Put where it is a file.
func TestBadFiles(t *testing.T) {
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
		"zeros":                 {text(func(s string) string { return strings.Repeat("\x00", len(s)) }), false, false},
		"cut":                   {text(func(s string) string { return s[:len(s)/2] }), false, false},
		"something behind":      {text(func(s string) string { return s + "{}" }), false, false},
		"white space behind":    {text(func(s string) string { return s + "\n" }), true, false},
		"another format":        {replace(`"format":1`, `"format":2`), false, false},
		"no format":             {replace(`"format":1,`, ``), false, false},
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
		"writable by the group":  {func(f string) error { return os.Chmod(f, 0o620) }, false, false},
		"writable by all":        {func(f string) error { return os.Chmod(f, 0o602) }, false, false},
		"readable by all":        {func(f string) error { return os.Chmod(f, 0o644) }, true, false},
		"a link":                 {func(f string) error { return errors.Join(os.Rename(f, f+".real"), os.Symlink(f+".real", f)) }, false, false},
		"a link inside": {func(f string) error {
			return errors.Join(os.Rename(f, filepath.Dir(f)+"/real"), os.Symlink("real", f))
		}, false, false},
		"a fifo":                            {func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) }, false, false},
		"a directory":                       {func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, false, true},
		"a directory that the group writes": {func(f string) error { return os.Chmod(filepath.Dir(f), 0o770) }, false, true},
		"a directory that all write":        {func(f string) error { return os.Chmod(filepath.Dir(f), 0o1777) }, false, true},
		"a directory that all read":         {func(f string) error { return os.Chmod(filepath.Dir(f), 0o755) }, true, false},
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
		if left, _ := filepath.Glob(filepath.Join(c.Dir, temporary+"*")); len(left) > 0 {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}

// TestOtherOwners needs root: nobody else can give files away.
func TestOtherOwners(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	for name, what := range map[string]func(file string) string{"the file": func(f string) string { return f }, "the directory": filepath.Dir} {
		c, _ := newCatalog(t)
		file := put(t, c, "s", aKey)
		if _, ok := c.Get("s", aKey); !ok {
			t.Fatal("the control fails")
		}
		if err := os.Chown(what(file), 12345, 0); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get("s", aKey); ok {
			t.Errorf("%s of another user is used", name)
		}
	}
}

func TestPutRefuses(t *testing.T) {
	c, _ := newCatalog(t)
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", MaxFile*3/4) + `"}`)
	for name, row := range map[string]struct {
		key    string
		name   string
		answer Answer
		good   bool
	}{
		"a control":      {aKey, "m", Answer{Result: result}, true},
		"a path":         {"../../../" + aKey[9:], "m", Answer{Result: result}, false},
		"a short key":    {aKey[1:], "m", Answer{Result: result}, false},
		"upper case":     {strings.ToUpper(aKey), "m", Answer{Result: result}, false},
		"no answer":      {aKey, "m", Answer{}, false},
		"both":           {aKey, "m", Answer{Result: result, Error: result}, false},
		"not JSON":       {aKey, "m", Answer{Result: json.RawMessage(`{"a":}`)}, false},
		"two values":     {aKey, "m", Answer{Result: json.RawMessage(`{}{}`)}, false},
		"an array":       {aKey, "m", Answer{Result: json.RawMessage(`[]`)}, false},
		"no time":        {aKey, "m", Answer{Result: result, HasTTL: true}, false},
		"a year":         {aKey, "m", Answer{Result: result, HasTTL: true, TTL: 365 * 24 * time.Hour}, false},
		"too large":      {aKey, "m", Answer{Result: long}, false},
		"a strange name": {aKey, "\xff", Answer{Result: result}, false},
	} {
		row.answer.Stored = start
		err := c.Put("s", row.key, &Entry{Answers: map[string]Answer{row.name: row.answer}})
		if (err == nil) != row.good {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := c.Get("s", row.key); ok != row.good {
			t.Errorf("%s: there %v", name, ok)
		}
		os.RemoveAll(c.Dir)
	}
}

// TestPutFails: what cannot be written in full leaves the file that was there.
func TestPutFails(t *testing.T) {
	const child = "MCPJAIL_TEST_FULL"
	if os.Getenv(child) == "" {
		// The limit is the whole process's, and go test has it write a file of its own:
		// where that falls into it, the process ends with status 2 and no failed test.
		cmd := exec.Command(os.Args[0], "-test.run=^TestPutFails$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestPutFails") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	c, _ := newCatalog(t)
	put(t, c, "s", aKey)
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	big := anEntry(start)
	big.Answers["x"] = Answer{Result: json.RawMessage(`{"x":"` + strings.Repeat("x", 1000) + `"}`), Stored: start}
	err := c.Put("s", aKey, big)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), `"s"`) {
		t.Errorf("no room: %v", err)
	}
	if e, ok := c.Get("s", aKey); !ok || len(e.Answers) != 1 {
		t.Errorf("what was there is gone: %+v", e)
	}
	if files, _ := os.ReadDir(c.Dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := (&Catalog{Dir: "/proc/no/catalog"}).Put("s", aKey, anEntry(start)); err == nil {
		t.Error("a place where nothing can be made: no error")
	}
}

func TestPrune(t *testing.T) {
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
	// What is used stays, what is not goes.
	for day := range 40 {
		*clock = start.Add(time.Duration(day) * 24 * time.Hour)
		there("s", 7)
	}
	foreign := []string{"README", "x.json", "s." + aKey[1:] + ".json", "s." + strings.ToUpper(aKey) + ".json", ".hidden", "s." + aKey + ".json.bak"}
	for _, name := range append(foreign, temporary+"old") {
		if err := os.WriteFile(filepath.Join(c.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(c.Dir, fileName("dir", aKey)), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if err := os.Chtimes(filepath.Join(c.Dir, name), start, start); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, "t", aKey)
	files, err := os.ReadDir(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
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
	// As a whole, and under a clock that was wrong.
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

// TestConcurrent: whoever reads while others write gets a whole file of one of them.
func TestConcurrent(t *testing.T) {
	c, _ := newCatalog(t)
	c.Now = nil // files get their times from the kernel until they are written
	text := func(w int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"x":"%s"}`, strings.Repeat(string(rune('a'+w)), 20000)))
	}
	write := func(c *Catalog, w int) {
		if err := c.Put("s", aKey, &Entry{Answers: map[string]Answer{"m": {Result: text(w), Stored: time.Now()}}}); err != nil {
			t.Error(err)
		}
	}
	write(c, 0)
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 3 {
		mine := c
		if w > 0 { // another program
			mine = &Catalog{Dir: c.Dir}
		}
		writers.Go(func() {
			for range 100 {
				write(mine, w)
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				e, ok := c.Get("s", aKey)
				if !ok {
					t.Error("not there")
					return
				}
				if got := string(e.Answers["m"].Result); strings.Count(got, got[6:7]) != 20000 {
					t.Errorf("a mixture: %.40s", got)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if files, _ := os.ReadDir(c.Dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func FuzzDecode(f *testing.F) {
	text, err := encode("s", aKey, anEntry(start))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"server":"s","key":"` + aKey + `","answers":{"m":{"error":"e30=","stored":"2026-08-01T12:00:00Z","ttl_ms":1}}}`))
	f.Add([]byte(`{"format":1,"server":"s","key":"` + aKey + `","answers":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decode("s", aKey, text)
		if err != nil {
			return
		}
		again, err := encode("s", aKey, e)
		if err != nil && !errors.Is(err, errTooLarge) && !strings.Contains(err.Error(), "year") {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err != nil {
			return
		}
		if back, err := decode("s", aKey, again); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%+v became %+v, %v", e, back, err)
		}
	})
}

func BenchmarkGet(b *testing.B) {
	c := &Catalog{Dir: filepath.Join(b.TempDir(), "catalog")}
	list := json.RawMessage(`{"tools":[` + strings.Repeat(`{"name":"x","inputSchema":{"type":"object"}},`, 500) + `{}]}`) // 22 kB
	if err := c.Put("s", aKey, &Entry{Answers: map[string]Answer{"tools/list": {Result: list, Stored: time.Now()}}}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := c.Get("s", aKey); !ok {
			b.Fatal("not there")
		}
	}
}
