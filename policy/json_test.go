package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand"
	"testing"
	"testing/quick"
	"time"
)

// profileJSON is the form of a profile that plan prints, for encoding/json. The names
// are stable.
type profileJSON struct {
	Server      string         `json:"server"`
	Tool        string         `json:"tool,omitempty"`
	Program     string         `json:"program"`
	Argv        []string       `json:"argv"`
	Dir         string         `json:"dir"`
	Workspace   string         `json:"workspace,omitempty"`
	Home        string         `json:"home"`
	HomePrivate bool           `json:"home_private"`
	Default     bool           `json:"default_policy"`
	Entries     []entryJSON    `json:"fs"`
	Links       []linkJSON     `json:"links"`
	Unprotected []string       `json:"unprotected_names"`
	Programs    []string       `json:"programs"` // null: any
	Loaders     []string       `json:"loaders,omitempty"`
	CommandArgs []string       `json:"command_args,omitempty"`
	Net         []netJSON      `json:"net"`
	Inbound     []int          `json:"inbound,omitempty"`
	Secrets     []secretJSON   `json:"secrets,omitempty"`
	Env         []variableJSON `json:"env"`
	Withheld    []string       `json:"withheld"`
	Limits      limitsJSON     `json:"limits"`
	Waive       []Axis         `json:"waive"`
	Startup     float64        `json:"startup_timeout_secs"`
	Call        float64        `json:"call_timeout_secs"`
	Roots       string         `json:"roots"`
	Advertise   bool           `json:"advertise"`
}

type entryJSON struct {
	Path   string   `json:"path"`
	Kind   string   `json:"kind"`
	Rights []string `json:"rights"`
	Origin string   `json:"origin"`
	Named  string   `json:"named,omitempty"`
	Rule   string   `json:"rule"`
	Make   bool     `json:"make,omitempty"`
	// Ephemeral: a copy, thrown away at the end.
	Ephemeral bool `json:"ephemeral,omitempty"`
}

type linkJSON struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

type netJSON struct {
	Host       string `json:"host"`
	Scheme     string `json:"scheme,omitempty"`
	Ports      []int  `json:"ports,omitempty"` // none: every one
	PathPrefix string `json:"path_prefix,omitempty"`

	Methods []string `json:"methods,omitempty"`
	Secrets []string `json:"secrets,omitempty"` // names of variables

	Allow bool   `json:"allow"`
	Rule  string `json:"rule"`
}

type secretJSON struct {
	Env     string   `json:"env"`
	File    string   `json:"file,omitempty"`
	Command []string `json:"command,omitempty"`
	Rule    string   `json:"rule"`
}

type variableJSON struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	Rule   string `json:"rule"`
}

// reference is what MarshalJSON prints.
func reference(p *Profile) profileJSON {
	out := profileJSON{
		Server: p.Server, Tool: p.Tool, Program: p.Program, Argv: list(p.Argv), Dir: p.Dir, Workspace: p.Workspace,
		Home: p.Home, HomePrivate: p.HomePrivate, Default: p.Default,
		Entries: []entryJSON{}, Links: []linkJSON{}, Net: []netJSON{}, Env: []variableJSON{},
		Unprotected: list(p.Unprotected), Programs: p.Programs, Loaders: p.Loaders, CommandArgs: p.CommandArgs, Withheld: list(p.Withheld),
		Inbound: p.Inbound, Limits: limitsJSON(p.Limits), Waive: list(p.Waive),
		Startup: p.Startup.Seconds(), Call: p.Call.Seconds(), Roots: p.Roots, Advertise: p.Advertise,
	}
	for _, e := range p.Entries {
		j := entryJSON{Path: e.Path, Kind: e.Kind.String(), Rights: rightList(e.Rights), Origin: e.Origin.String(), Rule: e.Rule, Make: e.Make, Ephemeral: e.Ephemeral}
		if e.Named != e.Path {
			j.Named = e.Named
		}
		out.Entries = append(out.Entries, j)
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, linkJSON(l))
	}
	for _, r := range p.Net {
		ports := r.Ports()
		if !r.Allow && r.Port == 0 {
			ports = nil
		}
		out.Net = append(out.Net, netJSON{r.Host, r.Scheme, ports, r.PathPrefix, r.Methods, r.SecretNames(), r.Allow, r.Where})
	}
	for _, s := range p.Secrets {
		out.Secrets = append(out.Secrets, secretJSON{s.Env, s.File, s.Command, s.Where})
	}
	for _, v := range p.Env {
		j := variableJSON{v.Name, v.Value, v.Secret, v.Rule}
		if v.Secret {
			j.Value = ""
		}
		out.Env = append(out.Env, j)
	}
	return out
}

// withText has texts that JSON escapes where texts may stand.
func withText(g *rand.Rand, p *Profile) {
	texts := []string{"", "/a", `path = "src"`, `back\slash`, "a<b>&c", "line\nbreak\t\x00\x1f\x7f", "\u00e4\u2028\u2029\U0001f600", "not \xff UTF-8", "{", "[", ":", ","}
	text := func() string { return texts[g.Intn(len(texts))] + texts[g.Intn(len(texts))] }
	list := func() []string {
		return [][]string{nil, {}, {text()}, {text(), text()}}[g.Intn(4)]
	}
	p.Server, p.Tool, p.Program, p.Argv, p.Dir, p.Workspace, p.Home = text(), text(), text(), list(), text(), text(), text()
	p.Unprotected, p.Programs, p.CommandArgs, p.Withheld, p.Roots = list(), list(), list(), list(), text()
	p.HomePrivate, p.Default, p.Advertise = g.Intn(2) == 0, g.Intn(2) == 0, g.Intn(2) == 0
	p.Inbound = [][]int{nil, {}, {1}, {80, 65535}}[g.Intn(4)]
	p.Waive = [][]Axis{nil, {}, {AxisNet, AxisFs}}[g.Intn(3)]
	p.Startup = []time.Duration{0, time.Second, 90 * time.Minute, time.Millisecond, 1, 1<<63 - 1, -1500 * time.Millisecond}[g.Intn(7)]
	p.Call = time.Duration(g.Int63())
	p.Limits = Limits{g.Intn(3), g.Intn(3), -g.Intn(3), g.Intn(3), g.Intn(3), g.Intn(2), g.Intn(2)}
	for range g.Intn(4) {
		e := Entry{Path: text(), Kind: Kind(g.Intn(5)), Rights: Rights(g.Intn(32)), Origin: Origin(g.Intn(7)), Named: text(), Rule: text(), Make: g.Intn(2) == 0, Ephemeral: g.Intn(2) == 0}
		e.ID = FileID{g.Uint64(), g.Uint64(), g.Int63() - g.Int63()}
		secrets := []Secret{{Env: text(), File: text(), Command: list(), Where: text()}}[g.Intn(2):]
		p.Entries, p.Links = append(p.Entries, e), append(p.Links, Link{text(), text()})
		p.Net = append(p.Net, NetRule{Host: text(), Scheme: []string{"", "http", "https"}[g.Intn(3)], Port: g.Intn(3), PathPrefix: text(), Methods: list(), Secrets: secrets, Allow: g.Intn(2) == 0, Where: text()})
		p.Secrets = append(p.Secrets, secrets...)
		p.Env = append(p.Env, Variable{text(), text(), g.Intn(2) == 0, text()})
	}
	p.Loaders = list()
}

// What is written by hand is what encoding/json writes of the same.
func TestJSON(t *testing.T) {
	g := rand.New(rand.NewSource(1))
	for range 3000 {
		p := &Profile{}
		withText(g, p)
		want, err := json.Marshal(reference(p))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.MarshalJSON(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got, want)
		}
		ids := make([]FileID, len(p.Entries))
		for i, e := range p.Entries {
			ids[i] = e.ID
		}
		text, err := json.Marshal(struct {
			P   profileJSON
			IDs []FileID
		}{reference(p), ids})
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); p.Key() != hex.EncodeToString(sum[:]) {
			t.Fatalf("another key of %s", text)
		}
		checkStatement(t, p)
	}
}

func checkStatement(t *testing.T, p *Profile) {
	t.Helper()
	s := p.statement()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	if got := p.Statement(); string(got)+"\n" != b.String() {
		t.Fatalf("got  %s\nwant %s", got, b.Bytes())
	}
}

func TestJSONText(t *testing.T) {
	same := func(s string) bool {
		var unsafe bytes.Buffer
		e := json.NewEncoder(&unsafe)
		e.SetEscapeHTML(false)
		safe, err := json.Marshal(s)
		if err != nil || e.Encode(s) != nil {
			return false
		}
		html, plain := jsonText{html: true}, jsonText{}
		html.text(s)
		plain.text(s)
		return string(html.b) == string(safe) && string(plain.b)+"\n" == unsafe.String()
	}
	for c := range 256 {
		if s := "a" + string([]byte{byte(c)}) + "b"; !same(s) {
			t.Errorf("%q", s)
		}
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// Keys name what is on users' disks: one of a version before this form was written
// by hand.
func TestKeyStays(t *testing.T) {
	p := &Profile{}
	withText(rand.New(rand.NewSource(7)), p)
	p.Loaders = nil // which those versions did not have
	const want = "5f74311516be888497494775cddda243311cb1385a13bf2feae1334f12b6d644"
	if got := p.Key(); got != want {
		t.Errorf("%s", got)
	}
	if p.Entries[0].ID.Birth++; p.Key() == want {
		t.Error("control: another file has the same key")
	}
}
