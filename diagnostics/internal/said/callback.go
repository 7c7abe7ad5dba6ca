package said

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

var (
	// redirect_uri=http%3A%2F%2Flocalhost%3A16774%2Fcallback; "redirectUri": "http://…"
	redirectURI = lazy.Regexp(`(?i)(?:redirect|callback)[ _-]?ur[il]s?["']?\s*[=:]\s*\[?\s*["']?(https?://[^\s"'<>&]+)`)
	// http://127.0.0.1:16774, localhost:3000
	loopbackURL = lazy.Regexp(`(?i)(?:https?://|\b)(localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\]):(\d{1,5})\b`)
	portWord    = lazy.Regexp(`(?i)\bport\b[ :=]{1,3}(\d{2,5})\b`)
	// Waiting for authorization; callback server; open this URL in your browser
	loginWait = lazy.Regexp(`(?i)\b(?:wait|listen)\w*\s(?:\S+\s){0,4}?["']?(?:auth|oauth|login|log.?in\b|sign.?in|callback|browser|consent|redirect|user to)|` +
		`\b(?:auth\w*|oauth|login|sign.?in)\s(?:\S+\s){0,3}?(?:pending|required|needed|callback)|` +
		`\bcallback\s(?:server|listener|port|url)|` +
		`\b(?:open|visit|go to|navigate to|click)\w*\s(?:\S+\s){0,8}?(?:browser|url|link|https?://)|` +
		`\b(?:authori[sz]e|sign in|log in)\s(?:\S+\s){0,6}?(?:visiting|opening|browser|at:?$|https?://)`)
	loginWords = []string{"callback", "oauth", "authoriz", "authoris", "authentic", "sign in", "sign-in", "signin", "log in", "login", "redirect", "consent"}
)

// Callback is what a text says of a login through a browser of this machine.
type Callback struct {
	Waits bool  // the server says that it waits for one, or names where the browser comes back to
	Ports []int // the ports of the loopback that it names for that, the surest first
}

// FindCallback returns what lines say of a login through a browser that comes back to a port of
// the loopback.
func FindCallback(lines []string) (found Callback) {
	var near []int // of lines about a login
	add := func(to *[]int, port string) {
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 1<<16 && !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	for _, line := range lines {
		before := len(found.Ports)
		for _, m := range redirectURI().FindAllStringSubmatch(unescaped(line), 4) {
			if u, err := url.Parse(m[1]); err == nil && isLoopback(u.Hostname()) {
				add(&found.Ports, u.Port())
			}
		}
		waits := loginWait().MatchString(line)
		found.Waits = found.Waits || waits || len(found.Ports) > before
		if !waits && !ContainsAny(strings.ToLower(line), loginWords) {
			continue
		}
		for _, m := range loopbackURL().FindAllStringSubmatch(line, 4) {
			add(&near, m[2])
		}
		for _, m := range portWord().FindAllStringSubmatch(line, 4) {
			add(&near, m[1])
		}
	}
	for _, n := range near {
		add(&found.Ports, strconv.Itoa(n))
	}
	return found
}

// MayAwait reports, without much work, whether a text may be of a server that waits for a login.
func MayAwait(text []byte) bool {
	return slices.ContainsFunc([]string{"allback", "edirect", "uthori", "OAuth", "oauth", "rowser", "ogin", "ign in", "ign-in"}, func(word string) bool {
		return bytes.Contains(text, []byte(word))
	})
}

// HasNumber reports whether a word contains a number, which no other digits surround.
func HasNumber(word string, number int) bool {
	is := func(field string) bool { return field == strconv.Itoa(number) }
	return slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool { return r < '0' || r > '9' }), is)
}

// unescaped undoes the escapes of a URL, also where it is the parameter of another one.
func unescaped(line string) string {
	for range 2 {
		plain, err := url.PathUnescape(line)
		if err != nil || plain == line {
			break
		}
		line = plain
	}
	return line
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
