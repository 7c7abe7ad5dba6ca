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
	sections := map[string]string{}
	for _, section := range strings.Split(testkit.ReadFile(t, "../docs/clients.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	for _, c := range All() {
		text, ok := sections[c.Title]
		if !ok {
			t.Errorf("the page has no section %q", c.Title)
			continue
		}
		if want := "`--client " + c.Name + "`. " + c.Reload; !strings.Contains(oneLine(text), want) {
			t.Errorf("%s: the page does not say %q", c.Title, want)
		}
		wanted := map[string][]string{}
		for _, p := range c.Places {
			kind := strings.ToUpper(string(p.Scope[:1])) + string(p.Scope[1:])
			for system, file := range map[string]string{"Linux": p.Linux, "macOS": p.MacOS, "Windows": onWindows(p.Windows)} {
				if file != "" {
					wanted[kind+" "+system] = append(wanted[kind+" "+system], plainXDG(file))
				}
			}
			for _, m := range p.Moves {
				wanted["Moved Linux"] = append(wanted["Moved Linux"], m.To)
			}
		}
		for _, b := range c.Brings {
			wanted["Plugins Linux"] = append(wanted["Plugins Linux"], plainXDG(b.Root.Linux))
		}
		for _, b := range c.Blind {
			wanted["Not read Linux"] = append(wanted["Not read Linux"], plainXDG(b.Place.Linux))
		}
		for _, s := range c.Shared {
			wanted["Variables for all Linux"] = append(wanted["Variables for all Linux"], plainXDG(s.Place.Linux))
		}
		shown := shownFiles(text)
		if strings.Contains(oneLine(text), "Variables for all: at env in the files of the user and the project.") {
			shown["Variables for all Linux"] = append(shown["User Linux"], shown["Project Linux"]...)
		}
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			if got, want := sorted(shown[key]), sorted(wanted[key]); !slices.Equal(got, want) {
				t.Errorf("%s, %s: the page has\n%s\nand the client\n%s", c.Title, key, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for key := range shown {
			if wanted[key] == nil {
				t.Errorf("%s, %s: the client has none", c.Title, key)
			}
		}
	}
}

var (
	systemMark = regexp.MustCompile("\\b(Linux|macOS|Windows)\\b[^:`]*:")
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	braces     = regexp.MustCompile(`^(.*?)\{([^{}]*)\}(.*)$`)
)

// shownFiles returns the files that the lists of a section have, by kind and system.
func shownFiles(section string) map[string][]string {
	shown := map[string][]string{}
	for _, item := range strings.Split("\n"+section, "\n- ")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		kind := regexp.MustCompile(`^(User|Project|System|Managed|Moved|Plugins|Not read|Variables for all)\b`).FindString(item)
		item = oneLine(item)
		systems := []string{"Linux", "macOS", "Windows"}
		for len(item) > 0 {
			part, next := item, ""
			if at := systemMark.FindStringSubmatchIndex(item); at != nil {
				part, next = item[:at[0]], item[at[2]:at[3]]
				item = item[at[1]:]
			} else {
				item = ""
			}
			if kind != "User" && kind != "Project" && kind != "System" && kind != "Managed" {
				systems = []string{"Linux"} // the page has only these paths of the others
			}
			for _, span := range codeSpan.FindAllStringSubmatch(part, -1) {
				for _, file := range expand(strings.ReplaceAll(span[1], "EDITOR", "{Code,Code - Insiders,VSCodium,Cursor,Windsurf}")) {
					for _, system := range systems {
						shown[kind+" "+system] = append(shown[kind+" "+system], onSystem(file, system))
					}
				}
			}
			systems = []string{next}
		}
	}
	return shown
}

// expand returns the variants of a text with braces.
func expand(text string) (all []string) {
	m := braces.FindStringSubmatch(text)
	if m == nil {
		return []string{text}
	}
	for _, variant := range strings.Split(m[2], ",") {
		all = append(all, expand(m[1]+variant+m[3])...)
	}
	return all
}

// onSystem returns a path of the page as a system has it.
func onSystem(file, system string) string {
	if rest, ok := strings.CutPrefix(file, "CONFIG/"); ok {
		file = map[string]string{"Linux": "~/.config/", "macOS": "~/Library/Application Support/", "Windows": "%APPDATA%/"}[system] + rest
	}
	if system == "Windows" {
		return onWindows(file)
	}
	return file
}

// plainXDG is a path as it is where no variable moves it.
func plainXDG(file string) string {
	return strings.NewReplacer("$XDG_CONFIG_HOME/", "~/.config/", "$XDG_DATA_HOME/", "~/.local/share/").Replace(file)
}

// onWindows is a path as it is written on Windows.
func onWindows(file string) string {
	file = windowsSlashes(file)
	if rest, ok := strings.CutPrefix(file, `~\`); ok {
		return `%USERPROFILE%\` + rest
	}
	return file
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func sorted(files []string) []string { return slices.Compact(slices.Sorted(slices.Values(files))) }
