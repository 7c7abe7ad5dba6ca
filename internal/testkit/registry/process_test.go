package registry

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestProcess(t *testing.T) {
	stock := Stock{Packages: []Package{MCPServer{Version: "1.0.0"}.Package()}}
	p := StartProcess(t, stock, func(c *exec.Cmd) { c.Env = append(c.Env, ListenVariable+"=127.0.0.1:0") })
	u := newNPM(t, p.URL)
	u.does("npm", "install", "mcp-fixture")
	stock.Packages = append(stock.Packages, MCPServer{Version: "1.1.0"}.Package())
	if err := p.Load(stock); err != nil {
		t.Fatal(err)
	}
	u.does("npm", "update", "mcp-fixture")
	if got := u.has("node_modules/mcp-fixture/package.json"); !strings.Contains(got, `"1.1.0"`) {
		t.Errorf("after the update: %s", got)
	}
	if err := os.WriteFile(p.stock(), []byte(`{"pakages": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, body := get(t, p.URL+"/mcp-fixture"); r.StatusCode != 500 || !strings.Contains(body, "pakages") {
		t.Errorf("with a broken stock: %s %s", r.Status, body)
	}
	testkit.Eventually(t, "the log has both tarballs", func() bool {
		log, err := p.Requests()
		if err != nil {
			t.Fatal(err)
		}
		got := paths(log)
		return slices.Contains(got, "GET /mcp-fixture/-/mcp-fixture-1.0.0.tgz") && slices.Contains(got, "GET /mcp-fixture/-/mcp-fixture-1.1.0.tgz")
	})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessComplains(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"without a stock": {nil, StockVariable},
		"not a stock":     {[]string{StockVariable + "=process_test.go"}, "is not a stock of packages"},
		"no such address": {[]string{StockVariable + "=" + t.TempDir(), ListenVariable + "=127.0.0.1:x"}, "unknown port"},
	} {
		cmd := testkit.Self(ProgramName)
		cmd.Env = append(os.Environ(), c.env...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

// TestStockDirectory: folders are packages, and JSON files are stocks.
func TestStockDirectory(t *testing.T) {
	dir := t.TempDir()
	testkit.PlantBelow(t, dir, "tool/cli.js", "tool/node_modules/x/index.js", "README", "no-package/x")
	manifest := `{"name": "tool", "version": "1.2.3", "bin": "cli.js", "scripts": {"postinstall": "true"}}`
	if err := os.WriteFile(filepath.Join(dir, "tool", "package.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	more := Stock{Packages: []Package{{Name: "other", Version: "1.0.0"}}, Token: "t", MaxAge: 7, Base: "http://b", Advisories: map[string][]Advisory{"other": {{ID: 1}}}}
	if err := more.WriteFile(filepath.Join(dir, "more.json")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Packages) != 2 || got.Token != "t" || got.MaxAge != 7 || got.Base != "http://b" || len(got.Advisories["other"]) != 1 {
		t.Fatalf("%+v", got)
	}
	tool := got.Packages[1]
	if names := entryNames(t, tool); !slices.Equal(names, []string{"package/cli.js", "package/package.json"}) || !tool.runsScripts() || tool.Files["package.json"] != manifest {
		t.Errorf("%q in %+v", names, tool)
	}
}

// TestStockJSON: a stock that was written is read as it was, and makes the same bytes.
func TestStockJSON(t *testing.T) {
	attack := Attack{Read: []string{"~/x"}}
	server := MCPServer{OnInstall: &attack}
	stock := Stock{
		Packages: []Package{server.Package(), {Name: "hostile", Version: "1.0.0", Entries: []Entry{{Name: "../x", Link: "/etc"}}, Filler: 9}},
		Wheels:   []Wheel{server.Wheel()}, Faults: []Fault{{Path: "*.tgz", Cut: true, After: 3}},
	}
	file := filepath.Join(t.TempDir(), "stock.json")
	if err := stock.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStock(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Faults, stock.Faults) || !reflect.DeepEqual(got.Wheels, stock.Wheels) {
		t.Errorf("%+v", got)
	}
	for i, p := range got.Packages {
		if a, b := measure(p.WriteTarball), measure(stock.Packages[i].WriteTarball); a != b {
			t.Errorf("%s: %+v and %+v", p.ID(), a, b)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".stock*")); left != nil {
		t.Errorf("files are left: %q", left)
	}
}

// TestContract: a stock that cannot be served panics where it is given.
func TestContract(t *testing.T) {
	for name, stock := range map[string]Stock{
		"no version":   {Packages: []Package{{Name: "x"}}},
		"a path":       {Packages: []Package{{Name: "x", Version: "1.0.0", Files: map[string]string{"../x": ""}}}},
		"two scripts":  {Packages: []Package{{Name: "x", Version: "1.0.0", Files: map[string]string{"package.json": "{}"}, Scripts: map[string]string{"install": "x"}}}},
		"wheel":        {Wheels: []Wheel{{Version: "1"}}},
		"wheel's path": {Wheels: []Wheel{{Name: "x", Version: "1", Files: map[string]string{"/x": ""}}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			New(stock)
		}()
	}
}

func FuzzReadStock(f *testing.F) {
	stock := Stock{Packages: []Package{{Name: "x", Version: "1.0.0", Bin: "x.js"}}, Wheels: []Wheel{{Name: "x", Version: "1"}}, Faults: []Fault{{Stall: true}}}
	text, err := json.Marshal(stock)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"packages": [{"name": "@s/x", "version": "1", "manifest": {"scripts": 1}}]}`))
	file := filepath.Join(f.TempDir(), "stock.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadStock(file)
		if err != nil {
			return
		}
		for _, p := range got.Packages {
			if p.check() == nil && p.Filler < 1<<20 {
				if err := p.WriteTarball(&bytes.Buffer{}); err != nil {
					t.Errorf("%+v: %v", p, err)
				}
			}
		}
	})
}
