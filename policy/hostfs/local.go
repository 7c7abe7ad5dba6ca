package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"syscall"
)

// LocalHost returns this machine as the user of this process sees it. The error is an
// [*OwnerError] if another user has control over one of mcp-jail's own directories.
func LocalHost() (Host, error) {
	home, err := HomeDir()
	if err != nil {
		return Host{}, err
	}
	return LocalHostOf(home, nil)
}

// LocalHostOf is LocalHost for a process whose environment is not the user's own. home is the user's
// home directory; see Host.Places.
func LocalHostOf(home string, places []string) (Host, error) {
	h := Host{
		Home:     home,
		Places:   places,
		Lstat:    lstat,
		Readlink: os.Readlink,
		ReadDir:  readDir,
		ReadHead: readHead,
		OS:       runtime.GOOS,
		Environ:  os.Environ(),

		Ancestors: ancestors,

		PseudoMounts: pseudoMounts(),
	}
	h.setOwners()
	var err error
	// syscall.Getwd returns a path without symbolic links. os.Getwd may return $PWD, with links.
	if h.Dir, err = syscall.Getwd(); err != nil {
		return Host{}, fmt.Errorf("the working directory cannot be found: %w", err)
	}
	h.User = userName(&h)
	h.ConfigDir, h.StateDir, h.CacheDir, h.DataDir = StandardDirs(&h)
	if exe, err := os.Executable(); err == nil {
		h.Executable = filepath.Clean(exe)
	}
	return h, h.checkOwnDirs()
}

func HomeDir() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		// Desktop clients may start servers without HOME.
		u, err := user.Current()
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return "", fmt.Errorf("the home directory cannot be found: HOME is not set to an absolute path, and the user %d is not in /etc/passwd: set HOME to one of your directories (docker run --env HOME=DIR)", os.Getuid())
		}
		home = u.HomeDir
	}
	return filepath.Clean(home), nil
}

// userName returns the user's name. It asks the environment first, because reading the user
// database costs more than the rest of LocalHost.
func userName(h *Host) string {
	for _, name := range [...]string{"USER", "LOGNAME"} {
		if v, ok := h.Getenv(name); ok && v != "" {
			return v
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// UserDirs is StandardDirs for the user of this process.
func UserDirs() (cfg, state, cache, data string, err error) {
	h := Host{Environ: os.Environ()}
	if h.Home, err = HomeDir(); err == nil {
		cfg, state, cache, data = StandardDirs(&h)
	}
	return cfg, state, cache, data, err
}

// StandardDirs returns mcp-jail's configuration, state, cache and data directories. A relative
// XDG variable is ignored, as the XDG Base Directory specification demands.
func StandardDirs(h *Host) (cfg, state, cache, data string) {
	dir := func(variable, preset string) string {
		if v, ok := h.UserEnv(variable); ok && filepath.IsAbs(v) {
			return filepath.Join(v, "mcp-jail")
		}
		return filepath.Join(h.Home, preset, "mcp-jail")
	}
	return dir("XDG_CONFIG_HOME", ".config"), dir("XDG_STATE_HOME", filepath.Join(".local", "state")),
		dir("XDG_CACHE_HOME", ".cache"), dir("XDG_DATA_HOME", filepath.Join(".local", "share"))
}

// lstatPlain is lstat by package os.
func lstatPlain(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return infoOf(fi), nil
}

func readHead(path string, n int) ([]byte, error) {
	// A fifo in a granted tree must not block the start. The flags keep it from that, too, if
	// a server replaces the file by a fifo after lstat.
	irregular := &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	if info, err := lstat(path); err != nil {
		return nil, err
	} else if !info.Mode.IsRegular() {
		return nil, irregular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|OpenFlags|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A read of a fifo or terminal blocks here in spite of the flags.
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or[error](err, irregular)
	}
	buf := make([]byte, min(int64(n), info.Size()))
	got, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return buf[:got], err
}

func readDir(path string) ([]DirEntry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|dirFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1) // unsorted, and no stat where the directory records types
	out := make([]DirEntry, len(list))
	for i, e := range list {
		out[i] = DirEntry{e.Name(), e.Type()}
	}
	return out, err
}
