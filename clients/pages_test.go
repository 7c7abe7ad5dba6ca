package clients

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPages compares the pages in docs/clients with the descriptions of the clients and with
// the fixtures. With -update it writes them.
func TestPages(t *testing.T) {
	examples := map[string]fixture{}
	for _, f := range fixtures(t) {
		examples[f.client.Name] = f
	}
	all := described(t)
	for _, c := range all {
		testkit.Golden(t, "../../docs/clients/"+c.Name+".md", page(c, examples[c.Name]))
	}
	testkit.Golden(t, "../../docs/clients/README.md", index(all))
	files, err := filepath.Glob("../docs/clients/*.md")
	if err != nil || len(files) != len(All())+1 {
		t.Errorf("%d pages for %d clients and a list, %v: remove those of clients that are gone", len(files), len(All()), err)
	}
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

func page(c description, f fixture) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", c.Title)
	fmt.Fprintf(&out, "    mcp-jail wrap --client %s --dry-run    # shows what would change\n", c.Name)
	fmt.Fprintf(&out, "    mcp-jail wrap --client %s\n    mcp-jail unwrap --client %s\n\n", c.Name, c.Name)
	fmt.Fprintf(&out, "%s\n\n", fill("Basis of this page: "+c.Basis+".", ""))
	fmt.Fprintf(&out, "## Before and after\n\n%s", example(f))
	fmt.Fprintf(&out, "**Then:** %s\n\n", strings.TrimPrefix(fill("xxxxxxxxxx"+c.Reload, ""), "xxxxxxxxxx"))
	fmt.Fprintf(&out, "## Files\n\n%s\n", files(c))
	out.WriteString("## To know\n\n")
	for _, line := range facts(c) {
		out.WriteString(fill("- "+line, "  ") + "\n")
	}
	out.WriteString("\nThis page is made by `go test ./clients -run Pages -update`.\n")
	return out.String()
}

// example is the first entry of a fixture that wrap changes.
func example(f fixture) string {
	for i, e := range f.entries {
		if e.Left == "" && f.wrapped[i].Left == Jailed {
			language := string(f.place.Format)
			if f.place.Format == JSON {
				language = "jsonc" // a part of a file is no JSON
			}
			before, after := excerpt(f.place, f.before, e.Line), excerpt(f.place, f.after, f.wrapped[i].Line)
			return fmt.Sprintf("```%s\n%s\n```\n\n```%s\n%s\n```\n\n", language, before, language, after)
		}
	}
	return ""
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
		notes.WriteString(fill("- An update of a plugin brings its own files, without mcp-jail. `status` says so, and so does the next start of another server.", "  ") + "\n")
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

// windowsFiles returns the files of a client on Windows that belong to no project.
func windowsFiles(c Client) (all []string) {
	for _, p := range c.Places {
		if file := "`" + windowsPath(shown(p.Windows)) + "`"; p.Windows != "" && p.Scope != Project && !strings.Contains(file, "$") && !slices.Contains(all, file) {
			all = append(all, file)
		}
	}
	if len(all) > 3 {
		all = append(all[:2:2], fmt.Sprintf("[%d more](%s.md)", len(all)-2, c.Name))
	}
	return all
}

// movers returns the variables that move the files of a client.
func movers(c Client) (all []string) {
	for _, p := range c.Places {
		for _, m := range p.Moves {
			if name := "`" + m.Env + "`"; p.Windows != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
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
		DirUnknown: "in a directory that is not documented; say with `--workspace` which one is meant",
		DirProject: "in the directory of the project",
		DirNone:    "in a directory that says nothing, such as `/`; say with `--workspace` which one is meant",
		DirOpen:    "in the directory of the workspace, or in the home directory if none is open",
	}
	out := []string{"A server starts " + dirs[c.Dir] + ". It gets " + c.Hands + "."}
	if !c.PathKept {
		out = append(out, "Started from a desktop, it can have a short PATH. `wrap` writes the absolute path of mcp-jail; a server's own program needs one where its name is not found.")
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
	} else {
		out = append(out, "It does not replace a `~` in the arguments. mcp-jail replaces one at the start of the server's program and in the flags of `run`.")
	}
	return append(out, c.Quirks...)
}

func index(all []description) string {
	var out strings.Builder
	out.WriteString("# Clients\n\n" + fill("`mcp-jail wrap` finds the files of these clients and puts mcp-jail before their servers. A page per client says which files those are, what changes in an entry, and what is special about the client.", "") + "\n\n")
	out.WriteString("| client | `--client` | first file on Linux |\n|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&out, "| [%s](%s.md) | `%s` | %s |\n", c.Title, c.Name, c.Name, firstFile(c.Places[0]))
	}
	out.WriteString("\n## Their files on Windows\n\n" + fill("Those of the user and of the machine; `*` is any one name. mcp-jail has not run on Windows yet. `wrap` and `unwrap` were run under Wine, in some of these places.", "") + "\n\n")
	out.WriteString("| client | files | moved by |\n|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", c.Title, cmp.Or(strings.Join(windowsFiles(c.Client), ", "), "–"), cmp.Or(strings.Join(movers(c.Client), ", "), "–"))
	}
	out.WriteString("\n" + fill("Files of a project are where they are on Linux. A variable that has no path counts as unset, and then the files are below `%USERPROFILE%`: `AppData\\Roaming` for `%APPDATA%`, and `AppData\\Local` for `%LOCALAPPDATA%`.", "") + "\n")
	out.WriteString("\n## How they put their files together\n\n")
	out.WriteString("| client | one name in several files | what counts more comes first | looked at |\n|---|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", c.Title, cmp.Or(c.Names, "not known"), cmp.Or(c.Order, "–"), c.Read)
	}
	out.WriteString("\n" + fill("An entry stays as it is if it is reached by a URL, is switched off, has no command, is confined by the client itself, or starts in mcp-jail already. `wrap` says so for each.", "") + "\n")
	out.WriteString("\nThe pages are made by `go test ./clients -run Pages -update`.\n")
	return out.String()
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
