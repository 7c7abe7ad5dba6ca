package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestImport compares the starter of each file in testdata with the one beside it.
func TestImport(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".toml") {
			continue
		}
		tested++
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Import(data, "")
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Decode([]byte(s.Text), "starter")
			if err != nil {
				t.Fatalf("%v\n%s", err, s.Text)
			}
			if _, err := c.Policy(s.Name, ""); err != nil {
				t.Error(err)
			}
			testkit.Golden(t, filepath.Base(file)+".toml", s.Text)
		})
	}
	if tested < 8 {
		t.Errorf("%d files", tested)
	}
}

func TestImportRefuses(t *testing.T) {
	for _, c := range []struct{ text, pick, want string }{
		{"", "", "empty"},
		{"{", "", "no JSON"},
		{"a: [", "", "no YAML"},
		{"- a", "", "no YAML"},
		{"{}", "", "empty"},
		{`{"mcpServers":{}}`, "", "mcp-jail wrap"},
		{`{"a":1,"b":2}`, "", "it has a, b"},
		{`{"packages":[]}`, "", "neither a package nor a remote"},
		{`{"packages":[{"registryType":"npm"}]}`, "", "no identifier"},
		{`{"remotes":[{"url":"http://x"}]}`, "", "neither a package nor a remote"},
		{"registry:\n  a: {image: x}\n  b: {image: y}\n", "", "name one of them: a, b"},
		{"registry:\n  a: {image: x}\n", "c", "name one of them: a"},
		{"registry:\n  a: {}\n", "", "no image"},
		{"connections: []\n", "", "neither a startCommand nor connections"},
		{strings.Repeat(" ", maxFile+1), "", "1 MiB"},
		{`{"packages":[{"registryType":"npm","identifier":"a\u0000"}]}`, "", "cannot be seen"},
		{`{"packages":[{"registryType":"npm","identifier":"a\u202eb"}]}`, "", "cannot be seen"},
		{`{"packages":[{"registryType":"npm","identifier":"a\u3164b"}]}`, "", "cannot be seen"},
		{`{"packages":[{"registryType":"npm","identifier":"a\nb"}]}`, "", "cannot be seen"},
		{`{"packages":[{"registryType":"npm","identifier":"x","environmentVariables":[` + strings.Repeat(`{"name":"A"},`, 300) + `{"name":"B"}]}]}`, "", "200"},
	} {
		_, err := Import([]byte(c.text), c.pick)
		if _, ok := err.(*FormatError); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestHostileTexts tests that a publisher's text stays in its comment or string.
func TestHostileTexts(t *testing.T) {
	nasty := `x\n[servers.evil]\ncommand = \"sh\"\n\u2028\u202e'''# ${HOME}`
	text := `{"name":"a/` + nasty + `","description":"` + nasty + `","status":"` + nasty + `","packages":[{"registryType":"npm","identifier":"x","fileSha256":"` + nasty + `","packageArguments":[{"type":"positional","valueHint":"` + nasty + `","description":"` + nasty + `"}],
		"environmentVariables":[{"name":"` + nasty + `","description":"` + nasty + `","isRequired":true},{"name":"OK","default":"` + nasty + `","isRequired":true}]}]}`
	s, err := Import([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode([]byte(s.Text), "starter")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 1 || c.Servers["evil"] != nil || c.Servers[s.Name].Command != "npx" || len(c.Servers[s.Name].Variables) != 1 {
		t.Errorf("%s", s.Text)
	}
	if strings.ContainsAny(s.Text, "\u202e\u2028") {
		t.Errorf("a character that turns text around: %q", s.Text)
	}
}

func TestPick(t *testing.T) {
	s, err := Import([]byte("registry:\n  a: {image: x}\n  b: {image: y}\n"), "b")
	if err != nil || s.Name != "b" || !strings.Contains(s.Text, `"y"`) {
		t.Errorf("%v\n%s", err, s.Text)
	}
}

func FuzzImport(f *testing.F) {
	files, _ := filepath.Glob("testdata/*")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".toml") {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Import(data, "")
		if err != nil {
			if _, ok := err.(*FormatError); !ok || strings.ContainsAny(err.Error(), "\x00\x1b") {
				t.Fatalf("%T %q", err, err)
			}
			return
		}
		c, err := config.Decode([]byte(s.Text), "starter")
		if err != nil || len(c.Servers) != 1 || c.Servers[s.Name] == nil {
			t.Fatalf("%v\n%s", err, s.Text)
		}
	})
}

// TestDockerOnce reads an entry whose secret and variable are in one table: each is written once.
func TestDockerOnce(t *testing.T) {
	for _, text := range []string{
		"version: 2\nregistry:\n  pay:\n    image: pay\n    secrets:\n      - {name: pay.key, env: PAY_KEY}\n    env:\n      - {name: MODE, value: fast}\n",
		"name: pay\nimage: pay\nconfig:\n  secrets:\n    - {name: pay.key, env: PAY_KEY}\n  env:\n    - {name: MODE, value: fast}\n",
	} {
		s, err := Import([]byte(text), "")
		if err != nil || strings.Count(s.Text, `"-e",`) != 1 {
			t.Errorf("%v\n%s", err, s.Text)
		}
	}
}

// TestRuntimeWord reads entries whose runtimeArguments have a word that the launcher takes for the
// package, and entries that have flags only.
func TestRuntimeWord(t *testing.T) {
	for runtime, want := range map[string]bool{
		`{"type":"positional","value":"launch-mcp"}`:                              true,
		`{"type":"named","name":"-y"},{"type":"positional","value":"launch-mcp"}`: true,
		`{"type":"named","name":"--registry","value":"x"}`:                        false,
		`{"type":"named","name":"-y"}`:                                            false,
	} {
		s, err := Import([]byte(`{"name":"io.example/pop","description":"d","packages":[{"registryType":"npm","identifier":"pop-thing","version":"1.0.0","runtimeArguments":[`+runtime+`],
			"environmentVariables":[{"name":"NEEDED","required":true},{"name":"OTHER"}]}]}`), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(s.Text, "The line starts the package launch-mcp, and not pop-thing"); got != want {
			t.Errorf("%s: a warning %t, want %t\n%s", runtime, got, want, s.Text)
		}
		if !strings.Contains(s.Text, `"OTHER", # optional`) || strings.Contains(s.Text, `# "NEEDED"`) {
			t.Errorf("a needed variable is not told from another:\n%s", s.Text)
		}
	}
}
