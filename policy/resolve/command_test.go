package resolve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
)

// resolveCommand resolves a command line under a policy that grants nothing. The profile
// has the grants for the command only.
func resolveCommand(t *testing.T, h fakeHost, line string, edit ...func(*hostfs.Host)) (*policy.Profile, error) {
	t.Helper()
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: strings.Fields(line), Net: []string{"x.example"}})
	testkit.Must(t, err)
	host := h.host()
	for _, e := range edit {
		e(&host)
	}
	out, _, err := Resolve(p, host)
	return out, err
}

func brought(p *policy.Profile) string {
	var out []string
	for _, e := range p.Entries {
		if e.Origin == policy.OriginBaseline && !policy.Within(e.Path, "/etc") && e.Path != "/usr" {
			out = append(out, e.Path)
		}
	}
	return strings.Join(out, " ")
}

func withPath(dirs string) func(*hostfs.Host) {
	return func(h *hostfs.Host) { h.Environ = append(h.Environ, "PATH="+dirs) }
}

func TestCommands(t *testing.T) {
	const nvm = "/home/u/.nvm/versions/node/v20"
	tests := []struct {
		name, files, line, path string
		program, brought        string
		links                   string // that must be among Profile.Links
	}{
		{name: "system binary", line: "server", program: "/usr/bin/server"},
		{name: "go binary at home", files: "x /home/u/go/bin/srv", line: "/home/u/go/bin/srv", program: "/home/u/go/bin/srv", brought: "/home/u/go/bin/srv"},
		{name: "relative", files: "x /home/u/proj/srv", line: "./srv", program: "/home/u/proj/srv", brought: "/home/u/proj/srv"},
		{name: "tilde", files: "x /home/u/srv", line: "~/srv", program: "/home/u/srv", brought: "/home/u/srv"},
		{name: "node at home", files: "x " + nvm + "/bin/node", line: "node", path: nvm + "/bin:/usr/bin", program: nvm + "/bin/node", brought: nvm},
		{name: "npx at home", files: "x " + nvm + "/bin/node\nl " + nvm + "/bin/npx ../lib/node_modules/npm/bin/npx-cli.js\nx " + nvm + "/lib/node_modules/npm/bin/npx-cli.js #!/usr/bin/env node\\n",
			line: "npx -y pkg", path: nvm + "/bin:/usr/bin", program: nvm + "/lib/node_modules/npm/bin/npx-cli.js", brought: nvm},
		{name: "env -S", files: "x /home/u/s/run #!/usr/bin/env -S A=b node --x\\nf\nx " + nvm + "/bin/node", line: "/home/u/s/run", path: nvm + "/bin:/usr/bin", program: "/home/u/s/run", brought: nvm + " /home/u/s"},
		{name: "script argument", files: "f /home/u/app/package.json\nf /home/u/app/dist/index.js", line: "node --no-warnings -r x /home/u/app/dist/index.js /home/u/dir", program: "/usr/bin/node", brought: "/home/u/app"},
		{name: "script without package", files: "f /home/u/app/dist/index.js", line: "node /home/u/app/dist/index.js", program: "/usr/bin/node", brought: "/home/u/app/dist"},
		{name: "script at home", files: "f /home/u/index.js\nf /home/u/package.json", line: "node /home/u/index.js", program: "/usr/bin/node", brought: "/home/u/index.js"},
		{name: "package at home", files: "f /home/u/dist/index.js\nf /home/u/package.json", line: "node /home/u/dist/index.js", program: "/usr/bin/node", brought: "/home/u/dist"},
		{name: "node modules", files: "f /home/u/app/node_modules/a/node_modules/b/package.json\nf /home/u/app/node_modules/a/node_modules/b/x.js\nf /home/u/app/package.json",
			line: "node /home/u/app/node_modules/a/node_modules/b/x.js", program: "/usr/bin/node", brought: "/home/u/app/node_modules"},
		{name: "bin link", files: "l /home/u/app/node_modules/.bin/srv ../srv/index.js\nx /home/u/app/node_modules/srv/index.js #!/usr/bin/env node\\n\nf /home/u/app/node_modules/srv/package.json",
			line: "/home/u/app/node_modules/.bin/srv", program: "/home/u/app/node_modules/srv/index.js", brought: "/home/u/app/node_modules"},
		{name: "link at home", files: "l /home/u/.local/bin/srv /home/u/app/srv\nx /home/u/app/srv", line: "srv", path: "/home/u/.local/bin:/usr/bin", program: "/home/u/app/srv", brought: "/home/u/app/srv", links: "/home/u/.local/bin/srv"},
		{name: "monorepo", files: "f /home/u/mono/packages/a/package.json\nf /home/u/mono/packages/a/x.js\nd /home/u/mono/node_modules", line: "node /home/u/mono/packages/a/x.js", program: "/usr/bin/node", brought: "/home/u/mono/node_modules /home/u/mono/packages/a"},
		{name: "node guesses", files: "f /home/u/app/x.js", line: "node /home/u/app/x", program: "/usr/bin/node", brought: "/home/u/app"},
		{name: "eval", line: "node -e /home/u/proj", program: "/usr/bin/node"},
		{name: "python module", files: "d /home/u/app", line: "python3 -m /home/u/app", program: "/usr/bin/python3.11"},
		{name: "python script", files: "f /home/u/app/x.py", line: "python3 -u -X dev /home/u/app/x.py", program: "/usr/bin/python3.11", brought: "/home/u/app"},
		{name: "shell script", files: "x /home/u/app/x.sh #!/bin/bash\\n", line: "/home/u/app/x.sh", program: "/home/u/app/x.sh", brought: "/home/u/app/x.sh"},
		{name: "wrapper script", files: "x /home/u/app/scripts/x.sh #!/bin/bash\\n\nf /home/u/app/package.json\nd /home/u/node_modules", line: "/home/u/app/scripts/x.sh", program: "/home/u/app/scripts/x.sh", brought: "/home/u/app"},
		{name: "wrapper of a monorepo", files: "x /home/u/m/a/x.sh #!/usr/bin/env bash\\n\nf /home/u/m/a/package.json\nd /home/u/m/node_modules\nd /home/u/m/.git", line: "/home/u/m/a/x.sh", program: "/home/u/m/a/x.sh", brought: "/home/u/m/a /home/u/m/node_modules"},
		{name: "wrapper by its shell", files: "f /home/u/app/bin/x.sh\nf /home/u/app/pyproject.toml", line: "bash -e /home/u/app/bin/x.sh", program: "/usr/bin/bash", brought: "/home/u/app"},
		{name: "wrapper in a repository", files: "x /home/u/a/r/x.sh #!/bin/bash\\n\nd /home/u/a/r/.git\nf /home/u/a/package.json", line: "/home/u/a/r/x.sh", program: "/home/u/a/r/x.sh", brought: "/home/u/a/r/x.sh"},
		{name: "wrapper beside repositories", files: "x /home/u/src/a/x.sh #!/bin/bash\\n\nf /home/u/src/package.json\nf /home/u/src/b/private\nd /home/u/src/c/.git", line: "/home/u/src/a/x.sh", program: "/home/u/src/a/x.sh", brought: "/home/u/src/a/x.sh"},
		{name: "wrapper in a repository with others", files: "x /home/u/m/a/x.sh #!/bin/bash\\n\nf /home/u/m/package.json\nd /home/u/m/.git\nf /home/u/m/sub/.git", line: "/home/u/m/a/x.sh", program: "/home/u/m/a/x.sh", brought: "/home/u/m"},
		{name: "wrapper at home", files: "x /home/u/scripts/x.sh #!/bin/bash\\n\nf /home/u/package.json", line: "/home/u/scripts/x.sh", program: "/home/u/scripts/x.sh", brought: "/home/u/scripts/x.sh"},
		{name: "wrapper in the root", files: "x /opt/x.sh #!/bin/bash\\n\nf /opt/package.json\nf /package.json", line: "/opt/x.sh", program: "/opt/x.sh", brought: "/opt/x.sh"},
		{name: "venv", files: "l /home/u/v/bin/python /usr/bin/python3\nf /home/u/v/pyvenv.cfg\nx /home/u/v/bin/srv #!/home/u/v/bin/python\\n", line: "/home/u/v/bin/srv", program: "/home/u/v/bin/srv", brought: "/home/u/v"},
		{name: "venv by path", files: "l /home/u/v/bin/python /usr/bin/python3\nf /home/u/v/pyvenv.cfg", line: "python", path: "/home/u/v/bin", program: "/usr/bin/python3.11", brought: "/home/u/v"},
		{name: "never widened to ~/.local", files: "x /home/u/.local/bin/python3.12\nd /home/u/.local/lib/python3.12", line: "/home/u/.local/bin/python3.12", program: "/home/u/.local/bin/python3.12", brought: "/home/u/.local/bin/python3.12 /home/u/.local/lib/python3.12"},
		{name: "never widened to home", files: "x /home/u/bin/node", line: "/home/u/bin/node", program: "/home/u/bin/node", brought: "/home/u/bin/node"},
		{name: "pyenv by file", files: "x /home/u/.pyenv/shims/python #!/usr/bin/env bash\\n\nx /home/u/.pyenv/versions/3.9.1/bin/python\nx /home/u/.pyenv/versions/3.10.0/bin/python\nf /home/u/proj/.python-version 3.9.1\\n\nf /home/u/.pyenv/version 3.10.0",
			line: "python", path: "/home/u/.pyenv/shims:/usr/bin", program: "/home/u/.pyenv/versions/3.9.1/bin/python", brought: "/home/u/.pyenv/versions/3.9.1"},
		{name: "pyenv system", files: "x /home/u/.pyenv/shims/python3 #!/usr/bin/env bash\\n\nd /home/u/.pyenv/versions\nf /home/u/.pyenv/version system", line: "python3", path: "/home/u/.pyenv/shims:/usr/bin", program: "/usr/bin/python3.11"},
		{name: "interpreter is a shim", files: "x /home/u/.rbenv/shims/ruby #!/usr/bin/env bash\\n\nx /home/u/.rbenv/versions/3.3.0/bin/ruby\nf /home/u/.rbenv/version 3.3\\n\nx /srv/x/run #!/usr/bin/env ruby\\n", line: "/srv/x/run", path: "/home/u/.rbenv/shims:/usr/bin", program: "/srv/x/run", brought: "/home/u/.rbenv/versions/3.3.0 /srv/x"},
		{name: "asdf", files: "x /home/u/.asdf/shims/node #!/usr/bin/env bash\\n# asdf-plugin: nodejs 18.0.0\\n# asdf-plugin: nodejs 20.0.0\\nexec asdf\nx /home/u/.asdf/installs/nodejs/18.0.0/bin/node\nx /home/u/.asdf/installs/nodejs/20.0.0/bin/node\nf /home/u/proj/.tool-versions nodejs 18.0.0\\n",
			line: "node", path: "/home/u/.asdf/shims:/usr/bin", program: "/home/u/.asdf/installs/nodejs/18.0.0/bin/node", brought: "/home/u/.asdf/installs/nodejs/18.0.0"},
		{name: "mise", files: "x /home/u/.local/bin/mise\nl /home/u/.local/share/mise/shims/node /home/u/.local/bin/mise\nx /home/u/.local/share/mise/installs/node/20.1.0/bin/node\nl /home/u/.local/share/mise/installs/node/latest ./20.1.0",
			line: "node", path: "/home/u/.local/share/mise/shims:/usr/bin", program: "/home/u/.local/share/mise/installs/node/20.1.0/bin/node", brought: "/home/u/.local/share/mise/installs/node/20.1.0"},
		{name: "volta", files: "x /home/u/.volta/bin/volta-shim\nl /home/u/.volta/bin/node volta-shim\nf /home/u/.volta/tools/user/platform.json {\"node\":{\"runtime\":\"20.1.0\"}}\nx /home/u/.volta/tools/image/node/20.1.0/bin/node",
			line: "node", path: "/home/u/.volta/bin:/usr/bin", program: "/home/u/.volta/tools/image/node/20.1.0/bin/node", brought: "/home/u/.volta/tools/image/node/20.1.0"},
		{name: "uvx", files: "x /home/u/.local/bin/uvx\nx /home/u/.local/bin/uv", line: "uvx mcp-server-git", path: "/home/u/.local/bin:/usr/bin", program: "/home/u/.local/bin/uvx", brought: "/home/u/.local/bin/uv /home/u/.local/bin/uvx"},
		{name: "uv run", files: "x /usr/bin/uv\nf /home/u/srv/main.py", line: "uv --directory /home/u/srv run main.py", program: "/usr/bin/uv", brought: "/home/u/srv"},
		{name: "poetry run", files: "x /usr/bin/poetry\nf /home/u/srv/main.py", line: "poetry -C /home/u/srv run server", program: "/usr/bin/poetry", brought: "/home/u/srv"},
		{name: "go run", files: "x /usr/bin/go\nf /home/u/srv/main.go", line: "go -C /home/u/srv run .", program: "/usr/bin/go", brought: "/home/u/srv"},
		{name: "timeout", files: "x /usr/bin/timeout\nx /usr/bin/node\nf /home/u/srv/package.json\nf /home/u/srv/i.js", line: "timeout -k 5 30 node /home/u/srv/i.js", program: "/usr/bin/timeout", brought: "/home/u/srv"},
		{name: "wrappers", files: "x /usr/bin/nice\nx /usr/bin/env\nx /usr/bin/node\nf /home/u/srv/i.js", line: "nice -n 5 env -C /home/u/srv A=b node i.js", program: "/usr/bin/nice", brought: "/home/u/srv"},
		{name: "env", files: "x " + nvm + "/bin/node", line: "env A=b node", path: nvm + "/bin:/usr/bin", program: "/usr/bin/env", brought: nvm},
		{name: "jar", files: "x /usr/bin/java\nf /home/u/j/s.jar", line: "java -Xmx1g -jar /home/u/j/s.jar", program: "/usr/bin/java", brought: "/home/u/j"},
		{name: "first in path that runs", files: "f /home/u/bin/server\nd /home/u/b2/server", line: "server", path: "/home/u/bin:/home/u/b2:/usr/bin", program: "/usr/bin/server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			edit := func(*hostfs.Host) {}
			if tt.path != "" {
				edit = withPath(tt.path)
			}
			p, err := resolveCommand(t, newFake(aSystem, tt.files), tt.line, edit)
			testkit.Must(t, err)
			if p.Program != tt.program || brought(p) != tt.brought {
				t.Errorf("program %s brings %q\nwant    %s brings %q", p.Program, brought(p), tt.program, tt.brought)
			}
			if p.Argv[0] != strings.Fields(tt.line)[0] {
				t.Errorf("argv %q", p.Argv)
			}
			if !p.Allows(policy.OpExec, p.Program) || !p.Allows(policy.OpRead, p.Program) || p.Allows(policy.OpWrite, p.Program) {
				t.Errorf("the program: %s", p.RightsAt(p.Program))
			}
			for _, want := range strings.Fields(tt.links) {
				found := false
				for _, l := range p.Links {
					found = found || l.Path == want
				}
				if !found {
					t.Errorf("no link %s in %v", want, p.Links)
				}
			}
			checkProfile(t, p)
		})
	}
}

func TestCommandErrors(t *testing.T) {
	tests := []struct{ name, files, line, want string }{
		{"missing", "", "absent", "absent: was not found in PATH (/usr/local/bin:/usr/bin:/bin:"},
		{"missing, one directory locked", "0 /usr/local/bin", "absent", "absent: was not found in PATH"},
		{"missing path", "", "/opt/absent", "/opt/absent: was not found"},
		{"relative", "", "./absent", "./absent: was not found; that is /home/u/proj/absent"},
		{"directory", "", "/usr/bin", "/usr/bin: is a directory"},
		{"not executable", "f /usr/bin/data", "/usr/bin/data", "/usr/bin/data: is not executable (mode -rw-r--r--)"},
		{"a script that is not executable", "f /usr/bin/it's #!/usr/bin/env -S node -x", "/usr/bin/it's", `; make it executable: chmod +x '/usr/bin/it'\''s'; or put its interpreter in front of it in this command line`},
		{"one in path", "f /usr/bin/data #!/bin/sh", "data", "; make it executable: chmod +x /usr/bin/data; or put its interpreter in front of it in this command line"},
		{"not executable in path", "f /usr/bin/data", "data", "no program was found (/usr/bin/data is not executable"},
		{"fifo", "p /usr/bin/pipe", "/usr/bin/pipe", "is not a regular file"},
		{"loop", "l /usr/bin/loop loop", "/usr/bin/loop", "too many symbolic links"},
		{"dangling", "l /usr/bin/gone nowhere", "/usr/bin/gone", "was not found"},
		{"empty", "x /usr/bin/empty \\n", "/usr/bin/empty", "is neither a binary nor a script"},
		{"text", "x /usr/bin/text echo hi", "/usr/bin/text", "is neither a binary nor a script with a #! line; add one"},
		{"no interpreter", "x /usr/bin/s #!/usr/bin/absent", "/usr/bin/s", "/usr/bin/s: the interpreter /usr/bin/absent of its #! line was not found"},
		{"env without it", "x /usr/bin/s #!/usr/bin/env absent", "/usr/bin/s", `/usr/bin/s: the interpreter "absent" of its #! line was not found in PATH`},
		{"CR LF", "x /usr/bin/s #!/bin/sh\r\\n", "/usr/bin/s", `/usr/bin/s: its #! line ends in CR LF, as on Windows, and no program has that name; end its lines in LF: sed -i 's/\r$//' /usr/bin/s`},
		{"env and CR LF", "x /usr/bin/s #!/usr/bin/env node\r\\n", "/usr/bin/s", "ends in CR LF"},
		{"relative interpreter", "x /usr/bin/s #!node", "/usr/bin/s", "names a relative interpreter"},
		{"blank interpreter", "x /usr/bin/s #!", "/usr/bin/s", "names no interpreter"},
		{"circle", "x /usr/bin/s #!/usr/bin/s", "/usr/bin/s", "and so on"},
		{"locked", "0 /home/u/locked", "/home/u/locked/x", "permission denied"},
		{"shim without version", "x /home/u/.pyenv/shims/python #!/bin/bash\nd /home/u/.pyenv/versions/3.9\nf /home/u/.pyenv/version 3.12", "/home/u/.pyenv/shims/python", "is a shim, and no installed version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := resolveCommand(t, newFake(aSystem, tt.files), tt.line)
			var ce *CommandError
			if !errors.As(err, &ce) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestCommandOneWord checks that a command line written as one word gets advice if it
// begins with a program. A space in a name gets none.
func TestCommandOneWord(t *testing.T) {
	h := newFake(aSystem, "x /home/u/bin/serve\nx /home/u/proj/my%20serve\nx /opt/a%20b/node").host()
	const advice, none = "this is a whole line in one word", ""
	for command, want := range map[string]string{
		"/usr/bin/node server.js":       "/usr/bin/node server.js: was not found; " + advice,
		"/usr/bin/node /home/u/x.js -v": advice,
		"/opt/a b/node x.js":            advice,
		"~/bin/serve --stdio":           advice,
		"./my serve --stdio":            advice,
		"/usr/bin/absent server.js":     none,
		"/usr/bin /home/u/bin/serve":    none,
		"/opt/a b/absent":               none,
		"/home/u/proj/my serve":         none,
	} {
		p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{command}, Net: []string{"x.example"}})
		testkit.Must(t, err)
		_, _, err = Resolve(p, h)
		if got := fmt.Sprint(err); !strings.Contains(got, want) || want == none && strings.Contains(got, advice) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

// TestFromCommandLineElsewhere checks that the command of a server given on the command line is
// relative to the user's working directory. Its arguments are relative to the server's working
// directory.
func TestFromCommandLineElsewhere(t *testing.T) {
	h := newFake(aSystem, "x /home/u/proj/node\nf /home/u/other/app/x.js\nf /home/u/proj/app/x.js")
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"./node", "app/x.js"}, Workspace: "/home/u/other", Net: []string{"a"}})
	testkit.Must(t, err)
	out, _, err := Resolve(p, h.host())
	if err != nil || out.Program != "/home/u/proj/node" || brought(out) != "/home/u/other/app /home/u/proj/node" {
		t.Errorf("%v, %v", out, err)
	}
	// In a configuration both are relative to the workspace.
	p = &policy.Policy{Server: "s", Command: "./node", Workspace: "/home/u/other"}
	if _, _, err = Resolve(p, h.host()); err == nil || !strings.Contains(err.Error(), "that is /home/u/other/node") {
		t.Errorf("%v", err)
	}
}

// TestGuardedPrefix checks that the grant for a program is never widened to a directory
// with secrets or with mcp-jail's own files.
func TestGuardedPrefix(t *testing.T) {
	h := newFake(aSystem, "x /home/u/.cargo/bin/node\nx /data/bin/node\nd /data/state/mcp-jail\nx /home/u/.aws/x/bin/node")
	for _, file := range []string{"/home/u/.cargo/bin/node", "/data/bin/node", "/home/u/.aws/x/bin/node"} {
		p, err := resolveCommand(t, h, file, func(h *hostfs.Host) { h.StateDir = "/data/state/mcp-jail" })
		if err != nil || brought(p) != file {
			t.Errorf("%s brings %v, %v", file, brought(p), err)
		}
	}
}

// TestPackageIsSearched checks that the scan hides .env files in a command's package. It
// does not search the package's dependencies (see the limits in the package comment).
func TestPackageIsSearched(t *testing.T) {
	h := newFake(aSystem, "f /srv/app/package.json\nf /srv/app/dist/x.js\nf /srv/app/.env\nf /srv/app/node_modules/d/.env")
	p, err := resolveCommand(t, h, "node /srv/app/dist/x.js")
	if err != nil || p.RightsAt("/srv/app/.env") != 0 || p.RightsAt("/srv/app/dist/x.js") != policy.Read|policy.Execute || p.RightsAt("/srv/app/node_modules/d/.env") == 0 {
		t.Errorf("%v, %v", err, printProfile(p))
	}
}

// TestOffline checks that every server gets the variables for a registry that it cannot reach,
// unless a rule passes others.
func TestOffline(t *testing.T) {
	h := newFake(aSystem)
	told := func(o config.CommandLineOptions, environ ...string) (out string) {
		p, err := config.FromCommandLine(o)
		testkit.Must(t, err)
		host := h.host()
		host.Environ = append(host.Environ, environ...)
		profile, _, err := Resolve(p, host)
		testkit.Must(t, err)
		for _, v := range profile.Env {
			if strings.HasPrefix(v.Rule, "mcp-jail: no ") {
				out += v.Name + "=" + v.Value + " "
			}
		}
		return out
	}
	npx := func(net ...string) config.CommandLineOptions {
		return config.CommandLineOptions{Command: []string{"npx", "x"}, Net: net, Env: []string{"npm_config_registry", "npm_config_fetch_retries"}}
	}
	const (
		offline = "PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_RETRIES=0 UV_OFFLINE=1 YARN_ENABLE_NETWORK=0 npm_config_offline=true pnpm_config_offline=true "
		slow    = "npm_config_fetch_retries=0 npm_config_prefer_offline=true "
	)
	for _, tt := range []struct {
		options config.CommandLineOptions
		environ string
		want    string
	}{
		{npx(), "", offline},
		{npx("api.example.org"), "", slow},
		{npx("registry.npmjs.org"), "", ""},
		{npx("*"), "", ""},
		{npx("*.npmjs.org:443"), "", ""},
		{npx("registry.npmjs.org:80"), "", slow},
		{npx("registry.npmjs.org"), "npm_config_registry=http://npm.example.org:4873/x", slow},
		{npx("npm.example.org:4873"), "npm_config_registry=http://npm.example.org:4873/x", ""},
		{npx("npm.example.org"), "npm_config_registry=http://npm.example.org/", ""},
		{npx("api.example.org"), "npm_config_fetch_retries=5", "npm_config_prefer_offline=true "},
		{config.CommandLineOptions{Command: []string{"server"}}, "", offline}, // it may call a package manager
		{config.CommandLineOptions{Command: []string{"server"}, Net: []string{"api.example.org"}}, "", slow},
		{config.CommandLineOptions{Command: []string{"server"}, Env: []string{"UV_OFFLINE"}}, "UV_OFFLINE=0", strings.Replace(offline, "UV_OFFLINE=1 ", "", 1)},
	} {
		if got := told(tt.options, tt.environ); got != tt.want {
			t.Errorf("%v with %q: %q, want %q", tt.options.Net, tt.environ, got, tt.want)
		}
	}
}

// elfWith builds the head of an ELF file that names a loader.
func elfWith(loader string) []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint64(b[32:], 64)
	binary.LittleEndian.PutUint16(b[54:], 56)
	binary.LittleEndian.PutUint16(b[56:], 1)
	binary.LittleEndian.PutUint32(b[64:], 3)
	binary.LittleEndian.PutUint64(b[64+8:], uint64(len(b)))
	binary.LittleEndian.PutUint64(b[64+32:], uint64(len(loader)+1))
	return append(append(b, loader...), 0)
}

func TestLoaderIsAProgram(t *testing.T) {
	if got := command.Loader(elfWith("/lib64/ld.so")); got != "/lib64/ld.so" {
		t.Fatalf("loader %q", got)
	}
	for _, head := range []string{"", elf, "\x7fELF\x02\x01" + strings.Repeat("\xff", 200), string(elfWith("relative")), string(elfWith("/x"))[:100]} {
		if got := command.Loader([]byte(head)); got != "" {
			t.Errorf("%q: loader %q", head, got)
		}
	}
	h := newFake(aSystem, "l /lib64 usr/lib64\nx /usr/lib64/ld.so")
	h["/usr/bin/server"] = fakeFile{mode: 0o755, text: string(elfWith("/lib64/ld.so"))}
	p, _ := mustResolve(t, h, aServer+"[servers.s.access.commands]\n")
	if got := strings.Join(p.Programs, " "); got != "/usr/bin/server /usr/lib64/ld.so" {
		t.Errorf("programs %s", got)
	}
	if got := strings.Join(p.Loaders, " "); got != "/usr/lib64/ld.so" {
		t.Errorf("loaders %s", got)
	}
	if !p.Allows(policy.OpExec, "/usr/bin/server") || p.Allows(policy.OpExec, "/usr/bin/node") {
		t.Error("a list of programs is not respected")
	}
}

func TestCommandParts(t *testing.T) {
	h := newFake(aSystem, "f /opt/a/s/package.json\nf /opt/a/s/dist/index.js\nf /opt/a/node_modules/x/package.json\nx /opt/venv/bin/python3\nf /opt/venv/pyvenv.cfg\nf /home/u/proj/package.json\nf /home/u/proj/a.js\nx /srv/uv\nd /srv/project")
	for command, want := range map[string]string{
		`command = "server"`: "/usr/bin/server",
		`command = "npx"`:    "/usr/bin/env /usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js",
		"command = \"node\"\narguments = [\"/opt/a/s/dist/index.js\"]":                           "/opt/a/node_modules /opt/a/s/ /opt/a/s/dist/index.js /usr/bin/node",
		"command = \"node\"\narguments = [\"a.js\"]":                                             "/home/u/proj/ /home/u/proj/a.js /usr/bin/node",
		`command = "/opt/venv/bin/python3"`:                                                      "/opt/venv /opt/venv/bin/python3",
		"command = \"/srv/uv\"\narguments = [\"--directory\", \"/srv/project\", \"run\", \"x\"]": "/srv/project/ /srv/uv",
	} {
		p, _ := mustResolve(t, h, "[servers.s]\n"+command)
		var got []string
		for _, part := range p.Parts {
			if part.Work {
				part.Path += "/"
			}
			got = append(got, part.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// TestToolScript: a script is granted with its package if an installed package is its interpreter, as
// without the launcher. Of other packages an argument grants nothing.
func TestToolScript(t *testing.T) {
	const tree = "/home/u/.local/share/mcp-jail/t"
	h := newFake(aSystem, "f "+tree+"/node_modules/tsx/dist/cli.mjs\nf "+tree+"/node_modules/@a/tsx/x.js\nf /home/u/app/package.json\nf /home/u/app/src/x.ts")
	for _, c := range []struct{ arguments, brought string }{
		{tree + "/node_modules/tsx/dist/cli.mjs /home/u/app/src/x.ts", "/home/u/app"},
		{"--no-warnings " + tree + "/node_modules/tsx/dist/cli.mjs watch --tsconfig t.json /home/u/app/src/x.ts /home/u/other", "/home/u/app"},
		{tree + "/node_modules/@a/tsx/x.js /home/u/app/src/x.ts", ""},
		{tree + "/node_modules/tsx/dist/cli.mjs -e /home/u/app/src/x.ts", ""},
		{"/home/u/app/src/x.ts", ""},
	} {
		p := &policy.Policy{Server: "s", Command: "node", Arguments: strings.Fields(c.arguments), FromCommandLine: true, Limits: policy.DefaultLimits}
		p.Packages.Tree = tree
		out, _, err := Resolve(p, h.host())
		testkit.Must(t, err)
		if got := strings.TrimSpace(strings.ReplaceAll(brought(out), tree, "")); got != c.brought {
			t.Errorf("%s brings %q, want %q", c.arguments, got, c.brought)
		}
	}
}
