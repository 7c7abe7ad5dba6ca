package sources

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

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
