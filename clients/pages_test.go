package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPage tests that docs/clients.md has each client, each of its places on each system, what moves
// them, and what is not read.
func TestPage(t *testing.T) {
	sections := strings.Split(testkit.ReadFile(t, "../docs/clients.md"), "\n## ")[1:]
	testkit.MustEqual(t, "sections for all clients", len(sections), len(All()))
	for i, c := range All() {
		lines := strings.Join(strings.Fields(sections[i]), " ")
		wanted := []string{c.Title + " `--client " + c.Name + "`. " + c.Reload}
		for _, p := range c.Places {
			name := string(p.Scope)
			if p.Label != "" {
				name += ", " + p.Label
			}
			wanted = append(wanted, fmt.Sprintf("| %s | %s | %s | %s |", name, cell(p.Linux), cell(p.MacOS), cell(onWindows(p.Windows))))
			for _, m := range p.Moves {
				wanted = append(wanted, "If `"+m.Env+"` is set, the file of the "+name+" is `"+m.To+"`.")
			}
		}
		for _, b := range c.Brings {
			wanted = append(wanted, "| "+firstFile(b.Root)+" | `"+strings.Join(append(append([]string{}, b.Manifests...), b.Files...), "`, `")+"` |")
		}
		for _, b := range c.Blind {
			wanted = append(wanted, "| "+firstFile(b.Place)+" | "+b.Why+" |")
		}
		for _, s := range c.Shared {
			wanted = append(wanted, firstFile(s.Place)+" reach every server")
		}
		for _, text := range wanted {
			if !strings.Contains(lines, strings.Join(strings.Fields(text), " ")) {
				t.Errorf("%s: the page does not say %q", c.Title, text)
			}
		}
	}
}

// cell is a path in a table, as it is where no variable moves it.
func cell(file string) string {
	if file == "" {
		return "–"
	}
	return "`" + strings.NewReplacer("$XDG_CONFIG_HOME/", "~/.config/", "$XDG_DATA_HOME/", "~/.local/share/").Replace(file) + "`"
}

// onWindows is a path as it is written on Windows.
func onWindows(file string) string {
	file = windowsSlashes(file)
	if rest, ok := strings.CutPrefix(file, `~\`); ok {
		return `%USERPROFILE%\` + rest
	}
	return file
}

func firstFile(p Place) string {
	for _, file := range []string{p.Linux, p.Windows, p.MacOS} {
		if file != "" {
			return cell(file)
		}
	}
	return ""
}
