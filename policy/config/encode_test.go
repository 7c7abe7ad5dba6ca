package config

import (
	"reflect"
	"testing"
)

// forget removes Files, Defaults, and the places of tables, rules and settings, which an encoding
// does not keep.
func forget(c *Config) *Config {
	c.Files, c.Defaults = nil, nil
	strip := func(a *Access) {
		if a == nil {
			return
		}
		a.Where, a.workspaceAt, a.sensitiveAt = "", "", nil
		for i := range a.Fs {
			a.Fs[i].Where = ""
		}
		for i := range a.Net {
			a.Net[i].Where = ""
			for k := range a.Net[i].Secrets {
				a.Net[i].Secrets[k].Where = ""
			}
		}
		for i := range a.Inbound {
			a.Inbound[i].Where = ""
		}
		for i := range a.Env {
			a.Env[i].Where = ""
		}
		for k := range a.Commands {
			for i := range a.Commands[k] {
				a.Commands[k][i].Where = ""
			}
		}
	}
	for _, s := range c.Servers {
		s.Where, s.PresetWhere = "", ""
		for key, set := range s.Settings {
			set.Where = ""
			s.Settings[key] = set
		}
		for i := range s.Variables {
			s.Variables[i].Where = ""
		}
		strip(s.Access)
		for _, t := range s.Tools {
			t.Where = ""
			strip(t.Access)
		}
	}
	return c
}

// checkRoundTrip checks that a decoded configuration is the same after it is encoded and decoded
// again (docs/policy.md "Properties").
func checkRoundTrip(t *testing.T, data []byte) {
	first, ps := decodeLayer(data, "f")
	if len(ps) > 0 {
		return
	}
	text := first.Encode()
	second, ps := decodeLayer(text, "f")
	if len(ps) > 0 {
		t.Fatalf("the encoding is not accepted: %v\n%s", ps, text)
	}
	if !reflect.DeepEqual(forget(first), forget(second)) {
		t.Fatalf("not the same after encoding:\n%s", text)
	}
	if again := second.Encode(); string(again) != string(text) {
		t.Fatalf("the encoding is not stable:\n%s\n%s", text, again)
	}
}

func TestRoundTrip(t *testing.T) {
	checkRoundTrip(t, []byte(everyKey))
	for _, toml := range []string{
		"", "\n[servers.x]\n\n# a remark\nundo = \"session\"\n", "[defaults]\nundo = \"session\"\n[servers.x]\n", "[servers]", "[servers.x]\n", "[servers.x]\narguments = []\nwaive = []\nvariables = []\n[servers.x.access]\nfs = []\nnet = []\nsensitive_paths = []\n[servers.x.access.commands]\n[servers.x.tools]\n",
		"[servers.x]\narguments = { strategy = \"append\", value = [\"\\u0001\\n\\\"\"] }\n[servers.x.tools.\"a b.c\"]\n",
		"[servers.x.access]\nenv = { strategy = \"replace\", value = [] }\n[[servers.x.access.net]]\nhost = \"BÜCHER.example.\"\nport = 8080\n",
		"[servers.x.access]\ninbound = { strategy = \"dedup\", value = [{ port = 1 }] }\nnet = [{ host = \"a\", allow = true, path_prefix = \"/x\", secret = [{ env = \"A\", file = \"~/a b\" }, { env = \"B\", command = [\"op\", \"re ad\"] }] }]\n",
		"[servers.x.access.commands.git]\nargs = [\"log\", \"**\"]\n[servers.x.access.commands.\"/opt/a b\"]\n[[servers.x.access.commands.ls]]\nargs = [[]]\nenvs = []\n[[servers.x.access.commands.ls]]\n",
	} {
		checkRoundTrip(t, []byte(toml))
	}
}
