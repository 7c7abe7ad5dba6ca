package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// TestPresets holds what each preset gives: alone, and with arguments and variables that name places and
// hosts.
func TestPresets(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/a/b
		f /home/u/proj/.env
		d /home/u/notes/sub
		f /home/u/db/x.sqlite
		f /home/u/db/0
		f /home/u/db/1
		f /home/u/db/2
		f /home/u/db/3
		d /home/u/.gmail-mcp
		f /home/u/.kube/config
		f /home/u/.aws/credentials
		f /home/u/.npmrc
		d /home/u/.config/gcloud
		d /home/u/.azure
		d /home/u/.mcp-auth
		d /home/u/.cache/ms-playwright
		d /home/u/.cache/puppeteer
		d /home/u/.config/google-chrome`)
	probes := append(h.paths(), "/home/u/proj/new", "/home/u/notes/new", "/home/u/db/new", "/srv/x")
	var b strings.Builder
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		testkit.Must(t, err)
		entries := map[string]presets.Entry{"alone": {}, "with places": {Args: []string{"/home/u/notes", "--repository", "/home/u/notes", "--db-path", "/home/u/db/x.sqlite"}, Env: map[string]string{}}}
		for i, v := range p.Variables {
			if v.Kind == presets.File || v.Kind == presets.Directory {
				entries["with places"].Env[v.Name] = fmt.Sprintf("/home/u/db/%d", i)
			}
		}
		for _, a := range p.Arguments {
			if a.Flag != "" && (a.Kind == presets.URL || a.Kind == presets.Host) {
				entries["with a host"] = presets.Entry{Args: []string{a.Flag, "https://h.example"}}
			}
		}
		for _, which := range []string{"alone", "with places", "with a host"} {
			e, ok := entries[which]
			if !ok {
				continue
			}
			c := &config.Config{Servers: map[string]*config.Server{"s": {Name: "s", Command: "server", Preset: name}}}
			c.LayBelow("s", p.For(e).Server)
			of, err := c.Policy("s", "")
			if err != nil {
				t.Fatalf("%s %s: %v", name, which, err)
			}
			out, ws, err := Resolve(of, h.host())
			if err != nil {
				fmt.Fprintf(&b, "%s %s: %v\n", name, which, err)
				continue
			}
			ws = slices.DeleteFunc(ws, func(w policy.Warning) bool {
				return w.Code != "no-workspace" && w.Code != "useless-rule" && w.Code != "narrow-flag"
			})
			fmt.Fprintf(&b, "%s %s: default %t, %d hosts, in %s, warnings %v\n", name, which, out.Default, len(out.Net), out.Dir, ws)
			for _, at := range probes {
				if rights := out.RightsAt(at); rights != 0 && !policy.Within(at, "/usr") && !policy.Within(at, "/etc") {
					fmt.Fprintf(&b, "  %s %s\n", at, rights)
				}
			}
		}
	}
	testkit.Golden(t, "presets.golden", b.String())
}
