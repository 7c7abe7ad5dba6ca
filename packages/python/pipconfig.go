package python

import (
	"fmt"
	"slices"
	"strings"
)

// PipConfig returns what the user's configuration of pip says: the files in pip's format, of which
// a later one counts more, and the variables, which are NAME=value. A setting of a variable wins
// over one of the command install, which wins over one for all commands. An empty one does not
// count.
func PipConfig(files []string, environ []string) (c Config, err error) {
	sections := map[string]map[string]string{"global": {}, "install": {}, "variables": {}}
	for _, text := range files {
		if err := readPipFile(text, sections); err != nil {
			return c, err
		}
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if name, ok := strings.CutPrefix(name, "PIP_"); ok {
			sections["variables"][pipName(name)] = value
		}
	}
	get := func(name string) string {
		for _, section := range [...]string{"variables", "install", "global"} {
			if value := sections[section][name]; value != "" {
				return value
			}
		}
		return ""
	}
	return Config{
		Index: get("index-url"), Extra: strings.Fields(get("extra-index-url")), FindLinks: strings.Fields(get("find-links")),
		Cert: get("cert"), ClientCert: get("client-cert"), Trusted: strings.Fields(get("trusted-host")), Proxy: get("proxy"),
		NoIndex: isTrue(get("no-index")), Pre: isTrue(get("pre")),
	}, nil
}

func pipName(name string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "--")
}

// readPipFile adds the settings of a file to those sections that are there already. The format is
// that of Python's RawConfigParser: a line that is indented more than its setting continues it.
func readPipFile(text string, sections map[string]map[string]string) error {
	var section map[string]string
	name, indent, begun := "", 0, false
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.TrimSpace(line)
		if words == "" || words[0] == '#' || words[0] == ';' {
			continue
		}
		at := strings.Index(line, words)
		header, isHeader := strings.CutPrefix(words, "[")
		switch delimiter := strings.IndexAny(words, "=:"); {
		// A deeper line continues the value, also if it looks like a header or a setting.
		case name != "" && at > indent:
			if section != nil {
				section[name] = strings.TrimSpace(section[name] + "\n" + words)
			}
		case isHeader && strings.Contains(header, "]"):
			section, name, indent, begun = sections[header[:strings.LastIndex(header, "]")]], "", at, true
		case !begun || delimiter <= 0:
			return fmt.Errorf("line %d of pip's configuration is neither [SECTION] nor NAME = VALUE: correct it, or see pip config debug for the files", n)
		default:
			if name, indent = pipName(strings.TrimSpace(words[:delimiter])), at; section != nil {
				section[name] = strings.TrimSpace(words[delimiter+1:])
			}
		}
	}
	return nil
}

func isTrue(text string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on", "y", "t"}, strings.ToLower(text))
}

// Netrc returns the part of a netrc file that has the logins of some hosts, in the form of
// such a file. Entries for all hosts ("default") and macros are left out. A password with
// quotes or spaces is not understood, and its entry is left out.
func Netrc(text string, hosts []string) string {
	var out strings.Builder
	var words []string
	for line := range strings.Lines(text) {
		if before, _, ok := strings.Cut(line, " #"); ok {
			line = before
		}
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "machine" || !slices.Contains(hosts, words[i+1]) {
			continue
		}
		entry, ok := "machine "+words[i+1], true
		for i += 2; i+1 < len(words) && slices.Contains([]string{"login", "password", "account"}, words[i]); i += 2 {
			entry += " " + words[i] + " " + words[i+1]
			ok = ok && !strings.ContainsAny(words[i+1], `"\`)
		}
		if i--; ok {
			out.WriteString(entry + "\n")
		}
	}
	return out.String()
}
