package sources

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

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

// defaultIndex is where a tool takes packages from if nothing else is configured. defaultFiles
// serves the files of Python's.
var defaultIndex = map[Tool]string{NPM: "https://registry.npmjs.org/", Pip: "https://pypi.org/simple", Uv: "https://pypi.org/simple"}

const defaultFiles = "https://files.pythonhosted.org/"

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
	// Configured reports whether the user has named Index or Extra.
	Configured bool
	// Certificates are files that the tool reads, to be made readable in the jail.
	Certificates []string
	// Proxy is the user's proxy for the jail's gateway, as variables: HTTPS_PROXY, HTTP_PROXY, NO_PROXY.
	Proxy map[string]string
	// NotUsed names what the files and variables say and is not used: "tokenHelper in ~/.npmrc".
	NotUsed []string

	values    map[meaning][]string // what is handed on as it is
	variables map[string]string    // of authorities
	npmLogins map[string]string    // from //host/path/:key to its value
	logins    []hostLogin          // in addresses, and those of a netrc
	chosen    []string
}

// hostLogin is a login of a registry, or of a host if a netrc has it: then address is "".
type hostLogin struct{ address, host, user, password string }

// As returns the sources for another tool: pip works for a line of uv's where there is no uv. What
// that tool cannot be told is added to NotUsed.
func (s *Sources) As(tool Tool) *Sources {
	other := *s
	other.Tool, other.NotUsed = tool, slices.Clone(s.NotUsed)
	for _, row := range table {
		known := slices.ContainsFunc(table, func(t setting) bool { return t.tool == tool && t.what == row.what })
		if row.tool == s.Tool && len(s.values[row.what]) > 0 && !known {
			other.NotUsed = append(other.NotUsed, row.key+" of "+string(s.Tool))
		}
	}
	return &other
}

// addresses returns those of all registries.
func (s *Sources) addresses() []string {
	return append(append([]string{s.Index}, s.Extra...), slices.Sorted(maps.Values(s.Scopes))...)
}

// Registries returns the address of each registry once: the hosts that the jail may reach.
func (s *Sources) Registries() (all []*url.URL) {
	addresses := s.addresses()
	if s.Tool != NPM && slices.Contains(addresses, defaultIndex[s.Tool]) {
		addresses = append(addresses, defaultFiles)
	}
	for _, address := range addresses {
		u, err := url.Parse(address) // Read has looked at each
		if err == nil && !slices.ContainsFunc(all, func(o *url.URL) bool { return o.Scheme == u.Scheme && o.Host == u.Host }) {
			all = append(all, u)
		}
	}
	return all
}

// Chosen returns the registries that variables have chosen, in place of the files, as options in a
// stable order: "--registry=https://…". They are part of the key of a pin: a client's entry may set them.
func (s *Sources) Chosen() []string { return s.chosen }

// Secrets returns the logins, so that they can be taken out of messages.
func (s *Sources) Secrets() (all []policy.Variable) {
	add := func(name, value string) { all = append(all, policy.Variable{Name: name, Value: value, Secret: true}) }
	for _, key := range slices.Sorted(maps.Keys(s.npmLogins)) {
		if _, name, _ := strings.Cut(key, ":_"); name != "" {
			add("npm's "+key, s.npmLogins[key])
		}
	}
	for _, l := range s.logins {
		add("the login of "+l.host, cmp.Or(l.password, l.user))
	}
	if _, user, password := withoutLogin(s.Proxy["HTTPS_PROXY"]); user != "" {
		add("the login of the proxy", cmp.Or(password, user))
	}
	return all
}
