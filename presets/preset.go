package presets

import (
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
	Variables []Variable
	Arguments []Argument
	Programs  []string // that it starts, by name; a note says which it can do without
	Stateful  bool     // whether a call can depend on an earlier one of the same process
	ReadOnly  []string // tools that change nothing, sorted
	Notes     []string
	Sources   []string
	Login     Login
	Jail      Jail
	Each      []Each
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

// Sent is how the value of a secret leaves the server.
type Sent string

const (
	InHeader   Sent = "header"    // in header fields over TLS: it can be a `secret` of net rules
	InQuery    Sent = "query"     // in the query of a URL
	InBody     Sent = "body"      // in the body of a request
	InCookie   Sent = "cookie"    // in a cookie
	InProtocol Sent = "protocol"  // in another protocol than HTTP, such as a database's
	Signs      Sent = "signature" // never; requests are signed with it
	Stays      Sent = "local"     // only to a program of the same host, or not at all
)

// Kind is what a value names, beyond a text.
type Kind string

const (
	PlainText Kind = ""
	URL       Kind = "url"       // its host needs a net rule
	Database  Kind = "database"  // a URL with credentials; its host needs a net rule with the scheme tcp
	Host      Kind = "host"      // it needs a net rule
	Port      Kind = "port"      // of such a host
	Inbound   Kind = "inbound"   // a port at which the server waits for a browser of this machine
	File      Kind = "file"      // it needs a rule of fs
	Directory Kind = "directory" // it needs a rule of fs
)

// A Value is what is known about a variable's or argument's value.
type Value struct {
	Kind   Kind   `toml:"kind"`
	Secret bool   `toml:"secret"`
	Sent   Sent   `toml:"sent"` // of a secret
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
type Variable struct {
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
type Argument struct {
	Flag     string `toml:"flag"`     // the word before the value, or before "="
	Position int    `toml:"position"` // or its place among the words that are not flags, from 1
	Rest     bool   `toml:"rest"`     // or every such word that has no Position
	Required bool   `toml:"required"`
	Variable string `toml:"variable"` // that can be set instead: better for a secret
	Value
}

// Variable returns what is known about a variable.
func (p *Preset) Variable(name string) (Variable, bool) {
	for _, v := range p.Variables {
		if v.Name == name {
			return v, true
		}
	}
	return Variable{}, false
}

// CanBeSecret reports whether the variable can be a `secret` of net rules, so that the server
// never holds its value.
func (v Variable) CanBeSecret() bool {
	return v.Secret && v.Sent == InHeader && !v.Checked && len(v.Hosts)+len(v.HostsFrom) > 0
}
