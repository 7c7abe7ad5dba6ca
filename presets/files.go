package presets

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

//go:embed servers/*.toml
var files embed.FS

// An UnknownError says that there is no preset of a name.
type UnknownError struct{ Name, Near string }

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("there is no preset %q", e.Name)
	if strings.HasSuffix(e.Name, ".toml") {
		return msg + ": a file is no preset that a start reads. To give its policy to a server: mcp-jail preset --apply FILE SERVER"
	}
	if e.Near != "" {
		msg += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return msg
}

// Names returns the names of all presets, sorted.
func Names() (names []string) {
	entries, _ := files.ReadDir("servers") // built in: it is there
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// Find returns the preset of a name. Its error is an [*UnknownError], or that of [Decode].
// Each call returns a preset of its own, which the caller may change.
func Find(name string) (*Preset, error) {
	file := name + ".toml"
	data, err := files.ReadFile(path.Join("servers", file))
	if err != nil || path.Base(file) != file {
		return nil, &UnknownError{name, config.Suggest(name, Names())}
	}
	return Decode(name, data, "preset "+name)
}

// ForPackage returns the preset that is for a package, image or program. It compares names of PyPI
// in their normal form, images without tag, digest and the registry of Docker Hub, and commands by
// their file names. That a preset fits grants nothing: see the package comment.
func ForPackage(ecosystem Ecosystem, name string) (*Preset, bool) {
	preset, ok := byPackage()[Package{Ecosystem: ecosystem, Name: normal(ecosystem, name)}.key()]
	if !ok {
		return nil, false
	}
	p, err := Find(preset)
	return p, err == nil
}

// byPackage returns the names of the presets by the key of each package. It decodes all files
// when it is first called.
var byPackage = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range slices.Backward(Names()) { // the first of several counts
		p, err := Find(name)
		if err != nil {
			continue // a test holds each file to being valid
		}
		for _, pkg := range p.Packages {
			pkg.Name = normal(pkg.Ecosystem, pkg.Name)
			all[pkg.key()] = name
		}
	}
	return all
})

func (p Package) key() string { return string(p.Ecosystem) + " " + p.Name }

func normal(ecosystem Ecosystem, name string) string {
	switch ecosystem {
	case PyPI: // the normalised names of the index
		return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
	case Image:
		name, _, _ = strings.Cut(name, "@")
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			name = name[:i]
		}
		return strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/")
	case Command:
		name = name[strings.LastIndexAny(name, `/\`)+1:]
		return strings.TrimSuffix(name, ".exe")
	}
	return name
}
