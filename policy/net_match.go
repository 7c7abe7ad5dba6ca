package policy

import (
	"fmt"
	"net/url"
	"strings"
)

// checkNet validates a rule whose host is normalised already.
func checkNet(r NetRule) error {
	if r.Scheme == "tcp" {
		if r.Port == 0 {
			return fmt.Errorf("scheme = \"tcp\" needs a port")
		}
		if r.PathPrefix != "" {
			return fmt.Errorf("scheme = \"tcp\" has no paths: path_prefix is for http and https")
		}
	}
	if r.PathPrefix != "" {
		if r.PathPrefix[0] != '/' {
			return fmt.Errorf("path_prefix %q must begin with \"/\"", clip(r.PathPrefix))
		}
		if strings.ContainsAny(r.PathPrefix, "?#\x00\r\n") {
			return fmt.Errorf("path_prefix %q contains a query, a fragment or a control character", clip(r.PathPrefix))
		}
		if _, clean := pathSegments(r.PathPrefix); !clean {
			return fmt.Errorf("path_prefix %q is ambiguous: no \"//\", \".\", \"..\", \"\\\" or escaped \"/\" in it", clip(r.PathPrefix))
		}
	}
	return nil
}

// MatchNet evaluates the network rules for one request and returns the rule
// that decides. ok is true only where a rule allows it: with no rules there is no
// network, and what no rule matches is refused.
//
// host may be in any form; a host that cannot be normalised is refused. scheme
// "" is a connection of which only the port is known. path "" means that the
// path is not visible: rules that allow a path do not match then, rules that
// deny one do, so that what cannot be seen is not allowed by accident.
//
// Which rule that is: one with an exact host before one with a wildcard, and the
// longer wildcard first; then the one that says more about scheme, port and path;
// then the later one (docs/policy.md "Network rules").
func MatchNet(rules []NetRule, host, scheme string, port int, path string) (rule NetRule, ok bool) {
	host, err := NormalizeTarget(host)
	if err != nil {
		return NetRule{}, false
	}
	segments, clean := pathSegments(path)
	best := -1
	var bestScore [2]int
	for i, r := range rules {
		if !r.matchesConnection(host, scheme, port) {
			continue
		}
		if r.PathPrefix != "" {
			if path == "" && r.Allow {
				continue
			}
			if path != "" && clean && !r.matchesPath(segments) {
				continue
			}
			if path != "" && !clean && r.Allow && len(prefixSegments(r.PathPrefix)) > 0 {
				continue // a path that two servers read differently earns nothing
			}
		}
		score := r.specificity()
		if best < 0 || score[0] > bestScore[0] || score[0] == bestScore[0] && score[1] >= bestScore[1] {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return NetRule{}, false
	}
	return rules[best], rules[best].Allow
}

// NeedsPath reports whether the decision about a connection depends on the
// path of the request, so that TLS has to be terminated to enforce it.
func NeedsPath(rules []NetRule, host, scheme string, port int) bool {
	host, err := NormalizeTarget(host)
	if err != nil {
		return false
	}
	for _, r := range rules {
		if r.PathPrefix != "" && len(prefixSegments(r.PathPrefix)) > 0 && r.matchesConnection(host, scheme, port) {
			return true
		}
	}
	return false
}

// Ports lists the ports that a rule covers: without a port that of its scheme, and
// without a scheme those of http and https.
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

func (r NetRule) matchesConnection(host, scheme string, port int) bool {
	switch suffix, wild := strings.CutPrefix(r.Host, "*"); {
	case !wild && r.Host != host, wild && !strings.HasSuffix(host, suffix):
		return false
	}
	// tcp is any stream of bytes, so it covers the two that run on top of it.
	if scheme != "" && r.Scheme != "" && r.Scheme != "tcp" && r.Scheme != scheme {
		return false
	}
	for _, p := range r.Ports() {
		if p == port {
			return true
		}
	}
	return false
}

func (r NetRule) matchesPath(segments []string) bool {
	prefix := prefixSegments(r.PathPrefix)
	if len(prefix) > len(segments) {
		return false
	}
	for i, p := range prefix {
		if segments[i] != p {
			return false
		}
	}
	return true
}

func (r NetRule) specificity() [2]int {
	host := 1 << 16 // exact
	if strings.HasPrefix(r.Host, "*") {
		host = len(r.Host)
	}
	n := len(prefixSegments(r.PathPrefix))
	if r.Scheme != "" {
		n++
	}
	if r.Port != 0 {
		n++
	}
	return [2]int{host, n}
}

// prefixSegments are the segments of a path_prefix; a trailing slash adds none.
func prefixSegments(prefix string) []string {
	segments, _ := pathSegments(strings.TrimSuffix(prefix, "/"))
	return segments
}

// pathSegments splits and unescapes the path of a request. clean is false where
// servers disagree about what the path means: dot segments, empty segments,
// backslashes, escaped separators, broken escapes.
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
		case u == "." || u == "..", strings.ContainsAny(u, "/\\\x00%;"):
			clean = false
		case u == "" && i != len(parts)-1:
			clean = false
		}
		segments = append(segments, u)
	}
	return segments, clean
}

// parseHostPort reads the value of --net: HOST or HOST:PORT.
func parseHostPort(s string) (host string, port int, err error) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (strings.Count(s, ":") == 1 || strings.HasSuffix(s[:i], "]")) {
		host = s[:i]
		for _, c := range s[i+1:] {
			if c < '0' || c > '9' || port > 65535 {
				return "", 0, fmt.Errorf("%q: the port is not a number between 1 and 65535", clip(s))
			}
			port = port*10 + int(c-'0')
		}
		if port < 1 || port > 65535 {
			return "", 0, fmt.Errorf("%q: the port is not a number between 1 and 65535", clip(s))
		}
	}
	host, err = NormalizeHost(host)
	return host, port, err
}
