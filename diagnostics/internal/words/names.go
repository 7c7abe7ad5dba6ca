package words

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// kind is what a name may be.
type kind uint8

const (
	Path kind = iota + 1
	Host
	Variable
	Program // or a file of the working directory
)

// Name is what a failing line names.
type Name struct {
	Kind   kind
	Text   string
	Longer string // a path up to the end of its clause, which counts where it exists: a name may have blanks
	Port   int    // of a host; 0 is unknown
	Scheme string // of a host: "https", "http", "tcp", or ""

	Fault Fault         // of its line, or else of the failure
	Want  policy.Rights // what the attempt needed; 0 when the line does not tell
	Dir   bool          // the attempt was to make a directory
}

const maxNames = 100

// Names returns what lines name, each name once.
func Names(lines []string) (all []Name) {
	failure := FaultOf(lines)
	for _, line := range lines {
		if len(all) >= maxNames {
			break
		}
		if Elsewhere(line) || strings.Contains(line, "not a git repository (") {
			continue
		}
		fault := MatchFault(line)
		if fault == NoFault {
			fault = failure
		}
		if fault == Refused && ContainsAny(line, []string{"dial tcp", "lookup ", "connection to server"}) {
			fault = Network
		}
		starts := startsProgram().MatchString(line)
		line = speaker().ReplaceAllString(line, "")
		found := append(pathsIn(line), programsIn(line)...)
		switch fault {
		case Network:
			found = append(found, hostsIn(line)...)
		case Refused: // connect EACCES 192.0.2.7:443
			found = append(found, slices.DeleteFunc(hostsIn(line), func(n Name) bool { return n.Port == 0 || n.Scheme != "" })...)
		}
		verb := verbIn(line)
		want := RightsOf(verb)
		if verb == "" && starts {
			want = policy.Execute
		}
		if fault == ReadOnly && want&policy.Write == 0 {
			want = policy.Write
		}
		for _, n := range append(found, variablesIn(line)...) {
			if n.Fault, n.Dir = fault, verb == "mkdir" || strings.Contains(line, " create directory "); n.Want == 0 {
				n.Want = want
			}
			if !slices.ContainsFunc(all, func(o Name) bool { return o.Kind == n.Kind && o.Text == n.Text && o.Port == n.Port }) {
				all = append(all, n)
			}
		}
	}
	return all[:min(len(all), maxNames)]
}

// FaultOf returns the first fault that lines tell of.
func FaultOf(lines []string) Fault {
	for _, line := range lines {
		if f := MatchFault(line); f != NoFault && !Elsewhere(line) {
			return f
		}
	}
	return NoFault
}

// speaker is the shell, or the script, that wrote a line.
var speaker = show.Pattern(`^/?\S+: (?:line )?\d+: `)

// startsProgram matches a line of a shell about a program or a file, and of others about a program.
var startsProgram = show.Pattern(`^(?:\S*/)?(?:ba|da|z|k|a)?sh: |^\S+: (?:line )?\d+: |failed to map segment|Executable doesn't exist|\bspawn |\bexec: `)

var (
	quoted = show.Pattern("(?:^|[\\s(\\[{=:,<>\"'])(?:'([^']{1,500})'|\"([^\"]{1,500})\"|‘([^’]{1,500})’|“([^”]{1,500})”|`([^`]{1,500})`)")
	// bare is a path that no quotes enclose. A URL of the network is none.
	bare = show.Pattern("(?:^|[\\s=(:\\[{,<>])((?:~|\\$HOME|\\$\\{HOME\\}|\\.{1,2})?/[^\\s'\"‘’“”`;(){}\\[\\]<>]*|[\\w.@+-]+/[\\w.@+/-]+)")
	// clause ends a path with blanks.
	clause = show.Pattern(`: |, |;| -> |"|$`)
	// position is that of a line in a source file.
	position = show.Pattern(`(?::\d+)+$`)
	// localURL is a URL of this machine's files. The group is the path.
	localURL  = show.Pattern(`^(?:jdbc:)?(?:unix|file|sqlite3?|duckdb)(?:\+\w+)?:/*(/[^?#]*)`)
	remoteURL = show.Pattern("\\b([a-zA-Z][a-zA-Z0-9+.-]*)://[^\\s'\"‘’“”`<>)\\]}]+")
)

// Paths returns the paths in a line.
func Paths(line string) (all []Name) { return pathsIn(line) }

func pathsIn(line string) (all []Name) {
	add := func(text, longer string) {
		for _, path := range policy.ListItems("", text) {
			if path = cleaned(path); path != "" {
				all = append(all, Name{Kind: Path, Text: path, Longer: longer})
			}
			longer = ""
		}
	}
	for _, at := range quoted().FindAllStringSubmatchIndex(line, 12) {
		from, to := at[0], at[1]
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				from, to = at[i], at[i+1]
			}
		}
		text, longer := line[from:to], line[from:to]
		if strings.ContainsAny(text, "'\"‘`") && strings.IndexByte("/~.", text[0]) < 0 { // a quotation with quotes in it
			all = append(all, pathsIn(text)...)
			continue
		}
		if !strings.Contains(text, "/") && text != "~" {
			continue
		}
		if last := strings.LastIndexByte(line, line[to]); last > to { // a name may have a quote, too
			longer = line[from:last]
		}
		before := len(all)
		add(text, longer)
		if strings.HasSuffix(line[:from-1], " -> ") && len(all) > before {
			all[before].Want = policy.Update // a move, or a copy
		}
	}
	// What is left of the line has no path with quotes, and no host with a path.
	rest := remoteURL().ReplaceAllStringFunc(line, func(raw string) string {
		if m := localURL().FindStringSubmatch(raw); m != nil {
			add(m[1], "")
		}
		return " "
	})
	for _, at := range bare().FindAllStringSubmatchIndex(rest, 12) {
		text := rest[at[2]:at[3]]
		end := clause().FindStringIndex(rest[at[2]:])
		add(text, strings.TrimSpace(rest[at[2]:at[2]+end[0]]))
	}
	return all
}

func cleaned(path string) string {
	if m := localURL().FindStringSubmatch(path); m != nil {
		path = m[1]
	}
	if strings.Contains(path, "://") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\n\x00") {
		return ""
	}
	for _, home := range []string{"$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(path, home); ok {
			path = "~/" + rest
		}
	}
	if path = strings.TrimRight(path, ".,:!?"); position().MatchString(path) {
		return "" // of a source file
	}
	return path
}

// called are the places in which a line has the name of a program, or of a file without a directory.
var called = []func() *regexp.Regexp{
	show.Pattern(`command not found: ([\w.+-]+)`),
	show.Pattern(`(?i)\b(?:spawn|spawnSync|execvp|posix_spawn|cannot run program|failed to (?:spawn|start|execute|run):?|cannot execute|exec:) ["'` + "`" + `]?([\w.+-]+)`),
	show.Pattern("(?i)(?:^|[:\\s])['\"‘`]?([\\w.+-]+)['\"’`]?: (?:command not found|not found|no such file or directory|permission denied|executable file not found|read-only file system)"),
	show.Pattern("(?i)(?:no such file or directory|permission denied|read-only file system|filenotfounderror|not found|cannot open)[^'\"‘`]{0,20}['\"‘`]([\\w.+-]+)['\"’`]"),
}

// errorName is what stands before a message where others have a program.
var errorName = show.Pattern(`^E[A-Z]+$|(?i:error|exception|fatal)$`)

func programsIn(line string) (all []Name) {
	for _, pattern := range called {
		for _, m := range pattern().FindAllStringSubmatch(line, 3) {
			if strings.Trim(m[1], "0123456789.") != "" && !errorName().MatchString(m[1]) {
				all = append(all, Name{Kind: Program, Text: m[1]})
			}
		}
	}
	return all
}

// asking are words of a line that asks for a variable.
var asking = []string{"env", "variable", "required", "missing", "not set", "unset", "undefined", "keyerror", "must", "not found", "provide", "defined", "expected", "no value", "credential"}

var token = show.Pattern(`\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*\b`)

// variablesIn returns the words that may be names of variables. Only a variable that is withheld counts.
func variablesIn(line string) (all []Name) {
	for _, word := range token().FindAllString(line, 60) {
		upper := strings.ToUpper(word)
		if len(word) > 2 && (strings.Contains(word, "_") || word == upper && ContainsAny(strings.ToLower(line), asking)) {
			all = append(all, Name{Kind: Variable, Text: upper})
		}
	}
	return all
}

var (
	// dotted is a name with dots, an address, or the machine itself, with or without a port.
	dotted = show.Pattern(`(?:^|[\s'"‘(@/=,<\[])((?:[A-Za-z0-9_-]+\.)+[A-Za-z][A-Za-z0-9-]*|localhost|\d+\.\d+\.\d+\.\d+|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*[0-9A-Fa-f])\]?(?::(\d{1,5}))?`)
	// label is a name without a dot, which only the words beside it make a host.
	label    = show.Pattern(`(?i)\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|lookup|resolve(?: host(?:name)?)?|unknownhostexception|connect(?:ing)? to(?: host| server at| server on host)?|server on|at|host(?:name)?)[:=]? ?["']?([a-zA-Z0-9_][\w-]*)["']?(?::(\d{1,5}))?(?:$|[\s,;:)(])`)
	nodeAddr = show.Pattern(`\bconnect E[A-Z]+ (\S+):(\d{1,5})\b`)
	portWord = show.Pattern(`(?i)\bport[ =:]+(\d{1,5})\b|', (\d{1,5})[,)]`)
)

// hostsIn returns the hosts in a line that tells of a connection.
func hostsIn(line string) (all []Name) {
	if Distrusts(line) {
		return nil // a host that shows a certificate was reached
	}
	add := func(host, port, scheme string) {
		n, ok := hostName(host, port, scheme)
		if !ok {
			return
		}
		for i, o := range all {
			if o.Text == n.Text {
				if all[i].Port == 0 {
					all[i].Port = n.Port
				}
				return
			}
		}
		all = append(all, n)
	}
	for _, raw := range remoteURL().FindAllString(line, 4) {
		if u, err := url.Parse(strings.TrimRight(raw, ".,;:!?")); err == nil && localURL().FindString(raw) == "" {
			port := u.Port()
			if port == "" {
				port = strconv.Itoa(portOf(u.Scheme))
			}
			add(u.Hostname(), port, schemeOf(u.Scheme))
		}
	}
	if len(all) > 0 {
		return all
	}
	rest, _, _ := strings.Cut(line, " on 127.0.0.53:") // the resolver
	if m := nodeAddr().FindStringSubmatch(rest); m != nil {
		add(m[1], m[2], "")
		return all
	}
	for _, at := range dotted().FindAllStringSubmatchIndex(rest, 6) {
		host, port := rest[at[2]:at[3]], ""
		if at[4] >= 0 {
			port = rest[at[4]:at[5]]
		}
		if !isFile(host, port) && (host == strings.ToLower(host) || strings.Contains(host, ":")) { // SomeException
			add(host, port, "")
		}
	}
	if len(all) == 0 {
		for _, m := range label().FindAllStringSubmatch(rest, 4) {
			add(m[1], m[2], "")
		}
	}
	if m := portWord().FindStringSubmatch(rest); m != nil && len(all) > 0 && all[0].Port == 0 {
		all[0].Port, _ = strconv.Atoi(m[1] + m[2])
	}
	return all
}

// notHosts are words that stand where others have a host.
var notHosts = []string{"the", "a", "an", "host", "hostname", "address", "server", "name", "undefined", "null", "error", "failed", "proxy", "dependency", "dependencies", "module", "remote", "database", "unix", "tcp", "udp", "it", "this", "port", "on", "for", "least", "line"}

func hostName(host, port, scheme string) (Name, bool) {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	n, _ := strconv.Atoi(port)
	if n < 0 || n > 65535 || slices.Contains(notHosts, host) {
		return Name{}, false
	}
	if _, err := policy.NormalizeHost(host); err != nil || strings.Trim(host, "0123456789.") == "" && net.ParseIP(host) == nil {
		return Name{}, false
	}
	return Name{Kind: Host, Text: host, Port: n, Scheme: scheme}, true
}

// fileEndings are the endings of files that stand where others have a host. Those that are top-level
// domains, too, are files where a line number follows.
var fileEndings = []string{
	"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "rb", "php", "java", "kt", "c", "h", "cpp", "hpp", "cs", "swift", "lua", "sql", "json", "toml", "yaml", "yml", "xml", "html", "css", "txt", "log", "env", "db", "sock", "lock", "pem", "dll", "exe", "class", "jar", "map", "pyc", "bash", "zsh", "node", "so", "py", "rs", "sh", "pl", "md",
}

func isFile(name, port string) bool {
	ending := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return false
	}
	return slices.Contains(fileEndings, ending) && !(port == "443" || port == "80") || strings.HasPrefix(name, "errors.") || strings.HasSuffix(ending, "error")
}

func schemeOf(s string) string {
	switch strings.ToLower(s) {
	case "http", "ws":
		return "http"
	case "https", "wss":
		return "https"
	}
	return "tcp"
}

func portOf(scheme string) int {
	return map[string]int{"pg": 5432, "http": 80, "ws": 80, "https": 443, "wss": 443, "postgres": 5432, "postgresql": 5432, "mysql": 3306, "mongodb": 27017, "redis": 6379, "rediss": 6379, "amqp": 5672, "ssh": 22}[strings.ToLower(scheme)]
}

// SplitEndpoint parses the target of a refused connection: a host, host:port, an address or a URL.
func SplitEndpoint(target string) (host string, port int, scheme string, ok bool) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", 0, "", false
		}
		scheme = schemeOf(u.Scheme)
		if port, _ = strconv.Atoi(u.Port()); port == 0 {
			port = portOf(u.Scheme)
		}
		target = u.Hostname()
	} else if h, p, err := net.SplitHostPort(target); err == nil {
		target = h
		port, _ = strconv.Atoi(p)
	}
	n, ok := hostName(target, strconv.Itoa(port), scheme)
	return n.Text, n.Port, n.Scheme, ok
}

// Endpoint returns host:port, or the host alone if the port is not known.
func Endpoint(host string, port int) string {
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// HasNumber reports whether a line has a number, which no other digits surround.
func HasNumber(line string, number int) bool {
	is := func(field string) bool { return field == strconv.Itoa(number) }
	return slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return r < '0' || r > '9' }), is)
}

// IsVariable reports whether a name can be that of a variable.
func IsVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isWordByte(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return name != ""
}

// RightsOf returns the rights that an operation needs, given by a verb of a message, the name of a
// system call or a Denial's operation. It returns 0 when the verb does not tell: "open" may read or
// write.
func RightsOf(verb string) policy.Rights {
	verb = strings.ToLower(verb)
	has := func(all ...string) bool { return ContainsAny(verb, all) }
	switch {
	case has("exec", "spawn", "start"):
		return policy.Read | policy.Execute
	case has("unlink", "rmdir", "remove", "delete", "rename"):
		return policy.Delete
	case has("mkdir", "mkdtemp", "creat", "make", "mknod", "mkfifo", "symlink", "link at"), verb == "link":
		return policy.Create
	case has("writ", "trunc", "append", "touch", "chmod", "chown", "utime", "save", "update", "connect", "dial", "copy_file_range", "lock", "setxattr", "install"):
		return policy.Update
	case has("scandir", "opendir", "readdir", "readlink", "read", "stat", "list", "chdir", "access", "watch", "load", "cat", "getxattr", "cwd"):
		return policy.Read
	}
	return 0
}

// verbs are words of a line that say what was attempted.
var verbs = []string{"mkdir", "unlink", "rmdir", "rename", "remove", "delete", "write", "writing", "create", "creating", "save", "spawn ", "fork/exec", "execv", "cannot exec", "connect eacces", "dial unix", "scandir", "readlink", "chdir", "cannot open"}

func verbIn(line string) string {
	lower := strings.ToLower(line)
	if i := slices.IndexFunc(verbs, func(verb string) bool { return strings.Contains(lower, verb) }); i >= 0 {
		return verbs[i]
	}
	return ""
}

// IsAboutConnection reports whether a line tells of a connection that ends or does not answer. The jail
// accepts a connection to a granted host before this machine has reached it, so a refused one ends.
func IsAboutConnection(line string) bool {
	return ContainsAny(strings.ToLower(line), []string{"connection", "connect", "econnreset", "socket hang up", "hung up", "timed out", "timeout", "eof", "tls", "ssl", "network", "resolve", "unreachable", "reset by peer", "closed by"})
}
