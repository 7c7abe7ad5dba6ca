package sources

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxText is how many bytes a configuration file may have.
const maxText = 1 << 20

// fact is what a file or a variable says of one key.
type fact struct {
	key    string
	values []string // several for a list
	name   string   // for messages: "registry in ~/.npmrc", or a variable
	chosen bool     // a variable has chosen it, or the file that says it
	lacks  string   // the variable without which it cannot be filled in; "" if there is none
}

// reading is a Reader at work.
type reading struct {
	Reader
	*Sources
	said      []fact // what counts more comes first
	elsewhere bool   // a variable has chosen the user's file
	indexed   bool   // Index has been read
	err       error  // the first one
}

// Read reads the configuration of a tool.
func (r Reader) Read(tool Tool) (*Sources, error) {
	in := &reading{Reader: r, Sources: &Sources{
		Tool: tool, Index: defaultIndex[tool], Scopes: map[string]string{}, Proxy: map[string]string{},
		values: map[meaning][]string{}, variables: map[string]string{}, npmLogins: map[string]string{},
	}}
	map[Tool]func(){NPM: in.readNPM, Pip: in.readPip, Uv: in.readUv}[tool]()
	for _, name := range authorityVariables[tool] {
		if file := in.variable(name); in.certificate(file) {
			in.variables[name] = file
		}
	}
	in.takeAll()
	if tool == NPM {
		in.keepUsedLogins()
	} else if in.Logins {
		in.checkHosts()
		in.readNetrc()
	}
	slices.Sort(in.chosen)
	in.chosen = slices.Compact(in.chosen)
	if in.err != nil {
		return nil, in.err
	}
	return in.Sources, nil
}

func (in *reading) variable(name string) string {
	value, _ := in.Host.Getenv(name)
	return value
}

func (in *reading) fail(format string, a ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(format, a...)
	}
}

// add adds what a source says, after all that counts more. In one source, the order of the table counts.
func (in *reading) add(facts []fact) {
	slices.SortStableFunc(facts, func(a, b fact) int { return rowOf(in.Tool, a.key) - rowOf(in.Tool, b.key) })
	in.said = append(in.said, facts...)
}

// text returns a file with settings, or "" if there is none.
func (in *reading) text(file string) string {
	text := in.head(file, maxText+1)
	if len(text) > maxText {
		in.fail("%s has more than %d bytes: mcp-jail does not read it, and %s would", in.short(file), maxText, in.Tool)
	}
	return text
}

// head returns the beginning of a regular file, to which links may lead, if that is to be believed. ""
// stands for a file that is not there: most users have none.
func (in *reading) head(file string, n int) string {
	real, err := filepath.EvalSymlinks(file)
	if !filepath.IsAbs(file) || err != nil {
		return ""
	}
	text, err := in.Host.ReadHead(real, n)
	if err != nil || len(text) == 0 {
		return ""
	}
	if in.Believe != nil {
		if err := in.Believe(file); err != nil {
			in.fail("%w", err)
		}
	}
	return string(text)
}

// certificate adds a file that the tool reads. It reports whether there is one.
func (in *reading) certificate(file string) bool {
	found := in.head(file, 1) != ""
	if found && !slices.Contains(in.Certificates, file) {
		in.Certificates = append(in.Certificates, file)
	}
	return found
}

// takeAll takes the facts. Of a key with several, the first one counts.
func (in *reading) takeAll() {
	seen := map[string]bool{}
	for _, f := range in.said {
		text := strings.Join(f.values, " ")
		var what meaning
		if row := rowOf(in.Tool, f.key); row >= 0 {
			what = table[row].what
		}
		joined := in.Tool == Uv && what == extra // uv asks the indexes of all its files
		if seen[f.key] && !joined || text == "" {
			continue
		}
		seen[f.key] = what != ""
		switch {
		case text == "null", what == place, (what == login || what == identity) && !in.Logins, what == "" && isNoise(in.Tool, f.key):
		case f.lacks != "" && (what == index || what == scope):
			in.fail("%s is no address: %s is not filled in. Set that variable where mcp-jail starts, or write the address itself, as servers that are not your own need it", f.name, show.Line(f.lacks))
		case what == "", f.lacks != "", strings.ContainsAny(text, "\r\n\x00") && what != ca:
			in.leave(f)
		default:
			in.take(what, f, text)
		}
	}
	if in.elsewhere { // also if that file names no registry
		in.choose(index, "registry", in.Index)
	}
}

// leave names a fact that is not used, unless it is one of the system's defaults.
func (in *reading) leave(f fact) {
	if f.lacks != "" && in.Logins {
		f.name += show.Line(" (" + f.lacks + " is not set)")
	}
	if !strings.Contains(f.name, " in /usr/") {
		in.NotUsed = append(in.NotUsed, f.name)
	}
}

func (in *reading) take(what meaning, f fact, text string) {
	switch what {
	case index:
		if !in.indexed {
			in.Index, in.indexed, in.Configured = in.address(what, f, text), true, true
		}
	case scope:
		in.Scopes[strings.TrimSuffix(f.key, ":registry")] = in.address(what, f, text)
	case extra:
		for _, one := range strings.Fields(text) {
			in.Extra, in.Configured = append(in.Extra, in.address(what, f, one)), true
		}
	case login:
		in.npmLogins[f.key] = text
	case cafile, identity:
		if file := in.inHome(text); in.certificate(file) {
			in.values[what] = []string{file}
		} else {
			in.leave(f)
		}
	case noProxy:
		in.Proxy["NO_PROXY"] = strings.Join(f.values, ",")
	case proxy:
		in.takeProxy(text)
	default:
		in.values[what] = append(in.values[what], f.values...)
	}
}

// inHome returns a path with the home directory for a "~" at its start. short does the reverse.
func (in *reading) inHome(file string) string {
	if below, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(in.Host.Home, below)
	}
	return file
}

func (in *reading) short(file string) string {
	if below, ok := strings.CutPrefix(file, in.Host.Home+string(filepath.Separator)); ok {
		file = "~/" + below
	}
	return show.Line(file)
}

// address returns the address of a registry without a login, which it keeps.
func (in *reading) address(what meaning, f fact, text string) string {
	clean, user, password := withoutLogin(text)
	u, err := url.Parse(clean)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		in.fail("%s is not the address of a registry: it has no host, or begins with neither https:// nor http://. Correct it", f.name)
		return ""
	}
	if in.Logins && user+password != "" {
		in.logins = append(in.logins, hostLogin{clean, u.Hostname(), user, password})
	}
	if f.chosen {
		in.choose(what, f.key, clean)
	}
	return clean
}

// choose notes that a variable has chosen a registry.
func (in *reading) choose(what meaning, key, address string) {
	if in.Tool != NPM { // one name for pip's keys and uv's
		key = map[meaning]string{index: "index-url", extra: "extra-index-url"}[what]
	}
	in.chosen = append(in.chosen, "--"+key+"="+address)
}

// takeProxy takes the first proxy for all registries.
func (in *reading) takeProxy(text string) {
	if text == "false" || in.Proxy["HTTPS_PROXY"] != "" {
		return
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if !in.Logins {
		text, _, _ = withoutLogin(text)
	}
	in.Proxy["HTTPS_PROXY"], in.Proxy["HTTP_PROXY"] = text, text
}

// withoutLogin takes the login out of an address, in which it may be quoted, or not as it should be.
func withoutLogin(address string) (clean, user, password string) {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return address, "", ""
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	return scheme + "://" + rest[at+1:], unescaped(user), unescaped(password)
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// checkHosts makes it an error if a netrc cannot keep the login in an address from another registry
// of the same host.
func (in *reading) checkHosts() {
	for _, l := range in.logins {
		for _, address := range in.addresses() {
			if in.mixes(l, address) {
				in.fail("%s and %s have one host and not one login: pip and uv are given logins by the name of the host. Give them one login, or one of them another name", l.address, address)
			}
		}
	}
}

// mixes reports whether a login would be sent to another registry that does not have it.
func (in *reading) mixes(l hostLogin, address string) bool {
	mine, err := url.Parse(l.address)
	other, errOther := url.Parse(address)
	if err != nil || errOther != nil || !strings.EqualFold(mine.Hostname(), other.Hostname()) {
		return false
	}
	if at := slices.IndexFunc(in.logins, func(o hostLogin) bool { return o.address == address }); at >= 0 {
		return in.logins[at].user != l.user || in.logins[at].password != l.password
	}
	return mine.Scheme != other.Scheme || mine.Host != other.Host
}

// readNetrc adds the user's netrc to the logins in the addresses of indexes, for the same hosts. The
// entry for all other hosts ("default") is left out, and so is a login with quotes or a backslash.
func (in *reading) readNetrc() {
	file := in.variable("NETRC")
	if file == "" {
		file = filepath.Join(in.Host.Home, ".netrc")
	}
	wanted := func(host string) bool {
		return slices.ContainsFunc(in.Registries(), func(u *url.URL) bool { return u.Hostname() == host }) &&
			!slices.ContainsFunc(in.logins, func(l hostLogin) bool { return l.host == host })
	}
	var words []string
	for line := range strings.Lines(in.text(file)) {
		if line, _, _ = strings.Cut(" "+line, " # "); line != "" {
			words = append(words, strings.Fields(line)...)
		}
	}
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "machine" {
			continue
		}
		l := hostLogin{host: words[i+1]}
		for i += 2; i+1 < len(words) && slices.Contains([]string{"login", "user", "password", "account"}, words[i]); i += 2 {
			switch words[i] {
			case "password":
				l.password = words[i+1]
			case "login", "user":
				l.user = words[i+1]
			}
		}
		i--
		switch {
		case !wanted(l.host):
		case strings.ContainsAny(l.user+l.password, `"\`):
			in.NotUsed = append(in.NotUsed, "the login of "+l.host+" in "+in.short(file))
		default:
			in.logins = append(in.logins, l)
		}
	}
}

// netrcLine writes a login. Quotes are for Python 3.11 and later.
func netrcLine(l hostLogin) string {
	quote := func(word string) string {
		if word != "" && !strings.ContainsAny(word, "\n\t\r \\") && word[0] != '"' {
			return word
		}
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
	}
	return "machine " + strings.ToLower(l.host) + " login " + quote(l.user) + " password " + quote(l.password) + "\n"
}
