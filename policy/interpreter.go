package policy

import (
	"slices"
	"strings"
)

// InterpreterFamily returns the language of an interpreter by its program name:
// "python3.11" is "python". It returns "" for any other program.
func InterpreterFamily(name string) string {
	name = strings.TrimSuffix(name, ".exe")
	stem := strings.TrimRight(name, "0123456789.-")
	for _, l := range [...]string{"python", "pypy", "node", "nodejs", "java", "bun", "deno", "ruby", "perl", "php", "lua", "julia", "Rscript", "dotnet", "tsx", "ts-node"} {
		if stem == l {
			switch l {
			case "nodejs", "tsx", "ts-node":
				return "node"
			case "pypy":
				return "python"
			}
			return l
		}
	}
	return ""
}

// IsShell reports whether a program name is that of a shell.
func IsShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"}, name)
}

// ScriptArgument returns the first script among an interpreter's arguments. It returns ""
// if the code comes from elsewhere (-e, -c, -m).
func ScriptArgument(lang string, args []string) string {
	valued := map[string][]string{
		"node":   {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--input-type", "--tsconfig"},
		"python": {"-W", "-X", "--check-hash-based-pycs"},
		"ruby":   {"-r", "-I", "-C"},
		"perl":   {"-I"},
		"deno":   {"--config", "-c", "--import-map", "--lock"},
		"php":    {"-c", "-d"},
	}[lang]
	none := map[string][]string{
		"node":   {"-e", "--eval", "-p", "--print", "-pe", "-i"},
		"python": {"-c", "-m"},
		"ruby":   {"-e"},
		"perl":   {"-e", "-E"},
		"php":    {"-r"},
		"":       {"-c"}, // shells
	}[lang]
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			if i+1 < len(args) {
				return args[i+1]
			}
			return ""
		case lang == "java":
			if a == "-jar" && i+1 < len(args) {
				return args[i+1]
			}
		case slices.Contains(none, a):
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
