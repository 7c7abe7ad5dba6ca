// Package presets knows what servers that people really use need: hosts, variables, secrets,
// paths and programs. Each preset is a TOML file in the folder servers, built in.
//
//	p, err := presets.Find("github")
//	p, ok := presets.ForPackage(presets.NPM, "@modelcontextprotocol/server-github")
//	os.Stdout.Write(p.Text)
//	applied := p.For(presets.Entry{Env: env, Args: args}) // made to fit a client's entry
//
// # A file
//
// A file has two parts. The first says what is known about the server:
//
//	[preset]
//	title = "GitHub"                  # what it is, for a list
//	stateful = false                  # whether calls depend on one another; see below
//	read_only = ["get_issue"]         # tools that change nothing
//	programs = ["git"]                # what it starts
//	notes = ["…"]                     # what a person must know
//	sources = ["owner/repo@commit path (version)"]
//
//	[[preset.packages]]               # what it is for: npm, pypi, image or command
//	npm = "@modelcontextprotocol/server-github"
//	versions = ["2025.4.8"]           # for which the facts were seen or documented
//
//	[[preset.variables]]
//	name = "GITHUB_PERSONAL_ACCESS_TOKEN"
//	required = true
//	secret = true
//	sent = "header"                   # see Sent
//	header = ["Authorization"]
//	hosts = ["api.github.com"]        # with a net rule below
//	hosts_from = ["GITHUB_HOST"]      # what names the user's own hosts, in place of these
//	checked = true                    # the server would refuse a placeholder
//
//	[[preset.arguments]]              # flag = "--root", position = 1, or rest = true
//	rest = true
//	kind = "directory"                # see Kind
//	read = true                       # the rights; beside = true: in the directory around a file
//
//	[[preset.each]]                   # each directory that a pattern matches, and not what is around it
//	paths = ["~/.cache/app/browser-[0-9]*"]
//	read = true
//
//	[preset.jail]                     # what the server gets because it is in a jail; see Jail
//	variables = { APP_SANDBOX = "false" }
//	arguments = ["--headless"]
//	unless = ["--remote"]             # flags and variables of an entry with which it gets none of it
//
//	[preset.jail.program]             # a program that hosts have in other places too
//	own = ["/opt/app/browser"]        # where the server finds it
//	also = ["/usr/bin/browser"]
//	given = "APP_BROWSER"             # the variable or flag that names it
//
//	[preset.login]                    # see Login; an argument of the kind "inbound" names the port
//	of = ["1"]
//
// The second part begins with the line [servers.NAME], where NAME is the preset's. It is
// written in the configuration's own words, is decoded by policy/config, and can be pasted
// into a configuration together with a command. It grants what the server needs in its usual
// form. Hosts and paths that only the user knows are described by variables and arguments of
// the first part, and are not granted.
//
// A preset never says which program runs: it has no command, arguments, workspace or waive,
// so it can be laid below any entry.
//
// # Process for each call
//
// With stateful = false in [preset], a server answers a call the same way whether or not the
// process has seen another call, and it lists its tools without network. If this was not tried,
// the preset says stateful = true. The second part is that of a stateful server all the same:
// [servers.NAME.access] of a stateless one would be an error. The caller moves the table to
// [servers.NAME.tools.TOOL].
//
// # Limits
//
//   - A name grants nothing. A caller applies a preset that the user wrote down, or agreed to.
//   - The facts are those of the versions and sources that the file names. A later version
//     may need more; the server then fails, with the line to add.
//   - Tools that are missing from read_only may change something or may not be known.
//   - A server in a container is not confined by mcp-jail. Presets name images so that an
//     entry for one can be turned into an entry for the package.
package presets

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A Preset is what one file says.
type Preset struct {
	Name  string
	Title string
	// Text is the whole file. Config is its second part, which is valid in a configuration
	// once its table has a command.
	Text, Config []byte
	// Server is the decoded second part. Its Command is "".
	Server *config.Server

	Packages  []Package
	Variables []variable
	Arguments []argument
	Programs  []string // that it starts, by name; a note says which it can do without
	Stateful  bool     // whether a call can depend on an earlier one of the same process
	ReadOnly  []string // tools that change nothing, sorted
	Notes     []string
	Sources   []string
	Login     login
	Jail      jail
	Each      []each
}

// Ecosystem is where the name of a package has its meaning.
type Ecosystem string

const (
	NPM     Ecosystem = "npm"
	PyPI    Ecosystem = "pypi"
	Image   Ecosystem = "image"   // of a container, without tag and digest
	Command Ecosystem = "command" // the file name of a program
)

// A Package is something that a preset is for.
type Package struct {
	Ecosystem Ecosystem
	Name      string
	Versions  []string // for which the facts were seen or documented; none: not stated
}

// sent is how the value of a secret leaves the server.
type sent string

const (
	inHeader   sent = "header"    // in header fields over TLS: it can be a `secret` of net rules
	inQuery    sent = "query"     // in the query of a url
	inBody     sent = "body"      // in the body of a request
	inCookie   sent = "cookie"    // in a cookie
	inProtocol sent = "protocol"  // in another protocol than HTTP, such as a database's
	signs      sent = "signature" // never; requests are signed with it
	stays      sent = "local"     // only to a program of the same host, or not at all
)

// kind is what a value names, beyond a text.
type kind string

const (
	plainText kind = ""
	url       kind = "url"       // its host needs a net rule
	database  kind = "database"  // a url with credentials; its host needs a net rule with the scheme tcp
	host      kind = "host"      // it needs a net rule
	port      kind = "port"      // of such a host
	inbound   kind = "inbound"   // a port at which the server waits for a browser of this machine
	file      kind = "file"      // it needs a rule of fs
	directory kind = "directory" // it needs a rule of fs
)

// A Value is what is known about a variable's or argument's value.
type Value struct {
	Kind   kind   `toml:"kind"`
	Secret bool   `toml:"secret"`
	Sent   sent   `toml:"sent"` // of a secret
	Scheme string `toml:"scheme"`
	Port   int    `toml:"port"` // with Scheme: of the rule for a host whose value does not say
	// Below are names in front of the user's own host that the server reaches too.
	Below []string `toml:"below"`
	// Checked says that the server looks at the form of a secret, and refuses a placeholder.
	Checked bool `toml:"checked"`
	// Beside says that the rights are needed in the directory that holds a file.
	Beside bool `toml:"beside"`
	// The rights that a file or directory needs.
	Read    bool   `toml:"read"`
	Create  bool   `toml:"create"`
	Update  bool   `toml:"update"`
	Delete  bool   `toml:"delete"`
	Execute bool   `toml:"execute"`
	About   string `toml:"about"`
}

// A Variable is one that the server reads.
type variable struct {
	Name string `toml:"name"`
	// Required says that the server does not start or work without it, unless one of Unless,
	// which are variables and flags, is given instead.
	Required bool     `toml:"required"`
	Unless   []string `toml:"unless"`
	// Header are the header fields that a secret is sent in. Hosts are the hosts that it is sent
	// to, each with a net rule in the preset. HostsFrom are variables, flags and positions that
	// name other hosts in place of these.
	Header    []string `toml:"header"`
	Hosts     []string `toml:"hosts"`
	HostsFrom []string `toml:"hosts_from"`
	Value
}

// An Argument is an argument of the server that names a path or a host, or is a secret.
type argument struct {
	Flag     string `toml:"flag"`     // the word before the value, or before "="
	Position int    `toml:"position"` // or its place among the words that are not flags, from 1
	Rest     bool   `toml:"rest"`     // or every such word that has no Position
	Required bool   `toml:"required"`
	Variable string `toml:"variable"` // that can be set instead: better for a secret
	Value
}

// Variable returns what is known about a variable.
func (p *Preset) Variable(name string) (variable, bool) {
	for _, v := range p.Variables {
		if v.Name == name {
			return v, true
		}
	}
	return variable{}, false
}

// canBeSecret reports whether the variable can be a `secret` of net rules, so that the server
// never holds its value.
func (v variable) canBeSecret() bool {
	return v.Secret && v.Sent == inHeader && !v.Checked && len(v.Hosts)+len(v.HostsFrom) > 0
}

// ForLine returns the preset of the package, or of the program, that a command line names.
func ForLine(argv []string) (*Preset, bool) {
	line, err := runline.Parse(argv)
	if err == nil {
		return ForPackage(Ecosystem(line.Ecosystem()), line.Packages[0].Name)
	}
	if len(argv) == 0 {
		return nil, false
	}
	return ForPackage(Command, strings.TrimSuffix(baseName(argv[0]), ".exe"))
}

// Lists returns an error if a preset is not for the package or program that a command line names.
func (p *Preset) Lists(argv []string) error {
	if line, err := runline.Parse(argv); err == nil {
		if p.isFor(Ecosystem(line.Ecosystem()), line.Packages[0].Name) {
			return nil
		}
		return fmt.Errorf("it is for %s, and the line runs %s", p.packages(), line.Packages[0])
	} else if !errors.Is(err, runline.ErrNotLauncher) {
		return fmt.Errorf("it is for %s, and %w", p.packages(), err)
	}
	if len(argv) > 0 && p.isFor(Command, strings.TrimSuffix(baseName(argv[0]), ".exe")) {
		return nil
	}
	return fmt.Errorf("it is for %s, and the line starts another program. For a program of your own, copy the table that mcp-jail preset %s prints into your configuration", p.packages(), p.Name)
}

func (p *Preset) isFor(ecosystem Ecosystem, name string) bool {
	key := Package{Ecosystem: ecosystem, Name: normal(ecosystem, name)}.key()
	return slices.ContainsFunc(p.Packages, func(of Package) bool {
		return Package{Ecosystem: of.Ecosystem, Name: normal(of.Ecosystem, of.Name)}.key() == key
	})
}

func (p *Preset) packages() string {
	var names []string
	for _, of := range p.Packages {
		if of.Ecosystem != Image {
			names = append(names, of.Name)
		}
	}
	return strings.Join(names, ", ")
}

func baseName(word string) string { return path.Base(strings.ReplaceAll(word, `\`, "/")) }

//go:embed servers/*.toml
var files embed.FS

// An UnknownError says that there is no preset of a name.
type UnknownError struct{ Name, Near string }

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("there is no preset %q", e.Name)
	if strings.HasSuffix(e.Name, ".toml") {
		return msg + ": a file is no preset: copy its table into your configuration"
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

// Find returns the preset of a name. Its error is an [*UnknownError], or that of decode.
// Each call returns a preset of its own, which the caller may change.
func Find(name string) (*Preset, error) {
	file := name + ".toml"
	data, err := files.ReadFile(path.Join("servers", file))
	if err != nil || path.Base(file) != file {
		return nil, &UnknownError{name, config.Suggest(name, Names())}
	}
	return decode(name, data, "preset "+name)
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
