package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// grantsOf returns the grants of some flags.
func grantsOf(t *testing.T, tool string, only bool, flags string) Grants {
	t.Helper()
	var o CommandLineOptions
	words := strings.Fields(flags)
	for i := 0; i+1 < len(words); i += 2 {
		switch name, value := words[i], words[i+1]; name {
		case "--home":
			o.Home = value
		case "--workspace":
			o.Workspace = value
		default:
			list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--deny": &o.Deny, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}[name]
			*list = append(*list, value)
		}
	}
	table, err := o.Table()
	testkit.Must(t, err)
	at := func(p string) string {
		return filepath.Join("/home/u", strings.TrimPrefix(strings.TrimPrefix(p, "/home/u"), "~"))
	}
	return Grants{Table: table, Tool: tool, Only: only, At: at}
}

// inFile returns the file of a server with some lines.
func inFile(t *testing.T, lines string) *ServerFile {
	t.Helper()
	f, err := decodeServerFile([]byte("[servers.notes]\nid = \""+testID+"\"\ncommand = \"npx\"\n"+lines), "/c/servers/notes.toml")
	testkit.Must(t, err)
	return f
}

// TestGrants tests what grants make of a file, which rules they include, and that taking them back leaves what
// was there.
func TestGrants(t *testing.T) {
	fill := strings.NewReplacer("$RULE", "[[servers.notes.access.fs]]\npath = \"~/n\"\n")
	for _, row := range testkit.Rows(t, "grants.txt", 4) {
		lines, flags, want, wantInside := fill.Replace(row[0]), row[1], row[2], row[3]
		f := inFile(t, lines)
		narrower, err := grantsOf(t, "", false, flags).AddTo(f.Server)
		if err != nil {
			t.Errorf("%s and %s: %v", lines, flags, err)
			continue
		}
		got := shortened(f)
		if got != want {
			t.Errorf("%s and %s:\n%s, want\n%s", lines, flags, got, want)
		}
		var inside []string
		for _, r := range narrower {
			inside = append(inside, r.Path)
		}
		if strings.Join(inside, " ") != wantInside {
			t.Errorf("%s and %s: narrower are %q, want %s", lines, flags, inside, wantInside)
		}
		if _, err := f.Checked(); err != nil {
			t.Errorf("%s and %s: %v", lines, flags, err)
		}
		if lines == "" || lines == "[servers.notes.access]\n" {
			if err := grantsOf(t, "", false, flags).TakeFrom(f.Server); err != nil {
				t.Errorf("%s, taken back: %v", flags, err)
			}
			if got := strings.TrimPrefix(strings.Replace(shortened(f), "workspace = \"write\"", "", 1), "access"); strings.TrimSpace(strings.ReplaceAll(got, "fs = [", "")) != "" {
				t.Errorf("%s, taken back: %q is left", flags, got)
			}
		}
	}
	var denied *DenialError
	if _, err := grantsOf(t, "", false, "--read ~/n/a").AddTo(inFile(t, "[[servers.notes.access.fs]]\npath = \"~/n\"\ndeny = true\n").Server); !errors.As(err, &denied) || !strings.HasPrefix(denied.Where, "/c/servers/notes.toml:") {
		t.Errorf("a grant inside a denial: %v", err)
	}
}

// shortened returns what a file has after its command, in one line.
func shortened(f *ServerFile) string {
	text := strings.Join(strings.Fields(string(f.Encode())), " ")
	_, text, _ = strings.Cut(text, `command = "npx"`)
	for _, part := range []string{"[[servers.notes.", "[servers.notes.", "]", " = true", "path = ", "host = ", "name = "} {
		text = strings.ReplaceAll(text, part, "")
	}
	return strings.TrimSpace(text)
}

// TestTakeFrom tests what is left of a rule, and what is not there to be taken.
func TestTakeFrom(t *testing.T) {
	fill := strings.NewReplacer("$RULE", "[[servers.notes.access.fs]]\npath = \"~/n\"\nread = true\n")
	for _, row := range testkit.Rows(t, "taken.txt", 4) {
		lines, flags, want, gone := fill.Replace(row[0]), row[1], row[2], row[3]
		f := inFile(t, lines)
		err := grantsOf(t, "", false, flags).TakeFrom(f.Server)
		var missing *notThereError
		switch {
		case gone != "":
			if !errors.As(err, &missing) || !strings.Contains(missing.Rule, gone) {
				t.Errorf("%s without %s: %v, want %s", lines, flags, err, gone)
			}
		case err != nil || shortened(f) != want:
			t.Errorf("%s without %s: %s, %v; want %s", lines, flags, shortened(f), err, want)
		}
	}
}

// TestAddFiles tests that the file of a table adds to it and takes nothing away, for the user's tables alone, and
// that a file that cannot be used stops its server and no other.
func TestAddFiles(t *testing.T) {
	const table = "[servers.Notes]\ncommand = \"x\"\n[servers.other]\ncommand = \"x\"\n[servers.calls]\ncommand = \"x\"\nstateful = false\n[[servers.calls.tools.\"*\".access.fs]]\npath = \"/all\"\nread = true\n"
	file := func(name, id, lines string) string { return "[servers." + name + "]\nid = \"" + id + "\"\n" + lines }
	fs := func(table, path string) string {
		return "[[servers." + table + ".access.fs]]\npath = \"" + path + "\"\nread = true\n"
	}
	for _, c := range []struct{ name, text, server, tool, want, wrong string }{
		{"notes", file("notes", "Notes", fs("notes", "/granted")), "Notes", "", ". /granted", ""},
		{"notes", file("notes", "Notes", fs("notes", "/granted")), "other", "", ".", ""},
		{"notes", file("notes", "Notes", "command = \"x\"\n"+fs("notes", "/granted")), "Notes", "", ".", ""}, // of a line
		{"calls", file("calls", "calls", "stateful = false\n"+fs("calls.tools.a", "/granted")), "calls", "a", "/all /granted", ""},
		{"calls", file("calls", "calls", "stateful = false\n"+fs("calls.tools.a", "/granted")), "calls", "b", "/all", ""},
		{"calls", file("calls", "calls", fs("calls", "/granted")), "calls", "a", "", "calls.toml: servers.calls: stateful is not as it is"},
		{"notes", file("notes", "Notes", "[servers.notes.access.commands]\n"), "Notes", "", "", "write commands there"},
		{"notes", file("notes", "Notes", "comand = 1\n"), "Notes", "", "", "notes.toml:3: servers.notes.comand"},
		{"notes", file("notes", "Notes", "comand = 1\n"), "other", "", ".", ""},
	} {
		dir := serverFile(t, c.name+".toml", c.text)
		user := filepath.Join(dir, "config.toml")
		testkit.Must(t, os.WriteFile(user, []byte(table), 0o600))
		o := LoadOptions{User: user, System: filepath.Join(dir, "none"), Trust: filepath.Join(dir, "trust"), Workspace: dir}
		cfg, err := Load(o)
		testkit.Must(t, err)
		p, err := cfg.Policy(c.server, c.tool)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %s", c.text, err, c.wrong)
			}
		case err != nil || paths(p) != c.want:
			t.Errorf("%s, of %s %s: %s, %v; want %s", c.text, c.server, c.tool, paths(p), err, c.want)
		}
		o.Files = []string{user} // of --config, which a project can name
		if cfg, err = Load(o); err == nil {
			p, err = cfg.Policy(c.server, c.tool)
		}
		if err != nil || strings.Contains(paths(p), "granted") {
			t.Errorf("%s, with --config: %s, %v", c.text, paths(p), err)
		}
	}
}

func paths(p *policy.Policy) string {
	var all []string
	for i := 0; p != nil && i < len(p.Fs); i++ {
		all = append(all, p.Fs[i].Path)
	}
	return strings.Join(all, " ")
}

// TestAddToLine tests that the file of a line adds to its flags.
func TestAddToLine(t *testing.T) {
	f := inFile(t, "variables = [\"A\"]\n[servers.notes.limits]\nmemory_mb = 5\n[[servers.notes.access.fs]]\npath = \"/granted\"\nread = true\n")
	for _, c := range []struct {
		read []string
		want string
	}{{nil, ". /granted"}, {[]string{"/flag"}, "/flag /granted"}} {
		p, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Name: "n", Read: c.read, Added: f})
		if err != nil || paths(p) != c.want || p.Limits.MemoryMB != 5 || len(p.Env) != 1 || p.ID != "" || p.Server != "n" || p.Command != "x" {
			t.Errorf("%q: %s, %v; %+v", c.read, paths(p), err, p)
		}
	}
}
