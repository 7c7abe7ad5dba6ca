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

// Kind says how a program of a package is started.
type Kind string

const (
	// Node programs are started as node NodeArgs Entry.
	Node Kind = "node"
	// Direct programs are executed themselves: they are binaries.
	Direct Kind = "direct"
	// Interpreter programs are scripts for another program, such as bash or bun.
	Interpreter Kind = "interpreter"
)

// A Start says which file of a package is a program, and how it is started.
type Start struct {
	Kind  Kind
	Name  string // of the program, as package.json names it
	Entry string // the file, relative to the package, with slashes
	// NodeArgs are the options of node that the first line of the file names.
	NodeArgs []string
	// Interpreter is the program of kind Interpreter: a name to look up in PATH, or an
	// absolute path. InterpreterArgs come between it and the file.
	Interpreter     string
	InterpreterArgs []string
	// Env are the variables, NAME=value, that the first line sets by env -S.
	Env []string
}

// ErrWindows is the error for a program that only Windows can start.
var ErrWindows = errors.New("it is a program for Windows")

// A ProgramError says why a package has no program that can be started.
type ProgramError struct {
	Package string   // name of the package, if package.json tells it
	Wanted  string   // name of the program that was asked for, "" if none was
	Entry   string   // file of the program, if there is one
	Names   []string // all programs of the package, sorted
	Reason  error
}

func (e *ProgramError) Error() string {
	what := "the package"
	if e.Package != "" {
		what = "the package " + e.Package
	}
	text := what + " cannot be started: "
	if e.Entry != "" {
		text = what + " cannot be started by its file " + e.Entry + ": "
	}
	text += e.Reason.Error()
	if len(e.Names) > 0 && e.Entry == "" {
		text += "; its programs are " + strings.Join(e.Names, ", ")
	}
	return text
}

func (e *ProgramError) Unwrap() error { return e.Reason }

// The reasons of a [ProgramError].
var (
	ErrNoProgram   = errors.New("its package.json names no program (bin)")
	ErrAmbiguous   = errors.New("it has several programs and none with its own name; name one: npx --package=PACKAGE PROGRAM")
	ErrNotProgram  = errors.New("it has no program of that name")
	ErrOutside     = errors.New("the file lies outside the package")
	ErrMissingFile = errors.New("the package does not contain that file; it was published incomplete")
)

// Program returns the program that npx starts for the package in a folder, which is its
// root. wanted is the name of a program, where the command line gives one beside --package;
// if it is "", the rule is that of npx: all programs are one file, or one has the name of
// the package without its scope. The error is a [*ProgramError], or says why package.json
// cannot be read.
func Program(pkg fs.FS, wanted string) (Start, error) {
	data, err := fs.ReadFile(pkg, "package.json")
	if err != nil {
		return Start{}, fmt.Errorf("package.json cannot be read: %w", err)
	}
	manifest, err := readObject(data)
	if err != nil {
		return Start{}, fmt.Errorf("package.json: %w", err)
	}
	name := manifest.text("name")
	bins, err := programs(pkg, manifest)
	fault := &ProgramError{Package: name, Wanted: wanted, Reason: err}
	if err != nil {
		return Start{}, fault
	}
	for _, b := range bins {
		fault.Names = append(fault.Names, b.name)
	}
	slices.Sort(fault.Names)
	b, err := choose(bins, path.Base(name), wanted)
	if err == nil {
		fault.Entry = b.file
		var s Start
		if s, err = start(pkg, b.file); err == nil {
			s.Name = b.name
			return s, nil
		}
	}
	fault.Reason = err
	return Start{}, fault
}

// RootProgram returns the first of the packages that a tree was made for that has the wanted
// program, and that program. asked are names of packages in the order of the command line, which
// npm's own list does not keep. If wanted is "", the first package must have the program. If two of
// them have it, they write one path, node_modules/.bin/NAME, and the error names both.
func RootProgram(tree fs.FS, asked []string, wanted string) (name string, s Start, err error) {
	data, err := fs.ReadFile(tree, "package.json")
	if err != nil {
		return "", Start{}, err
	}
	manifest, err := readObject(data)
	if err != nil {
		return "", Start{}, err
	}
	names := slices.Sorted(maps.Keys(manifest.object("dependencies")))
	if len(names) == 0 {
		return "", Start{}, errors.New("npm has installed no package")
	}
	// npm sorts dependencies by name: put them back in the order of the command line.
	place := func(name string) int {
		if at := slices.Index(asked, name); at >= 0 {
			return at
		}
		return len(asked)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	if wanted == "" {
		names = names[:1]
	}
	var found string
	var none error
	for _, name := range names {
		var start Start
		pkg, failed := fs.Sub(tree, path.Join("node_modules", name))
		if failed == nil {
			start, failed = Program(pkg, wanted)
		}
		switch {
		// The first failure is what the user hears if no package has the program.
		case failed != nil && none == nil:
			none = failed
		case failed == nil && found != "":
			return "", Start{}, fmt.Errorf("the packages %s and %s both write node_modules/.bin/%s, and only one of the two files could be there: mcp-jail does not install them together", found, name, wanted)
		case failed == nil:
			found, s = name, start
		}
	}
	if found == "" {
		return "", Start{}, none
	}
	return found, s, nil
}

// A bin is one entry of the field bin.
type bin struct{ name, file string }

// choose returns the program by the rule of npx. own is the name of the package without its scope.
func choose(bins []bin, own, wanted string) (bin, error) {
	if wanted != "" {
		own = wanted
	} else if len(bins) > 0 && !slices.ContainsFunc(bins, func(b bin) bool { return b.file != bins[0].file }) {
		return bins[0], nil
	}
	for _, b := range bins {
		if b.name == own {
			return b, nil
		}
	}
	switch {
	case len(bins) == 0:
		return bin{}, ErrNoProgram
	case wanted != "":
		return bin{}, fmt.Errorf("%w (%s)", ErrNotProgram, wanted)
	}
	return bin{}, ErrAmbiguous
}

// programs returns the entries of bin as npm normalises them: a string is a program with the
// name of the package, and a name is its last component. Without bin, all files in
// directories.bin are programs.
func programs(pkg fs.FS, manifest object) ([]bin, error) {
	raw := manifest["bin"]
	var named []member
	var one string
	var list []string
	switch {
	case !manifest.truth("bin"):
		return directoryPrograms(pkg, manifest.object("directories").text("bin"))
	case json.Unmarshal(raw, &one) == nil:
		if manifest.text("name") != "" {
			named = []member{{manifest.text("name"), raw}}
		}
	case json.Unmarshal(raw, &list) == nil:
		for _, file := range list {
			quoted, _ := json.Marshal(file) // a string has no error
			named = append(named, member{file, quoted})
		}
	default:
		named, _ = members(raw) // npm ignores a bin of another form
	}
	var bins []bin
	for _, m := range named {
		name := path.Base(path.Clean("/" + strings.NewReplacer(`\`, "/", ":", "/").Replace(m.name)))
		var target string
		if json.Unmarshal(m.value, &target) != nil || name == "/" {
			continue
		}
		file, err := clean(target)
		if err != nil {
			return nil, fmt.Errorf("bin %q is %q: %w", m.name, target, err)
		}
		if file == "." {
			continue
		}
		if i := slices.IndexFunc(bins, func(b bin) bool { return b.name == name }); i >= 0 {
			bins[i].file = file
			continue
		}
		bins = append(bins, bin{name, file})
	}
	return bins, nil
}

// clean returns a path of package.json relative to the package. Like npm, it reads "/x" as "x". npm
// also cuts off a ".." that leads out of the package; for clean it is an error, because it has no
// honest use.
func clean(target string) (string, error) {
	file := path.Clean(strings.TrimLeft(strings.ReplaceAll(target, `\`, "/"), "/"))
	if !fs.ValidPath(file) || strings.ContainsRune(file, 0) {
		return "", ErrOutside
	}
	return file, nil
}

func directoryPrograms(pkg fs.FS, dir string) ([]bin, error) {
	if dir == "" {
		return nil, nil
	}
	dir, err := clean(dir)
	if err != nil {
		return nil, fmt.Errorf("directories.bin: %w", err)
	}
	var bins []bin
	err = fs.WalkDir(pkg, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case name != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir():
			bins = append(bins, bin{d.Name(), name})
		}
		return nil
	})
	return bins, err
}

func start(pkg fs.FS, entry string) (Start, error) {
	f, err := pkg.Open(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return Start{}, ErrMissingFile
	}
	if err != nil {
		return Start{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Start{}, errors.Join(errors.New("it is not a regular file"), err)
	}
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Start{}, err
	}
	s, err := startOf(entry, head[:n])
	s.Entry = entry
	return s, err
}

func startOf(entry string, head []byte) (Start, error) {
	suffix := strings.ToLower(path.Ext(entry))
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		line, _, whole := bytes.Cut(head[2:], []byte("\n"))
		if !whole && len(line) > 1024 {
			return Start{}, errors.New("its first line is too long")
		}
		return shebang(strings.TrimSpace(string(line)))
	case slices.Contains([]string{".js", ".mjs", ".cjs"}, suffix):
		return Start{Kind: Node}, nil
	case slices.Contains([]string{".cmd", ".bat", ".ps1", ".exe", ".com"}, suffix) || bytes.HasPrefix(head, []byte("MZ")):
		return Start{}, ErrWindows
	case isBinary(head):
		return Start{Kind: Direct}, nil
	}
	return Start{}, errors.New("it is neither a script with a #! line, nor JavaScript, nor a binary program")
}

func isBinary(head []byte) bool {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}
