package runline

import (
	"reflect"
	"testing"
)

// TestNpmSpec: npm-package-arg 13 gives the same kinds, names and versions.
func TestNpmSpec(t *testing.T) {
	reg := func(s Spec) Spec { s.Kind = Registry; return s }
	git := func(location string, s Spec) Spec { s.Kind, s.Location = Git, location; return s }
	for raw, want := range map[string]Spec{
		"a": reg(Spec{Name: "a"}), "@s/a": reg(Spec{Name: "@s/a"}), "A": reg(Spec{Name: "A"}), "a.b": reg(Spec{Name: "a.b"}),
		"@s/a@1.2.3": reg(Spec{Name: "@s/a", Version: "1.2.3"}), "a@v1.2.3": reg(Spec{Name: "a", Version: "1.2.3"}), "a@=1.2.3": reg(Spec{Name: "a", Version: "1.2.3"}), "a@=v1.2.3": reg(Spec{Name: "a", Version: "1.2.3"}),
		"a@1.2.3-rc.1": reg(Spec{Name: "a", Version: "1.2.3-rc.1"}), "a@1.2.3+b": reg(Spec{Name: "a", Version: "1.2.3+b"}),
		"a@": reg(Spec{Name: "a", Range: "*"}), "a@*": reg(Spec{Name: "a", Range: "*"}), "a@1.2": reg(Spec{Name: "a", Range: "1.2"}), "a@x": reg(Spec{Name: "a", Range: "x"}), "a@v1": reg(Spec{Name: "a", Range: "v1"}),
		"a@^1": reg(Spec{Name: "a", Range: "^1"}), "a@>=1 <2": reg(Spec{Name: "a", Range: ">=1 <2"}), "a@1 - 2": reg(Spec{Name: "a", Range: "1 - 2"}), "a@1||2": reg(Spec{Name: "a", Range: "1||2"}), "a@>1.x": reg(Spec{Name: "a", Range: ">1.x"}),
		"a@latest": reg(Spec{Name: "a", Tag: "latest"}), "a@x1": reg(Spec{Name: "a", Tag: "x1"}), "a@latest~1": reg(Spec{Name: "a", Tag: "latest~1"}),
		"a@npm:b@1.0.0": {Kind: Alias, Name: "a", Target: "b", Version: "1.0.0"}, "@s/a@npm:@t/b": {Kind: Alias, Name: "@s/a", Target: "@t/b"},
		"u/r": git("github:u/r", Spec{}), "u/r#v1": git("github:u/r", Spec{Ref: "v1"}), "u/r#semver:^1": git("github:u/r", Spec{Range: "^1"}), "github:u/r.git": git("github:u/r", Spec{}), "gitlab:u/r": git("gitlab:u/r", Spec{}),
		"a@u/r": git("github:u/r", Spec{Name: "a"}), "git+https://h.org/u/r.git#abc": git("git+https://h.org/u/r.git", Spec{Ref: "abc"}), "git+ssh://git@h.org/u/r.git": git("git+ssh://git@h.org/u/r.git", Spec{}),
		"https://github.com/u/r": git("https://github.com/u/r", Spec{}), "a@git+https://h.org/u/r": git("git+https://h.org/u/r", Spec{Name: "a"}),
		"https://github.com/u/r/archive/v1.tar.gz": {Kind: URL, Location: "https://github.com/u/r/archive/v1.tar.gz"}, "http://h.org/a": {Kind: URL, Location: "http://h.org/a"}, "a@https://h.org/a.tgz": {Kind: URL, Name: "a", Location: "https://h.org/a.tgz"},
		".": {Kind: Directory, Location: "."}, "./a": {Kind: Directory, Location: "./a"}, "/a": {Kind: Directory, Location: "/a"}, "~/a": {Kind: Directory, Location: "~/a"}, "a/b/c": {Kind: Directory, Location: "a/b/c"}, "a@./b": {Kind: Directory, Name: "a", Location: "./b"},
		"a.tgz": {Kind: File, Location: "a.tgz"}, "./a.tgz": {Kind: File, Location: "./a.tgz"},
	} {
		want.Raw = raw
		if got, why := parseSpec(Npx, raw); why != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", raw, why, got, want)
		}
	}
	for _, raw := range []string{
		"", "-a", "_a", "a b", " a", "@s", "@s/", "@/a", "@s/a/b", "node_modules", "a@b@c", "a@^", "a@^^1", "a@1||", "a@1.2.3.4", "a@01.2.3", "a@1.2.3rc1", "a@==1.2.3", "a@1x", "a@1-2",
		"a@npm:", "a@npm:./b", "a@npm:b@npm:c", "npm:b", "a@b.c:d", "git@github.com:u/r.git", "a@u@h.org:p", "ssh://git@github.com/u/r", "gist:11081aaa281", "ftp://h/a", "file:a", "https://gitlab.com/u/g/r", "https://github.com/u/r/tree/x",
		"https:a", "git+https:///x", "u/r#a:b", "C:\\a", "c:/a", "a\\b", "./a#b", "./a%20b", "a@1\n", "\x00", "x@//a/../b?",
	} {
		if got, why := parseSpec(Npx, raw); why == "" {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}

// TestPythonSpec: requirements, with the forms that uvx adds.
func TestPythonSpec(t *testing.T) {
	reg := func(s Spec) Spec { s.Kind = Registry; return s }
	for raw, want := range map[string]Spec{
		"a": reg(Spec{Name: "a"}), "A__b.C": reg(Spec{Name: "a-b-c"}), "a[y,x,x]": reg(Spec{Name: "a", Extras: []string{"x", "y"}}),
		"a@1.2": reg(Spec{Name: "a", Version: "1.2"}), "a@latest": reg(Spec{Name: "a", Tag: "latest"}), "a[x]@1.0rc1": reg(Spec{Name: "a", Version: "1.0rc1", Extras: []string{"x"}}),
		"a==1.2": reg(Spec{Name: "a", Version: "1.2"}), "a == 1.2": reg(Spec{Name: "a", Version: "1.2"}), "a===1.2": reg(Spec{Name: "a", Version: "1.2"}), "a==1.*": reg(Spec{Name: "a", Range: "==1.*"}),
		"a>=1,<2": reg(Spec{Name: "a", Range: ">=1,<2"}), "a (>=1, <2)": reg(Spec{Name: "a", Range: ">=1,<2"}), "a~=1.4": reg(Spec{Name: "a", Range: "~=1.4"}),
		"git+https://h.org/u/r": {Kind: Git, Location: "git+https://h.org/u/r"}, "git+https://h.org/u/r@v1#egg=A_b&subdirectory=p": {Kind: Git, Name: "a-b", Ref: "v1", Location: "git+https://h.org/u/r#subdirectory=p"},
		"git+ssh://git@h.org/u/r.git": {Kind: Git, Location: "git+ssh://git@h.org/u/r.git"}, "a @ git+https://h.org/u/r@main": {Kind: Git, Name: "a", Ref: "main", Location: "git+https://h.org/u/r"},
		"https://h.org/a-1-py3-none-any.whl": {Kind: URL, Location: "https://h.org/a-1-py3-none-any.whl"}, "./a": {Kind: Directory, Location: "./a"}, "/d/a.whl": {Kind: File, Location: "/d/a.whl"}, ".": {Kind: Directory, Location: "."},
	} {
		want.Raw = raw
		if got, why := parseSpec(Uvx, raw); why != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", raw, why, got, want)
		}
	}
	for _, raw := range []string{"", "-a", "a-", "a b", "a; python_version<'3'", "a@", "a@x", "a@1 2", "a[", "a[x", "a[x y]", "a=1", "a>=", "a>=1,", "a>=1,b", "ftp://h/a", "git+https:/h", "git+https://h/r#x=y", "a @ file:///x", "é", "a\x00"} {
		if got, why := parseSpec(Uvx, raw); why == "" {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}

// TestExact: only one version, or one commit, does not move.
func TestExact(t *testing.T) {
	for raw, want := range map[string]bool{"a": false, "a@1": false, "a@latest": false, "a@1.2.3": true, "b@npm:a@1.2.3": true, "u/r#v1": false, "u/r#abc": false, "u/r#0123456789012345678901234567890123456789": true, "https://h.org/a.tgz": false, "./a": false} {
		s, why := parseSpec(Npx, raw)
		if why != "" || s.Exact() != want || s.Moving() == want {
			t.Errorf("%s: %v, %s", raw, s.Exact(), why)
		}
		if l := (Line{Packages: []Spec{s, s}}); l.Moving() == want {
			t.Errorf("a line with %s: %v", raw, l.Moving())
		}
	}
}
