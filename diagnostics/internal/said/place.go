package said

import (
	"slices"
	"strings"
)

// sourceSuffixes are the suffixes of source files that are no top-level domain, and sharedSuffixes
// those that are one as well.
var (
	sourceSuffixes = []string{
		"c", "h", "cpp", "cxx", "hpp", "hxx", "m", "go", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "map",
		"pyx", "pyi", "pyc", "rb", "erb", "php", "phtml", "java", "kt", "kts", "scala", "groovy", "clj", "cs", "fs", "vb", "csproj", "swift",
		"ex", "exs", "erl", "hs", "lua", "dart", "zig", "nim", "jl", "r", "d", "asm", "s", "f90", "adb", "v", "sql", "bash", "zsh",
		"json", "toml", "yaml", "yml", "xml", "html", "css", "gradle", "wasm",
	}
	sharedSuffixes = []string{"rs", "py", "pl", "pm", "sh", "cc", "hh", "mm", "ml", "ps", "md", "so", "as", "sc"}
)

func suffixOf(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]) }

// isSourceFile reports whether a name that a sentence has where others have a host is that of a file.
func isSourceFile(name string) bool {
	return strings.Contains(name, ".") && slices.Contains(sourceSuffixes, suffixOf(name))
}

// isSourcePlace reports whether name:number is a line of a source file and no host with its port.
// inParens means that a parenthesis is before it, where runtimes write both. after is what follows.
func isSourcePlace(name string, inParens bool, after string) bool {
	if isSourceFile(name) {
		return true
	}
	if !strings.Contains(name, ".") || !slices.Contains(sharedSuffixes, suffixOf(name)) {
		return false
	}
	return inParens || len(after) > 1 && after[0] == ':' && after[1] >= '0' && after[1] <= '9' // and its column
}
