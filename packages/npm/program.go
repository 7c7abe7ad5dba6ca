package npm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// kind says how a program of a package is started.
type kind string

const (
	// Node programs are started as node NodeArgs Entry.
	Node kind = "node"
	// Direct programs are executed themselves: they are binaries.
	Direct kind = "direct"
	// Interpreter programs are scripts for another program, such as bash or bun.
	Interpreter kind = "interpreter"
)

// A Start says which file of a package is a program, and how it is started.
type Start struct {
	Kind  kind
	Name  string // of the program, as package.json names it
	Entry string // the file, relative to the package, with slashes
	// NodeArgs are the options of node that the first line of the file names.
	NodeArgs []string
	// Interpreter is the program of kind Interpreter: a name to look up in PATH, or an
	// absolute path. InterpreterArgs come between it and the file.
	Interpreter     string
	InterpreterArgs []string
}

// A programError says why a package has no program that can be started.
type programError struct {
	Package string   // name of the package, if package.json tells it
	Entry   string   // file of the program, if there is one
	Names   []string // all programs of the package, sorted
	Reason  error
}

func (e *programError) Error() string {
	text := "the package " + e.Package + " cannot be started: "
	if e.Entry != "" {
		text = "the package " + e.Package + " cannot be started by its file " + e.Entry + ": "
	}
	text += e.Reason.Error()
	if len(e.Names) > 0 && e.Entry == "" {
		text += "; its programs are " + strings.Join(e.Names, ", ")
	}
	return text
}

func (e *programError) Unwrap() error { return e.Reason }

// The reasons of a programError.
var (
	errNoProgram   = errors.New("its package.json names no program (bin)")
	errAmbiguous   = errors.New("it has several programs and none with its own name; name one: npx --package=PACKAGE PROGRAM")
	errNotProgram  = errors.New("it has no program of that name")
	errOutside     = errors.New("the file lies outside the package")
	errMissingFile = errors.New("the package does not contain that file; it was published incomplete")
)

// Program returns the program that npx starts for the package in a folder, which is its
// root. wanted is the name of a program, where the command line gives one beside --package;
// if it is "", the rule is that of npx: all programs are one file, or one has the name of
// the package without its scope. The error is a [*programError], or says why package.json
// cannot be read.
func Program(pkg fs.FS, wanted string) (Start, error) {
	data, err := fs.ReadFile(pkg, "package.json")
	if err != nil {
		return Start{}, fmt.Errorf("package.json cannot be read: %w", err)
	}
	name, wanted, bins, err := ProgramOf(pkg, data, wanted)
	if err != nil {
		return Start{}, err
	}
	fault := &programError{Package: name, Entry: bins[wanted], Names: slices.Sorted(maps.Keys(bins))}
	s, err := start(pkg, fault.Entry)
	if err != nil {
		fault.Reason = err
		return Start{}, fault
	}
	s.Name = wanted
	return s, nil
}

// ProgramOf returns what a package.json says: the name of the package, that of the program which Program would choose,
// and the files of all programs by their names. pkg is the folder in which those of directories.bin are looked up; if it
// is nil, they do not count.
func ProgramOf(pkg fs.FS, manifest []byte, wanted string) (name, program string, bins map[string]string, err error) {
	m, err := readObject(manifest)
	if err != nil {
		return "", "", nil, fmt.Errorf("package.json: %w", err)
	}
	name, bins = m.text("name"), programs(m)
	if folder := m.object("directories").text("bin"); pkg != nil && folder != "" && m["bin"] == nil {
		bins = programsBelow(pkg, path.Clean(folder))
	}
	if program, err = choose(bins, path.Base(name), wanted); err != nil {
		err = &programError{Package: name, Names: slices.Sorted(maps.Keys(bins)), Reason: err}
	}
	return name, program, bins, err
}

// HasWorkspaces reports whether a package.json says where its workspaces are.
func HasWorkspaces(manifest []byte) bool {
	m, err := readObject(manifest)
	return err == nil && m["workspaces"] != nil
}

// RootProgram returns the first of the packages that a tree was made for that has the wanted
// program, and that program. If wanted is "", the first package must have the program. If two of
// them have it, they write one path, node_modules/.bin/NAME, and the error names both. If none has "node", it is
// that of PATH, with no file of the tree.
func RootProgram(tree fs.FS, asked []string, wanted string) (name string, s Start, err error) {
	if wanted == "" {
		asked = asked[:min(1, len(asked))]
	}
	none := errors.New("no package was asked for")
	for n, pkg := range asked {
		sub, err := fs.Sub(tree, path.Join("node_modules", pkg))
		if err != nil {
			return "", Start{}, err
		}
		start, err := Program(sub, wanted)
		switch {
		// The first failure is what the user hears if no package has the program.
		case err != nil && n == 0:
			none = err
		case err == nil && name != "":
			return "", Start{}, fmt.Errorf("the packages %s and %s both write node_modules/.bin/%s, and only one of the two files could be there: mcp-jail does not install them together", name, pkg, wanted)
		case err == nil:
			name, s = pkg, start
		}
	}
	switch {
	case name == "" && wanted == string(Node) && len(asked) > 0:
		return asked[0], Start{Kind: Node, Name: wanted}, nil // npx -p PKG node FILE: the words say what it runs
	case name == "":
		return "", Start{}, none
	}
	return name, s, nil
}

// choose returns the name of the program by the rule of npx. own is the name of the package without its scope.
func choose(bins map[string]string, own, wanted string) (string, error) {
	files := slices.Compact(slices.Sorted(maps.Values(bins)))
	switch _, has := bins[wanted]; {
	case len(bins) == 0:
		return "", errNoProgram
	case wanted != "" && !has:
		return "", fmt.Errorf("%w (%s)", errNotProgram, wanted)
	case wanted != "":
		return wanted, nil
	case bins[own] != "":
		return own, nil
	case len(files) == 1:
		return slices.Min(slices.Collect(maps.Keys(bins))), nil
	}
	return "", errAmbiguous
}

// programs returns the files of bin by their names, as npm normalises them: a string is a program with the
// name of the package, and a name is its last component.
func programs(manifest object) map[string]string {
	named := manifest.object("bin")
	if manifest.text("bin") != "" {
		named = object{manifest.text("name"): manifest["bin"]}
	}
	bins := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		var file string
		base := path.Base(path.Clean("/" + strings.NewReplacer(`\`, "/", ":", "/").Replace(name)))
		if json.Unmarshal(named[name], &file) == nil && file != "" && base != "/" {
			bins[base] = path.Clean(strings.TrimLeft(strings.ReplaceAll(file, `\`, "/"), "/")) // npm reads "/x" as "x"
		}
	}
	return bins
}

// programsBelow returns the files below a folder by their names: all of them are programs.
func programsBelow(pkg fs.FS, folder string) map[string]string {
	bins := map[string]string{}
	fs.WalkDir(pkg, folder, func(file string, e fs.DirEntry, err error) error {
		hidden := file != folder && strings.HasPrefix(path.Base(file), ".")
		switch {
		case err != nil:
			return nil // npm finds no program there either
		case hidden && e.IsDir():
			return fs.SkipDir
		case !hidden && !e.IsDir():
			bins[e.Name()] = file
		}
		return nil
	})
	return bins
}

// start says how a file of a package is started. npm cuts off a ".." that leads out of the package; here it is an
// error, because it has no honest use.
func start(pkg fs.FS, entry string) (Start, error) {
	if !fs.ValidPath(entry) || strings.ContainsRune(entry, 0) {
		return Start{}, errOutside
	}
	f, err := pkg.Open(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return Start{}, errMissingFile
	}
	if err != nil {
		return Start{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Start{}, errors.Join(errors.New("it is not a regular file"), err)
	}
	head := make([]byte, 1024)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Start{}, err
	}
	s, err := startOf(entry, head[:n])
	s.Entry = entry
	return s, err
}

func startOf(entry string, head []byte) (Start, error) {
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return shebang(strings.TrimSpace(string(line)))
	}
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return Start{Kind: Direct}, nil
		}
	}
	if slices.Contains([]string{".js", ".mjs", ".cjs"}, strings.ToLower(path.Ext(entry))) {
		return Start{Kind: Node}, nil
	}
	return Start{}, errors.New("it is neither a script with a #! line, nor JavaScript, nor a binary program of this system")
}

// shebang returns how a script with this line after "#!" is started. The kernel hands all
// that follows the interpreter over as one argument; only env -S splits it. A carriage
// return at the end does not count, because npm removes it when it installs a program.
func shebang(line string) (Start, error) {
	words := strings.Fields(line)
	if len(words) == 0 || path.Base(words[0]) != "env" {
		interpreter, argument, _ := strings.Cut(line, " ")
		if argument = strings.TrimSpace(argument); argument == "" {
			return interpreted(line, interpreter, nil)
		}
		return interpreted(line, interpreter, []string{argument})
	}
	words = words[1:]
	if len(words) > 0 && strings.HasPrefix(words[0], "-S") {
		if words[0] = strings.TrimPrefix(words[0], "-S"); words[0] == "" {
			words = words[1:]
		}
	}
	if len(words) == 0 || strings.ContainsAny(line, `\$#'"`) || strings.Contains(words[0], "=") {
		return Start{}, fmt.Errorf(`its #! line %q names no program, or has quotes, \, $, # or a variable, which are not supported`, "#!"+line)
	}
	return interpreted(line, words[0], words[1:])
}

// interpreted returns the start of a script by its interpreter.
func interpreted(line, name string, args []string) (Start, error) {
	if slices.Contains([]string{"node", "nodejs"}, path.Base(name)) {
		return Start{Kind: Node, NodeArgs: args}, nil
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.Contains(name, "/") && !path.IsAbs(name) {
		return Start{}, fmt.Errorf("its #! line %q names no interpreter, an option of env, or a path below the working directory", "#!"+line)
	}
	return Start{Kind: Interpreter, Interpreter: name, InterpreterArgs: args}, nil
}
