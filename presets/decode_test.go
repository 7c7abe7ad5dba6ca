package presets

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const valid = `[preset]
title = "A server"
stateful = false
read_only = ["a", "b"]
sources = ["x/y@000000000000 README.md"]

[[preset.packages]]
npm = "x"

[[preset.variables]]
name = "TOKEN"
required = true
secret = true
sent = "header"
header = ["Authorization"]
hosts = ["api.example.com"]

[[preset.arguments]]
flag = "--root"
kind = "directory"
read = true

[servers.x]

[[servers.x.access.net]]
host = "api.example.com"
scheme = "https"
allow = true
secret = { env = "TOKEN", header = "Authorization" }
`

func TestDecode(t *testing.T) {
	p, err := Decode("x", []byte(valid), "x.toml")
	testkit.Must(t, err)
	if p.Server.Command != "" || p.Server.Access.Net[0].Where != "x.toml:25" {
		t.Errorf("command %q, rule at %s", p.Server.Command, p.Server.Access.Net[0].Where)
	}
}

// login is the last table of a preset, with the logins of its argument.
func login(more string) string {
	return "[preset.login]\nof = [\"--root\"]\n" + more + "\n[servers.x]\n"
}

// TestDecodeRefuses changes one thing of a valid file.
func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`[servers.x]`, `[servers.y]`, "no line [servers.x]"},
		{"stateful = false\n", "", "preset.stateful is missing"},
		{`title = "A server"`, ``, "preset.title is missing"},
		{`sources = ["x/y@000000000000 README.md"]`, ``, "preset.sources is missing"},
		{`sources = ["x/y@000000000000 README.md"]`, `sources = [""]`, "preset.sources is missing"},
		{`["a", "b"]`, `["b", "a"]`, "sorted"},
		{`["a", "b"]`, `["a", "a"]`, "once"},
		{`title = "A server"`, "title = \"A server\"\ntitel = \"x\"", "x.toml:3: preset.titel: is not a known key"},
		{"[servers.x]\n", "[preset.login]\nof = [\"--none\"]\n[servers.x]\n", "--none, which is no argument"},
		{"[servers.x]\n", "[preset.login]\nfiles = [\".x/LOGIN\"]\n[servers.x]\n", "of what the name of a login"},
		{"[servers.x]\n", "[preset.login]\nunless = [\"--x\"]\n[servers.x]\n", "of what the name of a login"},
		{"[servers.x]\n", "[preset.login]\nport_from = 1\nport_range = 2\n[servers.x]\n", "of what the name of a login"},
		{"[servers.x]\n", "[preset.login]\nvariable = \"OTHER\"\n[servers.x]\n", "the variable OTHER, which the preset does not have"},
		{"[servers.x]\n", login("port_from = 0\nport_range = 2"), "ports that are none"},
		{"[servers.x]\n", login("port_from = -1"), "ports that are none"},
		{"[servers.x]\n", login("port_from = 1\nport_range = -1"), "ports that are none"},
		{"[servers.x]\n", login("port_from = 65535\nport_range = 2"), "ports that are none"},
		{"[servers.x]\n", login("files = [\"/x/LOGIN\"]"), "hidden directory of HOME"},
		{"[servers.x]\n", login("files = [\"x/LOGIN\"]"), "hidden directory of HOME"},
		{"[servers.x]\n", login("files = [\"../LOGIN\"]"), "hidden directory of HOME"},
		{"[servers.x]\n", login("files = [\".x/../LOGIN\"]"), "hidden directory of HOME"},
		{"[servers.x]\n", login("files = [\".x/LOGIN/f\"]"), "hidden directory of HOME"},
		{"[servers.x]\n", login("files = [\".x/[LOGIN\"]"), "hidden directory of HOME"},
		{`title = "A server"`, "title = 7", "x.toml:2"},
		{`title = "A server"`, "title = \"", "x.toml:2"},
		{`npm = "x"`, `npm = "x"` + "\n" + `pypi = "x"`, "one of npm"},
		{`npm = "x"`, `versions = ["1"]`, "one of npm"},
		{`name = "TOKEN"`, `name = "TOK=EN"`, "is refused"},
		{`sent = "header"`, `sent = "haeder"`, "unknown word"},
		{`sent = "header"`, ``, "how it is sent"},
		{`header = ["Authorization"]`, ``, "name the header fields"},
		{`header = ["Authorization"]`, `header = ["X-Api-Key"]`, "other header fields"},
		{`hosts = ["api.example.com"]`, `hosts = ["example.com"]`, "no net rule grants"},
		{`hosts = ["api.example.com"]`, `hosts_from = ["URL"]`, "takes its host from URL"},
		{"required = true\n", "", "if it is required, and of no others"},
		{`secret = { env = "TOKEN", header = "Authorization" }`, ``, "has to be a secret of the rules"},
		{"[servers.x]\n", "[servers.x]\nvariables = [\"TOKEN\"]\n", "can be a secret"},
		{"secret = true\nsent = \"header\"\nheader = [\"Authorization\"]\nhosts = [\"api.example.com\"]\n", "", "must list it in variables"},
		{`kind = "directory"`, `kind = "folder"`, "unknown kind"},
		{"read = true\n", "", "must have rights"},
		{`flag = "--root"`, `flag = "--root"` + "\nrest = true", "one of flag, position and rest"},
		{`kind = "directory"`, `kind = "directory"` + "\nport = 80", "a scheme and a port"},
		{`kind = "directory"`, `kind = "directory"` + "\nbelow = [\"api\"]", "below its host"},
		{`allow = true`, `alow = true`, "x.toml:28: servers.x.access.net.alow is not a known key; did you mean allow?"},
		{`scheme = "https"`, `scheme = "ftp"`, "x.toml:27"},
		{"[servers.x]\n", "[servers.x]\ncommand = \"npx\"\n", "x.toml:24"},
		{"[servers.x]\n", "[servers.x]\narguments = [\"-y\"]\n", "belongs to the user"},
		{"[servers.x]\n", "[servers.x]\nwaive = [\"net\"]\n", "belongs to the user"},
		{"[servers.x]\n", "[servers.x]\nstateful = true\n", "belongs to the user"},
		{`secret = { env = "TOKEN", header`, `secret = { command = ["sh", "-c", "id"], env = "TOKEN", header`, "x.toml:29: servers.x.access.net.secret: the file or the command of a secret belongs to the user"},
		{`secret = { env = "TOKEN", header`, `secret = { file = "~/.ssh/id_rsa", env = "TOKEN", header`, "belongs to the user"},
		{`secret = { env = "TOKEN", header = "Authorization" }`, `secret = [{ env = "TOKEN", header = "Authorization" }, { env = "OTHER", command = ["id"] }]`, "belongs to the user"},
		{"[servers.x]\n", "[servers.x]\n[servers.z]\ncommand = \"x\"\n", "more than the table"},
	} {
		text := strings.Replace(valid, c.old, c.new, 1)
		if text == valid {
			t.Errorf("%q is not in the file", c.old)
		}
		_, err := Decode("x", []byte(text), "x.toml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
}
