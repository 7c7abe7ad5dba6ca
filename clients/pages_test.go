package clients

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPage tests that docs/clients.md has each client, and for each one exactly its files on each system,
// what moves them, its plugins, and what is not read.
func TestPage(t *testing.T) {
	page := testkit.ReadFile(t, "../docs/clients.md")
	for _, c := range All() {
		_, section, _ := strings.Cut(page, "\n## "+c.Title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if want := "`--client " + c.Name + "`. " + c.Reload; !strings.Contains(strings.Join(strings.Fields(section), " "), want) {
			t.Errorf("%s: the page does not say %q", c.Title, want)
		}
		wanted, shown := files{}, shownFiles(section)
		for _, p := range c.Places {
			wanted.add(string(p.Scope), "Linux", p.Linux)
			wanted.add(string(p.Scope), "macOS", p.MacOS)
			wanted.add(string(p.Scope), "Windows", p.Windows)
			for _, m := range p.Moves {
				wanted.add("moved", "", m.To)
			}
		}
		for _, b := range c.Brings {
			wanted.add("plugins", "", b.Root.Linux)
		}
		for _, b := range c.Blind {
			wanted.add("not read", "", b.Place.Linux)
		}
		for _, s := range c.Shared {
			wanted.add("variables", "", s.Place.Linux)
		}
		both := maps.Clone(wanted)
		maps.Copy(both, shown)
		for file := range both {
			if wanted[file] != shown[file] {
				t.Errorf("%s: %s: the client has it: %v, the page: %v", c.Title, file, wanted[file], shown[file])
			}
		}
	}
}

// files has lines "kind system file", with the paths as the page writes them.
type files map[string]bool

func (f files) add(kind, system, file string) {
	file = strings.NewReplacer("$XDG_CONFIG_HOME/", "~/.config/", "$XDG_DATA_HOME/", "~/.local/share/").Replace(file)
	if rest, ok := strings.CutPrefix(file, "CONFIG/"); ok {
		file = map[string]string{"": "~/.config/", "Linux": "~/.config/", "macOS": "~/Library/Application Support/", "Windows": "%APPDATA%/"}[system] + rest
	}
	if system == "Windows" {
		file = windowsSlashes(file)
	}
	if file != "" {
		f[kind+" "+system+" "+file] = true
	}
}

var (
	kinds  = regexp.MustCompile(`(?m)^- (User|Project|System|Managed|Moved|Plugins|Not read|Variables)\b`)
	pieces = regexp.MustCompile("\\b(Linux|macOS|Windows)\\b[^:`]*:|`[^`]+`")
	braces = regexp.MustCompile(`\{([^{}]*)\}`)
	tidy   = strings.NewReplacer("EDITOR", "{Code,Code - Insiders,VSCodium,Cursor,Windsurf}", "\n  ", " ", "`", "")
)

// shownFiles returns the files that the lists of a section have. A path after the name of a system is for that
// system alone, and braces list variants.
func shownFiles(section string) files {
	shown := files{}
	for _, item := range strings.Split("\n"+section, "\n- ")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		m := kinds.FindStringSubmatch("- " + item)
		if m == nil {
			continue
		}
		kind, systems := strings.ToLower(m[1]), []string{""}
		if slices.Contains([]string{"User", "Project", "System", "Managed"}, m[1]) {
			systems = []string{"Linux", "macOS", "Windows"}
		}
		for _, piece := range pieces.FindAllString(item, -1) {
			if piece[0] != '`' {
				systems = []string{pieces.FindStringSubmatch(piece)[1]}
				continue
			}
			for _, file := range expand(tidy.Replace(piece)) {
				for _, system := range systems {
					shown.add(kind, system, file)
				}
			}
		}
	}
	return shown
}

// expand returns the variants of a text with braces.
func expand(text string) (all []string) {
	m := braces.FindStringSubmatchIndex(text)
	if m == nil {
		return []string{text}
	}
	for _, variant := range strings.Split(text[m[2]:m[3]], ",") {
		all = append(all, expand(text[:m[0]]+variant+text[m[1]:])...)
	}
	return all
}
