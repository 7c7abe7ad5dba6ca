package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

var aKey = strings.Repeat("0123456789abcdef", 4)

func TestKey(t *testing.T) {
	base := func() Facts {
		return Facts{
			Version: "1", Fingerprint: "f", Era: "legacy", Client: []byte(`{"capabilities":{"roots":{},"sampling":{}},"protocolVersion":"x"}`),
			Profile: &policy.Profile{
				Server: "s", Program: "/p", Argv: []string{"p", "a"}, Dir: "/d", Workspace: "/d", Withheld: []string{"A"},
				Entries: []policy.Entry{{Path: "/d", Rights: policy.Read, ID: policy.FileID{Ino: 1}}},
				Env:     []policy.Variable{{Name: "E", Value: "1"}, {Name: "TOKEN", Value: "t", Secret: true}},
			},
		}
	}
	first := Key(base())
	if !isKey(first) || Key(base()) != first {
		t.Fatalf("%q, then %q", first, Key(base()))
	}
	for name, row := range map[string]struct {
		edit func(*Facts)
		same bool
	}{
		"version":     {func(f *Facts) { f.Version = "2" }, false},
		"fingerprint": {func(f *Facts) { f.Fingerprint = "g" }, false},
		"era":         {func(f *Facts) { f.Era = "modern" }, false},
		"moved over":  {func(f *Facts) { f.Fingerprint, f.Era = "fl", "egacy" }, false},
		"server":      {func(f *Facts) { f.Profile.Server = "t" }, false},
		"program":     {func(f *Facts) { f.Profile.Program = "/q" }, false},
		"argument":    {func(f *Facts) { f.Profile.Argv[1] = "b" }, false},
		"directory":   {func(f *Facts) { f.Profile.Dir = "/e" }, false},
		"rights":      {func(f *Facts) { f.Profile.Entries[0].Rights = policy.AllRights }, false},
		"identity":    {func(f *Facts) { f.Profile.Entries[0].ID.Ino = 2 }, false},
		"network":     {func(f *Facts) { f.Profile.Net = []policy.NetRule{{Host: "x", Allow: true}} }, false},
		"limits":      {func(f *Facts) { f.Profile.Limits.MemoryMB = 1 }, false},
		"waived":      {func(f *Facts) { f.Profile.Waive = []policy.Axis{policy.AxisNet} }, false},
		"roots":       {func(f *Facts) { f.Profile.Roots = "narrow" }, false},
		"variable":    {func(f *Facts) { f.Profile.Env[0].Value = "2" }, false},
		"secret":      {func(f *Facts) { f.Profile.Env[1].Value = "u" }, false},
		"withheld":    {func(f *Facts) { f.Profile.Withheld = nil }, true},
		"capability":  {func(f *Facts) { f.Client = []byte(`{"capabilities":{"roots":{}},"protocolVersion":"x"}`) }, false},
		"order": {func(f *Facts) {
			f.Client = []byte(` {"protocolVersion":"x","capabilities":{"sampling":{},"roots":{}}}`)
		}, true},
		"twice": {func(f *Facts) {
			f.Client = []byte(`{"capabilities":{"roots":{},"sampling":{}},"protocolVersion":"x","protocolVersion":"x"}`)
		}, false},
		"no JSON":   {func(f *Facts) { f.Client = []byte(`{`) }, false},
		"no client": {func(f *Facts) { f.Client = nil }, false},
	} {
		f := base()
		row.edit(&f)
		if got := Key(f); (got == first) != row.same {
			t.Errorf("%s: the same %v, want %v", name, got == first, row.same)
		}
	}
	f := base()
	Key(f)
	if len(f.Profile.Withheld) != 1 {
		t.Error("the caller's profile was changed")
	}
}

// A key has to be the same in two sessions, or nothing is ever found.
func TestKeyOfARealProfile(t *testing.T) {
	s := newSite(t, "bin/server !")
	f := Facts{Profile: s.profile("server")}
	if a, b := Key(f), Key(Facts{Profile: s.profile("server")}); a != b {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestRequest(t *testing.T) {
	for _, row := range []struct{ method, params, want string }{
		{"tools/list", ``, "tools/list"}, {"tools/list", ` {} `, "tools/list"}, {"tools/list", `{"_meta":{"progressToken":1}}`, "tools/list"},
		{"tools/list", `{"cursor":"c"}`, `tools/list {"cursor":"c"}`}, {"tools/list", `{ "_meta":{}, "cursor": "\u0063" }`, `tools/list {"cursor":"c"}`},
		{"tools/list", `{"b":1.0,"a":[1, {"d":null,"c":true}]}`, `tools/list {"a":[1,{"c":true,"d":null}],"b":1.0}`},
		{"tools/list", `{"id":9007199254740993}`, `tools/list {"id":9007199254740993}`}, {"tools/list", `{"Cursor":"c"}`, `tools/list {"Cursor":"c"}`},
		{"", ``, ""}, {"a\xff", ``, ""}, {"m", `null`, ""}, {"m", `[]`, ""}, {"m", `{`, ""}, {"m", `{}x`, ""}, {"m", `{"a":1,"a":1}`, ""}, {"m", `{"a":{"b":1,"b":2}}`, ""},
		{"m", `{"a":"` + "\xff" + `"}`, ""}, {"m", `{"a":"\ud800"}`, ""}, {"m", `{"requestState":"x"}`, ""}, {"m", `{"inputResponses":{}}`, ""},
		{"m", `{"a":"` + strings.Repeat("x", maxParams) + `"}`, ""}, {"m", strings.Repeat(`{"a":`, 20000), ""},
	} {
		got, ok := Request(row.method, []byte(row.params))
		if ok != (row.want != "") || ok && got != row.want {
			t.Errorf("%s %.80s: %q, %v, want %q", row.method, row.params, got, ok, row.want)
		}
	}
}

func TestTTL(t *testing.T) {
	for _, row := range []struct {
		result     string
		d          time.Duration
		has, store bool
	}{
		{`{}`, 0, false, true}, {`{"tools":[]}`, 0, false, true},
		{`{"resultType":"complete","ttlMs":1500,"cacheScope":"private"}`, 1500 * time.Millisecond, true, true},
		{`{"ttlMs":60000}`, time.Minute, true, true}, {`{"ttlMs":1e3,"cacheScope":"public"}`, time.Second, true, true}, {`{"ttlMs":1.9,"cacheScope":"new"}`, time.Millisecond, true, true},
		{`{"ttlMs":99999999999999999999}`, MaxTTL, true, true}, {`{"ttlMs":1e999}`, MaxTTL, true, true}, {`{"ttlMs":31536000000}`, MaxTTL, true, true},
		{`{"ttlMs":0}`, 0, true, false}, {`{"ttlMs":-0}`, 0, true, false}, {`{"ttlMs":-5}`, 0, true, false}, {`{"ttlMs":-1e999}`, 0, true, false}, {`{"ttlMs":0.5}`, 0, true, false}, {`{"ttlMs":1e-999}`, 0, true, false},
		{`{"ttlMs":"1000"}`, 0, true, false}, {`{"ttlMs":null}`, 0, true, false}, {`{"ttlMs":true}`, 0, true, false}, {`{"ttlMs":{}}`, 0, true, false},
		{`{"resultType":"complete"}`, 0, false, false}, {`{"resultType":"input_required","ttlMs":1000}`, 0, false, false}, {`{"resultType":1,"ttlMs":1000}`, 0, false, false},
		{`{"ttlMs":1000,"ttlMs":0}`, 0, false, false}, {`{"ttlMs":1000,"TTLMS":0}`, 0, false, false}, {`{"ResultType":"task","ttlMs":1000}`, 0, false, false},
		{`{"tools":[{"ttlMs":5}]}`, 0, false, true}, {``, 0, false, false}, {`[]`, 0, false, false}, {`{"ttlMs":1000`, 0, false, false},
	} {
		d, has, store := TTL([]byte(row.result))
		if d != row.d || has != row.has || store != row.store {
			t.Errorf("%s: %v, %v, %v", row.result, d, has, store)
		}
	}
}

func TestKeepError(t *testing.T) {
	kept := []string{`{"code":-32601,"message":"x"}`, `{"message":"x","code":-32601}`}
	for _, e := range append(kept, `{"code":-32603}`, `{"code":-32602}`, `{"code":"-32601"}`, `{}`, ``, `{"code":-32601,"code":-32603}`) {
		if KeepError([]byte(e)) != slices.Contains(kept, e) {
			t.Errorf("%s: %v", e, KeepError([]byte(e)))
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("x", 500)
	for _, server := range []string{"", "a", "A", "a.b", "a%2Eb", "a/b", "..", "~", "a\x00", "\xff", "\xfe", long, long + "y", strings.Repeat("/", 200), strings.Repeat("/", 201)} {
		name := encodeName(server)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", server, other, name)
		}
		seen[name] = server
		if back, ok := splitName(fileName(server, aKey)); !ok || back != name || strings.ContainsAny(name, "./\x00") || len(name) > maxName {
			t.Errorf("%q: %s, %v", server, back, ok)
		}
	}
	for _, name := range []string{"", ".json", "s.json", aKey, "s." + aKey, "s." + aKey + ".json2", "s." + strings.ToUpper(aKey) + ".json", "s.x." + aKey + ".json", temporary + aKey} {
		if _, ok := splitName(name); ok {
			t.Errorf("%s is taken for ours", name)
		}
	}
}
