package config

import "testing"

// checkRoundTrip checks that a decoded configuration is the same after it is encoded and decoded
// again.
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
	if Digest(first.Servers) != Digest(second.Servers) || first.Version != second.Version {
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
