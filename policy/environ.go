package policy

import (
	"strings"
)

func IsMinimalVariable(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// label names the rule in messages.
func (r EnvRule) Label() string {
	if _, line := SplitPosition(r.Where); strings.HasPrefix(r.Where, "--") || line == 0 && r.Where != "" {
		return r.Where
	}
	return strings.TrimPrefix(r.Where+": ", ": ") + "name = " + QuoteTOML(r.Name)
}
