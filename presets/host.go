package presets

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

func hostsOf(v Value, value string) (rules []policy.NetRule, err error) {
	if strings.Contains(value, "${") || strings.HasPrefix(value, "$") || strings.Contains(value, "{env:") {
		return nil, fmt.Errorf("its value is filled in later: write the net rule for its host")
	}
	rule := policy.NetRule{Scheme: v.Scheme, Port: v.Port, Allow: true}
	scheme, rest, hasScheme := strings.Cut(value, "://")
	switch {
	case !hasScheme && v.Kind == host:
		rest = value
	case !hasScheme:
		return nil, fmt.Errorf("its value is no URL: write the net rule for its host")
	case v.Kind == database:
		if rule.Scheme, rule.Port = "tcp", databasePort(scheme, v.Port); rule.Port == 0 {
			return nil, fmt.Errorf("the hosts of %s:// are not known from it: write the net rules for them", policy.Abbreviate(scheme))
		}
	default:
		if rule.Scheme = webScheme(scheme); rule.Scheme == "" {
			return nil, fmt.Errorf("its URL begins with %s://: write the net rule for its host", policy.Abbreviate(scheme))
		}
		rule.Port = 0
	}
	authority := rest
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:] // before it are credentials, which go into no rule or message
	}
	hosts := []string{authority}
	if v.Kind == database {
		hosts = strings.Split(authority, ",")
	}
	for _, host := range hosts {
		r, err := withHost(rule, host)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
		for _, name := range v.Below {
			if _, err := netip.ParseAddr(r.Host); err == nil || r.Host == "localhost" {
				continue
			}
			below := r
			below.Host = name + "." + r.Host
			rules = append(rules, below)
		}
	}
	return rules, nil
}

// withHost fills host and port of "host", "host:port" or "[address]:port" into a rule.
func withHost(r policy.NetRule, text string) (policy.NetRule, error) {
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		if _, err := netip.ParseAddr(text); err != nil { // not an address without brackets
			host, port = text[:i], text[i+1:]
		}
	}
	host, err := policy.NormalizeHost(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if err != nil || strings.HasPrefix(host, "*") {
		return r, fmt.Errorf("its host cannot be read: write the net rule for it")
	}
	r.Host = host
	if port != "" {
		if r.Port, err = portOf(port); err != nil {
			return r, err
		}
	}
	if err := policy.CheckNetRule(r); err != nil {
		return r, fmt.Errorf("no net rule can be made of it: %w", err)
	}
	return r, nil
}

func portOf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("its port is no number from 1 to 65535")
	}
	return int(n), nil
}

func webScheme(scheme string) string {
	switch strings.ToLower(scheme) {
	case "https", "wss":
		return "https"
	case "http", "ws":
		return "http"
	}
	return ""
}

// databasePort returns the port that a scheme of a database implies, or 0 where its hosts are
// not in the url.
func databasePort(scheme string, preset int) int {
	switch strings.ToLower(scheme) {
	case "postgres", "postgresql":
		return 5432
	case "mysql", "mariadb":
		return 3306
	case "redis", "rediss":
		return 6379
	case "mongodb":
		return 27017
	case "sqlserver", "mssql":
		return 1433
	case "mongodb+srv", "sqlite":
		return 0
	}
	return preset
}
