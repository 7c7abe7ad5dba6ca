package policy

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CheckNetRule validates a rule whose host is normalised.
func CheckNetRule(r NetRule) error {
	if r.Scheme == "tcp" {
		switch {
		case r.Port == 0:
			return fmt.Errorf("scheme = \"tcp\" needs a port")
		case r.PathPrefix != "":
			return fmt.Errorf("scheme = \"tcp\" has no paths: path_prefix is for http and https")
		case len(r.Methods) > 0:
			return fmt.Errorf("scheme = \"tcp\" has no methods: they are for http and https")
		}
	}
	if r.PathPrefix != "" {
		if r.PathPrefix[0] != '/' {
			return fmt.Errorf("path_prefix %q must begin with \"/\"", Abbreviate(r.PathPrefix))
		}
		if strings.ContainsAny(r.PathPrefix, "?#\x00\r\n") {
			return fmt.Errorf("path_prefix %q contains a query, a fragment or a control character", Abbreviate(r.PathPrefix))
		}
		if _, clean := pathSegments(r.PathPrefix); !clean {
			return fmt.Errorf("path_prefix %q is ambiguous: it must not contain \"//\", \".\", \"..\", \"\\\", an escaped \"/\", a control character or broken UTF-8", Abbreviate(r.PathPrefix))
		}
	}
	if r.Allow && r.Port == 53 {
		return fmt.Errorf("port 53 is for names, which mcp-jail looks up for the server: it cannot be granted")
	}
	if addr, err := netip.ParseAddr(r.Host); r.Allow && err == nil && IsGroup(addr) {
		return fmt.Errorf("%s is an address of several machines at once, and only TCP is supported: it cannot be granted", addr)
	}
	for _, m := range r.Methods {
		if err := checkMethod(m); err != nil {
			return err
		}
	}
	if r.NeedsInterception() && r.Host == "*" && r.Scheme != "http" {
		return fmt.Errorf("host = \"*\" has no path_prefix, methods or secret: TLS is terminated only for hosts that a rule names")
	}
	return checkSecrets(r)
}

// checkMethod validates an HTTP method. Methods are case-sensitive, and no existing one has
// lower-case letters.
func checkMethod(m string) error {
	switch {
	case m == "CONNECT":
		return fmt.Errorf("methods: CONNECT opens a tunnel, whose content mcp-jail could not check")
	case m == "" || len(m) > 32 || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		return fmt.Errorf("methods: %q is not a method: write it as HTTP does, as \"GET\"", Abbreviate(m))
	}
	return nil
}

func checkSecrets(r NetRule) error {
	for i, s := range r.Secrets {
		if err := checkSecret(s); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
		if slices.ContainsFunc(r.Secrets[:i], func(t Secret) bool { return t.Env == s.Env }) {
			return fmt.Errorf("secret: %s is listed twice", s.Env)
		}
	}
	switch {
	case len(r.Secrets) == 0:
	case !r.Allow:
		return fmt.Errorf("a secret is for a host that may be reached: allow = true is missing")
	case r.Scheme != "" && r.Scheme != "https":
		return fmt.Errorf("scheme = %q would send the secret unencrypted: a secret needs https", r.Scheme)
	}
	return nil
}

// MatchNet evaluates the network rules for one request. ok is true where a rule allows the request and none refuses
// it. rule is the one that refuses, or one that allows, with the secrets of all that do. Without rules there is no
// network, and a request that no rule matches is refused.
//
// host may be in any form; a host that cannot be normalised is refused. scheme
// "" is a connection of which only the port is known. path "" and method "" mean
// that they are not visible. Then rules that allow some paths or methods do not match,
// and rules that refuse some do, so that no request is allowed unseen.
func MatchNet(rules []NetRule, host, scheme string, port int, path, method string) (rule NetRule, ok bool) {
	host, err := NormalizeTarget(host)
	if err != nil {
		return NetRule{}, false
	}
	segments, clean := pathSegments(path)
	for _, r := range rules {
		if !r.matchesConnection(host, scheme, port) || !r.matchesMethod(method) {
			continue
		}
		if len(pathPrefix(r.PathPrefix)) > 0 {
			switch {
			case path == "" || !clean: // a path that two servers read differently earns nothing
				if r.Allow {
					continue
				}
			case !r.matchesPath(path, segments):
				continue
			}
		}
		if !r.Allow {
			return r, false
		}
		for _, s := range rule.Secrets {
			if !slices.Contains(r.SecretNames(), s.Env) {
				r.Secrets = slices.Concat(r.Secrets, []Secret{s})
			}
		}
		rule, ok = r, true
	}
	return rule, ok
}

// AnyNeedsInterception reports whether the requests of a connection must be inspected:
// because the decision depends on more than host, scheme and port, or because a secret may
// be inserted.
func AnyNeedsInterception(rules []NetRule, host, scheme string, port int) bool {
	host, err := NormalizeTarget(host)
	if err != nil {
		return false
	}
	var all, some, refused, secret bool // requests that are allowed, and some that are refused
	for _, r := range rules {
		switch {
		case !r.matchesConnection(host, scheme, port):
		case !r.Allow && !r.conditional():
			return false
		case !r.Allow:
			refused = true
		default:
			all, some = all || !r.conditional(), true
			secret = secret || len(r.Secrets) > 0 && scheme != "http"
		}
	}
	return some && (!all || refused || secret)
}

// Ports returns the ports that a rule covers if it allows: its port, else the port of its
// scheme, else the ports of http and https.
func (r NetRule) Ports() []int {
	switch {
	case r.Port != 0:
		return []int{r.Port}
	case r.Scheme == "http":
		return []int{80}
	case r.Scheme == "https":
		return []int{443}
	}
	return []int{80, 443}
}

// coversAllPorts reports whether a rule is about all ports: it refuses and names none.
func (r NetRule) coversAllPorts() bool { return !r.Allow && r.Port == 0 }

func (r NetRule) coversPort(port int) bool {
	return r.coversAllPorts() || slices.Contains(r.Ports(), port)
}

// Covers reports whether a rule allows or refuses some connection to a host in its normal
// form. Port 0 stands for any port that the rule covers.
func (r NetRule) Covers(host string, port int) bool {
	if port == 0 {
		port = r.Ports()[0]
	}
	return r.matchesConnection(host, "", port)
}

func (r NetRule) matchesConnection(host, scheme string, port int) bool {
	if !hostIncludes(r.Host, host) && !(!r.Allow && r.conditional() && isLoopback(r.Host) && isLoopback(host)) { // see CheckAddress
		return false
	}
	// tcp is any stream of bytes, so it covers http and https, which run on top of it.
	if scheme != "" && r.Scheme != "" && r.Scheme != "tcp" && r.Scheme != scheme {
		return false
	}
	return r.coversPort(port)
}

// matchesMethod reports whether the rule matches a method; "" is one that is not visible: see
// MatchNet. Some servers ignore the case of a method, so a rule that refuses does.
func (r NetRule) matchesMethod(method string) bool {
	switch {
	case len(r.Methods) == 0:
		return true
	case r.Allow:
		return slices.Contains(r.Methods, method)
	}
	return method == "" || slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// matchesPath reports whether the rule matches a path, which has these segments. A rule that refuses
// is as wide as the most lenient server, and one that allows as narrow as the strictest.
func (r NetRule) matchesPath(path string, segments []string) bool {
	if !r.Allow {
		return beginsWide(widePathSegments(r.PathPrefix), widePathSegments(path))
	}
	return beginsWith(pathPrefix(r.PathPrefix), segments)
}

func beginsWith(prefix, segments []string) bool {
	return len(prefix) <= len(segments) && slices.Equal(prefix, segments[:len(prefix)])
}

// beginsWide reports whether a path begins with the prefix of a refusal. The last segment may have an
// extension, which Rails and others take for a format of the same.
func beginsWide(prefix, segments []string) bool {
	n := len(prefix)
	if n > 0 && n == len(segments) && strings.HasPrefix(segments[n-1], prefix[n-1]+".") {
		n--
	}
	return beginsWith(prefix[:n], segments)
}

// ParseHostPort reads the value of --net: HOST or HOST:PORT.
func ParseHostPort(s string) (host string, port int, err error) {
	if host = s; strings.Contains(s, "://") {
		return "", 0, errors.New("this is a URL: write its host alone")
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (strings.Count(s, ":") == 1 || strings.HasSuffix(s[:i], "]")) {
		host = s[:i]
		number, err := strconv.ParseUint(s[i+1:], 10, 16)
		if port = int(number); err != nil || port == 0 {
			return "", 0, errors.New("the port is not a number between 1 and 65535; each port is written by itself, without a range or \"*\"")
		}
	}
	host, err = NormalizeHost(host)
	return host, port, err
}

// pathPrefix returns the segments of a path_prefix; a trailing slash adds none.
func pathPrefix(prefix string) []string {
	segments, _ := pathSegments(strings.TrimSuffix(prefix, "/"))
	return segments
}

// CleanPath reports whether all servers read the path of a request in the same
// way. If they do not, no rule with a path_prefix allows the request.
func CleanPath(path string) bool {
	_, clean := pathSegments(path)
	return clean
}

// pathSegments splits and unescapes the path of a request. clean is false if servers
// disagree about the meaning of the path: dot segments and spellings that some servers
// take for them, empty segments, backslashes, semicolons, escaped separators, escaped or
// broken escapes, control characters, broken UTF-8.
func pathSegments(path string) (segments []string, clean bool) {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil, true
	}
	clean = true
	parts := strings.Split(path, "/")
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		switch {
		case err != nil:
			clean, u = false, p
		case strings.ContainsAny(u, "/\\%;"), strings.ContainsFunc(u, unicode.IsControl), !utf8.ValidString(u), dots(u):
			clean = false
		case u == "" && i != len(parts)-1:
			clean = false
		}
		segments = append(segments, u)
	}
	return segments, clean
}

// widePathSegments splits the path of a request as the most lenient server does, for rules that refuse. It
// ignores letter case, the form of characters, invisible ones, parameters, and the dots and blanks
// at the end of a segment, and takes every separator for one.
func widePathSegments(path string) (segments []string) {
	path, _, _ = strings.Cut(path, "?")
	if u, err := url.PathUnescape(path); err == nil {
		path = u
	}
	path = wideText(path)
	if end := strings.IndexAny(path, "?#"); end >= 0 { // some unescape before they cut off the query
		path = path[:end]
	}
	for _, p := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ := strings.Cut(p, ";")
		segments = append(segments, cmp.Or(strings.TrimRight(strings.TrimSpace(name), ". "), p))
	}
	return segments
}

// wideText returns a text in a form that all of its spellings share: the compatible form of Unicode,
// without accents and invisible characters, and of each letter one case.
func wideText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r > 126 }) {
		s = norm.NFKD.String(foldLetters.Replace(foldDots.Replace(s)))
	}
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// foldLetters has the letters that become ASCII in the other case, and that unicode.SimpleFold leaves.
// In Java, "\u0131" is "i" where case is ignored.
var foldLetters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ı", "i")

// dots reports whether a segment, or its part before an escaped separator, is "." or "..".
// It also reports segments that some server turns into one of these: by removing invisible
// characters, or by replacing fullwidth characters with ASCII.
func dots(segment string) bool {
	for _, part := range strings.FieldsFunc(foldDots.Replace(segment), func(r rune) bool { return strings.ContainsRune(`/\?#`, r) }) {
		seen := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, part)
		// Three dots are a name like any other, if they are there as such.
		if seen != "" && strings.Trim(seen, ".") == "" && (len(seen) <= 2 || seen != segment) {
			return true
		}
	}
	return false
}

// foldDots has the characters of Unicode that stand for dots and separators (NFKC; the
// ideographic full stops as in host names).
var foldDots = strings.NewReplacer(
	"．", ".", "․", ".", "﹒", ".", "。", ".", "｡", ".", "‥", "..", "…", "...",
	"／", "/", "＼", `\`, "﹨", `\`, "？", "?", "﹖", "?", "＃", "#", "﹟", "#",
)

// HasOneHost reports whether rules allow exactly one host.
func HasOneHost(rules []NetRule) bool {
	host := ""
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		if strings.Contains(r.Host, "*") || host != "" && r.Host != host {
			return false
		}
		host = r.Host
	}
	return host != ""
}
