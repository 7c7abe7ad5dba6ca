package npm

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// folder returns a package with a package.json and files "NAME: content".
func folder(manifest string, files ...string) fstest.MapFS {
	pkg := fstest.MapFS{"package.json": {Data: []byte(manifest)}}
	for _, f := range files {
		name, text, _ := strings.Cut(f, ": ")
		pkg[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return pkg
}

func TestProgramThatNpxChooses(t *testing.T) {
	const a, b = "a.js: #!/usr/bin/env node\n", "b.js: #!/usr/bin/env node\n"
	errs := map[string]error{
		"ErrAmbiguous": errAmbiguous, "ErrNotProgram": errNotProgram, "ErrNoProgram": errNoProgram,
		"ErrOutside": errOutside, "ErrMissingFile": errMissingFile,
	}
	for _, row := range testkit.Rows(t, "programs.txt", 6) {
		name, manifest, wanted, program, entry, fails := row[0], row[1], row[2], row[3], row[4], errs[row[5]]
		pkg := folder(manifest, a, b, "bin/x: #!/bin/sh\n", "bin/sub/y: #!/bin/sh\n", "bin/.hidden: 1")
		got, err := Program(pkg, wanted)
		if got.Name != program || got.Entry != entry || !errors.Is(err, fails) {
			t.Errorf("%s: %s at %q, %v", name, got.Name, got.Entry, err)
		}
	}
}

func TestProgramErrorsInWords(t *testing.T) {
	for _, c := range []struct{ manifest, wanted, want string }{
		{`{"name":"@s/x","bin":{"q":"a.js","b":"b.js"}}`, "", "the package @s/x cannot be started: it has several programs and none with its own name; name one: npx --package=PACKAGE PROGRAM; its programs are b, q"},
		{`{"name":"x","bin":"a.js"}`, "y", "the package x cannot be started: it has no program of that name (y); its programs are x"},
		{`{"name":"x","bin":{"x":"../up"}}`, "", "the package x cannot be started by its file ../up: the file lies outside the package"},
		{`[]`, "", "package.json: it is not a JSON object: json: cannot unmarshal array into Go value of type npm.object"},
	} {
		_, err := Program(folder(c.manifest, "a.cmd: @echo off"), c.wanted)
		if message(err) != c.want {
			t.Errorf("%s: %v", c.manifest, err)
		}
	}
	testkit.Is(t, "", testkit.ErrorOf(Program(fstest.MapFS{}, "")), fs.ErrNotExist)
}

func TestStartByFirstBytes(t *testing.T) {
	node := func(args ...string) Start { return Start{Kind: Node, NodeArgs: args} }
	for _, c := range []struct {
		name, entry, head string
		want              Start
		err               string
	}{
		{"node by env", "a", "#!/usr/bin/env node\ncode", node(), ""},
		{"node by path", "a", "#! /usr/local/bin/node\ncode", node(), ""},
		{"nodejs", "a", "#!/usr/bin/nodejs", node(), ""},
		{"a carriage return", "a", "#!/usr/bin/env node\r\ncode", node(), ""},
		{"flags by env -S", "a", "#!/usr/bin/env -S node --no-warnings --max-old-space-size=512\n", node("--no-warnings", "--max-old-space-size=512"), ""},
		{"-S without a space", "a", "#!/usr/bin/env -Snode -r x\n", node("-r", "x"), ""},
		{"no interpreter", "a", "#!\n", Start{}, `its #! line "#!" names no interpreter, an option of env, or a path below the working directory`},
		{"env alone", "a", "#!/usr/bin/env\n", Start{}, `its #! line "#!/usr/bin/env" names no program, or has quotes, \, $, # or a variable, which are not supported`},
		{"another option of env", "a", "#!/usr/bin/env -i\n", Start{}, `its #! line "#!/usr/bin/env -i" names no interpreter, an option of env, or a path below the working directory`},
		{"an escape", "a", "#!/usr/bin/env -S node ${X}\n", Start{}, `its #! line "#!/usr/bin/env -S node ${X}" names no program, or has quotes, \, $, # or a variable, which are not supported`},
		{"a relative interpreter", "a", "#!bin/x\n", Start{}, `its #! line "#!bin/x" names no interpreter, an option of env, or a path below the working directory`},
		{"a variable", "a", "#!/usr/bin/env -S NODE_NO_WARNINGS=1 node\n", Start{}, `its #! line "#!/usr/bin/env -S NODE_NO_WARNINGS=1 node" names no program, or has quotes, \, $, # or a variable, which are not supported`},
		{"flags that only macOS splits", "a", "#!/usr/bin/env node --no-warnings\n", node("--no-warnings"), ""},
		{"one flag by path", "a", "#!/usr/bin/node --no-warnings\n", node("--no-warnings"), ""},
		{"bash", "a", "#!/bin/bash\n", Start{Kind: Interpreter, Interpreter: "/bin/bash"}, ""},
		{"bun by env", "a.js", "#!/usr/bin/env bun\n", Start{Kind: Interpreter, Interpreter: "bun", InterpreterArgs: []string{}}, ""},
		{"the kernel's one argument", "a", "#!/bin/sh -e -u\n", Start{Kind: Interpreter, Interpreter: "/bin/sh", InterpreterArgs: []string{"-e -u"}}, ""},
		{"JavaScript without a line", "a.cjs", "console.log()", node(), ""},
		{"an empty module", "a.mjs", "", node(), ""},
		{"ELF", "a", "\x7fELF\x02", Start{Kind: Direct}, ""},
		{"Mach-O", "a", "\xcf\xfa\xed\xfe", Start{Kind: Direct}, ""},
		{"a universal binary", "a", "\xca\xfe\xba\xbe", Start{Kind: Direct}, ""},
		{"text", "a", "console.log()", Start{}, "it is neither a script with a #! line, nor JavaScript, nor a binary program of this system"},
	} {
		got, err := startOf(c.entry, []byte(c.head))
		if got.NodeArgs != nil && len(got.NodeArgs) == 0 {
			got.NodeArgs, c.want.NodeArgs = nil, nil
		}
		if !reflect.DeepEqual(got, c.want) || message(err) != c.err {
			t.Errorf("%s: %#v, %v", c.name, got, err)
		}
	}
}

func FuzzProgram(f *testing.F) {
	f.Add([]byte(`{"name":"@s/p","bin":{"a":"./a.js","p":"b"}}`), []byte("#!/usr/bin/env -S A=1 node 'x y'\n"), "")
	f.Add([]byte(`{"name":"p","directories":{"bin":"a"}}`), []byte("\x7fELF"), "p")
	f.Fuzz(func(t *testing.T, manifest, head []byte, wanted string) {
		pkg := fstest.MapFS{"package.json": {Data: manifest}, "a.js": {Data: head}, "b": {Data: head}, "a/b.js": {Data: head}}
		s, err := Program(pkg, wanted)
		if err == nil && (!fs.ValidPath(s.Entry) || s.Name == "" || strings.Contains(s.Name, "/") || s.Kind == "" || (s.Kind == Interpreter) != (s.Interpreter != "")) {
			t.Errorf("%+v", s)
		}
	})
}

// TestRootProgram tests that the program of a line with several packages is found in whichever of
// them has it.
func TestRootProgram(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree := fstest.MapFS{
		"node_modules/@s/a/package.json":  file(`{"name":"@s/a","bin":{"one":"x.js","both":"x.js"}}`),
		"node_modules/@s/a/x.js":          file("#!/usr/bin/env node\n"),
		"node_modules/b/package.json":     file(`{"name":"b","bin":{"two":"y.js","both":"y.js"}}`),
		"node_modules/b/y.js":             file("#!/usr/bin/env node\n"),
		"node_modules/plain/package.json": file(`{"name":"plain"}`),
	}
	for _, c := range testkit.Table[struct{ asked, wanted, name, entry, err string }](t, "root-program.txt") {
		name, s, err := RootProgram(tree, strings.Fields(c.asked), c.wanted)
		if name != c.name || s.Entry != c.entry || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), strings.Split(c.err, ":")[0]) {
			t.Errorf("%s, %s: %q, %+v, %v", c.asked, c.wanted, name, s, err)
		}
	}
	if _, _, err := RootProgram(fstest.MapFS{"package.json": file("{}")}, nil, "x"); err == nil {
		t.Error("a tree without packages has a program")
	}
}
