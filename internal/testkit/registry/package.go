package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Package is one version of an npm package. Name and Version suffice: an empty package.
type Package struct {
	Name    string
	Version string

	// Files are the contents by name, below the tarball's folder "package". If
	// package.json is not among them, it is made of the fields below. If it is, the
	// registry still answers with the fields below: the two can contradict each other.
	Files map[string]string
	Modes map[string]int64 // of Files; 0644 otherwise

	Bin          any // a string, or a map of names to files
	Dependencies map[string]string
	Optional     map[string]string
	Peer         map[string]string
	Scripts      map[string]string
	Engines      map[string]string
	OS           []string
	Manifest     map[string]any // further fields; they win

	Published time.Time // 2026-01-01 otherwise

	// Dist has fields of dist that win, such as a wrong integrity; null leaves a field out.
	Dist map[string]any

	// Token is demanded as a Bearer token. If it has a space, it is the whole header:
	// "Basic dXNlcjpwYXNz".
	Token string

	// Entries are in the tarball after Files, under exactly the names given.
	Entries []Entry
	// Filler is the size of a further file, package/filler.bin. It is not compressed,
	// so the tarball is at least that long.
	// To tell its integrity takes seconds for a gigabyte, once. If Dist has integrity and
	// shasum, null perhaps, that is saved, and the tarball is served without its length.
	Filler int64
}

// Entry is an entry of a tarball as no honest tool writes it. The default is a regular
// file; a Link makes it a symlink, and Type may be any type of tar: "1" a hard link, "3"
// a character device, "5" a directory, "6" a FIFO.
type Entry struct {
	Name string
	Type string
	Link string
	Body string
	Mode int64 // 0644 otherwise
}

// ID returns NAME@VERSION.
func (p Package) ID() string { return p.Name + "@" + p.Version }

// tarballName returns the last element of the tarball's address.
func (p Package) tarballName() string { return path.Base(p.Name) + "-" + p.Version + ".tgz" }

func (p Package) check() error {
	if p.Name == "" || p.Version == "" {
		return fmt.Errorf("the package %q has no name or no version", p.ID())
	}
	for name := range p.Files {
		if !fs.ValidPath(name) {
			return fmt.Errorf("package %s: the file %q is for Entries, not for Files", p.ID(), name)
		}
	}
	if s := p.Scripts; p.Files["package.json"] != "" && len(s) > 0 {
		return fmt.Errorf("package %s: npm runs the scripts of its own package.json, not those of Scripts", p.ID())
	}
	return nil
}

// packageJSON returns the fields of the package.json that is made.
func (p Package) packageJSON() map[string]any {
	m := map[string]any{"name": p.Name, "version": p.Version}
	for field, value := range map[string]map[string]string{
		"dependencies": p.Dependencies, "optionalDependencies": p.Optional, "peerDependencies": p.Peer, "scripts": p.Scripts, "engines": p.Engines,
	} {
		if len(value) > 0 {
			m[field] = value
		}
	}
	if p.Bin != nil {
		m["bin"] = p.Bin
	}
	if p.OS != nil {
		m["os"] = p.OS
	}
	maps.Copy(m, p.Manifest)
	return m
}

// files returns the contents of the files, package.json among them.
func (p Package) files() map[string]string {
	files := maps.Clone(p.Files)
	if _, given := files["package.json"]; given {
		return files
	}
	if files == nil {
		files = map[string]string{}
	}
	text, err := json.MarshalIndent(p.packageJSON(), "", "  ")
	if err != nil {
		panic(fmt.Sprintf("package %s: its manifest is not JSON: %v", p.ID(), err)) // a fake that is used against its contract
	}
	files["package.json"] = string(text) + "\n"
	return files
}

// runsScripts reports whether an installation runs a script of the package.
func (p Package) runsScripts() bool {
	further, _ := p.Manifest["scripts"].(map[string]any)
	return p.Files["binding.gyp"] != "" || slices.ContainsFunc([]string{"preinstall", "install", "postinstall"}, func(s string) bool {
		return p.Scripts[s] != "" || further[s] != nil
	})
}

// needsFacts reports whether what the registry says needs a look at the whole tarball.
func (p Package) needsFacts() bool {
	_, integrity := p.Dist["integrity"]
	_, shasum := p.Dist["shasum"]
	return !integrity || !shasum
}

// FromDir returns the package whose files are in a directory with a package.json.
// Symlinks and node_modules are left out.
func FromDir(dir string) (Package, error) {
	p := Package{Files: map[string]string{}, Modes: map[string]int64{}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		p.Files[below], p.Modes[below] = string(body), int64(info.Mode().Perm())
		return nil
	})
	if err != nil {
		return Package{}, err
	}
	text := p.Files["package.json"]
	if err := json.Unmarshal([]byte(text), &p.Manifest); err != nil {
		return Package{}, fmt.Errorf("%s: %w", filepath.Join(dir, "package.json"), err)
	}
	p.Name, _ = p.Manifest["name"].(string)
	p.Version, _ = p.Manifest["version"].(string)
	return p, p.check()
}

//go:embed server/server.cjs
var serverJS string

//go:embed server/server.py
var serverPython string

// MCPServer is a package that is an MCP server on stdio. Its tools are:
//
//	echo {text}        returns the text
//	env {name}         returns a variable, or without a name all of them in JSON
//	read {path}        returns a file
//	write {name,text}  writes a file into the package's own folder, and returns its path
//	about {}           returns name, version, file, dependencies, interpreter, runtime, args, cwd
//
// What else a package may have is set in the result of Package or Wheel.
type MCPServer struct {
	Name    string // "mcp-fixture" otherwise
	Version string // "1.0.0" otherwise

	Tools    []Tool            // what tools/list tells; Tools() otherwise
	Describe map[string]string // descriptions that replace those of Tools, by the tool's name

	// Dependencies are those of the npm package. The server loads each one at its start.
	Dependencies map[string]string

	OnInstall *Attack // by postinstall; in Python by building, see Wheel.Build
	AtStart   *Attack // when the server starts. A package has one attack: OnInstall wins
}

// Tool is a tool's definition as tools/list has it.
type Tool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
	Output      map[string]any `json:"outputSchema,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Tools returns the definitions of the tools that every MCPServer has.
func Tools() []Tool {
	takes := func(names ...string) map[string]any {
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = map[string]any{"type": "string"}
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	return []Tool{
		{Name: "echo", Description: "Returns the text.", InputSchema: takes("text"), Annotations: map[string]any{"readOnlyHint": true}},
		{Name: "env", Description: "Returns a variable of the environment, or all.", InputSchema: takes("name")},
		{Name: "read", Description: "Returns a file.", InputSchema: takes("path")},
		{Name: "write", Description: "Writes a file into the folder of the package.", InputSchema: takes("name", "text")},
		{Name: "about", Description: "Tells what runs.", InputSchema: takes()},
	}
}

// complete returns the server with its defaults.
func (s MCPServer) complete() MCPServer {
	s.Name, s.Version = firstOf(s.Name, "mcp-fixture"), firstOf(s.Version, "1.0.0")
	if s.Tools == nil {
		s.Tools = Tools()
	}
	s.Tools = slices.Clone(s.Tools)
	for i, t := range s.Tools {
		if text, ok := s.Describe[t.Name]; ok {
			s.Tools[i].Description = text
		}
	}
	return s
}

func (s MCPServer) definitions() string {
	doc := map[string]any{"name": s.Name, "version": s.Version, "tools": s.Tools}
	if s.AtStart != nil {
		doc["attackAtStart"] = true
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("the definitions of " + s.Name + " are not JSON: " + err.Error())
	}
	return string(text) + "\n"
}

// Package returns the server in JavaScript. It needs node 16 or newer.
func (s MCPServer) Package() Package {
	s = s.complete()
	p := Package{
		Name: s.Name, Version: s.Version, Bin: map[string]string{path.Base(s.Name): "server.cjs"}, Dependencies: s.Dependencies,
		Files: map[string]string{"server.cjs": serverJS, "definitions.json": s.definitions()},
		Modes: map[string]int64{"server.cjs": 0o755},
	}
	if s.AtStart != nil {
		p = s.AtStart.Arm(p, "")
	}
	if s.OnInstall != nil {
		p = s.OnInstall.Arm(p, "postinstall")
	}
	return p
}

// Wheel returns the server in Python 3, as a wheel with a console script. OnInstall makes
// it a source distribution, because a wheel runs nothing when it is installed.
func (s MCPServer) Wheel() Wheel {
	s = s.complete()
	module := strings.ReplaceAll(normal(path.Base(s.Name)), "-", "_")
	w := Wheel{
		Name: path.Base(s.Name), Version: s.Version, Scripts: map[string]string{path.Base(s.Name): module + ":main"},
		Files: map[string]string{module + "/__init__.py": serverPython, module + "/__main__.py": "from . import main\n\nmain()\n", module + "/definitions.json": s.definitions()},
	}
	if s.AtStart != nil {
		w.Files[module+"/attack.py"], w.Files[module+"/attack.json"] = attackPython, s.AtStart.plan()
	}
	if s.OnInstall != nil {
		w.Build = s.OnInstall.Python()
	}
	return w
}

// Stock is what a registry has, and how it behaves. The zero Stock is an empty registry.
type Stock struct {
	Packages []Package
	Wheels   []Wheel
	Faults   []Fault

	Token string // demanded for everything, see Package.Token
	Base  string // what addresses in answers begin with; otherwise as the client came
}
