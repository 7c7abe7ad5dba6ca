// Package sources reads from where a user's npm, pip and uv take packages, and writes that for the
// one that works in a jail.
//
//	s, err := sources.Reader{Host: host, Logins: true}.Read(sources.NPM)
//	jail.Registries = s.Registries()
//	variables, err := s.Write(jail.Home())
//
// What is read is a table (see table.go) of some ten keys a tool. All else that the files say is
// left out, and named by Sources.NotUsed.
package sources

import (
	"errors"
	"net/url"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Tool is a program that fetches packages.
type Tool string

// The tools.
const (
	NPM Tool = "npm"
	Pip Tool = "pip"
	Uv  Tool = "uv"
)

// Reader reads what the user has configured: the user's and the system's files, and variables. No
// file of the working directory counts.
type Reader struct {
	Host *hostfs.Host
	// Logins also reads the logins of the registries. Without it, none is read, and no ${NAME} is filled in.
	Logins bool
	// Believe returns an error if a server may write a file: it could choose there what is installed. May be nil.
	Believe func(file string) error
	// Prefix is where the tool is installed: npm's global prefix, or that of pip's Python. "" if it is not known.
	Prefix string
}

// Sources is from where a tool takes packages.
type Sources struct {
	Tool   Tool
	Index  string            // the registry, or the index, without a login
	Scopes map[string]string // of npm: from @scope to its registry
	Extra  []string          // further indexes of pip and uv
	// Certificates are files that the tool reads, to be made readable in the jail.
	Certificates []string
	// Proxy is the user's proxy for the jail's gateway, as variables: HTTPS_PROXY, HTTP_PROXY, NO_PROXY.
	Proxy map[string]string
	// NotUsed names what the files and variables say and is not used: "tokenHelper in ~/.npmrc".
	NotUsed []string
}

// Read reads the configuration of a tool.
func (r Reader) Read(tool Tool) (*Sources, error) { return nil, errors.New("not yet") }

// Registries returns the address of each registry once: the hosts that the jail may reach.
func (s *Sources) Registries() []*url.URL { return nil }

// RegistryOf returns the registry from which npm takes a package.
func (s *Sources) RegistryOf(name string) string { return "" }

// Write writes the configuration of the tool, with the logins, into files of home that nobody but the user
// may read. It returns the variables that have the tool read them, and nothing else. No login is among them.
func (s *Sources) Write(home string) (variables map[string]string, err error) {
	return nil, errors.New("not yet")
}

// Files returns the files that Write writes: they are removed when the fetch has ended.
func (s *Sources) Files(home string) []string { return nil }

// Secrets returns the logins, so that they can be taken out of messages.
func (s *Sources) Secrets() []policy.Variable { return nil }

// Chosen returns the registries that variables have chosen, in place of the files, as options in a
// stable order: "--registry=https://…". They are part of the key of a pin: a client's entry may set them.
func (s *Sources) Chosen() []string { return nil }
