package wrapping

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/plugins"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
)

// readers are the clients that read a file, and whose file they take it for.
type readers struct {
	Client clients.Client   // whose file it is
	Also   []clients.Client // which read it as well

	readings          []reading
	ofUser, ofProject bool // see addScope
}

func (f *readers) addClient(c clients.Client) {
	if c.Name != f.Client.Name && !slices.ContainsFunc(f.Also, func(o clients.Client) bool { return o.Name == c.Name }) {
		f.Also = append(f.Also, c)
	}
}

// addScope notes whose file it is. A file at a place of the user's is the user's, also if a project
// has a link to it. A link of the user's to a project's file does not change whose that is. A file of a
// plugin is like a project's: others write its entries.
func (f *readers) addScope(r reading, path, real string) {
	others := r.place.Scope == clients.Project || r.plugin != nil
	f.ofProject = f.ofProject || others
	f.ofUser = f.ofUser || !others && path == real
}

// IsProject reports whether a project may have brought the file.
func (f *readers) IsProject() bool { return f.ofProject && !f.ofUser }

// Plugin returns the plugin that brings the file, or nil.
func (f *readers) Plugin() *plugins.Plugin { return f.readings[0].plugin }

// within returns the host as the file sees it: one of the user or of a plugin has no project.
func (f *readers) within(host clients.Host) clients.Host {
	if !f.IsProject() || f.Plugin() != nil {
		host.Project = ""
	}
	return host
}

// replaced returns a text as the clients that read the file replace its variables. ok is false if
// one of them does what is not known here, or another thing than the others.
func (f *readers) replaced(text string, host clients.Host) (value string, ok bool) {
	value, ok = meaning.Replaced(f.Client, text, f.within(host))
	for _, c := range f.Also {
		if v, known := meaning.Replaced(c, text, f.within(host)); !known || v != value {
			return "", false
		}
	}
	return value, ok
}

func (f *readers) clients() []clients.Client { return append([]clients.Client{f.Client}, f.Also...) }

func (f *readers) isReadBy(c clients.Client) bool {
	return slices.ContainsFunc(f.clients(), func(o clients.Client) bool { return o.Name == c.Name })
}

// started returns a command line as the clients of the file start it, and the index of the first word
// of which that is not known here, or -1.
func (f *readers) started(argv []string, host clients.Host) (line []string, unknown int) {
	line, unknown = slices.Clone(argv), -1
	for i, word := range argv {
		if value, ok := f.replaced(word, host); ok {
			line[i] = value
		} else if unknown < 0 {
			unknown = i
		}
	}
	return line, unknown
}

// References reports whether one of the file's clients replaces a part of a word.
func (f *readers) References(word string) bool {
	return slices.ContainsFunc(f.readings, func(r reading) bool { return len(r.client.References(word)) > 0 })
}
