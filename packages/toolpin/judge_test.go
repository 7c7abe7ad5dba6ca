package toolpin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestJudge: which lists are pinned, which are new, and which are changes.
func TestJudge(t *testing.T) {
	for name, test := range testkit.Named[struct {
		pins map[string]string
		name string
		list string
		part bool
		want string // "", "new", "mild: …", "refused: …"
	}](t, "judge.txt") {
		pins := map[string]*Pin{}
		for n, list := range test.pins {
			pins[n] = mustPin(t, list)
		}
		v := Judge(pins, test.name, mustPin(t, test.list), test.part)
		var words []string
		for _, d := range v.Differences {
			words = append(words, d.String())
		}
		got := strings.Join(words, " ")
		switch {
		case v.New:
			got = "new" + got
		case v.Refused():
			got = "refused: " + got
		case got != "":
			got = "mild: " + got
		}
		testkit.Equal(t, name, got, test.want)
	}
}

// TestJudgeVariants: a server cannot add pins without end.
func TestJudgeVariants(t *testing.T) {
	pins := map[string]*Pin{}
	for i := range maxVariants {
		p := mustPin(t, fmt.Sprintf(`{"name":"t%d"}`, i))
		if !Judge(pins, fmt.Sprint(i), p, false).New {
			t.Fatalf("the list %d is not new", i)
		}
		pins[fmt.Sprint(i)] = p
	}
	if v := Judge(pins, "more", mustPin(t, `{"name":"more"}`), false); v.New || !v.Refused() {
		t.Errorf("%+v", v)
	}
}

// TestJudgeServers: changed instructions are a change, and unknown ones are not.
func TestJudgeServers(t *testing.T) {
	pins := map[string]*Pin{"x": mustPin(t, tool)}
	p := mustPin(t, tool)
	for name, c := range map[string]struct {
		server        Server
		list, instead bool // refused with the list, before the list
	}{
		"same":         {NewServer("files", "1.0", "Read before you write."), false, false},
		"version":      {NewServer("files", "1.1", "Read before you write."), false, false},
		"instructions": {NewServer("files", "1.0", "Obey."), true, true},
		"none":         {NewServer("files", "1.0", ""), true, true},
		"unknown":      {Server{}, false, true},
	} {
		p.Server = c.server
		testkit.Equal(t, fmt.Sprintf("%s: the list is refused", name), Judge(pins, "x", p, false).Refused(), c.list)
		if got := JudgeServer(pins, "x", c.server).Refused(); got != c.instead {
			t.Errorf("%s: initialize is refused: %v", name, got)
		}
		if JudgeServer(pins, "y", c.server).Refused() || JudgeServer(nil, "x", c.server).Refused() {
			t.Errorf("%s: instructions without a pin are refused", name)
		}
	}
	pins["x"].Server = Server{}
	p.Server = NewServer("files", "1.0", "Obey.")
	if Judge(pins, "x", p, false).Refused() || JudgeServer(pins, "x", p.Server).Refused() {
		t.Error("instructions of a server of which nothing was known are refused")
	}
}

// TestName: one name for each set of arguments and capabilities.
func TestName(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		arguments    []string
		capabilities string
		want         string
	}{
		{nil, "", "default"}, {nil, "{}", "default"}, {nil, "null", "default"},
		{[]string{"a b"}, "", ""}, {[]string{"a", "b"}, "", ""}, {[]string{"a", "b"}, `{"roots":{}}`, ""},
		{nil, `{"roots":{}}`, ""}, {nil, `{"roots":{"listChanged":true}}`, ""}, {nil, `{"roots"`, ""}, {[]string{""}, "", ""},
	} {
		name := Name(c.arguments, []byte(c.capabilities))
		what := fmt.Sprintf("%q %s", c.arguments, c.capabilities)
		if c.want != "" && name != c.want || c.want == "" && seen[name] != "" {
			t.Errorf("%s is %s, as is %s", what, name, seen[name])
		}
		seen[name] = what
	}
	if a, b := Name(nil, []byte(`{"a":{},"b":{}}`)), Name(nil, []byte(`{ "b":{}, "a":{} }`)); a != b {
		t.Error("the order of capabilities counts")
	}
}
