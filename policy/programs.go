package policy

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed programs.txt
var programs string

// programRows are the rows of programs.txt.
var programRows = sync.OnceValue(func() (all []programRow) {
	for line := range strings.Lines(programs) {
		left, right, ok := strings.Cut(line, " :")
		if !ok || line[0] == '#' {
			continue
		}
		names, words := strings.Fields(left), strings.Fields(right)
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "%20", " ")
		}
		all = append(all, programRow{names[0], names[1:], words})
	}
	return all
})

type programRow struct {
	kind         string
	names, words []string
}

// ProgramWords returns the words of the rows of a kind in programs.txt that have a name, and whether there is
// one.
func ProgramWords(kind, name string) (words []string, ok bool) {
	for _, r := range programRows() {
		if r.kind == kind && slices.Contains(r.names, name) {
			words, ok = append(words, r.words...), true
		}
	}
	return words, ok
}

// InterpreterFamily returns the language of an interpreter by its program name:
// "python3.11" is "python". It returns "" for any other program.
func InterpreterFamily(name string) string {
	language, _ := ProgramWords("language", strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-"))
	return strings.Join(language, "")
}

// IsShell reports whether a program name is that of a shell.
func IsShell(name string) bool {
	_, ok := ProgramWords("shell", name)
	return ok
}

// ScriptArgument returns the first script among the arguments of an interpreter, or of a shell for "". It
// returns "" if the code comes from elsewhere (-e, -c, -m).
func ScriptArgument(lang string, args []string) string {
	if lang == "" {
		lang = "shell"
	}
	valued, _ := ProgramWords("value", lang)
	bare, _ := ProgramWords("bare", lang)
	for i := 0; i < len(args); i++ {
		a, next := args[i], ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a == "--" || lang == "java" && a == "-jar":
			return next
		case lang == "java":
		case slices.Contains(bare, a):
			return ""
		// The next word is the value of this option.
		case slices.Contains(valued, a):
			i++
		case a == "-" || a == "":
			return ""
		case strings.HasPrefix(a, "-"):
		case (lang == "deno" || lang == "bun" || lang == "node") && i == 0 && (a == "run" || a == "watch" || a == "x"):
			if a == "x" {
				return ""
			}
		case strings.Contains(a, "://"), strings.HasPrefix(a, "npm:"), strings.HasPrefix(a, "jsr:"):
			return ""
		default:
			return a
		}
	}
	return ""
}
