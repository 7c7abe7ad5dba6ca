package edit

import (
	"strings"
	"testing"
)

// wrapper are the words that the tests put in front of every server.
var wrapper = []string{"/opt/jail", "run", "--"}

// forms are files with one server, before and after the words were put in front. ¶ is the
// line end of Windows.
var forms = []struct {
	name          string
	format        Format
	before, after string
	table         Table
}{
	{
		name: "one line", format: JSON,
		before: `{"servers": {"s": {"command": "npx", "args": ["-y", "pkg"]}}}`,
		after:  `{"servers": {"s": {"command": "/opt/jail", "args": ["run", "--", "npx", "-y", "pkg"]}}}`,
	}, {
		name: "the file is the entry", format: JSON, table: Table{Path: []string{}, Single: true},
		before: `{"command":"npx","args":["-y","pkg"]}`,
		after:  `{"command":"/opt/jail","args":["run","--","npx","-y","pkg"]}`,
	}, {
		name: "minified", format: JSON,
		before: `{"servers":{"s":{"command":"npx","args":["-y","pkg"]}}}`,
		after:  `{"servers":{"s":{"command":"/opt/jail","args":["run","--","npx","-y","pkg"]}}}`,
	}, {
		name: "no list, minified", format: JSON,
		before: `{"servers":{"s":{"command":"npx"}}}`,
		after:  `{"servers":{"s":{"command":"/opt/jail","args":[ "run", "--", "npx"]}}}`,
	}, {
		name: "no list, lines", format: JSON,
		before: "{\"servers\": {\"s\": {\n\t\t\"command\" : \"npx\", // why\n\t\t\"env\": {}\n}}}",
		after:  "{\"servers\": {\"s\": {\n\t\t\"command\" : \"/opt/jail\",\n\t\t\"args\" : [ \"run\", \"--\", \"npx\"], // why\n\t\t\"env\": {}\n}}}",
	}, {
		name: "no list, command last with a trailing comma", format: JSON,
		before: "{\"servers\": {\"s\": {¶  \"type\": \"stdio\",¶  \"command\": \"npx\",¶},},}¶",
		after:  "{\"servers\": {\"s\": {¶  \"type\": \"stdio\",¶  \"command\": \"/opt/jail\",¶  \"args\": [ \"run\", \"--\", \"npx\"],¶},},}¶",
	}, {
		name: "empty list", format: JSON,
		before: `{"servers": {"s": {"command": "npx", "args": []}}}`,
		after:  `{"servers": {"s": {"command": "/opt/jail", "args": ["run", "--", "npx"]}}}`,
	}, {
		name: "empty list with a blank", format: JSON,
		before: `{"servers": {"s": {"command": "npx", "args": [ ]}}}`,
		after:  `{"servers": {"s": {"command": "/opt/jail", "args": ["run", "--", "npx" ]}}}`,
	}, {
		name: "empty list with a comment", format: JSON,
		before: "{\"servers\": {\"s\": {\"command\": \"npx\", \"args\": [ // none\n]}}}",
		after:  "{\"servers\": {\"s\": {\"command\": \"/opt/jail\", \"args\": [\"run\", \"--\", \"npx\" // none\n]}}}",
	}, {
		name: "blanks, lines, comments, trailing comma, escapes", format: JSON,
		before: "\ufeff// head¶{¶\t\"servers\": {¶\t\t\"s\": {¶\t\t\t\"args\": [ // first¶\t\t\t\t\"-y\", /* the package */ \"p\\u006bg\",¶\t\t\t\t// last¶\t\t\t],¶\t\t\t\"command\": \"n\\u0070x\",¶\t\t}¶\t}¶}",
		after:  "\ufeff// head¶{¶\t\"servers\": {¶\t\t\"s\": {¶\t\t\t\"args\": [ // first¶\t\t\t\t\"run\", \"--\", \"n\\u0070x\",¶\t\t\t\t\"-y\", /* the package */ \"p\\u006bg\",¶\t\t\t\t// last¶\t\t\t],¶\t\t\t\"command\": \"/opt/jail\",¶\t\t}¶\t}¶}",
	}, {
		name: "one list", format: JSON,
		before: `{"servers": {"s": {"command": ["npx", "-y"], "args": 1}}}`,
		after:  `{"servers": {"s": {"command": ["/opt/jail", "run", "--", "npx", "-y"], "args": 1}}}`,
	}, {
		name: "duplicate keys elsewhere, key with a slash", format: JSON,
		before: `{"x": 1, "x": 2, "servers": {"s": {"env": {"A": "1", "B": "2"}, "a/b": 1, "command": "npx", "args": [1, "true"]}}}`,
		after:  `{"x": 1, "x": 2, "servers": {"s": {"env": {"A": "1", "B": "2"}, "a/b": 1, "command": "/opt/jail", "args": ["run", "--", "npx", 1, "true"]}}}`,
	}, {
		name: "nested", format: JSON, table: Table{Path: []string{"servers"}, Nested: "transport"},
		before: `{"servers": {"s": {"transport": {"command": "npx"}, "disabled": false}}}`,
		after:  `{"servers": {"s": {"transport": {"command": "/opt/jail", "args": [ "run", "--", "npx"]}, "disabled": false}}}`,
	}, {
		name: "comment without a line end", format: JSON,
		before: `{"servers": {"s": {"command": "npx", "args": []}}} // end`,
		after:  `{"servers": {"s": {"command": "/opt/jail", "args": ["run", "--", "npx"]}}} // end`,
	}, {
		name: "table", format: TOML,
		before: "\ufeff# head¶[servers.s] # it¶command = 'npx' # why¶args = [\"-y\", 'pkg']¶env = { A = \"1\" }¶",
		after:  "\ufeff# head¶[servers.s] # it¶command = \"/opt/jail\" # why¶args = [\"run\", \"--\", 'npx', \"-y\", 'pkg']¶env = { A = \"1\" }¶",
	}, {
		name: "no list", format: TOML,
		before: "[servers.s]¶  command=\"npx\" # why¶  [servers.s.env]¶  A = \"1\"¶",
		after:  "[servers.s]¶  command=\"/opt/jail\" # why¶  args=[ \"run\", \"--\", \"npx\"]¶  [servers.s.env]¶  A = \"1\"¶",
	}, {
		name: "no list, no line end", format: TOML,
		before: "[servers.s]¶command = \"npx\"",
		after:  "[servers.s]¶command = \"/opt/jail\"¶args = [ \"run\", \"--\", \"npx\"]",
	}, {
		name: "dotted", format: TOML,
		before: "servers . s.\"command\" = \"\"\"npx\"\"\"\nservers.t = 1\n",
		after:  "servers . s.\"command\" = \"/opt/jail\"\nservers . s.\"args\" = [ \"run\", \"--\", \"\"\"npx\"\"\"]\nservers.t = 1\n",
	}, {
		name: "inline table", format: TOML,
		before: "servers = { s = { env.A = \"1\", command = \"npx\" }, t.command = \"x\" }",
		after:  "servers = { s = { env.A = \"1\", command = \"/opt/jail\", args = [ \"run\", \"--\", \"npx\"] }, t.command = \"x\" }",
	}, {
		name: "inline and dotted", format: TOML,
		before: "servers = {s.command=\"npx\"}",
		after:  "servers = {s.command=\"/opt/jail\",s.args=[ \"run\", \"--\", \"npx\"]}",
	}, {
		name: "list of tables", format: TOML,
		before: "x = nan\nd = 2020-01-01\n[[servers]]\nname = \"s\"\ncommand = \"npx\"\nargs = [ # list\n  # first\n  \"\"\"\n-y\"\"\", # second\n  'pkg', \n]\n",
		after:  "x = nan\nd = 2020-01-01\n[[servers]]\nname = \"s\"\ncommand = \"/opt/jail\"\nargs = [ # list\n  # first\n  \"run\", \"--\", \"npx\",\n  \"\"\"\n-y\"\"\", # second\n  'pkg', \n]\n",
	}, {
		name: "blocks", format: YAML,
		before: "\ufeff# head¶servers:¶  s:¶    command: npx # why¶    # the list¶    args:¶      # first¶      - -y¶      - >-¶        long¶        text¶      - 'it''s'¶    env: {A: \"1\"}¶",
		after:  "\ufeff# head¶servers:¶  s:¶    command: /opt/jail # why¶    # the list¶    args:¶      # first¶      - run¶      - \"--\"¶      - npx¶      - -y¶      - >-¶        long¶        text¶      - 'it''s'¶    env: {A: \"1\"}¶",
	}, {
		name: "dashes below the key, list of servers", format: YAML,
		before: "é: ü\nservers:\n- command: 'it''s'\n  args:\n  - -y\n  -   pkg # c\n  name: s\n",
		after:  "é: ü\nservers:\n- command: \"/opt/jail\"\n  args:\n  - \"run\"\n  - \"--\"\n  - 'it''s'\n  - -y\n  -   pkg # c\n  name: s\n",
	}, {
		name: "no list", format: YAML,
		before: "servers:\n  s:\n    command:   npx # why\n    env: {}\n",
		after:  "servers:\n  s:\n    command:   /opt/jail # why\n    args:   [ run, \"--\", npx]\n    env: {}\n",
	}, {
		name: "no list, behind a dash, no line end", format: YAML,
		before: "servers:¶  - command: npx",
		after:  "servers:¶  - command: /opt/jail¶    args: [ run, \"--\", npx]",
	}, {
		name: "program in the next line", format: YAML,
		before: "servers:\n  s:\n    command:\n      npx\n    args: []\n",
		after:  "servers:\n  s:\n    command:\n      /opt/jail\n    args: [run, \"--\", npx]\n",
	}, {
		name: "flow", format: YAML,
		before: "servers: {s: {command: npx, \"args\": [-y, 'p',\n   \"q\"]}} # end\n",
		after:  "servers: {s: {command: /opt/jail, \"args\": [run, \"--\", npx, -y, 'p',\n   \"q\"]}} # end\n",
	}, {
		name: "flow without a list", format: YAML,
		before: "servers: {'é': 1, s: {\"command\": npx }}\n",
		after:  "servers: {'é': 1, s: {\"command\": /opt/jail, \"args\": [ run, \"--\", npx] }}\n",
	}, {
		name: "anchors and aliases elsewhere", format: YAML,
		before: "base: &base\n  A: \"1\"\nservers:\n  s:\n    command: \"np\\x78\"\n    args: [&a -y, *a, 3]\n    env: *base\n    unused: &u [1]\n",
		after:  "base: &base\n  A: \"1\"\nservers:\n  s:\n    command: \"/opt/jail\"\n    args: [\"run\", \"--\", \"np\\x78\", &a -y, *a, 3]\n    env: *base\n    unused: &u [1]\n",
	},
}

func TestChangeForms(t *testing.T) {
	for _, form := range forms {
		t.Run(form.format.String()+"/"+form.name, func(t *testing.T) {
			before, after := strings.ReplaceAll(form.before, "¶", "\r\n"), strings.ReplaceAll(form.after, "¶", "\r\n")
			table := form.table
			if table.Path == nil {
				table.Path = []string{"servers"}
			}
			f, s := one(t, form.format, before, table)
			words := s.Words
			got, err := f.Apply(Change{Server: s, Words: wrapper})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != after {
				t.Fatalf("wrapped:\n%s\nwant:\n%s", got, after)
			}
			g, w := one(t, form.format, after, table)
			if want := append(append([]string{}, wrapper...), words...); strings.Join(w.Words, "\n") != strings.Join(want, "\n") {
				t.Errorf("words %q, want %q", w.Words, want)
			}
			again, err := g.Apply(Change{Server: w, Drop: len(wrapper), Words: []string{"/other", "run", "--env", "A", "--"}})
			if err != nil {
				t.Fatal(err)
			}
			h, w := one(t, form.format, string(again), table)
			back, err := h.Apply(Change{Server: w, Drop: 5})
			if err != nil {
				t.Fatal(err)
			}
			if string(back) != before {
				t.Errorf("unwrapped:\n%s\nwant:\n%s", back, before)
			}
		})
	}
}

// TestChangeRemoves removes words from files that a client or a person has written anew, so
// that they do not have the form that Apply gives them.
func TestChangeRemoves(t *testing.T) {
	for _, c := range []struct {
		name          string
		format        Format
		before, after string
	}{
		{"empty list stays", JSON,
			"{\"s\": {\n  \"command\": \"/opt/jail\",\n  \"args\": [\n    \"run\",\n    \"--\",\n    \"npx\"\n  ]\n}}",
			"{\"s\": {\n  \"command\": \"npx\",\n  \"args\": [\n    \n  ]\n}}"},
		{"trailing comma", JSON, `{"s": {"command": "/opt/jail", "args": ["run", "--", "npx" /* it */ , ]}}`, `{"s": {"command": "npx", "args": [ /* it */  ]}}`},
		{"args first", JSON, `{"s": {"args": [ "run", "--", "npx"], "command": "/opt/jail"}}`, `{"s": {"args": [ ], "command": "npx"}}`},
		{"comment between", JSON, `{"s": {"command": "/opt/jail", /* c */ "args": [ "run", "--", "npx"]}}`, `{"s": {"command": "npx", /* c */ "args": [ ]}}`},
		{"inserted, with a trailing comma", JSON, `{"s": {"command": "/opt/jail", "args": [ "run", "--", "npx", /* c */], "x": 1}}`, `{"s": {"command": "npx", "x": 1}}`},
		{"lines", JSON, "{\"s\": {\"command\": \"/opt/jail\", \"args\": [\n\t\"run\",\n\t\"--\",\n\t\"npx\",\n\t\"-y\",\n]}}", "{\"s\": {\"command\": \"npx\", \"args\": [\n\t\"-y\",\n]}}"},
		{"array of TOML", TOML, "[s]\ncommand = '/opt/jail'\nargs = [ # c\n  \"run\",\n  \"--\",\n  'npx', # d\n]\n", "[s]\ncommand = 'npx'\nargs = [ # c\n   # d\n]\n"},
		{"line between", TOML, "[s]\ncommand = '/opt/jail'\n\nargs = [ \"run\", \"--\", 'npx']\n", "[s]\ncommand = 'npx'\n\nargs = [ ]\n"},
		{"dashes, all", YAML, "s:\n  command: /opt/jail\n  args:\n  - run\n  - --\n  - npx # d\n  x: 1\n", "s:\n  command: npx\n  args: [] # d\n  x: 1\n"},
		{"dashes, some", YAML, "s:\n  command: /opt/jail\n  args:\n    -   run\n    # c\n    - --\n\n    -   'npx'\n    # d\n    -  x\n", "s:\n  command: 'npx'\n  args:\n    -  x\n"},
		{"flow from JSON", YAML, "{\"s\": {\"command\": \"/opt/jail\", \"args\": [\"run\", \"--\", \"npx\", \"-y\"]}}", "{\"s\": {\"command\": \"npx\", \"args\": [\"-y\"]}}"},
	} {
		f, s := one(t, c.format, c.before, Table{})
		got, err := f.Apply(Change{Server: s, Drop: 3})
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s\nwant:\n%s", c.name, err, got, c.after)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"comment before the first dash", "s:\n  command: /opt/jail\n  args:\n  # c\n  - run\n  - --\n  - npx\n", "remove the comment"},
		{"dash alone", "s:\n  command: /opt/jail\n  args:\n  - run\n  - --\n  - npx\n  -\n    -y\n", "line 8: the word is not directly after its dash"},
		{"number", "s:\n  command: /opt/jail\n  args: [run, --, 5]\n", "the program would be a number"},
		{"block scalar", "s:\n  command: /opt/jail\n  args:\n  - run\n  - --\n  - |-\n    npx\n", "line 6: the program is a block scalar"},
		{"tagged list", "s:\n  command: /opt/jail\n  args: !!seq [run, --, npx, x]\n", "the list does not begin with a bracket"},
	} {
		f, s := one(t, YAML, c.text, Table{})
		if got, err := f.Apply(Change{Server: s, Drop: 3}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.name, err, c.want, got)
		}
	}
}

// one parses a file and returns its server s, or its first one.
func one(t *testing.T, format Format, text string, table Table) (*File, Server) {
	t.Helper()
	f, err := Parse(format, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	servers := f.Servers(table)
	if len(servers) == 0 {
		t.Fatalf("no servers in %s", text)
	}
	for _, s := range servers {
		if s.Name == "s" {
			return f, s
		}
	}
	return f, servers[0]
}

// TestWholeLine replaces all words of a command line.
func TestWholeLine(t *testing.T) {
	for _, c := range []struct {
		format      Format
		text, after string
	}{
		{JSON, `{"s": {"command": "j", "args": ["run", "s"]}}`, `{"s": {"command": "npx", "args": ["-y"]}}`},
		{JSON, `{"s": {"command": ["j", "run", "s"]}}`, `{"s": {"command": ["npx", "-y"]}}`},
		{TOML, "[s]\ncommand = \"j\"\nargs = [\n  \"run\", # x\n  \"s\", # y\n]\n", "[s]\ncommand = \"npx\"\nargs = [\n  \"-y\", # y\n]\n"},
		{YAML, "s:\n  command: j\n  args:\n    - run\n    - s\n", "s:\n  command: npx\n  args:\n    - \"-y\"\n"},
	} {
		f, err := Parse(c.format, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Apply(Change{Server: f.Servers(Table{})[0], Drop: 3, Words: []string{"npx", "-y"}})
		if err != nil || string(got) != c.after {
			t.Errorf("%v: %s", err, got)
		}
	}
}
