package install

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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
	if _, err := installerOf(hostOf(program{}, os.Args[1], os.Environ())).Install(ctx, line(program{}, os.Args[2:]...)); err != nil {
		program{}.Fatal(err)
	}
}

// command returns an installation as a process of its own.
func (u *user) command(name string, words ...string) *exec.Cmd {
	c := testkit.Self(name, append([]string{u.dir}, words...)...)
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
	l := line(p, os.Args[2:]...)
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
		err = i.Accept(ctx, u)
	}
	if err != nil {
		p.Fatal("with room:", err)
	}
	about, err = starts(i.Store, i.LockFile, host, l)
	fmt.Println("runs", about["version"], err)
}

// TestKilledFetch: a fetch that is killed leaves nothing half-made, and the next start goes on. Of two
// starts at once one fetches, and the other waits.
func TestKilledFetch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		file  string // that is fetched
	}{{[]string{"@scope/server"}, "*.tgz"}, {[]string{"uvx", "fixture-server"}, "*.whl"}} {
		site := registry.Start(t, registry.Stock{
			Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}, Wheels: []registry.Wheel{serverWheel("fixture-server")},
			Faults: []registry.Fault{{Path: c.file, After: 1, Stall: true}},
		})
		u := newUser(t, site.URL)
		i := u.installer()
		killed := u.command(installerName, c.words...)
		testkit.Must(t, killed.Start())
		testkit.Eventually(t, "the file is fetched", func() bool {
			return slices.ContainsFunc(site.Requests(), func(q registry.Request) bool { return q.Stalled })
		})
		testkit.Must(t, killed.Process.Kill())
		killed.Wait()
		if about, err := starts(i.Store, i.LockFile, i.Host, line(t, c.words...)); !errors.Is(err, installed.ErrNotInstalled) {
			t.Errorf("%q: after the kill: %v, %v", c.words, about, err)
		}
		site.Fail()
		site.Forget()
		var both [2]*exec.Cmd
		for n := range both {
			both[n] = u.command(installerName, c.words...)
			both[n].Stderr = u.told
			testkit.Must(t, both[n].Start())
		}
		for _, process := range both {
			if err := process.Wait(); err != nil {
				t.Errorf("%q: %v\n%s", c.words, err, u.told)
			}
		}
		asked := map[string]int{}
		for _, q := range site.Requests() {
			if ok, _ := path.Match(c.file, path.Base(q.Path)); ok {
				asked[q.Path]++
			}
		}
		if about, err := starts(i.Store, i.LockFile, i.Host, line(t, c.words...)); err != nil || about["version"] != "1.0.0" {
			t.Errorf("%q: %v, %v", c.words, about, err)
		}
		for file, times := range asked {
			if times > 1 {
				t.Errorf("%q: %s was fetched %d times", c.words, file, times)
			}
		}
		if len(asked) == 0 {
			t.Errorf("%q: nothing was fetched", c.words) // else nothing is shown above
		}
	}
}

// TestFullDisk tests that a full disk leaves the old version working.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		testkit.Skip(t, "root", "it mounts a small disk")
	}
	big, bigWheel := server("2.0.0"), registry.MCPServer{Name: "fixture-server", Version: "2.0.0"}.Wheel()
	big.Files["big.txt"] = strings.Repeat("0123456789abcdef", 2<<20/16)
	bigWheel.Files["big.txt"] = big.Files["big.txt"]
	for _, words := range [][]string{{"@scope/server"}, {"uvx", "fixture-server"}} {
		stock := registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}, Wheels: []registry.Wheel{serverWheel("fixture-server")}}
		site := registry.Start(t, stock)
		u := newUser(t, site.URL)
		c := u.command(fullDiskName, words...)
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
			site.Upload(bigWheel)
		}()
		err := c.Wait()
		<-published
		text := out.String()
		if err != nil || !strings.Contains(text, "the disk is full") || !strings.Contains(text, "runs 1.0.0") || !strings.Contains(text, "runs 2.0.0") {
			t.Errorf("%q: %v\n%s", words, err, text)
		}
	}
}
