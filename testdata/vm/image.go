package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// programs are the programs of this host that the tests start. They are copied with the
// libraries that they need.
var programs = []string{
	"bash", "sh", "cat", "chmod", "chown", "cp", "date", "dd", "echo", "env", "find", "grep", "head", "id", "ln", "ls", "mkdir", "mkfifo", "mount", "mv", "printf",
	"ps", "rm", "sed", "setpriv", "sleep", "stat", "sysctl", "tail", "touch", "true", "umount", "uname", "unshare",
}

// optional programs are copied if the host has them.
var optional = []string{"apparmor_parser", "git", "python3", "strace"}

// packages hold the same programs, for a machine of another architecture. They come from
// the first Debian suite that has no file in /bin or /lib, which are links on the disk.
var packages = []string{
	"bash", "dash", "coreutils", "findutils", "git", "grep", "mount", "procps", "python3-minimal", "sed", "strace", "util-linux",
}

const suiteOfPackages = "trixie"

// built are the binaries of this repository, each with its name on the disk.
var built = []struct {
	name string
	args []string
}{
	{"vm/init", []string{"build", "./testdata/vm/guest"}},
	{"usr/bin/mcp-jail", []string{"build", "-trimpath", "-ldflags=-s -w", "./cmd/mcp-jail"}},
	{"usr/bin/mcp-jail-cli", []string{"build", "-trimpath", "-ldflags=-s -w", "./cmd/mcp-jail-cli"}},
	{"usr/bin/notes", []string{"build", "./examples/servers/notes"}},
	{"vm/integration/tests", []string{"test", "-c", "./confine/integration"}},
	{"vm/attacks/tests", []string{"test", "-c", "./confine/attacks"}},
	{"vm/cmd/tests", []string{"test", "-c", "./cmd/mcp-jail"}},
}

// makeDisk makes the image of the root filesystem that all machines start from.
func makeDisk(work, cache string, o options) (disk string, err error) {
	root := filepath.Join(work, "root")
	for _, d := range []string{"dev", "proc", "sys", "run", "tmp", "var/tmp", "etc", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "home/user", "root", "vm"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return "", err
		}
	}
	for _, l := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+l, filepath.Join(root, l)); err != nil {
			return "", err
		}
	}
	for file, content := range map[string]string{
		"etc/passwd":   "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
		"etc/group":    "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
		"etc/hosts":    "127.0.0.1 localhost\n",
		"etc/hostname": "vm\n",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	if err := buildInto(root, o.arch); err != nil {
		return "", err
	}
	want := o.files
	if o.arch == hostArch {
		found, err := hostPrograms()
		if err != nil {
			return "", err
		}
		want = append(want, found...)
	} else {
		a, err := newApt(cache, suiteOfPackages, o.arch)
		if err == nil {
			err = a.install(root, packages)
		}
		if err != nil {
			return "", err
		}
	}
	for _, file := range want {
		if err := copyProgram(root, file); err != nil {
			return "", err
		}
	}
	disk = filepath.Join(work, "disk")
	if out, err := exec.Command("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", root, disk, "2G").CombinedOutput(); err != nil {
		return "", fmt.Errorf("mke2fs: %w\n%s", err, out)
	}
	// Nodes that the kernel and its first program need before there is a /dev.
	for _, node := range []string{"mknod console c 5 1", "mknod null c 1 3"} {
		cmd := exec.Command("debugfs", "-w", "-f", "-", disk)
		cmd.Stdin = strings.NewReader("cd /dev\n" + node + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("debugfs: %w\n%s", err, out)
		}
	}
	return disk, os.RemoveAll(root)
}

// buildInto builds the binaries for the machine. Each test binary gets a directory with
// its testdata, as go test runs it.
func buildInto(root, arch string) error {
	for _, b := range built {
		to := filepath.Join(root, b.name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		source := b.args[len(b.args)-1]
		args := append(b.args[:len(b.args)-1:len(b.args)-1], "-o", to, source)
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		if b.args[0] != "test" {
			continue
		}
		if err := os.CopyFS(filepath.Join(filepath.Dir(to), "testdata"), os.DirFS(filepath.Join(source, "testdata"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func hostPrograms() (found []string, err error) {
	for _, p := range programs {
		path, err := exec.LookPath(p)
		if err != nil {
			return nil, err
		}
		found = append(found, path)
	}
	for _, p := range optional {
		if path, err := exec.LookPath(p); err == nil {
			found = append(found, path)
		}
	}
	return found, nil
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// copyProgram copies a file and the libraries that it is linked with, each to the path
// that it has on this host.
func copyProgram(root, file string) error {
	if err := copyFile(root, file); err != nil {
		return err
	}
	out, _ := exec.Command("ldd", file).Output() // fails for what is not dynamic
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		if err := copyFile(root, m[1]); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(root, file string) error {
	to := filepath.Join(root, file) // through the links bin, lib, ... of root
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(file))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
