package sources

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// readLogins adds the user's netrc to the logins in the addresses of indexes, for the same hosts. It
// is an error if a netrc cannot keep a login from another registry of its host.
func (in *reading) readLogins() {
	if !in.Logins {
		return
	}
	for _, l := range in.logins {
		for _, address := range append([]string{in.Index}, in.Extra...) {
			if in.mixes(l, address) {
				in.fail(fmt.Errorf("%s and %s have one host and not one login: pip and uv are given logins by the name of the host. Give them one login, or one of them another name", show.Line(l.address), show.Line(address)))
			}
		}
	}
	file, ok := in.variable("NETRC")
	if !ok {
		file = filepath.Join(in.Host.Home, ".netrc")
	}
	all, ok := netrcLogins(in.text(file))
	if !ok {
		in.NotUsed = append(in.NotUsed, show.Line(in.short(file))+" (it is not understood)")
	}
	for _, u := range in.Registries() {
		for _, l := range all {
			has := func(o hostLogin) bool { return strings.EqualFold(o.host, l.host) }
			if strings.EqualFold(l.host, u.Hostname()) && !slices.ContainsFunc(in.logins, has) {
				in.logins = append(in.logins, l)
			}
		}
	}
}

// mixes reports whether a login would be sent to another registry that does not have it.
func (in *reading) mixes(l hostLogin, address string) bool {
	mine, err := url.Parse(l.address)
	other, errOther := url.Parse(address)
	if err != nil || errOther != nil || !strings.EqualFold(mine.Hostname(), other.Hostname()) || address == l.address {
		return false
	}
	at := slices.IndexFunc(in.logins, func(o hostLogin) bool { return o.address == address })
	if at >= 0 {
		return in.logins[at].user != l.user || in.logins[at].password != l.password
	}
	return mine.Scheme != other.Scheme || mine.Port() != other.Port()
}

// netrcLogins returns the logins of a netrc as Python reads it. That for all other hosts
// ("default") is left out. ok is false if Python refuses the file.
func netrcLogins(text string) (all []hostLogin, ok bool) {
	var word string
	next := func() string { word, text = netrcWord(text); return word }
	skip := func(to string) { _, text, _ = strings.Cut(text, to) }
	for next() != "" || text != "" {
		switch {
		case word == "machine":
			all = append(all, hostLogin{host: next()})
		case word == "default":
			all = append(all, hostLogin{})
		case word == "macdef":
			skip("\n\n")
		case strings.HasPrefix(word, "#"):
			skip("\n")
		case len(all) == 0:
			return nil, word == ""
		case word == "login" || word == "user":
			all[len(all)-1].user = next()
		case word == "password":
			all[len(all)-1].password = next()
		case word == "account":
			next()
		case word != "":
			return nil, false
		}
	}
	return all, true
}

// netrcWord returns the first word of a netrc, and the text after it. A word in quotes may have
// spaces, and a backslash stands for what follows it.
func netrcWord(text string) (word, rest string) {
	const space = "\n\t\r "
	text = strings.TrimLeft(text, space)
	quoted := strings.HasPrefix(text, `"`)
	if quoted {
		text = text[1:]
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '"':
			return out.String(), text[i+1:]
		case !quoted && strings.IndexByte(space, c) >= 0:
			return out.String(), text[i:]
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), ""
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
