package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const databases = "@modelcontextprotocol/server-postgres"

// postgresBin returns the directory of Debian's PostgreSQL server programs, which are not
// in PATH.
func postgresBin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// postgres starts PostgreSQL outside any jail and returns the directory of its UNIX
// socket. It listens only there, unless settings say otherwise. As root it runs as
// nobody, since PostgreSQL refuses to run as root.
func postgres(t *testing.T, w *world, settings ...string) string {
	t.Helper()
	need(t, "postgres")
	data, sock := filepath.Join(w.base, "pg", "data"), filepath.Join(w.base, "pg", "sock")
	must(t, os.MkdirAll(data, 0o700))
	must(t, os.Mkdir(sock, 0o755))
	must(t, os.Chmod(filepath.Dir(data), 0o755))
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		nobody, err := user.Lookup("nobody")
		must(t, err)
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		must(t, os.Chown(data, uid, gid))
		must(t, os.Chown(sock, uid, gid))
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := w.plain(append([]string{filepath.Join(postgresBin(), name)}, args...)...)
		cmd.Dir, cmd.SysProcAttr = "/", as
		return cmd
	}
	if out, err := program("initdb", "-D", data, "-U", "jail", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	server := program("postgres", append([]string{"-D", data, "-k", sock, "-c", "listen_addresses=", "-F"}, settings...)...)
	var log lockedBuffer
	server.Stderr = &log
	must(t, server.Start())
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGINT) // a fast shutdown
		server.Wait()
	})
	testkit.Eventually(t, "PostgreSQL is up", func() bool {
		psql := program("psql", "-h", sock, "-U", "jail", "-c", "select 1", "postgres")
		if i := slices.Index(settings, "-p"); i >= 0 {
			psql.Env = append(psql.Environ(), "PGPORT="+settings[i+1])
		}
		return psql.Run() == nil
	})
	return sock
}

// TestPostgres tests that a rule for the socket is all that a client needs.
func TestPostgres(t *testing.T) {
	need(t, "npm", "postgres")
	t.Parallel()
	home := newWorld(t)
	sock := postgres(t, home)
	if out, err := home.plain("psql", "-h", sock, "-U", "jail", "-Atc", "select 6*7", "postgres").CombinedOutput(); err != nil || string(out) != "42\n" {
		t.Fatalf("outside of a jail: %v: %s", err, out)
	}
	database := func(t *testing.T, w *world) recipe {
		return readRecipe(t, "database",
			`"npx"`, `"node"`, `"-y", "`+databases+`"`, `"`+server(databases)+`"`,
			"/notes?", "/postgres?", "host=/run/postgresql&user=me", "host="+sock+"&user=jail", "/run/postgresql", sock)
	}
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := database(t, w)
		wide := strings.Replace(r.access[0], "/.s.PGSQL.5432", "", 1)
		got := w.attempt(t, r.name, r.config(wide), func(_ *testing.T, _ *world, s *clientSession) toolResult {
			return s.tool("query", map[string]any{"sql": "select 1"})
		})
		if why := w.why(t, r.name); !got.IsError || !strings.Contains(why.Fix, "socket of the host") {
			t.Errorf("a rule for the directory: %s\n%+v", got.raw, why)
		}
	})
	t.Run("server", func(t *testing.T) {
		checkRecipe(t, database, func(t *testing.T, w *world, s *clientSession) toolResult {
			r := s.tool("query", map[string]any{"sql": "select 6*7 as answer"})
			if !r.IsError && !strings.Contains(r.texts(), `"answer": 42`) {
				t.Errorf("%s", r.texts())
			}
			return r
		})
	})
	t.Run("psql", func(t *testing.T) {
		testkit.NeedsLong(t)
		checkRecipe(t, func(t *testing.T, w *world) recipe {
			r := database(t, w)
			r.head = "[servers.database]\ncommand = \"" + installed(t, execServer) + "\"\n"
			return r
		}, useRun("psql", "-h", sock, "-U", "jail", "-Atc", "select 6*7", "postgres"))
	})
}

// TestPostgresTCP tests that one port of the host's loopback can be granted, and no other
// is reachable.
func TestPostgresTCP(t *testing.T) {
	need(t, "npm", "postgres")
	t.Parallel()
	home := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	must(t, l.Close())
	postgres(t, home, "-c", "listen_addresses=127.0.0.1", "-p", port)
	r := readRecipe(t, "remote", `"npx"`, `"node"`, `"-y", "`+databases+`"`, `"`+server(databases)+`"`,
		"me@localhost:5432/notes", "jail@localhost:"+port+"/postgres", "port = 5432", "port = "+port)
	query := func(_ *testing.T, _ *world, s *clientSession) toolResult {
		return s.tool("query", map[string]any{"sql": "select 6*7 as answer"})
	}
	if got := newWorld(t).attempt(t, r.name, r.config(r.access...), query); got.IsError || !strings.Contains(got.texts(), `"answer": 42`) {
		t.Errorf("granted: %s", got.raw)
	}
	other := strings.Replace(r.access[0], "port = "+port, "port = "+hostPort(t), 1)
	w := newWorld(t)
	if got := w.attempt(t, r.name, r.config(other), query); !got.IsError || !strings.Contains(string(got.raw), "ECONNREFUSED") {
		t.Errorf("with another port granted: %s", got.raw)
	}
	if why := w.why(t, r.name); why.Attribution != "likely" || strings.Join(why.Grant, "\n")+"\n" != strings.Trim(r.access[0], "\n")+"\n" {
		t.Errorf("want the lines of the page: %+v", why)
	}
}

// TestSQLite tests that a database needs a rule for its directory, where SQLite writes
// other files.
func TestSQLite(t *testing.T) {
	need(t, "sqlite3")
	t.Parallel()
	database := func(t *testing.T, w *world) recipe {
		w.plant(t, w.work, map[string]string{"data/": ""})
		return execRecipe(t, "sqlite")
	}
	checkRecipe(t, database, func(t *testing.T, w *world, s *clientSession) toolResult {
		return useRun("sqlite3", "-bail", filepath.Join(w.work, "data", "app.db"), `
		pragma journal_mode = wal;
		create table if not exists t (x);
		insert into t values (1);
		delete from t;
	`)(t, w, s)
	})
}

// TestWatch tests that a file watcher in the jail needs only read access, and sees
// changes by the host.
func TestWatch(t *testing.T) {
	need(t, "node")
	if out, err := exec.Command("node", "-e", "require('fs').watch('.', {recursive: true}).close()").CombinedOutput(); err != nil {
		testkit.Skip(t, "node", "20 or newer, which can watch a tree: %v %s", err, out)
	}
	t.Parallel()
	checkRecipe(t, func(t *testing.T, w *world) recipe {
		w.plant(t, w.work, map[string]string{"sub/": ""})
		return execRecipe(t, "reader")
	}, func(t *testing.T, w *world, s *clientSession) toolResult {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { // until the watcher has seen it: there is no sign that the watch is up
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				os.WriteFile(filepath.Join(w.work, "by-the-host.txt"), []byte("from the host"), 0o644)
				os.WriteFile(filepath.Join(w.work, "sub", "deeper.txt"), fmt.Append(nil, i), 0o644)
			}
		}()
		r := s.tool("run", map[string]any{"argv": []string{"node", "-e", source(t, "watcher"), w.work}})
		close(stop)
		<-stopped
		if !r.IsError && !strings.Contains(r.texts(), "seen") {
			t.Errorf("%s", r.texts())
		}
		return r
	})
}
