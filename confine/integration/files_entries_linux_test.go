package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailEntries: entries of unusual shapes: one file, files in /tmp, a fifo, /etc, /.
func TestJailEntries(t *testing.T) {
	jailtest.Needs(t)
	tmp := testkit.Get(os.MkdirTemp("/tmp", "mcp-jail-entry-"))(t)
	defer os.RemoveAll(tmp)
	for _, name := range []string{"/file", "/ro/inner", "/rw/inner"} {
		os.MkdirAll(filepath.Dir(tmp+name), 0o755)
		testkit.Must(t, os.WriteFile(tmp+name, []byte("content"), 0o755))
	}
	dir := testkit.Plant(t, "dir/inner")
	testkit.Must(t, unix.Mkfifo(dir+"/fifo", 0o600))
	plantInto(t, dir+"/file")
	plantInto(t, dir+"/other")
	for _, c := range []struct {
		name   string
		grants []jailtest.Grant
		tries  []string
		want   string
		writes bool // what stays on the host
	}{
		{"one file", []jailtest.Grant{{Path: dir + "/file", Rights: r}},
			[]string{"read DIR/file", "write DIR/file", "read DIR/other", "list DIR", "unlink DIR/file", "create DIR/new", "rename DIR/file DIR/x"},
			"[ok file EROFS ENOENT EACCES EROFS EROFS EROFS]", false},
		{"one file to write", []jailtest.Grant{{Path: dir + "/file", Rights: r | u}},
			[]string{"write DIR/file", "truncate DIR/file", "unlink DIR/file", "create DIR/new"}, "[ok ok EROFS EROFS]", true},
		{"a file among others", []jailtest.Grant{{Path: dir, Rights: r}, {Path: dir + "/file", Rights: r | u}},
			[]string{"write DIR/file", "write DIR/other", "unlink DIR/file", "list DIR"}, "[ok EROFS EROFS ok dir fifo file other]", false},
		{"below /tmp", []jailtest.Grant{{Path: tmp + "/file", Rights: r}, {Path: tmp + "/ro", Rights: r}, {Path: tmp + "/rw", Rights: rw | x}},
			[]string{"read TMP/file", "write TMP/file", "read TMP/ro/inner", "write TMP/ro/inner", "create TMP/ro/new", "execs TMP/ro/inner",
				"write TMP/rw/inner", "execs TMP/rw/inner", "create TMP/private", "rename TMP/ro TMP/away", "rename TMP/ro/inner TMP/stolen",
				"create /tmp/mine", "list TMP"},
			"[ok content EROFS ok content EROFS EROFS EACCES ok ok ok EBUSY EXDEV ok ok file private ro rw]", false},
		{"a fifo", []jailtest.Grant{{Path: dir + "/fifo", Rights: r | u}}, []string{"stat DIR/fifo", "unlink DIR/fifo"}, "[ok EROFS]", false},
		{"/etc", []jailtest.Grant{{Path: "/etc", Rights: r}},
			[]string{"stat /etc/passwd", "create /etc/mcp-jail-test", "stat /etc/hosts"}, "[ok EROFS ok]", false},
		{"/, to read", []jailtest.Grant{{Path: "/", Rights: r}},
			[]string{"stat /etc/passwd", "create /mcp-jail-test", "read DIR/file", "write DIR/file", "create /tmp/mine", "list /tmp", "stat /proc/1",
				"create /var/tmp/mcp-jail-test", "stat /dev/kmsg", "stat /proc/PARENT"},
			"[ok EROFS ok file EROFS ok ok mine ok EROFS ENOENT ENOENT]", false},
		{"/, with /etc and a file masked", []jailtest.Grant{{Path: "/", Rights: r}, {Path: "/etc", Rights: 0}, {Path: dir + "/file", Rights: 0}},
			[]string{"list /etc", "stat /etc/passwd", "read DIR/file", "read DIR/other"}, "[EACCES EACCES EACCES ok other]", false},
		{"/, to write", []jailtest.Grant{{Path: "/", Rights: rw}, {Path: dir + "/file", Rights: r}},
			[]string{"create DIR/new", "unlink DIR/new", "write DIR/file", "read DIR/file", "stat /etc/hosts", "rename DIR DIR-moved"},
			"[ok ok EROFS ok file ok EBUSY]", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"file", "other"} { // each case starts with the same content
				testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755))
			}
			before := jailtest.HostTree(t, dir) + jailtest.HostTree(t, tmp)
			places := jailtest.RootNames(t)
			var tries []attacker.Attempt
			for _, s := range c.tries {
				s = strings.NewReplacer("DIR", dir, "TMP", tmp, "PARENT", fmt.Sprint(os.Getpid())).Replace(s)
				tries = append(tries, strings.Fields(s))
			}
			got := fmt.Sprint(jailtest.Attempts(t, jailtest.Profile(t, c.grants...), tries...))
			jailtest.Expect(t, "in the jail", got, c.want)
			if after := jailtest.HostTree(t, dir) + jailtest.HostTree(t, tmp); after != before && !c.writes {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
			testkit.Equal(t, "names on the host", jailtest.RootNames(t), places)
		})
	}
}

// TestJailPrivateDirectories: a directory on the way to a rule that is for the user alone on this machine is so
// in the jail. Programs such as tmux and gpg refuse a directory that others may pass through.
func TestJailPrivateDirectories(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "private/file", "private/open/file", "shared/file", "all/hidden/file", "all/hidden/other", "all/hidden/sub/file", "all/passed/file")
	tmp := testkit.Get(os.MkdirTemp("/tmp", "mcp-jail-private-"))(t) // with mode 0700
	defer os.RemoveAll(tmp)
	plantInto(t, tmp+"/file")
	for name, mode := range map[string]os.FileMode{"private": 0o700, "private/open": 0o755, "shared": 0o751, "all/hidden": 0o700, "all/hidden/sub": 0o700, "all/passed": 0o711} {
		testkit.Must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/private/file", Rights: r}, jailtest.Grant{Path: dir + "/private/open/file", Rights: r},
		jailtest.Grant{Path: dir + "/shared/file", Rights: r}, jailtest.Grant{Path: tmp + "/file", Rights: r},
		jailtest.Grant{Path: dir + "/all", Rights: r}, jailtest.Grant{Path: dir + "/all/hidden"}, jailtest.Grant{Path: dir + "/all/hidden/file", Rights: r},
		jailtest.Grant{Path: dir + "/all/hidden/sub/file", Rights: r}, jailtest.Grant{Path: dir + "/all/passed"}, jailtest.Grant{Path: dir + "/all/passed/file", Rights: r})
	var tries []attacker.Attempt
	for _, at := range []string{dir + "/private", dir + "/private/open", dir + "/shared", tmp, dir + "/all/hidden", dir + "/all/hidden/sub", dir + "/all/passed"} {
		tries = append(tries, attacker.Try("mode", at), attacker.Try("open", at+"/file"))
	}
	tries = append(tries, attacker.Try("list", dir+"/all/hidden"), attacker.Try("open", dir+"/all/hidden/other"))
	got := fmt.Sprint(jailtest.Attempts(t, p, tries...))
	jailtest.Expect(t, "in the jail", got, "[ok 700 ok ok 755 ok ok 755 ok ok 700 ok ok 100 ok ok 100 ok ok 111 ok EACCES ENOENT]")
}
