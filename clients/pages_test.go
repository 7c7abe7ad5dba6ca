package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPage compares docs/clients.md with the descriptions of the clients. With -update it writes it.
func TestPage(t *testing.T) {
	testkit.Golden(t, "../../docs/clients.md", page(described(t)))
}

// A description is a client with what only its page says of it, from testdata/pages.toml.
type description struct {
	Client
	Basis   string            // where the facts come from
	Read    string            // which version was looked at, and how
	Names   string            // what it does with entries of one name in several files
	Order   string            // its files, those that count more first
	Hands   string            // which environment a server gets, beside what its entry says
	Waits   int               // seconds for the first answer of a server, or 0
	Setting string            // what changes that
	Quirks  []string          // its other surprising properties, a sentence or two each
	Notes   map[string]string // about files

	PathKept bool `toml:"path_kept"` // a server gets the PATH of a terminal; false for clients started from a desktop
	Rewrites bool // it writes its file by itself, even if the user changes no setting
}

func described(t *testing.T) (all []description) {
	var texts map[string]description
	if _, err := toml.DecodeFile("testdata/pages.toml", &texts); err != nil || len(texts) != len(All()) {
		t.Fatalf("%d descriptions: %v", len(texts), err)
	}
	for _, c := range All() {
		d := texts[c.Name]
		d.Client = c
		if d.Basis == "" || d.Read == "" || d.Hands == "" {
			t.Errorf("%s: something is not described", c.Name)
		}
		for _, text := range append(d.Quirks, c.Reload) {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is no sentence", c.Name, text)
			}
		}
		all = append(all, d)
	}
	return all
}

// note writes what there is to know about a file.
func (c description) note(out *strings.Builder, p Place) {
	if text := c.Notes[strings.Trim(firstFile(p), "`")]; text != "" {
		out.WriteString(fill("- "+firstFile(p)+": "+text, "  ") + "\n")
	}
}

func page(all []description) string {
	var out strings.Builder
	out.WriteString("# Clients\n\n" + fill("`mcp-jail wrap` finds the files of these clients and puts mcp-jail in front of their servers. An entry stays as it is if it is reached by a URL, is switched off, has no command, is confined by the client itself, or starts in mcp-jail already. The entry of Cursor, before and after:", "") + "\n\n")
	out.WriteString("```json\n{\"mcpServers\": {\"memory\": {\"command\": \"npx\", \"args\": [\"-y\", \"@modelcontextprotocol/server-memory\"]}}}\n```\n\n")
	out.WriteString("```json\n{\"mcpServers\": {\"memory\": {\"command\": \"/usr/local/bin/mcp-jail\", \"args\": [\"run\", \"--id\", \"memory-0123456789ab\", \"--\", \"npx\", \"-y\", \"@modelcontextprotocol/server-memory\"]}}}\n```\n\n")
	out.WriteString(fill("Files of a project are in the same place on all systems. mcp-jail has not run on macOS and Windows yet. On Windows, a variable that has no path counts as unset, and then the files are below `%USERPROFILE%`: `AppData\\Roaming` for `%APPDATA%`, and `AppData\\Local` for `%LOCALAPPDATA%`.", "") + "\n\n")
	out.WriteString(fill("Unless a client's list says otherwise: a server gets a PATH that can be short if its client was started from a desktop. `wrap` writes the absolute path of mcp-jail. A server's own program needs one where its name is not found. The client does not replace a `~` in the arguments. mcp-jail replaces one at the start of the server's program. If the client starts it in another directory than the one that is meant, `mcp-jail grant NAME --workspace DIR` names its project folder. An update of a plugin brings its own files, without mcp-jail. `status` says so, and so does the next start of another server.", "") + "\n")
	for _, c := range all {
		fmt.Fprintf(&out, "\n## %s\n\n", c.Title)
		fmt.Fprintf(&out, "`--client %s`. %s\n\n%s", c.Name, strings.TrimPrefix(fill(strings.Repeat("x", len(c.Name)+13)+c.Reload, ""), strings.Repeat("x", len(c.Name)+13)), files(c))
		for _, line := range facts(c) {
			out.WriteString(fill("- "+line, "  ") + "\n")
		}
	}
	out.WriteString("\nThis page is made by `go test ./clients -run Page -update`.\n")
	return out.String()
}

func files(c description) string {
	var out, notes strings.Builder
	out.WriteString("| for | Linux | macOS | Windows |\n|---|---|---|---|\n")
	cell := func(file string) string {
		if file == "" {
			return "–"
		}
		return "`" + shown(file) + "`"
	}
	moved := map[string]bool{}
	for _, p := range c.Places {
		name := string(p.Scope)
		if p.Label != "" {
			name += ", " + p.Label
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", name, cell(p.Linux), cell(p.MacOS), cell(windowsPath(p.Windows)))
		for name := range xdg() {
			moved[name] = moved[name] || strings.HasPrefix(p.Linux+p.MacOS, "$"+name)
		}
		for _, m := range p.Moves {
			notes.WriteString(fill(fmt.Sprintf("- If `%s` is set, the file of the %s is `%s`.", m.Env, name, m.To), "  ") + "\n")
		}
		c.note(&notes, p)
		if p.Scope == Managed {
			notes.WriteString(fill("- `wrap` never changes "+firstFile(p)+".", "  ") + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(moved)) {
		if moved[name] {
			fmt.Fprintf(&notes, "- If `%s` is set, it takes the place of `%s`.\n", name, strings.TrimSuffix(xdg()[name], "/"))
		}
	}
	for _, p := range c.Places {
		if others := alsoRead(c.Client, p); others != "" {
			notes.WriteString(fill("- "+firstFile(p)+" is also read by "+others+": what is wrapped there is wrapped for all of them.", "  ") + "\n")
		}
	}
	for _, line := range slices.Concat(lookup(c), layouts(c.Client)) {
		notes.WriteString(fill("- "+line, "  ") + "\n")
	}
	if len(c.Brings) > 0 {
		out.WriteString("\nServers of plugins, which `wrap` finds too:\n\n| folders | files with servers |\n|---|---|\n")
		for _, b := range c.Brings {
			fmt.Fprintf(&out, "| %s | `%s` |\n", firstFile(b.Root), strings.Join(slices.Concat(b.Manifests, b.Files), "`, `"))
			c.note(&notes, b.Root)
		}
	}
	if len(c.Blind) > 0 {
		out.WriteString("\nmcp-jail does not read these, and `status` names those that exist:\n\n| file | why |\n|---|---|\n")
		for _, b := range c.Blind {
			fmt.Fprintf(&out, "| %s | %s |\n", firstFile(b.Place), b.Why)
		}
	}
	return out.String() + "\n" + notes.String()
}

// lookup tells how a client puts its files together, and which of them mcp-jail does not read.
func lookup(c description) (out []string) {
	if names := merging(c); names != "" {
		out = append(out, "If a name is in several files, "+names+".")
	}
	if c.Order != "" {
		out = append(out, "What counts more comes first: "+c.Order+".")
	}
	for _, s := range c.Shared {
		what := firstFile(s.Place)
		if s.Path != nil {
			what = "`" + strings.Join(s.Path, "`, `") + "` in " + what
		}
		out = append(out, "The variables of "+what+" reach every server, and so mcp-jail. If one acts on mcp-jail itself, `status` says so.")
	}
	for _, above := range []struct {
		reach Reach
		where string
	}{{InRepository, "of the repository"}, {InAll, "of the file system"}} {
		var files []string
		for _, p := range c.Places {
			if p.Above == above.reach {
				files = append(files, firstFile(p))
			}
		}
		if files != nil {
			out = append(out, "Above the project, up to the root "+above.where+", it looks for "+strings.Join(files, ", ")+" too.")
		}
	}
	return append(out, "Looked at: "+c.Read+".")
}

func merging(c description) string {
	switch {
	case c.Mixed:
		return "the entries are mixed: keys that only one of them has count too. Such entries are left"
	case c.Names == "it has one file only":
		return ""
	}
	return c.Names
}

// alsoRead names the other clients that read a place.
func alsoRead(c Client, p Place) string {
	var names []string
	for _, other := range All() {
		if other.Name != c.Name && slices.ContainsFunc(other.Places, func(q Place) bool { return q.Linux == p.Linux && q.Linux != "" }) {
			names = append(names, other.Title)
		}
	}
	return strings.Join(names, " and ")
}

// xdg are the variables that move a directory for all programs, and what they have if unset.
func xdg() map[string]string {
	return map[string]string{"XDG_CONFIG_HOME": "~/.config/", "XDG_DATA_HOME": "~/.local/share/"}
}

// shown is a path as it is where those variables are unset.
func shown(file string) string {
	for name, dir := range xdg() {
		file = strings.ReplaceAll(file, "$"+name+"/", dir)
	}
	return file
}

// windowsPath is a path as it is written on Windows.
func windowsPath(file string) string {
	if rest, ok := strings.CutPrefix(windowsSlashes(file), `~\`); ok {
		return `%USERPROFILE%\` + rest
	}
	return windowsSlashes(file)
}

func firstFile(p Place) string {
	for _, file := range []string{p.Linux, p.Windows, p.MacOS} {
		if file != "" {
			return "`" + shown(file) + "`"
		}
	}
	return ""
}

// layouts tells the formats and the tables of a client's files, each once.
func layouts(c Client) (out []string) {
	seen := map[string]bool{}
	for _, p := range c.Places {
		var names []string
		for _, t := range p.Tables {
			name := "`" + strings.ReplaceAll(strings.Join(t.Path, "` → `"), "`*`", "any key") + "`"
			if t.List {
				name += ", a list"
			}
			names = append(names, name)
		}
		format := map[Format]string{JSON: "JSON without comments", JSONC: "JSON with comments", TOML: "TOML", YAML: "YAML"}[p.Format]
		line := format + ", servers at " + strings.Join(names, " and ")
		if names == nil {
			line = format + ", one server in each file"
		}
		if p.Bare {
			line += ", or at the root"
		}
		if !seen[line] {
			seen[line] = true
			out = append(out, line+".")
		}
	}
	return out
}

func facts(c description) []string {
	dirs := map[Dir]string{
		DirUnknown: "in a directory that is not documented",
		DirProject: "in the directory of the project",
		DirNone:    "in a directory that says nothing, such as `/`",
		DirOpen:    "in the directory of the workspace, or in the home directory if none is open",
	}
	out := []string{"A server starts " + dirs[c.Dir] + ". It gets " + c.Hands + "."}
	if c.PathKept {
		out = append(out, "A server gets the PATH of the terminal.")
	}
	if c.Waits > 0 {
		out = append(out, fmt.Sprintf("It waits %d seconds for the first answer. What changes that: %s.", c.Waits, c.Setting))
	}
	var forms []string
	for _, f := range c.Forms {
		text := f.Open + f.Close
		if f.Named {
			text = f.Open + map[Kind]string{Input: "ID", FileText: "PATH", CommandText: "COMMAND"}[f.Kind] + f.Close
			if text == f.Open+f.Close {
				text = f.Open + "NAME" + f.Close
			}
		}
		text = strings.Replace(strings.Replace(text, "NAME}}", "NAME }}", 1), "ID}}", "ID }}", 1)
		forms = append(forms, "`"+text+"`")
	}
	if len(forms) > 0 {
		out = append(out, "It replaces "+strings.Join(forms, ", ")+" before it starts a server. The text in the file stays.")
	}
	if c.Rewrites {
		out = append(out, "It writes its file itself. What `wrap` changed stays; quit it before, so that both do not write at once.")
	}
	for _, s := range c.Shapes {
		for _, key := range [...][2]string{{s.Off, "true"}, {s.On, "false"}} {
			if line := fmt.Sprintf("An entry with `%s: %s` is switched off, and is left.", key[0], key[1]); key[0] != "" && !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if tilde := "It replaces a `~` at the start of a word."; c.Tilde {
		out = append(out, tilde)
	}
	return append(out, c.Quirks...)
}

// fill breaks a text into lines of at most 96 columns.
func fill(text, indent string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > 96:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}
