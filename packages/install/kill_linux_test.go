package install

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

// program is the fataler of a program.
type program struct{}

func (program) Fatal(args ...any) { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }

// installerMain installs: its arguments are the directory of the user and what to install.
func installerMain() {
	ctx, cancel := contextOf()
	defer cancel()
	if _, err := installerOf(hostOf(program{}, os.Args[1], os.Environ())).Install(ctx, line(program{}, os.Args[2])); err != nil {
		program{}.Fatal(err)
	}
}

// command returns an installation as a process of its own.
func (u *user) command(name, spec string) *exec.Cmd {
	c := testkit.Self(name, u.dir, spec)
	c.Env = append(u.host.Environ, "TMPDIR="+os.TempDir())
	return c
}

// TestKilledInstallations kills installations at random moments. After each, the package either
// starts or is not installed. The next installation that is not killed succeeds.
func TestKilledInstallations(t *testing.T) {
	t.Parallel()
	rounds := testkit.Rounds(4, 100)
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	begin := time.Now()
	u.installs(i, "@scope/server")
	usual := time.Since(begin)
	done := 0
	for n := range rounds {
		if err := os.Remove(i.LockFile); n%2 == 0 && err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if n%4 == 0 {
			makeWritable(i.Store.Dir)
			testkit.Must(t, os.RemoveAll(filepath.Join(i.Store.Dir, "npm")))
		}
		c := u.command(installerName, "@scope/server")
		testkit.Must(t, c.Start())
		killed := time.AfterFunc(rand.N(usual*5/4), func() { c.Process.Kill() })
		err := c.Wait()
		killed.Stop()
		if err == nil {
			done++
		}
		about, err := starts(i.Store, i.LockFile, i.Host, line(t, "@scope/server"))
		if err != nil && !errors.Is(err, installed.ErrNotInstalled) || err == nil && about["version"] != "1.0.0" {
			t.Fatalf("after kill %d: %v, %v", n, about, err)
		}
	}
	t.Logf("%d of %d had ended before the kill; one takes %v", done, rounds, usual)
	u.installs(i, "@scope/server")
	u.runs(i, "@scope/server", "1.0.0")
}

const fullDiskName = "mcp-jail-test-full-disk"

// fullDiskMain runs in a mount namespace of its own. It puts the store on a small disk, installs
// a version, fills the disk, and tries an update.
func fullDiskMain() {
	var p program
	host := hostOf(p, os.Args[1], os.Environ())
	i := installerOf(host)
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), os.MkdirAll(i.Store.Dir, 0o700), syscall.Mount("tmpfs", i.Store.Dir, "tmpfs", 0, "size=8m,mode=700")); err != nil {
		p.Fatal("no mount:", err)
	}
	ctx, cancel := contextOf()
	defer cancel()
	l := line(p, os.Args[2])
	if _, err := i.Install(ctx, l); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.Store.Dir, "full"), make([]byte, 6<<20), 0o600); err != nil {
		p.Fatal(err)
	}
	u, err := i.Update(ctx, l)
	if err == nil {
		p.Fatal("the update fitted:", u.New.Version)
	}
	fmt.Println(err)
	if left, err := os.ReadDir(filepath.Join(i.Store.Dir, "staging")); err != nil || len(left) > 0 {
		p.Fatal("the disk stays full: ", left, err)
	}
	about, err := starts(i.Store, i.LockFile, host, l)
	if err != nil {
		p.Fatal("the old version does not start:", err)
	}
	fmt.Println("runs", about["version"])
	if err := os.Remove(filepath.Join(i.Store.Dir, "full")); err != nil {
		p.Fatal(err)
	}
	if u, err = i.Update(ctx, l); err == nil {
		err = i.Accept(u)
	}
	if err != nil {
		p.Fatal("with room:", err)
	}
	about, err = starts(i.Store, i.LockFile, host, l)
	fmt.Println("runs", about["version"], err)
}

// TestFullDisk tests that a full disk leaves the old version working.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		testkit.Skip(t, "root", "it mounts a small disk")
	}
	big := server("2.0.0")
	big.Files["big.txt"] = strings.Repeat("0123456789abcdef", 2<<20/16)
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0"), big}})
	u := newUser(t, site.URL)
	site.Load(registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	c := u.command(fullDiskName, "@scope/server")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out := &lockedBuffer{}
	c.Stdout, c.Stderr = out, out
	testkit.Must(t, c.Start())
	published := make(chan struct{})
	go func() {
		defer close(published)
		testkit.Eventually(t, "the first version is fetched", func() bool {
			_, err := os.Lstat(filepath.Join(u.host.ConfigDir, "mcp-jail.lock"))
			return err == nil
		})
		site.Publish(big)
	}()
	err := c.Wait()
	<-published
	if text := out.String(); err != nil || !strings.Contains(text, "the disk is full") || !strings.Contains(text, "runs 1.0.0") || !strings.Contains(text, "runs 2.0.0") {
		t.Errorf("%v\n%s", err, text)
	}
}
