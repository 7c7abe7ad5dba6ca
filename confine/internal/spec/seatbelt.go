package spec

// Seatbelt is what a start under sandbox-exec needs besides the program and its limits.
type Seatbelt struct {
	Self     string   // mcp-jail's own program, which becomes the server inside
	File     string   // the profile, for -f
	Params   []string // NAME=value, for -D
	Canaries []Canary
	Umask    int // the program's; UnknownUmask: that of the launcher
}

// Canary is something that the profile must refuse. Each start tries all of them from inside, before
// the program is executed.
type Canary struct {
	Attempt string // CanaryRead and the others
	Target  string
}

// What a Canary tries.
const (
	CanaryRead    = "read"    // Target is a file
	CanaryList    = "list"    // Target is a directory
	CanaryCreate  = "create"  // Target is the path of a file that does not exist
	CanaryConnect = "connect" // Target is a TCP address
	CanarySignal  = "signal"  // Target is a process ID
)
