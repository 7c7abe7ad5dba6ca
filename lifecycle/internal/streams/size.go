package streams

// The sizes of a session's pipes, of which 64 KiB is the default. The kernel allows an ordinary user
// 64 MiB in all pipes (pipe(7), pipe-user-pages-soft); those of thirty servers should not use that up.
const (
	serverPipe = 256 << 10 // the server's stdin and stdout
	ClientPipe = 512 << 10 // the client's stdout, once a large frame is sent
)
