package policy

import (
	"math/rand"
	"reflect"
	"testing"
	"time"
)

// withText fills every text of a profile, partly with characters that JSON escapes.
func withText(g *rand.Rand, p *Profile) {
	texts := []string{"", "/a", `path = "src"`, `back\slash`, "a<b>&c", "line\nbreak\t\x00\x1f\x7f", "\u00e4\u2028\u2029\U0001f600", "not \xff UTF-8", "{", "[", ":", ","}
	text := func() string { return texts[g.Intn(len(texts))] + texts[g.Intn(len(texts))] }
	list := func() []string {
		return [][]string{nil, {}, {text()}, {text(), text()}}[g.Intn(4)]
	}
	p.Server, p.Tool, p.Program, p.Argv, p.Dir, p.Workspace, p.Home = text(), text(), text(), list(), text(), text(), text()
	p.Unprotected, p.Programs, p.CommandArgs, p.Withheld, p.Roots = list(), list(), list(), list(), text()
	p.HomePrivate, p.Default = g.Intn(2) == 0, g.Intn(2) == 0
	p.Inbound = [][]int{nil, {}, {1}, {80, 65535}}[g.Intn(4)]
	p.Waive = [][]Axis{nil, {}, {AxisNet, AxisFs}}[g.Intn(3)]
	p.Startup = []time.Duration{0, time.Second, 90 * time.Minute, time.Millisecond, 1, 1<<63 - 1, -1500 * time.Millisecond}[g.Intn(7)]
	p.Call = time.Duration(g.Int63())
	p.Limits = Limits{g.Intn(3), g.Intn(3), -g.Intn(3), g.Intn(3), g.Intn(3)}
	for range g.Intn(4) {
		e := Entry{Path: text(), Kind: Kind(g.Intn(5)), Rights: Rights(g.Intn(32)), Origin: Origin(g.Intn(7)), Named: text(), Rule: text(), Make: g.Intn(2) == 0, Ephemeral: g.Intn(2) == 0}
		e.ID = FileID{g.Uint64(), g.Uint64(), g.Int63() - g.Int63()}
		secrets := []Secret{{Env: text(), File: text(), Command: list(), Where: text()}}[g.Intn(2):]
		p.Entries, p.Links = append(p.Entries, e), append(p.Links, Link{text(), text()})
		p.Net = append(p.Net, NetRule{Host: text(), Scheme: []string{"", "http", "https"}[g.Intn(3)], Port: g.Intn(3), PathPrefix: text(), Methods: list(), Secrets: secrets, Allow: g.Intn(2) == 0, Where: text()})
		p.Secrets = append(p.Secrets, secrets...)
		p.Env = append(p.Env, Variable{text(), text(), g.Intn(2) == 0, text()})
	}
	p.Loaders, p.GitDirs, p.HiddenLater, p.ListOnly = list(), list(), list(), list()
	p.OptionalInbound = [][]int{nil, {80}}[g.Intn(2)]
}

// TestKeyCoversProfile tests that each field of a profile that decides about a jail changes the
// profile's key.
func TestKeyCoversProfile(t *testing.T) {
	apart := map[string]string{
		"Parts":       "where to look for a change of the program; the catalogue digests them itself",
		"LinksAstray": "follows from the disk: which opens are recorded, not which are allowed",
		"Reach":       "what others may write, which is part of no output",
	}
	empty := (&Profile{}).Key()
	fields := reflect.TypeFor[Profile]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		p := &Profile{}
		v := reflect.ValueOf(p).Elem().Field(i)
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int64:
			v.SetInt(int64(time.Second))
		case reflect.Struct:
			if first := v.Field(0); first.Kind() == reflect.String {
				first.SetString("x")
			} else {
				first.SetInt(1)
			}
		}
		if changed := p.Key() != empty; changed == (apart[f.Name] != "") {
			t.Errorf("the field %s changes the key: %t", f.Name, changed)
		}
	}
}
