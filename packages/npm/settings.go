package npm

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// Setting is a line of an .npmrc, or a variable that npm reads.
type Setting struct{ Name, Value string }

// Settings returns the settings of a file in npm's format. References to variables are replaced,
// in names too. A name with "[]" at its end is one value of a list. Lines below a [section] are
// none of npm's settings.
func Settings(text string, getenv func(name string) (string, bool)) (all []Setting) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		switch start := strings.TrimSpace(line); {
		case start == "" || start[0] == ';' || start[0] == '#' || start[0] == '=':
			continue
		case line[0] == '[' && strings.HasSuffix(start, "]"):
			return all
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		all = append(all, Setting{expand(unquote(name), getenv), expand(unquote(value), getenv)})
	}
	return all
}

// VariableSettings returns the settings in variables, which are NAME=value.
func VariableSettings(environ []string, getenv func(name string) (string, bool)) (all []Setting) {
	const prefix = "npm_config_"
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) || value == "" {
			continue
		}
		if name = name[len(prefix):]; !strings.HasPrefix(name, "//") { // such a name belongs to a registry
			name = strings.ToLower(name[:1] + strings.ReplaceAll(name[1:], "_", "-"))
		}
		all = append(all, Setting{expand(name, getenv), expand(strings.TrimSpace(value), getenv)})
	}
	return all
}

// unquote returns a name or value of an .npmrc without the quotation marks around it, or without
// the comment after it.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			inner := text
			if q == "'" {
				inner = text[1 : len(text)-1]
			}
			var decoded string
			if json.Unmarshal([]byte(inner), &decoded) == nil {
				return decoded
			}
			return inner
		}
	}
	var out strings.Builder
	for i := 0; i < len(text) && text[i] != ';' && text[i] != '#'; i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`\;#`, text[i+1]) >= 0 {
			i++
		}
		out.WriteByte(text[i])
	}
	return strings.TrimSpace(out.String())
}

// reference is a variable in an .npmrc. npm leaves one that is not set as it is, unless a
// question mark follows its name. An odd number of backslashes makes it a text.
var reference = lazy.Regexp(`(\\*)\$\{([^${}?]+)(\?)?\}`)

func expand(text string, getenv func(name string) (string, bool)) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		m := reference().FindStringSubmatch(found)
		if n := len(m[1]); n%2 == 1 {
			return found[(n+1)/2:]
		}
		value, ok := getenv(m[2])
		if !ok && m[3] == "" {
			value = "${" + m[2] + "}"
		}
		return m[1][len(m[1])/2:] + value
	})
}

// References returns the names of the variables in a file in npm's format.
func References(text string) (names []string) {
	for _, m := range reference().FindAllStringSubmatch(text, -1) {
		names = append(names, m[2])
	}
	return names
}

// ReferredRegistries returns the settings of a file in npm's format that name a registry by a
// variable.
func ReferredRegistries(text string, getenv func(name string) (string, bool)) (all []Setting) {
	written := Settings(text, func(string) (string, bool) { return "", false })
	for i, s := range Settings(text, getenv) {
		if (s.Name == "registry" || strings.HasSuffix(s.Name, ":registry")) && s != written[i] {
			all = append(all, s)
		}
	}
	return all
}

// A Writer is a program that keeps data of its user in its own folder, or beside it, when npx
// starts it. In a read-only tree it cannot write them, and after an update it does not find them.
type Writer struct {
	Package  string // its name
	Versions string // those of which the code was read, as a range
	// File is what it writes, relative to its package.
	File string
	// Variable names the variable that moves the file, "" if the versions have none. Only an
	// absolute path leads out of the package: server-memory takes a relative one from dist.
	Variable string
	// Before is an older file, which newer versions rename to File if they find it there
	// and File does not exist. It is only looked for if Variable is not set.
	Before string
	// When says what makes it write.
	When string
}

// writers returns the known writers. The facts come from the code of the published
// packages: uses of import.meta.url and __dirname in their dist folders, November 2026. The
// reference servers everything, filesystem, github, postgres, sequential-thinking,
// brave-search, slack, gitlab and puppeteer were read too, and write nothing there, nor does
// @playwright/mcp.
func writers() []Writer {
	const memory, graph = "@modelcontextprotocol/server-memory", "when the knowledge graph changes"
	return []Writer{
		{Package: memory, Versions: "0.6.2", File: "dist/memory.json", When: graph},
		{Package: memory, Versions: "2025.4.25 - 2025.9.25", File: "dist/memory.json", Variable: "MEMORY_FILE_PATH", When: graph},
		{Package: memory, Versions: ">=2025.11.25", File: "dist/memory.jsonl", Variable: "MEMORY_FILE_PATH", Before: "dist/memory.json", When: graph},
		// Beside the package: dist/../../../ is node_modules.
		{Package: "@modelcontextprotocol/server-gdrive", Versions: "2025.1.14", File: "../../.gdrive-server-credentials.json", Variable: "GDRIVE_CREDENTIALS_PATH", When: "when it is started with the argument auth"},
	}
}

// WriterOf returns the writer for a version of a package, and whether there is one.
func WriterOf(name, version string) (Writer, bool) {
	for _, w := range writers() {
		if ok, err := inRange(w.Versions, version); w.Package == name && ok && err == nil {
			return w, true
		}
	}
	return Writer{}, false
}

// WriterOfLine returns the writer that a line starts whose data a variable moves. version is what the line says: if
// it is no version, the newest one is meant.
func WriterOfLine(name, version string) (found Writer, ok bool) {
	for _, w := range writers() {
		fits, err := inRange(w.Versions, version)
		if w.Package == name && w.Variable != "" && (fits || err != nil) {
			found, ok = w, true
		}
	}
	return found, ok
}

// CacheOf returns the pattern, below a home directory, of a file of the writer in npx' cache.
func (w Writer) CacheOf(file string) string {
	return path.Join(".npm/_npx/*/node_modules", w.Package, file)
}
