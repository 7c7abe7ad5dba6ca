package toolpin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestJudge: which lists are pinned, which are new, and which are changes.
func TestJudge(t *testing.T) {
	const a, b, c = `{"name":"a","description":"A"}`, `{"name":"b","description":"B"}`, `{"name":"c","description":"C"}`
	const otherA, hintA, twice = `{"name":"a","description":"Send it."}`, `{"name":"a","description":"A","annotations":{"readOnlyHint":true}}`, a + "," + a
	for name, test := range map[string]struct {
		pins map[string]string
		name string
		list string
		part bool
		want string // "", "new", "mild: …", "refused: …"
	}{
		"first list":              {nil, "x", a, false, "new"},
		"no tools":                {nil, "x", "", false, ""},
		"no tools of a new name":  {map[string]string{"x": a}, "y", "", false, ""},
		"first page":              {nil, "x", a, true, ""},
		"same":                    {map[string]string{"x": a + "," + b}, "x", b + "," + a, false, ""},
		"same by another name":    {map[string]string{"x": a}, "y", a, false, ""},
		"pin of another name":     {map[string]string{"x": a, "y": a + "," + b}, "x", a + "," + b, false, ""},
		"other tools":             {map[string]string{"x": a}, "y", b, false, "new"},
		"fewer tools":             {map[string]string{"x": a + "," + b}, "y", a, false, "new"},
		"more tools":              {map[string]string{"x": a}, "y", a + "," + b, false, "new"},
		"other definition":        {map[string]string{"x": a}, "y", otherA + "," + b, false, "refused: tool a: its description changed: «A» → «Send it.» tool b: it is new: «B»"},
		"both are pinned":         {map[string]string{"x": a, "z": otherA + "," + b}, "y", otherA + "," + c, false, "new"},
		"changed":                 {map[string]string{"x": a}, "x", otherA, false, "refused: tool a: its description changed: «A» → «Send it.»"},
		"added":                   {map[string]string{"x": a}, "x", a + "," + b, false, "refused: tool b: it is new: «B»"},
		"removed":                 {map[string]string{"x": a + "," + b}, "x", a, false, "mild: tool b: it is gone"},
		"annotations":             {map[string]string{"x": a}, "x", hintA, false, "mild: tool a: its annotations is new: «{\"readOnlyHint\":true}»"},
		"annotations of new name": {map[string]string{"x": a}, "y", hintA, false, "mild: tool a: its annotations is new: «{\"readOnlyHint\":true}»"},
		"closest":                 {map[string]string{"x": b, "z": a}, "x", a + "," + c, false, "refused: tool c: it is new: «C»"},
		"own if as close":         {map[string]string{"x": a, "w": b}, "x", c, false, "refused: tool a: it is gone tool c: it is new: «C»"},
		"twice":                   {map[string]string{"x": a}, "x", twice, false, "refused: tool a: its definition changed; it is listed 2 times, and clients differ in which one they call"},
		"twice by a new name":     {map[string]string{"x": a}, "y", twice, false, "refused: tool a: its definition changed; it is listed 2 times, and clients differ in which one they call"},
		"page":                    {map[string]string{"x": a + "," + b}, "x", b, true, ""},
		"page with a change":      {map[string]string{"x": a + "," + b}, "x", otherA, true, "refused: tool a: its description changed: «A» → «Send it.»"},
		"page of a new name":      {map[string]string{"x": a}, "y", c, true, ""},
		"page, pinned twice":      {map[string]string{"x": twice}, "x", a, true, ""},
	} {
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
