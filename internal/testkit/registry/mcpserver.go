package registry

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

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
