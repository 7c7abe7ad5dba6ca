//go:build linux

package main

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A wayToKey is one way to what is in ~/.ssh.
type wayToKey struct {
	name string
	take func(p pupil, ssh string) (string, error)
	acts bool // it returns no text: that there is no error is enough
	// none tells why the way leads nowhere on a host without a jail, if it does not.
	none string
}

const keyFile = "id_ed25519"

func readAt(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

func readFD(fd int, err error) (string, error) {
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), "fd")
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// spelled makes a way of another spelling.
func spelled(spell func(p pupil, ssh string) string) func(pupil, string) (string, error) {
	return func(p pupil, ssh string) (string, error) { return readAt(spell(p, ssh)) }
}

// overLink makes a way over a symbolic link in the workspace. rest follows it.
func overLink(to func(p pupil, ssh string) string, rest string) func(pupil, string) (string, error) {
	return func(p pupil, ssh string) (string, error) {
		if err := os.Symlink(to(p, ssh), "way"); err != nil {
			return "", err
		}
		return readAt("way" + rest)
	}
}

// output makes a way of a program's output. KEY, SSH and WORK in its words are paths.
func output(words ...string) func(pupil, string) (string, error) {
	return func(p pupil, ssh string) (string, error) {
		argv := []string{}
		for _, w := range words {
			argv = append(argv, strings.NewReplacer("KEY", ssh+"/"+keyFile, "SSH", ssh, "WORK", p.work).Replace(w))
		}
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if strings.Contains(string(out), "a private key") {
			return string(out), nil
		}
		return string(out), err
	}
}

// only makes a way of a call that needs no answer.
func only(do func(ssh string) error) func(pupil, string) (string, error) {
	return func(_ pupil, ssh string) (string, error) { return "", do(ssh) }
}

var waysToKey = []wayToKey{
	{name: "read", take: spelled(func(_ pupil, ssh string) string { return ssh + "/" + keyFile })},
	{name: "dot-dot", take: spelled(func(p pupil, _ string) string { return p.work + "/../home/many/../.ssh/" + keyFile })},
	{name: "dot-dot-relative", take: spelled(func(pupil, string) string { return "../home/.ssh/" + keyFile })},
	{name: "slashes", take: spelled(func(_ pupil, ssh string) string { return "//" + ssh + "/.//" + keyFile })},
	{name: "proc-self-root", take: spelled(func(_ pupil, ssh string) string { return "/proc/self/root" + ssh + "/" + keyFile })},
	{name: "proc-thread-root", take: spelled(func(_ pupil, ssh string) string { return "/proc/thread-self/root" + ssh + "/" + keyFile })},
	{name: "proc-parent-root", take: spelled(func(_ pupil, ssh string) string {
		return fmt.Sprint("/proc/", os.Getppid(), "/root", ssh, "/", keyFile)
	})},
	{name: "proc-init-root", take: spelled(func(_ pupil, ssh string) string { return "/proc/1/root" + ssh + "/" + keyFile }), none: "an ordinary user has no such right"},
	{name: "proc-self-cwd", take: spelled(func(pupil, string) string { return "/proc/self/cwd/../home/.ssh/" + keyFile })},
	{name: "case", take: spelled(func(p pupil, _ string) string { return p.home + "/.SSH/" + keyFile }), none: "the file system tells case apart"},
	{name: "case-of-file", take: spelled(func(_ pupil, ssh string) string { return ssh + "/ID_ED25519" }), none: "the file system tells case apart"},
	{name: "chdir", take: func(_ pupil, ssh string) (string, error) { os.Chdir(ssh); return readAt(keyFile) }},
	{name: "link-to-file", take: overLink(func(_ pupil, ssh string) string { return ssh + "/" + keyFile }, "")},
	{name: "link-to-directory", take: overLink(func(_ pupil, ssh string) string { return ssh }, "/"+keyFile)},
	{name: "link-to-home", take: overLink(func(p pupil, _ string) string { return p.home }, "/.ssh/"+keyFile)},
	{name: "link-relative", take: overLink(func(pupil, string) string { return "../home/.ssh" }, "/"+keyFile)},
	{name: "links", take: func(_ pupil, ssh string) (string, error) {
		os.Symlink(ssh, "way")
		os.Symlink("way", "way2")
		os.Symlink("way2/"+keyFile, "way3")
		return readAt("way3")
	}},
	{name: "hard-link", take: func(_ pupil, ssh string) (string, error) {
		if err := os.Link(ssh+"/"+keyFile, "way"); err != nil {
			return "", err
		}
		return readAt("way")
	}},
	{name: "hard-link-of-link", take: func(_ pupil, ssh string) (string, error) {
		os.Symlink(ssh+"/"+keyFile, "way")
		if err := unix.Linkat(unix.AT_FDCWD, "way", unix.AT_FDCWD, "way2", unix.AT_SYMLINK_FOLLOW); err != nil {
			return "", err
		}
		return readAt("way2")
	}},
	{name: "rename-parent", take: moved(func(p pupil, ssh string) (from, to string) { return ssh, p.home + "/moved" }, "/"+keyFile)},
	{name: "rename-parent-to-workspace", take: moved(func(p pupil, ssh string) (from, to string) { return ssh, p.work + "/way" }, "/"+keyFile)},
	{name: "rename-file", take: moved(func(p pupil, ssh string) (from, to string) { return ssh + "/" + keyFile, p.work + "/way" }, "")},
	{name: "exchange", take: exchanged},
	{name: "openat2", take: openat2(0)},
	{name: "openat2-in-root", take: openat2(unix.RESOLVE_IN_ROOT)},
	{name: "openat2-without-links", take: openat2(unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS)},
	{name: "path-descriptor", take: func(_ pupil, ssh string) (string, error) {
		fd, err := unix.Open(ssh+"/"+keyFile, unix.O_PATH, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return readAt(fmt.Sprint("/proc/self/fd/", fd))
	}},
	{name: "path-descriptor-of-directory", take: func(_ pupil, ssh string) (string, error) { return below(ssh, keyFile) }},
	{name: "path-descriptor-of-home", take: func(p pupil, _ string) (string, error) { return below(p.home, ".ssh/"+keyFile) }},
	{name: "path-descriptor-of-link", take: func(_ pupil, ssh string) (string, error) {
		os.Symlink(ssh, "way")
		return below("way", keyFile)
	}},
	{name: "handle", none: "an ordinary user may not open one", take: func(_ pupil, ssh string) (string, error) {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ssh+"/"+keyFile, 0)
		if err != nil {
			return "", err
		}
		fd, err := unix.Open("/", unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return readFD(unix.OpenByHandleAt(fd, h, unix.O_RDONLY))
	}},
	{name: "list", acts: true, take: only(func(ssh string) error {
		all, err := os.ReadDir(ssh)
		if err == nil && len(all) == 0 {
			err = fs.ErrNotExist
		}
		return err
	})},
	{name: "walk", take: walk},
	{name: "stat", acts: true, take: only(func(ssh string) error { _, err := os.Stat(ssh + "/" + keyFile); return err })},
	{name: "access", acts: true, take: only(func(ssh string) error { return unix.Access(ssh+"/"+keyFile, unix.F_OK) })},
	{name: "truncate", acts: true, take: only(func(ssh string) error { return os.Truncate(ssh+"/"+keyFile, int64(len("a private key"))) })},
	{name: "append", acts: true, take: only(func(ssh string) error {
		fd, err := unix.Open(ssh+"/"+keyFile, unix.O_WRONLY|unix.O_APPEND, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})},
	{name: "chmod", acts: true, take: only(func(ssh string) error { return os.Chmod(ssh+"/"+keyFile, 0o644) })},
	{name: "times", acts: true, take: only(func(ssh string) error { return os.Chtimes(ssh+"/"+keyFile, time.Now(), time.Now()) })},
	{name: "watch", acts: true, take: only(func(ssh string) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.InotifyAddWatch(fd, ssh+"/"+keyFile, unix.IN_ACCESS)
		return err
	})},
	{name: "execute", take: output("SSH/tool")},
	{name: "shell", take: output("sh", "-c", "cat KEY")},
	{name: "cat", take: output("cat", "KEY")},
	{name: "copy", take: output("sh", "-c", "cp -R SSH WORK/copied && cat WORK/copied/"+keyFile)},
	{name: "tar", take: output("tar", "cf", "-", "SSH")},
	{name: "git-diff", take: output("git", "diff", "--no-index", "/dev/null", "KEY")},
	{name: "git-alias", take: output("sh", "-c", "mkdir way && cd way && git init -q . && printf '[alias]\\n x = !cat KEY\\n' >> .git/config && git x")},
	{name: "bind-mount", take: output("unshare", "-rm", "sh", "-c", "mkdir WORK/way && mount --bind SSH WORK/way && cat WORK/way/"+keyFile)},
	{name: "root-of-own", take: output("unshare", "-r", "chroot", "/", "/bin/cat", "KEY")},
	{name: "socket", take: socket(func(_ pupil, ssh string) string { return ssh + "/agent.sock" })},
	{name: "socket-over-link", take: socket(func(_ pupil, ssh string) string { os.Symlink(ssh, "way"); return "way/agent.sock" })},
	{name: "race-of-links", take: race},
	{name: "race-of-directories", take: raceOfDirectories},
}

// moved makes a way that renames something, reads it there, and renames it back.
func moved(what func(p pupil, ssh string) (from, to string), rest string) func(pupil, string) (string, error) {
	return func(p pupil, ssh string) (string, error) {
		from, to := what(p, ssh)
		if err := os.Rename(from, to); err != nil {
			return "", err
		}
		defer os.Rename(to, from)
		return readAt(to + rest)
	}
}

func exchanged(p pupil, ssh string) (string, error) {
	other := p.home + "/other"
	os.Mkdir(other, 0o755)
	defer os.Remove(other)
	swap := func() error { return unix.Renameat2(unix.AT_FDCWD, ssh, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) }
	if err := swap(); err != nil {
		return "", err
	}
	defer swap()
	return readAt(other + "/" + keyFile)
}

func openat2(resolve uint64) func(pupil, string) (string, error) {
	return func(_ pupil, ssh string) (string, error) {
		root, err := unix.Open("/", unix.O_PATH, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(root)
		return readFD(unix.Openat2(root, ssh+"/"+keyFile, &unix.OpenHow{Flags: unix.O_RDONLY, Resolve: resolve}))
	}
}

// below reads a file below a directory that is open as a path alone.
func below(dir, name string) (string, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return readFD(unix.Openat(fd, name, unix.O_RDONLY, 0))
}

func walk(p pupil, _ string) (text string, err error) {
	err = filepath.WalkDir(filepath.Dir(p.home), func(path string, _ os.DirEntry, _ error) error {
		if filepath.Base(path) == keyFile {
			text, _ = readAt(path)
		}
		return nil
	})
	return text, err
}

func socket(at func(p pupil, ssh string) string) func(pupil, string) (string, error) {
	return func(p pupil, ssh string) (string, error) {
		conn, err := net.Dial("unix", at(p, ssh))
		if err != nil {
			return "", err
		}
		defer conn.Close()
		b, err := io.ReadAll(conn)
		return string(b), err
	}
}

// races is how often a race is tried. Without a jail the first of them wins.
const races = 60

// race reads a link that changes between a file of the workspace and the key.
func race(p pupil, ssh string) (string, error) {
	return racing("way", func() {
		to := ssh + "/" + keyFile
		if rand.N(2) == 0 {
			to = p.work + "/note.txt"
		}
		os.Remove("way2")
		os.Symlink(to, "way2")
		os.Rename("way2", "way")
	})
}

// raceOfDirectories reads a file in a directory that changes places with a link to ~/.ssh.
func raceOfDirectories(_ pupil, ssh string) (string, error) {
	os.MkdirAll("way", 0o755)
	os.WriteFile("way/"+keyFile, []byte("a file"), 0o644)
	os.Symlink(ssh, "swap")
	return racing("way/"+keyFile, func() {
		if rand.N(2) == 0 { // else reader and writer may run in step
			unix.Renameat2(unix.AT_FDCWD, "way", unix.AT_FDCWD, "swap", unix.RENAME_EXCHANGE)
		}
	})
}

// racing reads a path while another thread changes what it leads to. That is one or two changes ahead.
func racing(file string, change func()) (string, error) {
	turns, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(turns)
		for range races {
			change()
			select {
			case turns <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	defer func() {
		close(done)
		for range turns {
		}
	}()
	for range turns {
		if text, err := readAt(file); err == nil && strings.Contains(text, "a private key") {
			return text, nil
		}
	}
	return "", fs.ErrNotExist
}
