package runline

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestKey: lines of one group have the same key, lines of two groups do not.
func TestKey(t *testing.T) {
	groups := [][]string{
		{"npx @s/server-a", "npx -y @s/server-a@1.2.3 x y", "npm exec -- @s/server-a@latest", "bunx --bun @s/server-a", "pnpm dlx @s/server-a z", "yarn dlx -q @s/server-a", "npx -p @s/server-a server-a", "env A=1 npx --registry=https://r.test @s/server-a"},
		{"npx server-a"},
		{"npx -p @s/server-a other", "bunx -p @s/server-a@2.0.0 other -x", "npx -p @s/server-a -c other"},
		{"npx -p @s/server-a -p b server-a", "npx -p @s/server-a@1.0.0 -p b@latest server-a x"},
		{"npx -p b -p @s/server-a server-a"},
		{"npx x@npm:@s/server-a"},
		{"uvx Server_A", "uv tool run server-a@latest x", "pipx run server.a", "uvx --from server-a==1 server-a", "uvx --from server-a Server_A"},
		{"uvx server-a[cli]"},
		{"uvx --with b server-a", "uvx --from server-a -w b==1 server-a"},
		{"uvx --with b --with c server-a", "uvx --with c,b server-a"},
		{"uvx --from server-a other", "pipx run --spec server-a==2 other a"},
		{"npx u/r", "npx github:u/r#v1"},
		{"npx ./d", "npx d/../d/x/.."},
		{"npx /d"},
	}
	seen := map[string]int{}
	for i, lines := range groups {
		for _, line := range lines {
			l, err := Parse(strings.Fields(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			key := l.Key("/w")
			if !regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`).MatchString(key) {
				t.Errorf("%s: the key %q is not the name of a server", line, key)
			}
			key = key[strings.LastIndexByte(key, '-'):]
			if j, ok := seen[key]; ok && j != i {
				t.Errorf("%s has the key of %s", line, groups[j][0])
			} else if !ok && line != lines[0] {
				t.Errorf("%s does not have the key of %s", line, lines[0])
			}
			seen[key] = i
		}
	}
	l, err := Parse([]string{"npx", "./d"})
	if err != nil || l.Key("/v") == l.Key("/w") || !l.Packages[0].Relative() {
		t.Error("a relative path is the same package in two directories")
	}
}

func TestDisplayAndWanted(t *testing.T) {
	for _, c := range []struct{ line, display, wanted string }{
		{"npx -y @modelcontextprotocol/server-memory x", "server-memory", "npm: @modelcontextprotocol/server-memory@latest"},
		{"npx -p b@1.0.0 -p a@^1 c", "b", "npm: a@^1 b@1.0.0"},
		{"npx --registry=https://r.test -y a@latest", "a", "npm: a@latest --registry=https://r.test"},
		{"npx --registry=https://user:secret@r.test/npm -y a@latest", "a", "npm: a@latest --registry=https://r.test/npm"},
		{"uvx --index corp=https://token@r.test/simple a", "a", "pypi: a@latest --index=corp=https://r.test/simple"},
		{"npx https://user:secret@h.org/x@y/a-1.tgz", "a-1", "npm: url:https://h.org/x@y/a-1.tgz@latest"},
		{"npx git+ssh://git@h.org/u/a.git", "a", "npm: git:git+ssh://git@h.org/u/a.git@latest"},
		{"npx github:u/my.r.git#v1", "my.r", "npm: git:github:u/my.r@v1"},
		{"npx https://h.org/x/a-1.tgz", "a-1", "npm: url:https://h.org/x/a-1.tgz@latest"},
		{"npx .", "server", "npm: directory:/w@latest"},
		{"npx ../e", "e", "npm: directory:/e@latest"},
		{"uvx -p 3.12 --with-requirements r.txt --from A_b[c]>=1 x", "a-b", "pypi: a-b[c]@>=1 --python=3.12 --with-requirements=/w/r.txt"},
		{"npx " + strings.Repeat("a", 41), strings.Repeat("a", 40), "npm: " + strings.Repeat("a", 41) + "@latest"},
	} {
		l, err := Parse(strings.Fields(c.line))
		if err != nil || l.Display() != c.display || l.Wanted("/w") != c.wanted {
			t.Errorf("%s: %v, %q, %q", c.line, err, l.Display(), l.Wanted("/w"))
		}
	}
}

// TestShadows: what the launcher runs instead, if it is there.
func TestShadows(t *testing.T) {
	for line, want := range map[string][]Shadow{
		"npx a@1":             {{Manifest, "a@1"}, {LocalProgram, "a@1"}, {GlobalProgram, "a@1"}, {LocalPackage, "a"}, {GlobalPackage, "a"}},
		"npx /a":              {{Manifest, "/a"}, {LocalProgram, "/a"}, {GlobalProgram, "/a"}, {AtPath, "/a"}},
		"npx -p @s/a b":       {{LocalPackage, "@s/a"}},
		"bunx @s/a":           {{LocalProgram, "a"}, {InPath, "a"}, {LocalPackage, "@s/a"}},
		"bunx -p a b":         {{LocalProgram, "b"}, {InPath, "b"}, {LocalPackage, "a"}},
		"pnpm dlx a":          nil,
		"yarn dlx a":          nil,
		"uvx --from A b":      {{GlobalProgram, "a"}},
		"uvx a@latest":        nil,
		"uvx --isolated a":    nil,
		"pipx run a":          {{AtPath, "a"}, {AtPath, "__pypackages__"}},
		"pipx run --spec a b": {{AtPath, "__pypackages__"}},
	} {
		l, err := Parse(strings.Fields(line))
		if got := l.Shadows(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %v\nwant %v", line, err, got, want)
		}
	}
}
