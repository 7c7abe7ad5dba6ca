//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// hostileFiles are files that a client may read otherwise than mcp-jail does. USER and PROJECT are
// the usual files of the client; "~/" is the home directory, and other paths begin in the project.
//
// TABLE stands for the key of the table of servers, and UPPER, ESCAPED and SPLIT(TEXT) for other ways
// to write it. EVIL(NAME) is an entry that starts the program evil, GOOD(NAME) one that starts
// mcp-jail. EVILS and GOODS are their members, without the brackets.
var hostileFiles = map[string]map[string]string{
	"control":               {"USER": `{"TABLE": {"a": EVIL(control)}}`},
	"control, project":      {"PROJECT": `{"TABLE": {"a": EVIL(control)}}`},
	"CR in an entry":        {"PROJECT": "{\"TABLE\": {\"a\": {GOODS(a) // see\r, EVILS(cr)\n}}}"},
	"CR before a table":     {"PROJECT": "{ // see\r \"TABLE\": {\"a\": EVIL(crtable)} }"},
	"CR, user":              {"USER": "{\"TABLE\": {\"a\": {GOODS(a) // see\r, EVILS(cr)\n}}}"},
	"U+2028":                {"PROJECT": "{\"TABLE\": {\"a\": {GOODS(a) // see\u2028, EVILS(separator)\n}}}"},
	"a member twice":        {"PROJECT": `{"TABLE": {"a": {GOODS(a), EVILS(twice)}}}`},
	"a server twice":        {"USER": `{"TABLE": {"a": GOOD(a), "a": EVIL(servertwice)}}`},
	"a table twice":         {"USER": `{"TABLE": {"a": GOOD(a)}, "TABLE": {"a": EVIL(tabletwice)}}`},
	"__proto__ in an entry": {"PROJECT": `{"TABLE": {"a": {"__proto__": {EVILS(proto)}}}}`},
	"__proto__ at the root": {"USER": `{"__proto__": {"TABLE": {"a": EVIL(protoroot)}}}`},
	"BOM":                   {"PROJECT": "\ufeff{\"TABLE\": {\"a\": EVIL(bom)}}"},
	"comments and commas":   {"PROJECT": `/* x */ {"TABLE": {"a": EVIL(comma), },} // end`},
	"letter case":           {"PROJECT": `{"UPPER": {"a": EVIL(upper)}, "TABLE": {"b": {"Command": "EVIL", "COMMAND": ["EVIL", "key"]}}}`},
	"two command lines":     {"PROJECT": `{"TABLE": {"a": {GOODS(a), "config": {EVILS(config)}, "transport": {EVILS(transport)}}}}`},
	"escapes":               {"PROJECT": `{"ESCAPED": {"a": {"type": "local", "\u0063ommand": ["EVIL", "escapes"]}, "b": EVIL(b)}}`},
	"a link":                {"PROJECT": "-> other.json", "other.json": `{"servers": {"a": GOOD(a)}, "TABLE": {"a": EVIL(link)}}`},
	"one name, two files":   {"USER": `{"TABLE": {"a": GOOD(a)}}`, "PROJECT": `{"TABLE": {"a": EVIL(two)}}`},
	"a table in a comment":  {"PROJECT": `{/* {file:./end} "TABLE": {"a": EVIL(comment)}, /* */ "x": {}}`, "end": "*/"},
	"a key with a variable": {"PROJECT": `{"SPLIT({env:NOPE})": {"a": EVIL(variable)}}`},
	"a key with a file":     {"PROJECT": `{"SPLIT({file:./empty})": {"a": EVIL(file)}}`, "empty": ""},
	"NUL at the end":        {"PROJECT": "{\"TABLE\": {\"a\": EVIL(nul)}}\x00"},
	"half a surrogate":      {"PROJECT": `{"TABLE": {"\ud800": EVIL(surrogate), "a": GOOD(a)}}`},
	"above the project":     {"../PROJECT": `{"TABLE": {"a": EVIL(above)}}`},
}

// hostileMore are files for one client.
var hostileMore = map[string]map[string]map[string]string{
	"claude-code": {
		"its former place": {"~/.claude/.config.json": `{"mcpServers": {"a": EVIL(former)}}`},
		"for the project":  {"USER": `{"mcpServers": {"a": GOOD(a)}, "projects": {"WORK": {"mcpServers": {"a": EVIL(ofproject)}}}}`},
	},
	"gemini": {"its variables": {"USER": `{"mcpServers": {"a": EVIL(a)}}`, ".gemini/.env": "X=1\n"}},
	"opencode": {
		"two tables":          {"PROJECT": `{"mcp": {"servers": {"a": EVIL(inner)}, "b": EVIL(outer)}}`},
		"config.json":         {"~/.config/opencode/config.json": `{"mcp": {"a": EVIL(config)}}`},
		"of the home":         {"~/.opencode/opencode.jsonc": `{"mcp": {"a": EVIL(home)}}`},
		"its directory above": {"../.opencode/opencode.json": `{"mcp": {"a": EVIL(above)}}`},
	},
	"kilo": {
		"older":           {".kilo/mcp.json": `{"mcpServers": {"a": {"command": "EVIL", "args": ["older"]}}}`, ".kilocode/mcp.json": `{"mcpServers": {"b": {"command": "EVIL"}}}`},
		"of OpenCode":     {"opencode.json": `{"mcp": {"a": EVIL(open)}}`, ".kilo/opencode.jsonc": `{"mcp": {"b": EVIL(b)}}`},
		"older and mixed": {"USER": `{"mcp": {"a": GOOD(a)}}`, ".kilo/mcp.json": `{"mcpServers": {"a": {"command": "EVIL", "env": {"X": "1"}}}}`},
	},
	"codex": {
		"control":              {"USER": "[mcp_servers.a]\nEVILT(control)\n"},
		"control, project":     {"PROJECT": "[mcp_servers.a]\nEVILT(control)\n"},
		"dotted keys":          {"PROJECT": "mcp_servers.a.command = 'EVIL'\nmcp_servers.a.args = ['dotted']\n"},
		"dotted and a header":  {"PROJECT": "mcp_servers.b.command = 'EVIL'\n[mcp_servers.a]\nGOODT(a)\n"},
		"an inline table":      {"PROJECT": "mcp_servers = {a = {command = 'EVIL', args = ['inline']}}\n"},
		"quoted keys":          {"PROJECT": "[\"mcp_servers\".'a']\nEVILT(quoted)\n"},
		"escaped keys":         {"PROJECT": "[\"mcp\\u005fservers\".a]\n\"\\u0063ommand\" = 'EVIL'\n"},
		"CR in a comment":      {"PROJECT": "[mcp_servers.a]\nGOODT(a) # see\rcommand = 'EVIL'\n"},
		"U+2028 in a comment":  {"PROJECT": "# see\u2028[mcp_servers.a]\n# EVIL\n[mcp_servers.b]\nEVILT(b)\n"},
		"BOM":                  {"PROJECT": "\ufeff[mcp_servers.a]\nEVILT(bom)\n"},
		"letter case":          {"PROJECT": "[MCP_SERVERS.a]\nEVILT(upper)\n[mcp_servers.b]\nCommand = 'EVIL'\n"},
		"a table twice":        {"USER": "[mcp_servers.a]\nGOODT(a)\n[mcp_servers.a]\nEVILT(twice)\n"},
		"a table of tables":    {"PROJECT": "[[mcp_servers.a]]\nEVILT(array)\n"},
		"a part of an entry":   {"USER": "[mcp_servers.a]\nGOODT(a)\n", "PROJECT": "[mcp_servers.a]\ncommand = 'EVIL'\n"},
		"one name, two files":  {"USER": "[mcp_servers.a]\nGOODT(a)\n", "PROJECT": "[mcp_servers.a]\nEVILT(two)\n"},
		"part of it is dotted": {"USER": "[mcp_servers.a]\nGOODT(a)\n", "PROJECT": "mcp_servers.a.command = 'EVIL'\n"},
		"a link":               {"PROJECT": "-> ../other.toml", "../other.toml": "[mcp_servers.a]\nEVILT(link)\n"},
		"lines in a text":      {"PROJECT": "x = '''\n[mcp_servers.a]\n'''\n[mcp_servers.b]\ncommand = \"\"\"\\\n  EVIL\"\"\"\n"},
	},
}

// hostileForm is how a client writes its files.
type hostileForm struct {
	user, project, table string
	listed               bool              // the command is a list
	gated                bool              // the servers of a project wait for an approval: its files are planted as the user's
	more                 map[string]string // files that make it start the servers of a project
}

var hostileForms = map[string]hostileForm{
	"claude-code": {user: ".claude.json", project: ".mcp.json", table: "mcpServers", more: map[string]string{
		"~/.claude/settings.json": `{"enableAllProjectMcpServers": true}`,
	}},
	"codex":    {user: ".codex/config.toml", project: ".codex/config.toml"},
	"gemini":   {user: ".gemini/settings.json", project: ".gemini/settings.json", table: "mcpServers"},
	"qwen":     {user: ".qwen/settings.json", project: ".qwen/settings.json", table: "mcpServers", gated: true},
	"opencode": {user: ".config/opencode/opencode.json", project: "opencode.json", table: "mcp", listed: true},
	"kilo":     {user: ".config/kilo/kilo.json", project: "kilo.json", table: "mcp", listed: true},
}

// TestClientsHostile lets real clients read hostile files: a program that starts outside of a jail
// is one that mcp-jail status shows so. Each client starts one in the controls.
func TestClientsHostile(t *testing.T) { // not beside other tests: see TestClientsFirstTry
	testkit.NeedsLong(t)
	for _, c := range realClients {
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			files := maps.Clone(hostileMore[c.name])
			if c.name != "codex" {
				files = maps.Clone(hostileFiles)
				maps.Copy(files, hostileMore[c.name])
			}
			for _, name := range slices.Sorted(maps.Keys(files)) {
				t.Run(name, func(t *testing.T) { c.testHostile(t, name, files[name]) })
			}
		})
	}
}

func (c realClient) testHostile(t *testing.T, name string, files map[string]string) {
	w := newWorld(t)
	log := filepath.Join(w.base, "started")
	w.plant(t, w.base, map[string]string{"evil": "#!/bin/sh\necho \"$*\" >>" + log + "\n", "work/.keep": ""})
	must(t, os.Chmod(filepath.Join(w.base, "evil"), 0o755))
	c.plantHostile(t, w, files)
	said := hostileStatus(t, w)
	out := c.start(t, w)
	text, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if argv := append([]string{filepath.Join(w.base, "evil")}, strings.Fields(line)...); !said.explains(argv) {
			t.Errorf("the client starts %q, and status says %s", argv, said.text)
		}
	}
	t.Logf("started %q", text)
	if strings.HasPrefix(name, "control") && len(text) == 0 {
		t.Errorf("the client starts nothing: %s", out)
	}
}

// plantHostile writes the files of a case.
func (c realClient) plantHostile(t *testing.T, w *world, files map[string]string) {
	t.Helper()
	form := hostileForms[c.name]
	all := maps.Clone(form.more)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, files)
	if c.name == "codex" {
		all["USER"] += fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", w.work)
	}
	_, hasUser := all["USER"]
	for file, text := range all {
		dir := w.work
		if form.gated && !hasUser && file == "PROJECT" {
			file = "USER"
		}
		switch rest, ofHome := strings.CutPrefix(file, "~/"); {
		case ofHome:
			dir, file = w.home, rest
		case file == "USER":
			dir, file = w.home, form.user
		}
		file = strings.Replace(file, "PROJECT", form.project, 1)
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			link := filepath.Join(dir, file)
			must(t, os.MkdirAll(filepath.Dir(link), 0o755))
			must(t, os.Symlink(filepath.Join(w.work, to), link))
			continue
		}
		w.plant(t, dir, map[string]string{file: form.fill(w, text)})
	}
}

var hostileWord = regexp.MustCompile(`(EVILS?|GOODS?|EVILT|GOODT|SPLIT)\(([^)]*)\)`)

// fill replaces the words of a text of hostileFiles.
func (f hostileForm) fill(w *world, text string) string {
	evil := filepath.Join(w.base, "evil")
	members := func(words ...string) string {
		list, _ := json.Marshal(words)
		if f.listed {
			return `"type": "local", "command": ` + string(list)
		}
		rest, _ := json.Marshal(words[1:])
		return fmt.Sprintf(`"command": %q, "args": %s`, words[0], rest)
	}
	text = hostileWord.ReplaceAllStringFunc(text, func(word string) string {
		m := hostileWord.FindStringSubmatch(word)
		words := []string{evil, m[2]}
		if strings.HasPrefix(m[1], "GOOD") {
			words = []string{w.mcpJail().Path, "run", "--name", m[2], "--", "true"}
		}
		switch m[1] {
		case "EVILS", "GOODS":
			return members(words...)
		case "EVILT", "GOODT":
			list, _ := json.Marshal(words[1:])
			return fmt.Sprintf("command = %q\nargs = %s", words[0], list)
		case "SPLIT":
			return f.table[:1] + m[2] + f.table[1:]
		}
		return "{" + members(words...) + "}"
	})
	if !f.listed {
		text = strings.ReplaceAll(text, `"type": "local", "\u0063ommand": ["EVIL", "escapes"]`, `"\u0063ommand": "EVIL", "\u0061rgs": ["escapes"]`)
	}
	escaped := ""
	if f.table != "" {
		escaped = fmt.Sprintf(`\u%04x`, f.table[0]) + f.table[1:]
	}
	return strings.NewReplacer("TABLE", f.table, "UPPER", strings.ToUpper(f.table), "ESCAPED", escaped, "EVIL", evil, "WORK", w.work).Replace(text)
}

// hostileSaid is what mcp-jail status says.
type hostileSaid struct {
	Servers []struct {
		Command   []string
		Jail, Why string
	}
	Problems []struct{ What string }
	text     string
}

func hostileStatus(t *testing.T, w *world) (said hostileSaid) {
	t.Helper()
	said.text = w.output(t, "status", "--format", "json")
	must(t, json.Unmarshal([]byte(said.text), &said))
	return said
}

// explains reports whether status says that a program may start outside of a jail: it shows the
// command line, or that a file or an entry is not what the client reads.
func (s hostileSaid) explains(argv []string) bool {
	for _, p := range s.Problems {
		if strings.Contains(p.What, " was skipped: ") {
			return true
		}
	}
	for _, e := range s.Servers {
		if e.Jail != "yes" && slices.Equal(e.Command, argv) || strings.Contains(e.Why, "is mixed by") || strings.Contains(e.Why, "can be read in two ways") {
			return true
		}
	}
	return false
}

// start runs the client's command, which may refuse its files, and returns what it prints.
func (c realClient) start(t *testing.T, w *world) string {
	t.Helper()
	if !c.session {
		out, _ := c.try(t, w)
		return out
	}
	cmd, stderr := c.cmd(t, w)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	fmt.Fprintf(in, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"mcp-jail-test","version":"1"}}}
{"method":"initialized"}
{"id":2,"method":"thread/start","params":{"cwd":%q}}
`, w.work)
	var said bytes.Buffer
	open := map[string]bool{}
	for read, asked, answered := bufio.NewReader(out), false, false; !answered || slices.Contains(slices.Collect(maps.Values(open)), true); {
		line, err := read.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			break
		}
		var m struct {
			ID     int
			Method string
			Params struct{ Name, Status string }
		}
		json.Unmarshal([]byte(line), &m) // another line says nothing of servers
		if m.Method == "mcpServer/startupStatus/updated" {
			open[m.Params.Name] = m.Params.Status == "starting"
		}
		if m.ID == 2 && !asked {
			asked = true
			fmt.Fprintln(in, `{"id":3,"method":"mcpServerStatus/list","params":{}}`)
		}
		answered = answered || m.ID == 3
	}
	in.Close()
	cmd.Wait()
	return said.String() + stderr.String()
}
