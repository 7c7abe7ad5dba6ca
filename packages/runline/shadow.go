package runline

import "strings"

// Place is where a launcher looks before it fetches a package.
type Place string

// The places.
const (
	// LocalProgram is the file NAME in node_modules/.bin of the working directory or of any
	// directory above it.
	LocalProgram Place = "local program"
	// LocalPackage is the directory NAME in node_modules of the project: the nearest directory
	// with a package.json or a node_modules.
	LocalPackage Place = "local package"
	// Manifest is the package.json of the project, whose bin has NAME.
	Manifest Place = "manifest"
	// GlobalProgram is the program NAME among those that the launcher itself has installed
	// for the user: npm install --global, uv tool install.
	GlobalProgram Place = "global program"
	// GlobalPackage is the package NAME installed by npm install --global.
	GlobalPackage Place = "global package"
	// InPath is the program NAME in PATH.
	InPath Place = "program in PATH"
	// AtPath is the file NAME itself, relative to the working directory.
	AtPath Place = "file"
)

// Shadow is a file or program that a launcher runs instead of the package that its line names, if
// it exists.
type Shadow struct {
	Place Place
	Name  string
}

// Shadows returns the shadows of the line. The caller looks for them before it runs a package from
// a store: if one of them exists, the launcher would run it instead of the package.
func (l *Line) Shadows() []Shadow {
	var out []Shadow
	add := func(place Place, name string) { out = append(out, Shadow{place, name}) }
	switch l.Launcher {
	case Npx, NpmExec:
		// npx runs a program of that name if there is one, unless --package names the package.
		if !l.named {
			add(Manifest, l.typed)
			add(LocalProgram, l.typed)
			add(GlobalProgram, l.typed)
			if strings.HasPrefix(l.typed, "/") {
				add(AtPath, l.typed)
			}
		}
		for _, p := range l.Packages {
			if p.Name != "" {
				add(LocalPackage, p.Name)
				if !l.named {
					add(GlobalPackage, p.Name)
				}
			}
		}
	case Bunx:
		name := l.Program
		if name == "" {
			name = l.Packages[0].baseName()
		}
		add(LocalProgram, name)
		add(InPath, name)
		for _, p := range l.Packages {
			if p.Name != "" {
				add(LocalPackage, p.Name)
			}
		}
	case Uvx:
		// uvx prefers a tool that uv has installed.
		if p := l.Packages[0]; !l.Isolated && p.Tag != "latest" {
			add(GlobalProgram, l.Packages[0].baseName())
		}
	case PipxRun:
		if l.named {
			add(AtPath, "__pypackages__")
			break
		}
		add(AtPath, l.typed)
		add(AtPath, "__pypackages__")
	}
	return out
}
