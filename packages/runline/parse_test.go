package runline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// shown prints what a line asks for: the packages, the program and the arguments, and what wrappers add.
func shown(l Line) string {
	var parts []string
	for _, p := range l.Packages {
		text := p.Name
		if p.Extras != nil {
			text += "[" + strings.Join(p.Extras, ",") + "]"
		}
		switch {
		case p.Version != "":
			text += " version " + p.Version
		case p.Range != "":
			text += " range " + p.Range
		case p.Tag != "":
			text += " tag " + p.Tag
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, " + ")
	for _, more := range []struct{ name, value string }{
		{"program", l.Program}, {"python", l.Python}, {"in", l.Dir}, {"behind", strings.Join(l.Outer, " ")},
	} {
		if more.value != "" {
			text += ", " + more.name + " " + more.value
		}
	}
	for _, a := range l.Env {
		text += ", " + a.Name + "=" + a.Value
	}
	if len(l.Args) > 0 {
		text += fmt.Sprintf(", %q", l.Args)
	}
	return text
}

// TestParse: words are separated by "|".
func TestParse(t *testing.T) {
	for _, row := range testkit.Rows(t, "lines.txt", 2) {
		line, want := row[0], row[1]
		got := ""
		l, err := Parse(strings.Split(line, "|"))
		if err == nil {
			got = shown(l)
		}
		if got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", line, err, got, want)
		}
	}
}

// TestNotUnderstood: a launcher's line that may mean something else runs as it is given, and names the word.
func TestNotUnderstood(t *testing.T) {
	for _, tt := range []struct{ line, word string }{
		{"npx", ""}, {"npx|-y", ""}, {"npx|--", ""}, {"npx|", ""}, {"npx|-p|pkg", ""}, {"npx|a|b\x00c", ""}, {"uvx", ""},
		// Options that choose where packages come from, what is run, or that are not known.
		{"npx|--registry=http://e|pkg", "--registry=http://e"}, {"npx|--userconfig|x|pkg", "--userconfig"}, {"npx|--prefix|/p|pkg", "--prefix"},
		{"npx|-c|x", "-c"}, {"npx|--node-options=-r|pkg", "--node-options=-r"}, {"npx|--offline|pkg", "--offline"}, {"npx|-yq|pkg", "-yq"}, {"npx|--yes=true|pkg", "--yes=true"},
		{"npx|-p|-y|pkg", "-p"}, {"npx|--package=|pkg", ""}, {"npx|--package", "--package"}, {"npx|-", "-"},
		{"npm|exec|-p|pkg|x", "-p"}, {"npm|exec|pkg|--foo", "--foo"}, {"npm|exec|--yes|true|pkg", "true"}, {"npm|--prefix|d|exec|pkg", "--prefix"},
		{"uvx|--index-url|http://e|pkg", "--index-url"}, {"uvx|--index=http://e|pkg", "--index=http://e"}, {"uvx|--with-requirements|r|pkg", "--with-requirements"},
		{"uvx|--with-editable|.|pkg", "--with-editable"}, {"uvx|--|pkg", "--"}, {"uvx|--python|/bin/python|pkg", "/bin/python"}, {"uvx|--python|3|--python|3|pkg", "3"},
		{"uvx|--from|a|--from|b|c", "--from"}, {"uv|--directory|d|tool|run|pkg", "--directory"},
		// What is no package of the registry.
		{"npx|a@npm:b@1", "a@npm:b@1"}, {"npx|u/r", "u/r"}, {"npx|github:u/r", "github:u/r"}, {"npx|git+https://h/r", "git+https://h/r"}, {"npx|https://h/a.tgz", "https://h/a.tgz"},
		{"npx|./d", "./d"}, {"npx|/d", "/d"}, {"npx|~/d", "~/d"}, {"npx|a.tgz", "a.tgz"}, {"npx|a@file:x", "a@file:x"}, {"npx|a@./x", "a@./x"}, {"npx|a@x.TAR.gz", "a@x.TAR.gz"}, {"npx|a@", "a@"},
		{"npx|a@.", "a@."}, {"npx|a@1/x", "a@1/x"}, {"npx|a@>=1:x", "a@>=1:x"}, {"npx|_a", "_a"}, {"npx|@s", "@s"}, {"npx|@s/.a", "@s/.a"}, {`npx|a\b`, `a\b`}, {"npx|a@1\n", "a@1\n"}, {"npx|a@u@h.org:p", "a@u@h.org:p"}, {"npx|é", "é"}, {"npx|a b", "a b"},
		{"uvx|git+https://h/r", "git+https://h/r"}, {"uvx|a @ https://h/a.whl", "a @ https://h/a.whl"}, {"uvx|./a", "./a"}, {"uvx|a@new", "a@new"}, {"uvx|a@1/2", "a@1/2"}, {"uvx|a;x", "a;x"},
		{"uvx|--with|a,b|c", "a,b"}, {"uvx|--from|a>=1,|c", "a>=1,"}, {"uvx|a[", "a["}, {"uvx|a[.]", "a[.]"}, {"uvx|python3.12", "python3.12"}, {"uvx|--from|pypy@3|x", "pypy@3"}, {"uvx|run|x", "run"},
		// What is no program.
		{"npx|-p|pkg|./x", "./x"}, {"npx|-p|pkg|@s/x", "@s/x"}, {"npx|-p|pkg|x;y", "x;y"}, {"npx|-p|pkg|.x", ".x"}, {"uvx|--from|a|b@1", "b@1"},
		// Variables that npm and uv read.
		{"env|NPM_CONFIG_registry=x|npx|a", "NPM_CONFIG_registry"}, {"env|-u|npm_config_x|npm|exec|a", "npm_config_x"}, {"env|UV_INDEX=x|uvx|a", "UV_INDEX"}, {"sh|-c|npm_config_registry=x npx a", "npm_config_registry"},
		// Wrappers.
		{"timeout|npx|a", "npx"}, {"timeout|-x|30|npx|a", "-x"}, {"env|--ignore-signal|npx|a", "--ignore-signal"}, {"nohup|nohup|nohup|nohup|nohup|npx|a", "nohup"}, {"bash|--norc|-c|npx a", "--norc"}, {"env|-S|npx a", "-S"},
		{"sh|-c|cd /d && npx a", "&"}, {"sh|-c|npx $A", "$"}, {"sh|-c|exec -a x npx a", "-a"}, {"sh|-c|time npx a", "time"}, {"cmd|/c|npx|a & b", "a & b"},
		// Other launchers.
		{"bunx|pkg", ""}, {"bun|x|pkg", ""}, {"pnpx|pkg", ""}, {"pnpm|dlx|pkg", ""}, {"pnpm|--package=x|dlx|pkg", "--package=x"}, {"yarn|dlx|-q|pkg", ""}, {"pipx|run|pkg", ""}, {"timeout|5|bunx|pkg", ""},
	} {
		l, err := Parse(strings.Split(tt.line, "|"))
		var e *NotUnderstoodError
		if !errors.As(err, &e) || e.Word != tt.word || e.Why == "" || e.Launcher == "" || !strings.Contains(err.Error(), "not pinned") {
			t.Errorf("%s: %v, %+v, want a complaint about %q", tt.line, err, l, tt.word)
		}
	}
}

// TestNotLauncher: what starts a program directly.
func TestNotLauncher(t *testing.T) {
	for _, line := range []string{
		"", "node|npx", "/usr/bin/python3|-m|npx", "npm|start", "npm|run|exec", "npm|install|exec|x", "uv|run|x", "uv|tool|install|run", "bun|run|x", "yarn|start", "pnpm|exec|x", "pipx|install|x",
		"./npx|pkg", `bin\npx|pkg`, "./env|npx|pkg", "go|run|x@v1", "op|run|--|npx|x", "env|-C|npx", "docker|run|x", "env", "sh|x.sh", "sh|-c|cd /d && node x", "sh|-c|node $A", "env|-x|node|s.js", "cmd|/c|npx.cmd.txt",
	} {
		if l, err := Parse(strings.Split(line, "|")); !errors.Is(err, ErrNotLauncher) {
			t.Errorf("%s: %v, %+v", line, err, l)
		}
	}
	testkit.Is(t, "no words", testkit.ErrorOf(Parse(nil)), ErrNotLauncher)
}

// TestWanted: lines with the same text share an installation: wrappers, arguments and the program are not in it.
func TestWanted(t *testing.T) {
	for _, tt := range []struct{ line, want, local string }{
		{"npx -y @s/a x", "@s/a@latest", "@s/a"},
		{"timeout 5 npm exec -- @s/a@latest", "@s/a@latest", "@s/a@latest"},
		{"npx -p b@1.0.0 -p a@^1 -p b@1.0.0 c", "a@^1 b@1.0.0", ""},
		{"uvx -p 3.12 --from A_b[c]>=1 x", "a-b[c]@>=1 --python=3.12", ""},
		{"uvx a", "a@latest", ""},
	} {
		l, err := Parse(strings.Fields(tt.line))
		if err != nil || l.Wanted() != tt.want || l.Local() != tt.local {
			t.Errorf("%s: %v, %q, %q, want %q, %q", tt.line, err, l.Wanted(), l.Local(), tt.want, tt.local)
		}
	}
}
