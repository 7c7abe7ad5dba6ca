package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// thief is a package whose script steals, writes hooks and phones home.
func thief(dir, url string) (registry.Package, registry.Attack) {
	a := registry.Attack{
		Read:  []string{"~/.ssh/id_ed25519", filepath.Join(dir, "my hömé", ".ssh", "id_ed25519"), filepath.Join(dir, "my hömé", ".npmrc")},
		Write: []string{filepath.Join(dir, "bashrc"), "~/.git/hooks/pre-commit", filepath.Join(dir, "project", ".git", "hooks", "pre-commit"), "$INIT_CWD/../../../../../../project/.git/hooks/post-checkout", filepath.Join(dir, "my hömé", ".bashrc")},
		Send:  []string{url + "/-/loot", "http://phone.example/home", "http://192.0.2.7:443/home"},
	}
	p := registry.MCPServer{Name: "@scope/server", OnInstall: &a, Dependencies: map[string]string{"plain": "1"}}.Package()
	p.Scripts["postinstall"] = "env >variables.txt; cat /proc/$PPID/environ >parent.txt; " + p.Scripts["postinstall"]
	return p, a
}

// TestScripts installs a thief with scripts off and on. Nothing gets out, no file of the user is
// written, and what the jail refused is named with the package.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint("on=", on), func(t *testing.T) {
			t.Parallel()
			site := registry.Start(t, registry.Stock{Token: token})
			u := newUser(t, site.URL)
			p, attack := thief(u.dir, site.URL)
			site.Publish(p, plain("1.0.0"))
			key := "a very private key"
			for _, name := range []string{".ssh", "../project/.git/hooks"} {
				testkit.Must(t, os.MkdirAll(filepath.Join(u.host.Home, name), 0o700))
			}
			testkit.WriteFile(t, filepath.Join(u.host.Home, ".ssh", "id_ed25519"), key)
			testkit.WriteFile(t, filepath.Join(u.host.Home, ".npmrc"), strings.TrimPrefix(site.URL, "http:")+"/:_authToken="+token+"\n")
			i := u.installer()
			i.Scripts = on
			r := u.installs(i, "@scope/server")
			for _, q := range site.Requests() {
				if q.Path == "/-/loot" {
					t.Errorf("the thief sent %q", q.Body)
				}
			}
			if hooks, _ := filepath.Glob(filepath.Join(u.host.Dir, ".git", "hooks", "*")); hooks != nil {
				t.Errorf("the thief wrote %q", hooks)
			}
			for _, secret := range []string{key, token} {
				if file := has(t, filepath.Join(u.dir, "data"), secret) + has(t, filepath.Join(u.dir, "config"), secret); file != "" {
					t.Errorf("%q is in %s", secret, file)
				}
			}
			u.runs(i, "@scope/server", "1.0.0")
			if on {
				u.triedAll(r, attack)
			} else if tried, want := registry.Attempts(u.told.String()), []string{"@scope/server@1.0.0"}; tried != nil || !slices.Equal(r.Skipped, want) {
				t.Errorf("tried %+v, skipped %q", tried, r.Skipped)
			}
		})
	}
}

// TestScriptsOutput tests that the user's token is not looked for in what a script prints: a script,
// which does not have it, could learn it from the time.
func TestScriptsOutput(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Token: token})
	u := newUser(t, site.URL)
	p := registry.MCPServer{Name: "server", OnInstall: &registry.Attack{}}.Package()
	p.Scripts["postinstall"] = "echo I guess " + token
	site.Publish(p)
	testkit.WriteFile(t, filepath.Join(u.host.Home, ".npmrc"), strings.TrimPrefix(site.URL, "http:")+"/:_authToken="+token+"\n")
	i := u.installer()
	i.Scripts = true
	u.installs(i, "server")
	testkit.Contains(t, "the script was told of", u.told.String(), "I guess "+token)
}

// triedAll checks that an attack's attempts have failed, and that the refused ones are named.
func (u *user) triedAll(r *Result, attack registry.Attack) {
	u.t.Helper()
	tried := registry.Attempts(u.told.String())
	if len(tried) != len(attack.Read)+len(attack.Write)+len(attack.Send) || r.Skipped != nil {
		u.t.Errorf("of %+v the thief tried %+v\n%s", attack, tried, u.told)
	}
	for _, a := range tried {
		if own := a.What == "~/.git/hooks/pre-commit"; (a.Failed == "") != own { // its HOME is its own
			u.t.Errorf("%+v", a)
		}
	}
	var said []string
	for _, refused := range r.Refused {
		said = append(said, refused.String())
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"the install script of @scope/server@1.0.0 tried to", "project/.git/hooks", "bashrc", "phone.example", "192.0.2.7:443"} {
		if !strings.Contains(text, want) {
			u.t.Errorf("the refusals do not have %q:\n%s", want, text)
		}
	}
}

// TestScriptFails tests the error about a script that fails.
func TestScriptFails(t *testing.T) {
	t.Parallel()
	p := server("1.0.0")
	p.Scripts = map[string]string{"postinstall": "echo this is broken; exit 3"}
	u := newUser(t, registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), p}}).URL)
	i := u.installer()
	i.Scripts = true
	u.fails(i, "@scope/server", "the install script of @scope/server@1.0.0 failed", "without a network", "this is broken")
}

// TestScriptsLater pins a package without its scripts, and accepts them by an update. They then run
// when it is installed again, and in the next update.
func TestScriptsLater(t *testing.T) {
	t.Parallel()
	p := server("1.0.0")
	p.Scripts = map[string]string{"postinstall": "echo built >built.txt"}
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), p}})
	u := newUser(t, site.URL)
	i := u.installer()
	u.installs(i, "@scope/server")
	i.Scripts = true
	update, err := i.Update(t.Context(), line(t, "@scope/server"))
	testkit.Must(t, err)
	testkit.Contains(t, "the changes", strings.Join(update.Changes(), "\n"), "install scripts ran: no → yes")
	if has(t, filepath.Join(i.Store.Dir, "npm"), "built\n") != "" {
		t.Error("the tree was replaced before the update was accepted")
	}
	testkit.Must(t, i.Accept(t.Context(), update))
	if has(t, filepath.Join(i.Store.Dir, "npm"), "built\n") == "" {
		t.Error("the script did not run")
	}
	u.runs(i, "@scope/server", "1.0.0")
	makeWritable(i.Store.Dir)
	testkit.Must(t, os.RemoveAll(filepath.Join(i.Store.Dir, "npm")))
	i.Scripts = false
	u.installs(i, "@scope/server") // this script makes the same each time
	if has(t, filepath.Join(i.Store.Dir, "npm"), "built\n") == "" {
		t.Error("the script did not run again")
	}
	p = server("2.0.0")
	p.Scripts = map[string]string{"postinstall": "echo built later >built.txt"}
	site.Publish(p)
	if update, err = i.Update(t.Context(), line(t, "@scope/server")); err != nil {
		t.Fatal(err)
	}
	defer update.Close()
	if update.New.Version != "2.0.0" || !update.New.ScriptsRan {
		t.Errorf("the update to %s skips the scripts", update.New.Version)
	}
}

// TestScriptsAdded installs a package without its scripts and then with them: the pinned packages
// stay, and the scripts have run.
func TestScriptsAdded(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{})
	u := newUser(t, site.URL)
	p := registry.MCPServer{Name: "server"}.Package()
	p.Scripts = map[string]string{"install": ": prebuild-install; echo made >made.txt"}
	site.Publish(p)
	i, said := u.installer(), ""
	i.Note = func(line string) { said += line }
	before := u.installs(i, "server")
	if u.installs(i, "server").Fetched || !slices.Equal(before.Skipped, []string{"server@1.0.0"}) {
		t.Fatalf("the control: skipped %q", before.Skipped)
	}
	testkit.Equal(t, "without scripts", said, "")
	i.Scripts = true
	after := u.installs(i, "server")
	made := has(t, filepath.Join(u.dir, "data"), "made\n")
	if !after.Fetched || after.Skipped != nil || after.Entry.Tree != before.Entry.Tree || made == "" {
		t.Errorf("fetched %v, skipped %q, made %q", after.Fetched, after.Skipped, made)
	}
	testkit.Equal(t, "what is said", said, "the install script of server@1.0.0 may need a compiled module from github.com, and has no network")
	if u.installs(i, "server").Fetched {
		t.Error("the scripts run each time")
	}
	u.runs(i, "server", "1.0.0")
}

// TestScriptLink installs a package whose script puts a link to files of the user in place of npm's folder: they stay.
// It also tests that an update runs no script before it is accepted. Control: a script without a link.
func TestScriptLink(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{})
	u := newUser(t, site.URL)
	mine := filepath.Join(u.dir, "mine")
	files := []string{"package.json", "package-lock.json", "node_modules/.package-lock.json"}
	for _, name := range files {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(mine, name)), 0o700))
		testkit.WriteFile(t, filepath.Join(mine, name), "mine")
	}
	publish := func(version, script string) {
		p := registry.MCPServer{Name: "server", Version: version}.Package()
		p.Scripts = map[string]string{"postinstall": script}
		site.Publish(p)
	}
	link := "mv ~/work ~/other && ln -s '" + mine + "' ~/work"
	publish("1.0.0", "echo tame >made.txt")
	i := u.installer()
	i.Scripts = true
	u.installs(i, "server")
	publish("2.0.0", link)
	i.Scripts = false // they ran before, so they run again
	update, err := i.Update(t.Context(), line(t, "server"))
	testkit.Must(t, err)
	testkit.Equal(t, "the new version", update.New.Version, "2.0.0")
	if has(t, filepath.Join(i.Store.Dir, "staging"), "tame\n") != "" || strings.Contains(u.told.String(), "ln -s") {
		t.Error("a script ran before the update was accepted")
	}
	testkit.Fails(t, "the update", i.Accept(t.Context(), update), "not as npm made it")
	testkit.Must(t, update.Close())
	for _, name := range files {
		testkit.Equal(t, name, testkit.ReadFile(t, filepath.Join(mine, name)), "mine")
	}
	u.runs(i, "server", "1.0.0")
}
