// Package sources reads from where a user's npm, pip and uv take packages, and writes that for the
// one that works in a jail.
//
//	s, err := sources.Reader{Host: host, Logins: true}.Read(sources.NPM)
//	registries := s.Registries()     // the only hosts that the jail reaches
//	variables, input := s.Written(home) // of the jail, and of the tool's stdin
//
// What is read is one table of some ten keys a tool. A variable says what a file says:
// npm_config_registry, PIP_INDEX_URL, UV_INDEX_URL. All else that the user's files say is left out,
// and named by [Sources.NotUsed].
//
// A login belongs to a registry. It is handed on only if that registry is used: for npm if npm
// itself would send it there, for pip and uv by the name of the host. A login in an address is taken
// out of it. The tool reads its logins from stdin, npm as an npmrc, pip and uv as a netrc: no variable,
// no address and no file on the disk has one, so that nothing that a package says can name it.
//
// ${NAME} in an .npmrc is filled in once, here, and is written so that npm in the jail finds nothing
// to fill in. For a line that is not the user's own ([Reader.Logins] is false) none is filled in:
// the address of a registry with one is an error, and other settings with one are not used. So is,
// with logins, an address with a variable that is not set; npm would ask a host of that name.
//
// # Limits
//
//   - No file of the working directory counts, and no path that is relative to it. Neither do the
//     variables PREFIX and DESTDIR, nor the npmrc in npm's own package.
//   - A netrc holds for a host, whatever its port. Two indexes of one host with other ports,
//     schemes or logins are an error if an address has a login. A login of the user's
//     own netrc is sent to both, as the user's pip sends it.
//   - Of the user's netrc, a login with a quote or a backslash is not used, nor is one for all hosts.
//     Before 3.11, Python reads no quotes in a netrc: there a password with a space, a backslash or
//     a quote at its beginning, and an empty one, do not work.
//   - Two registries of npm's on one host, with other ports, get one login if the first sends npm to the other:
//     npm itself would do that, too.
//   - npm's logins for a part of a registry (//host/npm/one-package/) are not used, and neither are
//     those of a host that only tarballs come from.
//   - min-release-age and before are both written if two sources have one each: npm then takes before.
//   - Settings that are not used may still be those that a registry needs. They are named, and the
//     registry's answer says the rest.
//   - What uv is told has not been seen by uv: it was not there where the tests ran.
package sources

import (
	"cmp"
	"maps"
	"net/url"
	"os"
	"path/filepath"
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

	project string // an .npmrc of a project, of which the registries count: see CheckProject
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

// stdin is what a program's stdin is called. On Linux each opening begins anew.
const stdin = "/dev/fd/0"

// Written returns the configuration of the tool: variables, and what it reads from its stdin, with the logins. No login
// is among the variables, and none is ever on the disk. home is that of the jail.
func (s *Sources) Written(home string) (variables map[string]string, input string) {
	variables = map[string]string{}
	maps.Copy(variables, s.variables)
	var text strings.Builder
	switch s.Tool {
	case NPM:
		variables["npm_config_userconfig"] = stdin
		variables["npm_config_globalconfig"] = filepath.Join(home, "no-npmrc")
	case Pip:
		variables["PIP_CONFIG_FILE"], variables["NETRC"] = os.DevNull, stdin // no other file counts either
	case Uv:
		variables["UV_NO_CONFIG"], variables["NETRC"] = "1", stdin
	}
	for _, p := range s.pairs() {
		if s.Tool != NPM {
			variables[p.name] = strings.Join(p.values, " ")
			continue
		}
		for _, value := range p.values {
			text.WriteString(npmText(p.name) + "=" + npmText(value) + "\n")
		}
	}
	for _, l := range s.logins {
		if s.Tool != NPM {
			text.WriteString(netrcLine(l))
		}
	}
	return variables, text.String()
}

// pair is a setting as it is written.
type pair struct {
	name   string
	values []string
}

// pairs returns what the rows of the tool have to say, in their order.
func (s *Sources) pairs() (all []pair) {
	for _, row := range table {
		if row.tool != s.Tool || row.written == "" {
			continue
		}
		values := s.values[row.what]
		switch row.what {
		case index:
			values = []string{s.Index}
		case extra:
			values = s.Extra
		case scope:
			for _, name := range slices.Sorted(maps.Keys(s.Scopes)) {
				all = append(all, pair{name + ":registry", []string{s.Scopes[name]}})
			}
		case login:
			for _, key := range slices.Sorted(maps.Keys(s.npmLogins)) {
				if matches(row.key, key) {
					all = append(all, pair{key, []string{s.npmLogins[key]}})
				}
			}
		}
		if len(values) > 0 {
			all = append(all, pair{row.written, values})
		}
	}
	return all
}

// meaning is what a setting says, whichever tool it is of.
type meaning string

const (
	index    meaning = "the registry"
	scope    meaning = "the registry of a scope"
	extra    meaning = "further registries"
	login    meaning = "a login"
	cafile   meaning = "a file of authorities"
	ca       meaning = "authorities"
	identity meaning = "a client's certificate"
	tls      meaning = "whether certificates are checked"
	tarballs meaning = "whether files come from the registry too"
	insecure meaning = "hosts whose certificates are not checked"
	systemCA meaning = "whether the system's authorities count"
	proxy    meaning = "a proxy"
	noProxy  meaning = "hosts without a proxy"
	minAge   meaning = "the age of a version"
	before   meaning = "the date of a version"
	timeout  meaning = "a timeout"
	retries  meaning = "the number of retries"
	place    meaning = "a file with settings"
)

// setting is a row of the table: a key of a tool.
type setting struct {
	tool Tool
	// key is its name in the tool's files, where a "*" is any text. The variable of the same name is
	// npm_config_KEY in any case, PIP_KEY or UV_KEY, with "_" for "-".
	key  string
	what meaning
	// written is how the tool in the jail is told: a key of npm's file, or a variable of pip or uv.
	// "*" is the key itself. Without it, Write does not write it: the gateway is told of a proxy.
	written string
}

// table has the settings that are used. Of two rows with one meaning, the first one counts more.
var table = []setting{
	{NPM, "registry", index, "registry"},
	{NPM, "@*:registry", scope, "*"},
	{NPM, "//*:_authToken", login, "*"},
	{NPM, "//*:_auth", login, "*"},
	{NPM, "//*:username", login, "*"},
	{NPM, "//*:_password", login, "*"},
	{NPM, "//*:certfile", login, "*"},
	{NPM, "//*:keyfile", login, "*"},
	{NPM, "cafile", cafile, "cafile"},
	{NPM, "ca", ca, "ca[]"},
	{NPM, "strict-ssl", tls, "strict-ssl"},
	{NPM, "replace-registry-host", tarballs, "replace-registry-host"},
	{NPM, "https-proxy", proxy, ""},
	{NPM, "proxy", proxy, ""},
	{NPM, "noproxy", noProxy, ""},
	{NPM, "min-release-age", minAge, "min-release-age"},
	{NPM, "before", before, "before"},
	{NPM, "userconfig", place, ""},
	{NPM, "globalconfig", place, ""},
	{NPM, "prefix", place, ""},

	{Pip, "index-url", index, "PIP_INDEX_URL"},
	{Pip, "extra-index-url", extra, "PIP_EXTRA_INDEX_URL"},
	{Pip, "cert", cafile, "PIP_CERT"},
	{Pip, "client-cert", identity, "PIP_CLIENT_CERT"},
	{Pip, "trusted-host", insecure, "PIP_TRUSTED_HOST"},
	{Pip, "proxy", proxy, ""},
	{Pip, "timeout", timeout, "PIP_TIMEOUT"},
	{Pip, "retries", retries, "PIP_RETRIES"},
	{Pip, "config-file", place, ""},

	{Uv, "default-index", index, "UV_DEFAULT_INDEX"},
	{Uv, "index-url", index, ""},
	{Uv, "index", extra, "UV_INDEX"},
	{Uv, "extra-index-url", extra, ""},
	{Uv, "allow-insecure-host", insecure, "UV_INSECURE_HOST"},
	{Uv, "insecure-host", insecure, ""}, // the variable
	{Uv, "native-tls", systemCA, "UV_NATIVE_TLS"},
	{Uv, "config-file", place, ""},
	{Uv, "no-config", place, ""},
}

// noise has the keys that decide neither where packages come from nor how one logs in there: what a
// tool prints and asks, how long it waits, where it keeps its own files, and what it writes into a
// project. No word is lost on them.
var noise = map[Tool]string{
	NPM: "email //*:email always-auth //*:always-auth audit* cache color fetch-* fund init* loglevel logs-* maxsockets nodedir omit-lockfile-* progress save* update-notifier yes",
	Pip: "break-system-packages cache-dir default-timeout disable-pip-version-check log no-cache-dir no-color no-input progress-bar quiet require-virtualenv root-user-action user verbose",
	Uv:  "cache-dir color compile-bytecode link-mode no-cache no-progress pip preview project* python python-downloads python-preference required-version system-python tool-*",
}

// authorityVariables name files of authorities for all programs of a kind. They are handed on.
var authorityVariables = map[Tool][]string{
	NPM: {"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"},
	Pip: {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"},
	Uv:  {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"}, // pip may do its work: see As
}

// rowOf returns the number of the row of a key, or -1.
func rowOf(tool Tool, key string) int {
	return slices.IndexFunc(table, func(s setting) bool { return s.tool == tool && matches(s.key, key) })
}

func isNoise(tool Tool, key string) bool {
	return slices.ContainsFunc(strings.Fields(noise[tool]), func(pattern string) bool { return matches(pattern, key) })
}

// matches reports whether a key has a pattern, in which "*" is any text.
func matches(pattern, key string) bool {
	begin, end, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == key
	}
	return len(key) >= len(begin)+len(end) && strings.HasPrefix(key, begin) && strings.HasSuffix(key, end)
}
