//go:build unix

package answers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

var (
	aKey = strings.Repeat("0123456789abcdef", 4)
	at   = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	some = map[string]kept{
		"tools/list":      {Result: []byte("{ \"tools\" : [ {\"name\":\"<a>\\u00e9\"} ]\t}"), Stored: at, TTL: time.Second}, // not as an encoder would write it
		"server/discover": {Error: []byte(`{"code":-32601, "message":"x"}`), Stored: at},
	}
)

// TestFile: what is saved is loaded with its bytes, and what would not be loaded is not kept.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mcp-jail", "lists")
	testkit.Must(t, save(dir, aKey, some))
	got := load(dir, aKey)
	for name, k := range some {
		k.earlier = true
		if len(got) != len(some) || !reflect.DeepEqual(got[name], k) {
			t.Errorf("%s: %+v, want %+v", name, got[name], k)
		}
	}
	if load(dir, strings.Repeat("0", 64)) != nil {
		t.Error("another key is there")
	}
	for name, mode := range map[string]os.FileMode{dir + "/" + aKey + ".json": 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	large := []byte(`{"x":"` + strings.Repeat("x", maxFile*3/4) + `"}`)
	if save(dir, aKey, map[string]kept{"tools/list": {Result: large}}) == nil || len(load(dir, aKey)) != len(some) {
		t.Error("a file that is too large took the place of another")
	}
}

// TestBadFiles: a file that is not to be trusted counts as missing, and the next save replaces it if it is one
// of the user's.
func TestBadFiles(t *testing.T) {
	replace := func(old, new string) func(string) error {
		return func(file string) error {
			b, err := os.ReadFile(file)
			if !strings.Contains(string(b), old) {
				panic(string(b) + " has no " + old)
			}
			return errors.Join(err, os.WriteFile(file, []byte(strings.Replace(string(b), old, new, 1)), 0o600))
		}
	}
	moved := func(what func(string) string) func(string) error {
		return func(file string) error {
			return errors.Join(os.Rename(what(file), what(file)+"2"), os.Symlink(what(file)+"2", what(file)))
		}
	}
	itself := func(file string) string { return file }
	given := func(what func(string) string) func(string) error {
		return func(file string) error { return os.Chown(what(file), 12345, 0) }
	}
	for name, row := range map[string]struct {
		spoil    func(file string) error
		readable bool // the control
		stays    bool // save fails too
	}{
		"untouched":              {func(string) error { return nil }, true, false},
		"gone":                   {os.Remove, false, false},
		"empty":                  {func(f string) error { return os.Truncate(f, 0) }, false, false},
		"cut":                    {func(f string) error { return os.Truncate(f, 100) }, false, false},
		"another key":            {replace(aKey, strings.Repeat("0", 64)), false, false},
		"another method":         {replace(`"tools/list"`, `"tools/call"`), false, false},
		"an unknown member":      {replace(`"key"`, `"new":1,"key"`), false, false},
		"a result that is none":  {replace(`"result":"e`, `"result":"f`), false, false},
		"a result of two lines":  {replace(`"result":"`, `"result":"ewp9","x":"`), false, false},
		"a result that is a 1":   {replace(`"result":"`, `"result":"MQ==","x":"`), false, false},
		"neither":                {replace(`"error"`, `"x"`), false, false},
		"both":                   {replace(`"error"`, `"result":"e30=","error"`), false, false},
		"a year":                 {replace(`"ttl":1000000000`, `"ttl":31536000000000000`), false, false},
		"no time":                {replace(`"stored":"2026-08-01T12:00:00Z"`, `"stored":"then"`), false, false},
		"too large":              {func(f string) error { return os.Truncate(f, maxFile+1) }, false, false},
		"writable by all":        {func(f string) error { return os.Chmod(f, 0o602) }, false, true},
		"readable by all":        {func(f string) error { return os.Chmod(f, 0o644) }, true, false},
		"a link":                 {moved(itself), false, true},
		"a fifo":                 {func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) }, false, false},
		"a directory":            {func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, false, true},
		"a directory of all":     {func(f string) error { return os.Chmod(filepath.Dir(f), 0o1777) }, false, true},
		"a linked directory":     {moved(filepath.Dir), false, true},
		"another user's":         {given(itself), false, true},
		"another user's, around": {given(filepath.Dir), false, true},
	} {
		dir := filepath.Join(t.TempDir(), "lists")
		testkit.Must(t, save(dir, aKey, some))
		err := row.spoil(filepath.Join(dir, aKey+".json"))
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
			continue // only root can give files away, and to a user that its namespace knows
		}
		testkit.Must(t, err)
		if got := load(dir, aKey); (got != nil) != row.readable {
			t.Errorf("%s: read %v", name, got)
		}
		if err := save(dir, aKey, some); (err != nil) != row.stays || (load(dir, aKey) == nil) != row.stays {
			t.Errorf("%s: saved again: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}

// TestPrune: old files, and the oldest of too many, are removed.
func TestPrune(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lists")
	key := func(i int) string { return fmt.Sprintf("%064x", i) }
	testkit.Must(t, save(dir, key(0), some))
	plant := func(name string, age time.Duration, size int64) {
		file := filepath.Join(dir, name)
		when := time.Now().Add(-age)
		testkit.Must(t, errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size), os.Chtimes(file, when, when)))
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	for name, age := range map[string]time.Duration{"README": 2 * maxAge, "old.json": 2 * maxAge, "new.json": maxAge - time.Hour, "future.json": -24 * time.Hour} {
		plant(name, age, 0)
	}
	testkit.Must(t, save(dir, key(0), some))
	if !has("README") || has("old.json") || !has("new.json") || has("future.json") {
		t.Error("an old file stayed, or another went")
	}
	for i := range maxFiles + 10 {
		plant(key(1+i)+".json", time.Duration(i)*time.Minute, 0)
	}
	testkit.Must(t, save(dir, key(0), some))
	if !has(key(0)+".json") || !has(key(maxFiles-1)+".json") || has(key(maxFiles)+".json") || has("new.json") {
		t.Error("of too many, not the oldest went")
	}
	plant("large.json", time.Hour, maxTotal-maxFile-1)
	plant("larger.json", 2*time.Hour, 2)
	testkit.Must(t, save(dir, key(0), some))
	if !has("large.json") || has("larger.json") {
		t.Error("of what is too much, not the oldest went")
	}
}

// TestKey: each thing that an answer is known to depend on changes the file's name.
func TestKey(t *testing.T) {
	base := func() (*Options, *policy.Profile) {
		p := &policy.Profile{
			Server: "s", Argv: []string{"p", "a"}, Entries: []policy.Entry{{Path: "/d", Rights: policy.Read}},
			Env: []policy.Variable{{Name: "TOKEN", Value: "t", Secret: true}},
		}
		return &Options{Dir: "/lists", Version: "1", Profile: func() *policy.Profile { return p }}, p
	}
	client := infoOf(`{"capabilities":{"roots":{}}}`)
	o, _ := base()
	first := o.keyFor(client)
	for name, row := range map[string]struct {
		edit func(*Options, *policy.Profile)
		info *ClientInfo
		same bool
	}{
		"nothing":    {func(*Options, *policy.Profile) {}, client, true},
		"version":    {func(o *Options, _ *policy.Profile) { o.Version = "2" }, client, false},
		"server":     {func(_ *Options, p *policy.Profile) { p.Server = "t" }, client, false},
		"argument":   {func(_ *Options, p *policy.Profile) { p.Argv[1] = "b" }, client, false},
		"rights":     {func(_ *Options, p *policy.Profile) { p.Entries[0].Rights = policy.AllRights }, client, false},
		"secret":     {func(_ *Options, p *policy.Profile) { p.Env[0].Value = "u" }, client, true}, // nobody can test a guess of it
		"capability": {func(*Options, *policy.Profile) {}, infoOf(`{"capabilities":{}}`), false},
		"no file":    {func(o *Options, _ *policy.Profile) { o.Dir = "" }, client, false},
	} {
		o, p := base()
		row.edit(o, p)
		if got := o.keyFor(row.info); (got == first) != row.same || (got == "") != (o.Dir == "") {
			t.Errorf("%s: %q, the first was %q", name, got, first)
		}
	}
}

// TestClientInfos: workers are for what the client has said last in their era, and the same words
// are the same client.
func TestClientInfos(t *testing.T) {
	t.Parallel()
	var i KnownClient
	if era, info := i.Current(); era != mcpproxy.Legacy || info != nil || i.Latest() != nil {
		t.Error("a client is known that has said nothing")
	}
	record := func(line string) *ClientInfo {
		f := mcpproxy.Parse([]byte(line))
		if e := &f.Messages[0]; string(e.Method) == "initialize" {
			return i.RecordInitialize(f, e)
		}
		return i.RecordModern(f, &f.Messages[0])
	}
	modern := record(sessiontest.Modern("1", "tools/list", ""))
	if era, info := i.Current(); era != mcpproxy.Modern || info != modern {
		t.Error("a request without a description is not that of the modern client")
	}
	legacy := record(sessiontest.ClientHello)
	if era, info := i.Current(); era != mcpproxy.Legacy || info != legacy || i.For(mcpproxy.Modern) != modern || i.Latest() != legacy {
		t.Error("the two eras are not kept apart")
	}
	for _, same := range []struct {
		line string
		want *ClientInfo
	}{
		{sessiontest.Modern("2", "prompts/list", ""), modern},
		{sessiontest.ClientHello, legacy},
		{sessiontest.Modern("3", "tools/list", ""), modern},
		{strings.Replace(sessiontest.ClientHello, `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1), legacy},
	} {
		if got := record(same.line); got != same.want || i.Latest() != same.want {
			t.Errorf("the same words are another client, or it is not the latest: %s", same.line)
		}
	}
	if other := record(sessiontest.ModernBy("other", "3", "tools/list", "")); other == modern || other.Matches(modern) || other.Matches(legacy) || i.Latest() != other {
		t.Error("other words are the same client")
	}
	for _, row := range []struct {
		a, b *ClientInfo
		want bool
	}{
		{nil, nil, true},
		{nil, legacy, false},
		{legacy, nil, false},
		{legacy, &ClientInfo{era: legacy.era, key: legacy.key}, true},
		{legacy, &ClientInfo{era: mcpproxy.Modern, key: legacy.key}, false},
		{modern, &ClientInfo{era: mcpproxy.Legacy, key: modern.key}, false},
		{legacy, &ClientInfo{era: legacy.era, key: []byte("{}")}, false},
	} {
		if row.a.Matches(row.b) != row.want {
			t.Errorf("%+v is the same client as %+v: want %t", row.a, row.b, row.want)
		}
	}
}
