package npm

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
