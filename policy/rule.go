package policy

// FsRule is one entry of access.fs as it was written.
type FsRule struct {
	Path    string
	Read    bool
	Create  bool
	Update  bool
	Delete  bool
	Execute bool
	Where   string // file and line, for messages
}

// NetRule is one entry of access.net, its host normalised.
type NetRule struct {
	Host       string // as NormalizeHost returns it: "*", "*.name", a name or an address
	Scheme     string // "http", "https", "tcp" or "" for any
	Port       int    // 0: the scheme's
	PathPrefix string
	Allow      bool
	Where      string
}

// EnvRule is one entry of access.env.
type EnvRule struct {
	Name  string // "X", or "X*" for all that begin with X
	Read  bool
	Where string
}

// CommandRule is one entry of access.commands.
type CommandRule struct {
	Name  string
	Args  [][]string
	Envs  []string
	Where string
}

// Limits bounds what the processes of one jail use together.
type Limits struct {
	MemoryMB   int
	Processes  int
	OpenFiles  int
	FileSizeMB int
	MessageMB  int
}

// DefaultLimits are the limits of a server that declares none.
var DefaultLimits = Limits{MemoryMB: 4096, Processes: 512, OpenFiles: 4096, FileSizeMB: 1024, MessageMB: 64}
