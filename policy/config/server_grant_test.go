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
func grantsOf(t *testing.T, tool, flags string) Grants {
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
	return Grants{Table: table, Tool: tool, At: at}
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
		narrower, err := grantsOf(t, "", flags).AddTo(f.Server)
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
			if err := grantsOf(t, "", flags).TakeFrom(f.Server); err != nil {
				t.Errorf("%s, taken back: %v", flags, err)
			}
			if got := strings.NewReplacer("access ", "", "workspace = \"write\"", "", "workspace = \"none\"", "", "fs = [", "").Replace(shortened(f)); strings.TrimSpace(got) != "" {
				t.Errorf("%s, taken back: %q is left", flags, got)
			}
		}
	}
	var denied *DenialError
	if _, err := grantsOf(t, "", "--read ~/n/a").AddTo(inFile(t, "[[servers.notes.access.fs]]\npath = \"~/n\"\ndeny = true\n").Server); !errors.As(err, &denied) || !strings.HasPrefix(denied.Where, "/c/servers/notes.toml:") {
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
		err := grantsOf(t, "", flags).TakeFrom(f.Server)
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

// TestTableFiles tests that a table takes nothing from the files of servers: one that is for it is an error of its start,
// which says what to move where, and of no other one. What cannot be read is no table's.
func TestTableFiles(t *testing.T) {
	const table = "[servers.Notes]\ncommand = \"x\"\n[servers.other]\ncommand = \"x\"\n"
	const rule = "[[servers.notes.access.fs]]\npath = \"/denied\"\ndeny = true\n"
	const forNotes = "[servers.notes]\nid=\"Notes\"\n" + rule
	for text, wrong := range map[string]bool{
		forNotes: true, forNotes + "command = 1\n": true, strings.Replace(forNotes, "id=", "command = \"x\"\nid = ", 1): true,
		notesFile + rule: false, "[servers.notes\n": false, "": false,
	} {
		dir := serverFile(t, "notes.toml", text)
		user := filepath.Join(dir, "config.toml")
		testkit.Must(t, os.WriteFile(user, []byte(table), 0o600))
		o := LoadOptions{User: user, System: filepath.Join(dir, "none"), Trust: filepath.Join(dir, "trust"), Workspace: dir}
		cfg, err := Load(o)
		testkit.Must(t, err)
		_, err = cfg.Policy("Notes", "")
		if want := "servers/notes.toml: servers.notes: these rules are for your table [servers.Notes], at " + user + ":1, which takes none from other files. Move them there, and remove this file:\n\n[servers.Notes.access]"; wrong {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "[[servers.Notes.access.fs]]\npath = \"/denied\"\ndeny = true") {
				t.Errorf("%s: %v", text, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if p, err := cfg.Policy("other", ""); err != nil || paths(p) != "." {
			t.Errorf("%s, of another server: %s, %v", text, paths(p), err)
		}
		// A trusted project's own server of that name is another one, and --config names all that counts.
		o.Project = []byte("[servers.Notes]\ncommand = \"theirs\"\n")
		cfg, err = Load(o)
		testkit.Must(t, err)
		if _, err := cfg.Policy("Notes", ""); err != nil {
			t.Errorf("%s, of the project's server: %v", text, err)
		}
		cfg, err = Load(LoadOptions{Files: []string{user}})
		testkit.Must(t, err)
		if p, err := cfg.Policy("Notes", ""); err != nil || paths(p) != "." {
			t.Errorf("%s, with --config: %s, %v", text, paths(p), err)
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

// TestLineFile tests that what the file of a line has adds to its flags, but nothing of the workspace that the flags do
// not leave.
func TestLineFile(t *testing.T) {
	const lines = "workspace = \"~/w\"\nvariables = [\"A\"]\npreset = \"p\"\n[servers.notes.limits]\nmemory_mb = 5\n[servers.notes.access]\nworkspace = \"WORD\"\n[[servers.notes.access.fs]]\npath = \"/granted\"\nread = true\n"
	for _, c := range []struct {
		word string
		o    CommandLineOptions
		want string
	}{
		{"write", CommandLineOptions{}, ". /granted"}, {"none", CommandLineOptions{}, "/granted"}, {"read", CommandLineOptions{Deny: []string{"d"}}, ". d /granted"},
		{"write", CommandLineOptions{Read: []string{"/flag"}}, "/flag /granted"}, {"write", CommandLineOptions{Deny: []string{"d"}}, ". d /granted"},
		{"write", CommandLineOptions{Inbound: []string{"3000"}}, ". /granted"}, {"none", CommandLineOptions{Inbound: []string{"3000"}, Env: []string{"B*"}}, "/granted"},
	} {
		c.o.Command, c.o.Name, c.o.Limit, c.o.File = []string{"x"}, "n", []string{"memory_mb=9"}, inFile(t, strings.Replace(lines, "WORD", c.word, 1))
		p, err := FromCommandLine(c.o)
		testkit.Must(t, err)
		got := policy.Rights(0)
		for _, r := range p.Fs {
			if r.Workspace {
				got = r.Rights()
			}
		}
		if paths(p) != c.want || strings.HasPrefix(c.want, ". ") && got.Has(policy.Write) != (c.word == "write") || p.Limits.MemoryMB != 5 || p.Env[len(p.Env)-1].Name != "A" || p.ID != "" || p.Server != "n" || p.Command != "x" {
			t.Errorf("%s, %+v: %s (%s); %+v", c.word, c.o, paths(p), got, p)
		}
	}
	if _, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, File: inFile(t, "stateful = false\n")}); err == nil || !strings.Contains(err.Error(), "notes.toml: servers.notes: stateful = false is for a server with an id") {
		t.Errorf("stateful: %v", err)
	}
}

// TestRefusedLineFile tests that a file which cannot be used stops the line that it may belong to, by its name, and no
// other, and no id whose file is elsewhere.
func TestRefusedLineFile(t *testing.T) {
	const key = "notes-0123456789abcdef"
	const good = "[servers.NAME]\nid = \"" + key + "\"\ncommand = \"x\"\n"
	for spoil, do := range map[string]func(path string) error{
		"mode": func(path string) error { return os.Chmod(path, 0o666) },
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
		"size": func(path string) error {
			return os.WriteFile(path, []byte(testkit.ReadFile(t, path)+strings.Repeat("# x\n", 300_000)), 0o600)
		},
		"mistake": func(path string) error { return os.WriteFile(path, []byte("[servers."), 0o600) },
		"id": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(testkit.ReadFile(t, path), "command", "comand", 1)), 0o600)
		},
		"command": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(testkit.ReadFile(t, path), "command = \"x\"", "", 1)), 0o600)
		},
	} {
		for _, name := range []string{"notes-01234567", "notes-01234567-2"} {
			dir := serverFile(t, name+".toml", strings.Replace(good, "NAME", name, 1))
			testkit.Must(t, os.WriteFile(filepath.Join(dir, ServersDir, "own.toml"), []byte(strings.ReplaceAll(notesFile, "notes]", "own]")), 0o600))
			o := LoadOptions{ID: key, User: filepath.Join(dir, "config.toml")}
			if f, err := o.LineFile(); err != nil || f.Server.ID != key {
				t.Fatalf("%s of %s: control: %v", spoil, name, err)
			}
			path := filepath.Join(dir, ServersDir, name+".toml")
			testkit.Must(t, do(path))
			if f, err := o.LineFile(); f != nil || err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s of %s: %+v, %v", spoil, name, f, err)
			}
			o.ID = "notes-89abcdef01234567"
			if f, err := o.LineFile(); f != nil || err != nil {
				t.Errorf("%s of %s, another line: %+v, %v", spoil, name, f, err)
			}
			if f, err := FindServerFile(dir, testID); err != nil || f.Server.Name != "own" {
				t.Errorf("%s of %s, an id: %v", spoil, name, err)
			}
		}
	}
	o := LoadOptions{ID: key, User: filepath.Join(serverFile(t, "mine.toml", strings.Replace(good, "NAME", "mine", 1)), "config.toml")}
	if _, err := o.LineFile(); err == nil || !strings.Contains(err.Error(), "mine.toml: must have the name that mcp-jail gave it") {
		t.Errorf("another name: %v", err)
	}
}
