package runline

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// odd are arguments that a careless reader splits, expands or takes for options.
var odd = []string{"a", "--flag", "-y", "--", "-x", "x y", "$HOME", "`id`", `"q"`, "'", ""}

// TestArguments compares with what the program of a package was seen to get: each row was
// run by npm 11.19, bun 1.4, pnpm 10.34 and yarn 4.18 with a package that prints its
// arguments. [odd] stands for the arguments in all rows that end with "+".
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		line    string // words separated by one space
		pkg     string
		program string
		args    string
	}{
		// npx passes on everything after the first word that is no option.
		{"npx pkg +", "pkg", "", "+"},
		{"npx -y pkg +", "pkg", "", "+"},
		{"npx --yes pkg +", "pkg", "", "+"},
		{"npx -q pkg +", "pkg", "", "+"},
		{"npx --quiet pkg +", "pkg", "", "+"},
		{"npx -s pkg +", "pkg", "", "+"},
		{"npx --silent pkg +", "pkg", "", "+"},
		{"npx -d pkg +", "pkg", "", "+"},
		{"npx --verbose pkg +", "pkg", "", "+"},
		{"npx --prefer-offline pkg +", "pkg", "", "+"},
		{"npx --prefer-online pkg +", "pkg", "", "+"},
		{"npx --offline pkg +", "pkg", "", "+"},
		{"npx --no-install pkg +", "pkg", "", "+"},
		{"npx --ignore-existing pkg +", "pkg", "", "+"},
		{"npx --ignore-scripts pkg +", "pkg", "", "+"},
		{"npx --force pkg +", "pkg", "", "+"},
		{"npx --fund pkg +", "pkg", "", "+"},
		{"npx --legacy-peer-deps pkg +", "pkg", "", "+"},
		{"npx -y -q pkg +", "pkg", "", "+"},
		{"npx --loglevel error pkg +", "pkg", "", "+"},
		{"npx --loglevel=error pkg +", "pkg", "", "+"},
		{"npx --cache /c pkg +", "pkg", "", "+"},
		{"npx --registry http://127.0.0.1:1 pkg +", "pkg", "", "+"},
		{"npx --registry=http://127.0.0.1:1 pkg +", "pkg", "", "+"},
		{"npx --userconfig /u/.npmrc pkg +", "pkg", "", "+"},
		{"npx --tag next pkg +", "pkg", "", "+"},
		{"npx --omit dev pkg +", "pkg", "", "+"},
		{"npx --omit=dev pkg +", "pkg", "", "+"},
		{"npx --no-audit -y pkg +", "pkg", "", "+"},
		{"npx --no-update-notifier -y pkg +", "pkg", "", "+"},
		{"npx --no-fund -- pkg +", "pkg", "", "+"},
		{"npx --no -- pkg +", "pkg", "", "+"},
		{"npx -- pkg -a", "pkg", "", "-a"},
		{"npx -y -- pkg -- b", "pkg", "", "-- b"},
		{"npx pkg --", "pkg", "", "--"},
		{"npx pkg -- -- z", "pkg", "", "-- -- z"},
		{"npx -p pkg pkg -c x", "pkg", "pkg", "-c x"},
		{"npx --package pkg pkg --package x", "pkg", "pkg", "--package x"},
		{"npx --package=pkg pkg a", "pkg", "pkg", "a"},
		{"npx -p=pkg pkg", "pkg", "pkg", ""},
		{"npx -y -p pkg -p @s/server mcp-show -- a", "pkg @s/server", "mcp-show", "-- a"},
		{"npx -p @s/server -- mcp-show -p", "@s/server", "mcp-show", "-p"},
		{"npx --node-options=--no-warnings pkg n", "pkg", "", "n"},
		{"npx -y pkg@>=1 +", "pkg@>=1", "", "+"},
		{"npx -y x@npm:pkg@1.2.3 +", "x@npm:pkg@1.2.3", "", "+"},
		{"npx -y ./pkg.tgz +", "./pkg.tgz", "", "+"},
		{"npx.cmd -y pkg +", "pkg", "", "+"},
		{"/usr/bin/npx -y pkg +", "pkg", "", "+"},
		{`C:\Program_Files\nodejs\npx.CMD -y pkg +`, "pkg", "", "+"},
		{"node /usr/lib/node_modules/npm/bin/npx-cli.js -y pkg g", "pkg", "", "g"},
		{"node /usr/lib/node_modules/npm/bin/npm-cli.js exec -- pkg g", "pkg", "", "g"},
		// npm exec reads options up to "--", which it drops once.
		{"npm exec -- pkg +", "pkg", "", "+"},
		{"npm exec pkg -- -a --b", "pkg", "", "-a --b"},
		{"npm exec pkg a b", "pkg", "", "a b"},
		{"npm exec pkg -", "pkg", "", "-"},
		{"npm exec --yes pkg a -- -c", "pkg", "", "a -c"},
		{"npm exec --yes -- pkg --yes", "pkg", "", "--yes"},
		{"npm exec pkg --yes z", "pkg", "", "z"},
		{"npm exec --no-audit pkg z", "pkg", "", "z"},
		{"npm exec -- pkg -- x", "pkg", "", "-- x"},
		{"npm exec pkg -- -- x", "pkg", "", "-- x"},
		{"npm x -- pkg c", "pkg", "", "c"},
		{"npm x pkg -q c", "pkg", "", "c"},
		{"npm --yes exec -- pkg c", "pkg", "", "c"},
		{"npm --silent x @s/server", "@s/server", "", ""},
		{"npm exec --package=pkg -- pkg x -y", "pkg", "pkg", "x -y"},
		{"npm exec --package pkg -- pkg", "pkg", "pkg", ""},
		{"npm exec --loglevel silent -- pkg 1", "pkg", "", "1"},
		{"npm exec --no -- pkg", "pkg", "", ""},
		{"npm exec -n pkg t", "pkg", "", "t"},
		{"bunx pkg +", "pkg", "", "+"},
		{"bunx --bun pkg a", "pkg", "", "a"},
		{"bunx -y pkg a", "pkg", "", "a"},
		{"bunx @s/server --bun b", "@s/server", "", "--bun b"},
		{"bunx @s/server@1.2.3 b", "@s/server@1.2.3", "", "b"},
		{"bunx --silent pkg@latest -s", "pkg@latest", "", "-s"},
		{"bunx -p @s/server mcp-show b", "@s/server", "mcp-show", "b"},
		{"bunx --package=@s/server mcp-show -p b", "@s/server", "mcp-show", "-p b"},
		{"bunx --package pkg pkg", "pkg", "pkg", ""},
		{"bun x pkg +", "pkg", "", "+"},
		{"bun x --bun pkg a", "pkg", "", "a"},
		{"bun --bun x pkg +", "pkg", "", "+"},
		{"pnpx pkg a -y -- -x --silent", "pkg", "", "a -y -- -x --silent"},
		{"pnpx -y @s/server a", "@s/server", "", "a"},
		{"pnpm dlx --yes pkg -y", "pkg", "", "-y"},
		{"pnpm dlx pkg a -y -- -x --silent", "pkg", "", "a -y -- -x --silent"},
		{"pnpm --silent dlx pkg a -y -- -x --silent", "pkg", "", "a -y -- -x --silent"},
		{"pnpm dlx @s/server --package=x b", "@s/server", "", "--package=x b"},
		{"pnpm dlx --package=@s/server mcp-show a --foo -c", "@s/server", "mcp-show", "a --foo -c"},
		{"pnpm --package=pkg dlx pkg q", "pkg", "pkg", "q"},
		{"pnpm dlx -s pkg pkg -x", "pkg", "", "pkg -x"},
		{"pnpm dlx --reporter=silent pkg@1.2.3 -- a", "pkg@1.2.3", "", "-- a"},
		{"yarn dlx -q pkg a -q -- -x", "pkg", "", "a -q -- -x"},
		{"yarn dlx -q -p @s/server mcp-show -p b", "@s/server", "mcp-show", "-p b"},
		{"yarn dlx --quiet --package=@s/server mcp-show --quiet", "@s/server", "mcp-show", "--quiet"},
		{"yarn dlx -q --package @s/server -p pkg mcp-show", "@s/server pkg", "mcp-show", ""},
		// From the documentation and the sources: uv and pipx were not run.
		{"uvx pkg +", "pkg", "pkg", "+"},
		{"uvx --from Pkg_a[cli]==1.2 cmd +", "Pkg_a[cli]==1.2", "cmd", "+"},
		{"uvx --from=git+https://h.test/u/r@v1 cmd", "git+https://h.test/u/r@v1", "cmd", ""},
		{"uvx git+https://h.test/u/r a", "git+https://h.test/u/r", "", "a"},
		{"uvx --with a,b>=1,<2 --with=c[x,y] pkg@latest -v", "pkg@latest a b>=1,<2 c[x,y]", "pkg", "-v"},
		{"uvx -w a --from b c", "b a", "c", ""},
		{"uvx -p 3.12 -qq --offline --isolated Pkg.A>=1 x", "Pkg.A>=1", "Pkg.A", "x"},
		{"uvx -p3.12 --index-url https://i.test/simple pkg", "pkg", "pkg", ""},
		{"uv tool run --python=3.12 pkg --python 3", "pkg", "pkg", "--python 3"},
		{"uv -q tool run pkg run", "pkg", "pkg", "run"},
		{"pipx run pkg +", "pkg", "", "+"},
		{"pipx run -- pkg +", "pkg", "", "+"},
		{"pipx run --spec pkg==1.2 cmd a", "pkg==1.2", "cmd", "a"},
		{"pipx run --no-cache --python 3.11 pkg -v", "pkg", "", "-v"},
	} {
		line, args := split(c.line), split(c.args)
		got, err := Parse(line)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		var pkgs []string
		for _, p := range got.Packages {
			pkgs = append(pkgs, p.String())
		}
		if strings.Join(pkgs, " ") != c.pkg || got.Program != c.program || !slices.Equal(got.Args, args) {
			t.Errorf("%s:\n got %q, program %q, arguments %q\nwant %q, program %q, arguments %q", c.line, pkgs, got.Program, got.Args, c.pkg, c.program, args)
		}
	}
}

func split(line string) (words []string) {
	for _, w := range strings.Fields(line) {
		if w == "+" {
			words = append(words, odd...)
			continue
		}
		words = append(words, strings.ReplaceAll(w, "_F", " F"))
	}
	return words
}

// TestLine: what options and wrappers leave in the line.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want Line
	}{
		{[]string{"npx", "--no-install", "--offline", "--registry", "https://r.test/", "--reg=https://s.test", "-f", "a@1"},
			Line{Launcher: Npx, NoInstall: true, Offline: true, Options: []Option{{"registry", "https://r.test/"}, {"registry", "https://s.test"}, {"force", "true"}},
				Packages: []Spec{{Raw: "a@1", Kind: Registry, Name: "a", Range: "1"}}, Args: []string{}, typed: "a@1"}},
		{[]string{"npx", "--node-options=--max-old-space-size=99", "-p", "a", "-c", `b --c "d e"`},
			Line{Launcher: Npx, NodeOptions: "--max-old-space-size=99", Call: `b --c "d e"`, Program: "b", Args: []string{"--c", "d e"},
				Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, named: true}},
		{[]string{"uvx", "-p", "3.12", "-U", "-i", "https://i.test", "--with-requirements", "r.txt,s.txt", "A.b[z,Y]@1.0"},
			Line{Launcher: Uvx, Python: "3.12", Options: []Option{{"upgrade", "true"}, {"default-index", "https://i.test"}}, Requirements: []string{"r.txt", "s.txt"},
				Packages: []Spec{{Raw: "A.b[z,Y]@1.0", Kind: Registry, Name: "a-b", Version: "1.0", Extras: []string{"y", "z"}}}, Program: "A.b", Args: []string{}, typed: "A.b[z,Y]@1.0"}},
		{[]string{"bunx", "--bun", "a", "b"}, Line{Launcher: Bunx, BunAsNode: true, Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{"b"}, typed: "a"}},
		{[]string{"env", "A=1", "B=x=y", "npx", "a"}, Line{Launcher: Npx, Env: []Assignment{{"A", "1"}, {"B", "x=y"}}, Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{}, typed: "a"}},
		{[]string{"env", "npm_config_registry=https://r.test", "npm_config_force=true", "NPM_CONFIG_OFFLINE=true", "npx", "a"},
			Line{Launcher: Npx, Offline: true, Env: []Assignment{{"npm_config_registry", "https://r.test"}, {"npm_config_force", "true"}, {"NPM_CONFIG_OFFLINE", "true"}}, Options: []Option{{"registry", "https://r.test"}, {"force", "true"}},
				Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{}, typed: "a"}},
		{[]string{"env", "UV_PYTHON=3.11", "UV_INDEX_URL=https://i.test", "uvx", "a"},
			Line{Launcher: Uvx, Python: "3.11", Env: []Assignment{{"UV_PYTHON", "3.11"}, {"UV_INDEX_URL", "https://i.test"}}, Options: []Option{{"default-index", "https://i.test"}},
				Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Program: "a", Args: []string{}, typed: "a"}},
		{[]string{"bash", "-lc", `A='b c' exec npx -y a "x y" z\ w`}, Line{Launcher: Npx, Login: true, Env: []Assignment{{"A", "b c"}}, Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{"x y", "z w"}, typed: "a"}},
		{[]string{"sh", "-c", "npx a", "ignored"}, Line{Launcher: Npx, Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{}, typed: "a"}},
		{[]string{"cmd", "/c", "npx", "-y", "a@1.0.0"}, Line{Launcher: Npx, Packages: []Spec{{Raw: "a@1.0.0", Kind: Registry, Name: "a", Version: "1.0.0"}}, Args: []string{}, typed: "a@1.0.0"}},
		{[]string{`C:\Windows\System32\cmd.exe`, "/D", "/C", "npx -y a b"}, Line{Launcher: Npx, Packages: []Spec{{Raw: "a", Kind: Registry, Name: "a"}}, Args: []string{"b"}, typed: "a"}},
	} {
		got, err := Parse(c.argv)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v\n got %+v\nwant %+v", c.argv, err, got, c.want)
		}
	}
}

// TestNotUnderstood: a launcher's line that may mean something else names the word.
func TestNotUnderstood(t *testing.T) {
	for _, c := range []struct{ line, word string }{
		{"npx", ""}, {"npx -y", ""}, {"npx --", ""},
		{"npx --foo pkg", "--foo"}, {"npx --foo=1 pkg", "--foo=1"}, {"npx - pkg", "-"}, {"npx --- pkg", "---"},
		{"npx -n pkg", "-n"}, {"npx --no-audit pkg", "--no-audit"}, {"npx --no pkg", "--no"}, {"npx -yq pkg", "-yq"}, {"npx -yes pkg", "-yes"}, {"npx --y pkg", "--y"},
		{"npx --yes=true pkg", "--yes=true"}, {"npx --registry", "--registry"}, {"npx --registry -y pkg", "--registry"}, {"npx --registry= pkg", "--registry="},
		{"npx --prefix /p pkg", "--prefix"}, {"npx -w a pkg", "-w"}, {"npx -g pkg", "-g"}, {"npx --shell=bash pkg", "--shell=bash"}, {"npx --version", "--version"},
		{"npx -p pkg", ""}, {"npx -p pkg ./x", "./x"}, {"npx -p pkg @s/x", "@s/x"}, {"npx -p pkg x;y", "x;y"}, {"npx -p pkg .x", ".x"}, {"npx -c x", "x"}, {"npx -p pkg -c x y", "y"}, {"npx -p pkg -c x -- y", "y"},
		{"npx /a.tgz", "/a.tgz"}, {"npx a@1.2.3.4", "a@1.2.3.4"}, {"npx _a", "_a"}, {"npx @s", "@s"},
		{"./npx -y pkg", "./npx"}, {"bin/npx pkg", "bin/npx"},
		{"npm exec --foo -- pkg", "--foo"}, {"npm exec -p pkg pkg", "-p"}, {"npm exec --yes true pkg", "true"}, {"npm exec pkg --foo", "--foo"}, {"npm exec --no-install pkg", "--no-install"}, {"npm --prefix d exec pkg", "--prefix"},
		{"bunx -- pkg", "--"}, {"bunx --foo pkg", "--foo"}, {"bunx tsc", "tsc"}, {"bunx git+https://h.test/a", "git+https://h.test/a"}, {"bun --cwd x x pkg", "--cwd"},
		{"pnpm dlx --package pkg pkg", "--package"}, {"pnpm dlx -c pkg", "-c"}, {"pnpm -C=d dlx pkg", "-C=d"}, {"pnpm dlx -- pkg", "--"}, {"pnpm dlx a@npm:b", "a@npm:b"},
		{"yarn dlx -- pkg", "--"}, {"yarn --cwd d dlx pkg", "--cwd"}, {"yarn dlx -qp a b", "-qp"},
		{"uvx", ""}, {"uvx python", "python"}, {"uvx python3.12 -m x", "python3.12"}, {"uvx pypy@3.10", "pypy@3.10"}, {"uvx --from python bash", "python"}, {"uvx run pkg", "run"},
		{"uvx -- pkg", "--"}, {"uvx --directory d pkg", "--directory"}, {"uvx --env-file e pkg", "--env-file"}, {"uvx pkg@new", "pkg@new"}, {"uvx pkg;x", "pkg;x"}, {"uvx --with-editable . pkg", "--with-editable"}, {"uvx -qv pkg", "-qv"},
		{"pipx run ./x.py", "./x.py"}, {"pipx run x.py", "x.py"}, {"pipx run --path x", "--path"}, {"pipx run --pip-args=-q x", "--pip-args=-q"}, {"pipx run", ""}, {"pipx run a@1", "a@1"},
		{"env -u npm_config_registry npx pkg", "npm_config_registry"}, {"env --ignore-signal npx pkg", "--ignore-signal"}, {"env -C /d npx ./pkg", "./pkg"}, {"timeout npx a", "npx"}, {"timeout -x 30 npx a", "-x"}, {"timeout --kill 5 30 npx a", "--kill"}, {"nice -m npx a", "-m"}, {"stdbuf -oL -x npx a", "-x"}, {"taskset -p npx a", "-p"}, {"env npm_config_package=a npx b", "npm_config_package=a"}, {"env npm_config_reg=x npx b", "npm_config_reg=x"}, {"env npm_config_yes=false npx b", "npm_config_yes=false"}, {"env UV_TOOL_DIR=/d uvx a", "UV_TOOL_DIR=/d"}, {"env BUN_CONFIG_REGISTRY=x bunx a", "BUN_CONFIG_REGISTRY=x"},
	} {
		_, err := Parse(strings.Fields(c.line))
		var e *NotUnderstoodError
		if !errors.As(err, &e) || e.Word != c.word || e.Why == "" || e.Launcher == "" {
			t.Errorf("%s: %v, want a complaint about %q", c.line, err, c.word)
		}
	}
	for _, script := range []string{
		"npx a && b", "cd /d && npx a", "npx a | b", "npx a > /dev/null", "npx $A", `npx "$A"`, "npx `a`", "npx a; b", "npx a*", "npx {a,b}", "npx ~/a", "npx a # b", "(npx a)", "! npx a",
		"npx 'a", `npx "a`, "npx a\\", "npx a\nb", "cd d", "exec -a x npx a", "if npx a", "A=$B npx a", "npx a=~", "time npx a", "npx a =b", `npx "a\` + "\n" + `b"`,
	} {
		_, err := Parse([]string{"sh", "-c", script})
		var e *NotUnderstoodError
		if !errors.As(err, &e) && script != "cd d" {
			t.Errorf("%s: %v", script, err)
		}
	}
	for _, argv := range [][]string{{"sh", "-ic", "npx a"}, {"bash", "--norc", "-c", "npx a"}, {"cmd", "/c", "npx a & b"}, {"cmd", "/c", "npx", "%A%"}, {"cmd", "/c", "npx", "a", "x y"}, {"npx", "a", "b\x00c"}, {"npx", "a\nb"}, {"npx", ""}} {
		_, err := Parse(argv)
		var e *NotUnderstoodError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

// TestNotLauncher: other commands are found out, and containers are named.
func TestNotLauncher(t *testing.T) {
	for _, line := range []string{
		"", "node server.js", "/usr/bin/node --inspect x", "python -m mcp", "./server", "npm start", "npm run exec-it", "npm install exec", "npm --silent run x", "bun run x", "bun server.ts", "pnpm exec x", "pnpm run dlx", "yarn start", "yarn run dlx",
		"uv run x", "uv tool install run", "pipx install run", "env A=1 node x", "env", "env A=1", "env -i node", "sh -c", "sh x.sh", "sh -c node", "bash -lc ls", "cmd /c dir", "cmd npx", "docker ps", "npxx a", "NPX a", "node bin/npx-cli.js a", "pipx", "uv", "./env npx a", "bin/env A=1 npx a", "sh/env npx a", `.\cmd /c npx a`,
	} {
		if _, err := Parse(strings.Fields(line)); !errors.Is(err, ErrNotLauncher) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, c := range []struct{ path, name, option string }{{"./sh", "sh", "-c"}, {"../bin/bash", "/bin/bash", "-c"}, {`bin\cmd.exe`, "cmd", "/c"}} {
		for _, argv := range [][]string{{c.path, c.option, "npx a"}, {"env", c.path, c.option, "npx a"}} {
			if _, err := Parse(argv); !errors.Is(err, ErrNotLauncher) {
				t.Errorf("%q: %v", argv, err)
			}
		}
		if _, err := Parse([]string{c.name, c.option, "npx a"}); err != nil {
			t.Errorf("the control %s: %v", c.name, err)
		}
	}
	for _, line := range []string{"docker run -i --rm mcp/x", "/usr/bin/podman --log-level x run y", "docker.exe mcp gateway", "env A=1 docker run x", "sh -c docker_run_x"} {
		_, err := Parse(strings.Split(strings.ReplaceAll(line, "docker_run_x", "docker run x"), " "))
		var c *ElsewhereError
		if line[:2] == "sh" {
			_, err = Parse([]string{"sh", "-c", "docker run x"})
		}
		if !errors.As(err, &c) || !errors.Is(err, ErrNotLauncher) || !strings.Contains(err.Error(), "not confined by mcp-jail") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
