package npm

// data are the packages that write what they keep for their user into their own folder, unless a variable names
// another file. In a read-only tree they cannot write there. server-gdrive is none: it writes only when it is
// started with the argument auth.
var data = map[string]struct{ variable, file string }{
	"@modelcontextprotocol/server-memory": {"MEMORY_FILE_PATH", "memory.jsonl"},
}

// DataVariable returns the variable that names the file of a package's data, and the usual name of that file, or "".
func DataVariable(pkg string) (variable, file string) { return data[pkg].variable, data[pkg].file }
