package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// changesOf returns what a project's file changes of the server "s".
func changesOf(t *testing.T, users, project string) ServerChange {
	t.Helper()
	o, _ := layersIn(t)
	testkit.WriteFile(t, o.User, users)
	o.Project = []byte("version = 1\n")
	before, err := Load(o)
	testkit.Must(t, err)
	o.Project = []byte(project)
	after, err := Load(o)
	if err != nil {
		t.Fatalf("%v\n%s", err, project)
	}
	for _, c := range []*Config{before, after} {
		for _, name := range c.ServerNames() {
			c.LayBelow(name, &Server{})
		}
	}
	all, err := Changes(before, after)
	if err != nil {
		t.Fatalf("%v\n%s", err, project)
	}
	at := slices.IndexFunc(all, func(s ServerChange) bool { return s.Server == "s" })
	if at < 0 {
		return ServerChange{}
	}
	return all[at]
}

// TestChangesOfRules checks what a file of rules alone takes away.
func TestChangesOfRules(t *testing.T) {
	users := `
[defaults]
pin_tools = "enforce"
[servers.s]
command = "x"
limits.memory_mb = 100
access.fs = [{ path = ".", read = true }, { path = "private", deny = true }]
access.commands.git.args = [["status"]]
access.sensitive_paths = ["keys"]
`
	project := `
[servers.s]
undo = "session"
roots = "narrow"
limits.memory_mb = 200
pin_tools = "off"
access.fs = [{ path = "pub", read = true, write = true }, { path = "gone", deny = true }]
access.net = [{ host = "h.example", allow = true }]
access.commands.perl = {}
`
	got := changesOf(t, users, project)
	var texts []string
	for _, ch := range got.Changes {
		texts = append(texts, fmt.Sprintf("%v %s", ch.Loosens, ch.Text))
	}
	want := []string{
		"false all files but pub (read write)", "false all hosts but h.example", "false all programs but its own, perl", "false gone", `false undo = "session"`,
	}
	if !reflect.DeepEqual(texts, want) || got.Starts != nil {
		t.Errorf("%q, want %q", texts, want)
	}
}

// TestChangesOfOwnServer checks that a server of the project's own is compared with none.
func TestChangesOfOwnServer(t *testing.T) {
	got := changesOf(t, usersServer, "[servers.s]\ncommand = '/bin/sh'\nstateful = false\n[servers.s.tools.t.access]\nfs = [{ path = 'a', read = true }]\n")
	text := fmt.Sprint(got)
	for _, want := range []string{"[/bin/sh]", "{tools without a table: the default policy: the workspace (read write) true}", "{tool t: a (read) true}", "{tool t: your own configuration denies it ~/notes/private false}", "denies it ~/diary "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "api.github.com true") {
		t.Errorf("it lists what the project does not get: %s", text)
	}
}

// keySamples are values of keys for which the shape says too little to make one.
var keySamples = map[string]string{
	"command": `"/bin/other"`, "workspace": `"/srv/other"`, "arguments": `["a"]`, "variables": `["X"]`, "preset": `"p"`,
	"access.fs.path": `"p"`, "access.workspace": `"read"`, "access.net.host": `"h.example"`, "access.env.name": `"X"`, "access.commands": `{ sh = {} }`, "access.sensitive_paths": `["a"]`,
	"access.net.path_prefix": `"/p"`, "access.net.methods": `["GET"]`, "access.net.secret": `{ env = "K", file = "/f" }`,
}

// TestEveryKeyChanges checks that each key that a table of a server can have shows in the changes. A
// new key fails the test if Changes does not know it.
func TestEveryKeyChanges(t *testing.T) {
	shape := Describe().Keys["servers"].Names
	seen := 0
	check := func(key, stateful, project string) {
		seen++
		own := "[servers.s]\ncommand = '/bin/sh'\n"
		if key != "stateful" {
			own += "stateful = " + stateful + "\n"
		}
		if reflect.DeepEqual(changesOf(t, "", own), changesOf(t, "", own+strings.TrimPrefix(project, "[servers.s]\n"))) {
			t.Errorf("%s changes nothing:\n%s", key, project)
		}
	}
	for key, s := range shape.Keys {
		switch key {
		case "access", "tools", "limits", "command", "home", "id", "directory": // no project's file has the last two
			continue
		}
		value := sampleOf(key, s, func(v string) bool { return v != `"off"` })
		check(key, "true", "[servers.s]\n"+key+" = "+value+"\n")
	}
	for key, s := range shape.Keys["limits"].Keys {
		check(key, "true", "[servers.s.limits]\n"+key+" = "+sampleOf(key, s, nil)+"\n")
	}
	tables := map[string]string{"true": "[servers.s.access]\n", "false": "[servers.s.tools.t.access]\n"}
	access := shape.Keys["access"]
	for stateful, head := range tables {
		for key, s := range access.Keys {
			rule := ruleShape(s)
			if rule == nil {
				check("access."+key, stateful, head+key+" = "+sampleOf("access."+key, s, nil)+"\n")
				continue
			}
			check("access."+key, stateful, head+key+" = ["+ruleOf(key, rule, "")+"]\n")
			for field := range rule.Keys {
				without, with := ruleOf(key, rule, ""), ruleOf(key, rule, field)
				if field == "path" || field == "deny" {
					with = strings.Replace(with, "true", `"write"`, 1)
				}
				seen++
				own := "[servers.s]\ncommand = 'x'\nstateful = " + stateful + "\n" + head + key
				if a, b := changesOf(t, "", own+" = ["+without+"]\n"), changesOf(t, "", own+" = ["+with+"]\n"); without != with && reflect.DeepEqual(a, b) {
					t.Errorf("access.%s.%s changes nothing: %s", key, field, with)
				}
			}
		}
	}
	for key := range shape.Keys["tools"].Names.Keys {
		if key != "access" {
			check("tools."+key, "false", "[servers.s.tools.t]\n"+key+" = 3\n")
		}
	}
	if seen < 70 {
		t.Errorf("only %d keys were checked", seen)
	}
}

// ruleShape returns the shape of the rules in a list, or nil.
func ruleShape(s *Shape) *Shape {
	for _, one := range append([]*Shape{s}, s.Any...) {
		if one.Items != nil && one.Items.Keys != nil {
			return one.Items
		}
	}
	return nil
}

// ruleOf writes a rule with its required fields and one more.
func ruleOf(key string, rule *Shape, field string) string {
	fields := slices.Clone(rule.Required)
	if key == "fs" && field == "path" {
		field = "deny"
	}
	if field != "" && !slices.Contains(fields, field) {
		fields = append(fields, field)
	}
	if key == "fs" && field == "" {
		fields = append(fields, "deny")
	}
	slices.Sort(fields)
	var parts []string
	for _, f := range fields {
		parts = append(parts, f+" = "+sampleOf("access."+key+"."+f, rule.Keys[f], nil))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// sampleOf returns a value of a shape.
func sampleOf(key string, s *Shape, want func(string) bool) string {
	switch {
	case keySamples[key] != "":
		return keySamples[key]
	case len(s.Any) > 0:
		return sampleOf(key, s.Any[0], want)
	case s.Words != nil:
		for _, w := range s.Words {
			if v := fmt.Sprintf("%q", w); (want == nil || want(v)) && w != "real" {
				return v
			}
		}
	case s.Type == "boolean":
		if key == "stateful" {
			return "false"
		}
		return "true"
	case s.Type == "integer":
		return fmt.Sprint(max(s.Low, min(77, s.High)))
	case s.Type == "array" && s.Items != nil:
		return "[" + sampleOf(key, s.Items, want) + "]"
	}
	panic("no sample for the key " + key)
}

// TestEveryFieldIsCompared sets each field of a policy, and checks that the comparison shows it unless
// the field is known to say nothing.
func TestEveryFieldIsCompared(t *testing.T) {
	samples := map[string]any{
		"Fs": []policy.FsRule{{Path: "p", Read: true}}, "Net": []policy.NetRule{{Host: "h.example", Allow: true}}, "Inbound": []policy.InboundRule{{Port: 80}},
		"Env": []policy.EnvRule{{Name: "X", Read: true}}, "Commands": []policy.CommandRule{}, "Waive": []policy.Axis{policy.AxisFs},
		"Settings": []policy.Setting{{Key: "leaks", Value: `"off"`}},
	}
	typ := reflect.TypeFor[policy.Policy]()
	for i := range typ.NumField() {
		field := typ.Field(i)
		if _, ignored := ignoredFields[field.Name]; ignored {
			continue
		}
		value, ok := reflect.ValueOf(samples[field.Name]), samples[field.Name] != nil
		switch field.Type.Kind() {
		case reflect.String:
			value, ok = reflect.ValueOf("x").Convert(field.Type), true
		case reflect.Bool:
			value, ok = reflect.ValueOf(true), true
		case reflect.Int:
			value, ok = reflect.ValueOf(3), true
		}
		if field.Type == reflect.TypeFor[[]string]() {
			value, ok = reflect.ValueOf([]string{"x"}), true
		}
		if !ok {
			t.Errorf("this test has no sample for the field %s", field.Name)
			continue
		}
		var p policy.Policy
		reflect.ValueOf(&p).Elem().Field(i).Set(value)
		if len(ComparePolicies(&policy.Policy{}, &p)) == 0 {
			t.Errorf("the comparison does not show the field %s", field.Name)
		}
		if len(ComparePolicies(&p, &p)) != 0 { // the control
			t.Errorf("the field %s shows where nothing has changed", field.Name)
		}
	}
	for name := range ignoredFields {
		if _, ok := typ.FieldByName(name); !ok {
			t.Errorf("a policy has no field %s", name)
		}
	}
}
