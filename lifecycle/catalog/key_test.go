package catalog

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

var aKey = strings.Repeat("0123456789abcdef", 4)

// TestKey: each fact changes the key.
func TestKey(t *testing.T) {
	t.Parallel()
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

// TestKeyOfARealProfile: two sessions get the same key.
func TestKeyOfARealProfile(t *testing.T) {
	t.Parallel()
	s := newSite(t, "bin/server !")
	f := Facts{Profile: s.profile("server")}
	if a, b := Key(f), Key(Facts{Profile: s.profile("server")}); a != b {
		t.Errorf("%s, then %s", a, b)
	}
}

// TestRequest: the names of requests, and those that have none.
func TestRequest(t *testing.T) {
	t.Parallel()
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
