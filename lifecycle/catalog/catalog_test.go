//go:build unix

package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var (
	start  = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	result = json.RawMessage("{ \"tools\" : [ {\"name\":\"<a>\\u00e9\"} ]\t}") // not as an encoder would write it
)

func anEntry(stored time.Time) *Entry {
	return &Entry{Answers: map[string]Answer{"tools/list": {Result: result, Stored: stored}}}
}

// newCatalog returns a catalog whose directory does not exist, with a clock of its own.
func newCatalog(t *testing.T) (c *Catalog, clock *time.Time) {
	now := start
	return &Catalog{Dir: filepath.Join(t.TempDir(), "mcp-jail", "catalog"), Now: func() time.Time { return now }}, &now
}

func put(t *testing.T, c *Catalog, server, key string) string {
	t.Helper()
	testkit.Must(t, c.Put(server, key, anEntry(c.now())))
	return filepath.Join(c.Dir, fileName(server, key))
}

// TestRoundTrip: Get returns what Put has kept.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
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
		t.Error("a nil catalog keeps something")
	}
}

// TestPutRefuses: Put refuses what Get would not return.
func TestPutRefuses(t *testing.T) {
	t.Parallel()
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
