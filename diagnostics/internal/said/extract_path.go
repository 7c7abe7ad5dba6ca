package said

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

var (
	// EACCES: permission denied, open '/x'   (libuv: node, bun, deno's node layer)
	nodePath = lazy.Regexp(`\b(E[A-Z]{3,})\b(?:\([^)]*\))?: [^,'"]*, ([a-z_]+) '(.*?)'(?: -> '(.*?)')?(?:$|[\s,;)\]}"\\])`)
	// [Errno 13] Permission denied: '/x' -> '/y'   (Python)
	pythonPath = lazy.Regexp(`\[Errno (\d+)\] [^:]*: b?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")(?: -> b?'((?:[^'\\]|\\.)*)')?`)
	// open /x: permission denied   (Go)
	goPath = lazy.Regexp(`\b(open|openat|stat|lstat|mkdir|mkdirat|fork/exec|chdir|unlink|unlinkat|remove|rename|readlink|readdirent|fdopendir|link|symlink|chmod|chown|truncate|read|write|copy_file_range) ([^\s:"'][^:"']*?)(?: ([^\s:"'][^:"']*))?: (permission denied|operation not permitted|read-only file system|no such file or directory|device or resource busy)`)
	// cat: /x: Permission denied; mkdir: cannot create directory ‘/x’: …   (shells, coreutils, git)
	shellPath = lazy.Regexp(`(?i)(?:^|[:\s])(?:(cannot|can't|could not|couldn't|failed to|unable to) ([a-z]+)(?: config| temporary)?(?: file| directory)?(?: [a-z]+){0,5}? )?['"‘’` + "`" + `]?((?:~|\.{0,2})/?[^\s:'"‘’` + "`" + `][^:'"‘’` + "`" + `]*?)['"‘’` + "`" + `]?: (permission denied|operation not permitted|read-only file system|no such file(?: or directory)?|not a directory|directory nonexistent|device or resource busy|is not writable|access denied)`)
	// Permission denied @ rb_sysopen - /x   (Ruby)
	rubyPath = lazy.Regexp(`(Permission denied|Operation not permitted|Read-only file system|No such file or directory) @ (\w+) - (?:\()?([^,)]+)`)
	// ./x.so: failed to map segment from shared object   (ld.so: no right to execute)
	loadedPath = lazy.Regexp(`(?:^|[\s:'"])([^\s:'"]+): failed to map segment from shared object`)
	// unable to open database "data/app.db"   (sqlite3)
	databasePath = lazy.Regexp(`unable to open database (?:file )?["']([^"']+)["']`)
	// Error: Cannot find module '/x/server.js'   (node)
	modulePath = lazy.Regexp(`Cannot find module '(/[^']+)'`)
	// sh: 1: cd: can't cd to /x (dash); curl: (37) Couldn't open file /x
	wordedPath = lazy.Regexp(`(?:can't cd to|Couldn't open file) (\S.*)$`)
	// connect EACCES /run/docker.sock   (node)
	socketPath = lazy.Regexp(`\bconnect (E[A-Z]{3,}) (/[^\s'",]+)`)
	// dial unix /run/docker.sock: connect: permission denied   (Go)
	dialPath = lazy.Regexp(`\bdial unix (/[^\s'",]+): connect: (permission denied|no such file or directory)`)
	// NoSuchFileException: /a -> /b   (Java, which names no call)
	javaPair = lazy.Regexp(`\bjava\.nio\.file\.(NoSuchFile|AccessDenied)Exception: (/.*?) -> (/[^:]*)$`)
	// any absolute path in a line with a fault
	quotedPath = lazy.Regexp("['\"‘“`(=]((?:file://)?(?:~/|\\$HOME/|\\$\\{HOME\\}/|/)[^'\"’”`]+?)['\"’”`)]")
	barePath   = lazy.Regexp("(?:^|[\\s=(:\\[,])((?:file://)?(?:~/|\\$HOME/|\\$\\{HOME\\}/|/)[^\\s'\"’”`,;(){}\\[\\]<>]+)")
)

func pathReferences(line string, f Fault) []Reference {
	refs := append(errnoPaths(line), wordedPaths(line)...)
	if len(refs) > 0 || f == NoFault || f == Network {
		return refs
	}
	if refs = messagePaths(line, f); len(refs) > 0 {
		return refs
	}
	return VaguePaths(line, f)
}

func errnoPaths(line string) (refs []Reference) {
	add := func(f Fault, verb, path string) {
		if path != "" {
			refs = append(refs, pathReference(f, verb, path))
		}
	}
	for _, m := range nodePath().FindAllStringSubmatch(line, 4) {
		if nf := faultOfErrno(m[1]); nf != NoFault {
			addPathPair(add, nf, m[2], m[3], m[4])
		}
	}
	for _, m := range pythonPath().FindAllStringSubmatch(line, 4) {
		n, _ := strconv.Atoi(m[1])
		path := m[2] + m[3]
		switch pf := faultOfNumber(n); {
		case pf == NoFault:
		case m[4] != "":
			addPathPair(add, pf, "rename", unescape(path), unescape(m[4]))
		case pf == Absent && !strings.Contains(path, "/"): // no path: a name that was to be started
			// A failed subprocess.run prints a bare name as well.
			refs = append(refs, Reference{Kind: Program, Name: unescape(path), Fault: pf})
		default:
			add(pf, "", unescape(path))
		}
	}
	if m := javaPair().FindStringSubmatch(line); m != nil {
		jf, _ := MatchFault(line)
		addPathPair(add, jf, "", m[2], m[3])
	}
	for _, m := range socketPath().FindAllStringSubmatch(line, 2) {
		if sf := faultOfErrno(m[1]); sf != NoFault {
			add(sf, "connect", m[2])
		}
	}
	for _, m := range dialPath().FindAllStringSubmatch(line, 2) {
		sf, _ := MatchFault(m[2])
		add(sf, "connect", m[1])
	}
	return refs
}

func messagePaths(line string, f Fault) (refs []Reference) {
	add := func(f Fault, verb, path string) {
		if path != "" {
			refs = append(refs, pathReference(f, verb, path))
		}
	}
	// Go names the call, so its pattern is the surest.
	for _, m := range goPath().FindAllStringSubmatch(line, 4) {
		pf, _ := MatchFault(m[4])
		if m[3] != "" && m[1] != "rename" && m[1] != "link" && m[1] != "symlink" {
			m[2], m[3] = m[2]+" "+m[3], "" // a name with a space
		}
		addPathPair(add, pf, m[1], m[2], m[3])
	}
	if m := rubyPath().FindStringSubmatch(line); m != nil && len(refs) == 0 {
		pf, _ := MatchFault(m[1])
		add(pf, m[2], m[3])
	}
	if m := shellPath().FindStringSubmatch(line); m != nil && len(refs) == 0 {
		addShellPath(add, line, f, m)
		if len(refs) == 0 && m[1] == "" && !strings.ContainsAny(m[3], " /.") && len(VaguePaths(line, f)) == 0 {
			pf, _ := MatchFault(m[4])
			return []Reference{{Kind: Path, Name: m[3], Fault: pf, Bare: true}}
		}
	}
	return refs
}

func wordedPaths(line string) (refs []Reference) {
	add := func(f Fault, verb, path string) { refs = append(refs, pathReference(f, verb, path)) }
	for _, m := range loadedPath().FindAllStringSubmatch(line, 2) {
		add(Refused, "exec", m[1])
	}
	for _, m := range databasePath().FindAllStringSubmatch(line, 2) {
		name, _, _ := strings.Cut(strings.TrimPrefix(m[1], "file:"), "?")
		d := pathReference(Refused, "open", name)
		d.Database = true
		refs = append(refs, d)
	}
	if m := wordedPath().FindStringSubmatch(line); m != nil {
		add(Absent, "read", m[1])
	}
	if m := modulePath().FindStringSubmatch(line); m != nil {
		add(Absent, "read", m[1])
	}
	return refs
}

// wordsBefore matches words of the sentence before a path: "temporary file ./sedXXXXXX".
var wordsBefore = lazy.Regexp(`^(?:[a-z]+ )+((?:~|\.{0,2})/.*)$`)

func afterWords(path string) string {
	if m := wordsBefore().FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return path
}

func addShellPath(add func(Fault, string, string), line string, f Fault, m []string) {
	pf, _ := MatchFault(m[4])
	if strings.Contains(m[0], " create directory ") {
		m[2] = "mkdir"
	}
	path := afterWords(strings.TrimSpace(m[3]))
	if from, to, pair := strings.Cut(path, " -> "); pair { // Java: FileSystemException: /a -> /b: Permission denied
		addPathPair(add, pf, m[2], from, to)
		return
	}
	switch {
	case strings.Contains(path, "/") && m[1] == "" && looksLikeShell(line):
		add(pf, shellVerb, path)
	case strings.Contains(path, "/"):
		add(pf, m[2], path)
	case m[1] == "" && !strings.Contains(path, "."), len(VaguePaths(line, f)) > 0:
		// A bare word: more likely one of the sentence ("open stream: …").
	default:
		add(pf, m[2], path)
	}
}

// addPathPair adds the one or two paths of an operation. A rename removes the first name and makes
// the second. A copy reads the first file and writes the second. A link makes the second name.
func addPathPair(add func(Fault, string, string), f Fault, verb, from, to string) {
	if to == "" {
		add(f, verb, from)
		return
	}
	switch verb {
	case "copyfile":
		add(f, "open", from)
		add(f, "write", to)
	case "rename":
		add(f, "unlink", from)
		add(f, "write", to)
	default: // link, symlink: the new name is created
		add(f, "write", to)
	}
}

// VaguePaths returns the absolute paths of a line that no pattern connects to its fault,
// quoted ones first.
func VaguePaths(line string, f Fault) []Reference {
	var refs []Reference
	seen := map[string]bool{} // a quoted path is also a bare one
	line = withoutSpeaker(line)
	verb := verbIn(line)
	for _, m := range append(quotedPath().FindAllStringSubmatch(line, 8), barePath().FindAllStringSubmatch(line, 8)...) {
		path := strings.TrimRight(m[1], ".:!?")
		if strings.HasPrefix(path, "///") { // unix:///run/x.sock
			path = path[2:]
		}
		if path == "" || seen[path] || isPosition(path) || strings.HasPrefix(path, "//") {
			continue
		}
		seen[path] = true
		v := pathReference(f, verb, path)
		v.Vague = true
		refs = append(refs, v)
	}
	return refs
}

// speaker matches a line that begins with the path of the program that wrote it.
var speaker = lazy.Regexp(`^/[^\s:'"]+: (.+)$`)

// withoutSpeaker returns line without the path of the program that wrote it, where the
// line names something else: a shell writes the line number of its script, other programs
// a path.
func withoutSpeaker(line string) string {
	m := speaker().FindStringSubmatch(line)
	if m != nil && (shellLine().MatchString(line) || quotedPath().MatchString(m[1]) || barePath().MatchString(m[1])) {
		return m[1]
	}
	return line
}

// pathsBefore returns the paths in the lines above a line that contains only the fault
// ("Caused by: Permission denied (os error 13)").
func pathsBefore(lines []string, i int, f Fault, escaped Escapes) []Reference {
	for j := i + 1; j < len(lines) && j <= i+4; j++ {
		if IsStackFrame(lines[j]) {
			return nil
		}
		if refs := VaguePaths(lines[j], f); len(refs) > 0 {
			return escaped.whole(lines[j], refs)
		}
	}
	return nil
}

func isPosition(path string) bool {
	i := strings.LastIndexByte(path, ':')
	if i < 0 {
		return false
	}
	_, err := strconv.Atoi(path[i+1:])
	return err == nil
}

// shellVerb is the verb of shells, which print the same message for a program that they
// may not start and for a file that they may not open.
const shellVerb = "sh"

func pathReference(f Fault, verb, path string) Reference {
	ref := Reference{Kind: Path, Name: path, Fault: f, Want: RightsOf(verb)}
	ref.IsMkdir = strings.HasPrefix(verb, "mkdir")
	ref.FromShell = verb == shellVerb
	ref.IsConnect = strings.Contains(verb, "connect") || strings.HasPrefix(verb, "dial")
	if f == ReadOnly && ref.Want&policy.Write == 0 {
		ref.Want = policy.Write
	}
	return ref
}

// faultOfNumber returns the fault of an errno number that is the same on all systems.
func faultOfNumber(n int) Fault {
	switch n {
	case 1, 13:
		return Refused
	case 2, 20:
		return Absent
	case 30:
		return ReadOnly
	case 16:
		return Busy
	}
	return NoFault
}

// unescape reverts Python's repr for the two characters that occur in paths.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(s)
}

// RightsOf returns the rights that an operation needs, given by a verb of a message, the
// name of a system call or a Denial's operation. It returns 0 when the verb does not tell:
// "open" may read or write.
func RightsOf(verb string) policy.Rights {
	verb = strings.ToLower(verb)
	has := func(words ...string) bool { return ContainsAny(verb, words) }
	switch {
	case has("exec", "spawn", "uv_cwd run", "start"):
		return policy.Read | policy.Execute
	case has("unlink", "rmdir", "remove", "delete", "rename"):
		return policy.Delete
	case has("mkdir", "mkdtemp", "creat", "make", "mknod", "mkfifo", "symlink", "link at"):
		return policy.Create
	case verb == "link":
		return policy.Create
	case has("writ", "trunc", "append", "touch", "chmod", "chown", "utime", "save", "update", "connect", "dial", "copy_file_range", "lock", "setxattr", "install"):
		return policy.Update
	case has("scandir", "opendir", "readdir", "readlink", "read", "stat", "list", "chdir", "access", "watch", "load", "cat", "getxattr", "cwd"):
		return policy.Read
	}
	return 0
}

func verbIn(line string) string {
	lower := strings.ToLower(line)
	for _, w := range []string{"mkdir", "writ", "creat", "remove", "delete", "exec", "spawn", "save", "connect", "dial unix"} {
		if strings.Contains(lower, w) {
			return w
		}
	}
	return ""
}

// HasPath reports whether a relative path is in line and is not part of another path.
func HasPath(line, path string) bool {
	inPath := func(c byte) bool { return isWordByte(c) || c == '.' || c == '/' || c == '-' }
	return standsApart(line, path, inPath, " ./")
}
