package python

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

func TestPipConfig(t *testing.T) {
	got, err := PipConfig([]string{`# the system's
[global]
index-url = https://system.example/simple
cert: /etc/ssl/ca.crt
[list]
index-url = https://list.example/simple
`, `[global]
INDEX_URL = https://global.example/simple
; a comment
extra-index-url =
    https://a.example/simple

    # another comment
    https://b.example/simple
trusted-host = a.example
find-links=
[install]
  index-url = https://user:it's@index.example/simple#x ; y
[download]
index-url = https://other.example/simple
`}, []string{"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_FIND_LINKS=/opt/wheels https://files.example/x", "PIP_CERT=", "pip_index_url=https://no.example", "PIP_PRE=1"})
	want := Config{
		Index: "https://user:it's@index.example/simple#x ; y", Extra: []string{"https://a.example/simple", "https://b.example/simple"}, FindLinks: []string{"/opt/wheels", "https://files.example/x"},
		Cert: "/etc/ssl/ca.crt", Trusted: []string{"a.example"}, Pre: true,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"index-url = https://x", "[global]\nindex-url", "[global]\n= x"} {
		if _, err := PipConfig([]string{text}, nil); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestUvConfig(t *testing.T) {
	const user = `
index-url = "https://old.example/simple"
[[index]]
name = "inner"
url = "https://inner.example/simple"
[[index]]
name = "torch"
url = "https://torch.example/simple"
explicit = true
[[index]]
url = "https://default.example/simple"
default = true
[pip]
extra-index-url = ["https://extra.example/simple"]
`
	for _, c := range []struct {
		name       string
		files      []string
		variables  map[string]string
		index      string
		extra      []string
		configured bool
	}{
		{"nothing", nil, nil, "", nil, false},
		{"a file without indexes", []string{"native-tls = true\n"}, nil, "", nil, false},
		{"the user's file before the system's", []string{user, `index-url = "https://system.example/simple"`}, nil, "https://default.example/simple", []string{"https://inner.example/simple", "https://extra.example/simple"}, true},
		{"a variable before files", []string{user}, map[string]string{"UV_INDEX_URL": "https://u.example/simple"}, "https://u.example/simple", []string{"https://inner.example/simple", "https://extra.example/simple"}, true},
		{"the newer variable", nil, map[string]string{"UV_INDEX_URL": "https://u.example/simple", "UV_DEFAULT_INDEX": "https://d.example/simple"}, "https://d.example/simple", nil, true},
		{"credentials", []string{user}, map[string]string{"UV_INDEX_INNER_USERNAME": "me", "UV_INDEX_INNER_PASSWORD": "s3"}, "https://default.example/simple", []string{"https://me:s3@inner.example/simple", "https://extra.example/simple"}, true},
		{"further indexes", nil, map[string]string{"UV_INDEX": "x=https://x.example/simple https://y.example/simple"}, "", []string{"https://x.example/simple", "https://y.example/simple"}, true},
	} {
		var files [][]byte
		for _, f := range c.files {
			files = append(files, []byte(f))
		}
		got, configured, err := UvConfig(files, func(name string) string { return c.variables[name] })
		if err != nil || got.Index != c.index || !slices.Equal(got.Extra, c.extra) || configured != c.configured {
			t.Errorf("%s: %+v, %v, %v", c.name, got, configured, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	c := Config{Index: DefaultIndex, Extra: []string{"https://me:s3@inner.example:8443/simple"}, FindLinks: []string{"/opt/wheels", "https://links.example/x"}}
	got, err := c.Addresses()
	var hosts []string
	for _, u := range got {
		hosts = append(hosts, u.Host)
	}
	if err != nil || !slices.Equal(hosts, []string{"inner.example:8443", "pypi.org", "files.pythonhosted.org", "links.example"}) {
		t.Errorf("%q, %v", hosts, err)
	}
	c.NoIndex = true
	if got, err := c.Addresses(); err != nil || len(got) != 1 || got[0].Host != "links.example" {
		t.Errorf("without an index: %v, %v", got, err)
	}
	if _, err := (Config{Index: "secret:word@/simple"}).Addresses(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("not an address: %v", err)
	}
}

func parse(t *testing.T, words string) *runline.Line {
	t.Helper()
	line, err := runline.Parse(strings.Fields(words))
	testkit.Must(t, err)
	return &line
}

// TestCommands: the command lines of uv and pip, which take wheels only.
func TestCommands(t *testing.T) {
	config := Config{Index: "https://line.example/simple", Extra: []string{"https://inner.example/simple"}, Pre: true}
	r := NewRequest(parse(t, "uvx --from server[x]>=1 --with other server --arg"), &config)
	for _, c := range []struct {
		name string
		got  []string
		want string
	}{
		{"pip download", r.PipDownload("W", []string{"B"}), "-I -c " + download + " download --dest W --only-binary :all: --pre --find-links B -- server[x]>=1 other"},
		{"pip download, pinned", PipDownloadPinned("W", "F", nil), "-I -c " + download + " download --dest W --only-binary :all: --no-deps --requirement F --require-hashes"},
		{"pip install", PipInstall("S", []string{"a.whl"}), "-I -m pip install --no-index --no-deps --no-compile --no-warn-script-location --target S -- a.whl"},
		{"uv pip compile", r.UvCompile("P", "IN", "OUT"), "pip compile --python P --only-binary :all: --generate-hashes --no-header --no-annotate --output-file OUT --prerelease allow IN"},
		{"uv pip install", UvInstall("P", "S", "OUT"), "pip install --python P --target S --only-binary :all: --require-hashes --no-deps --link-mode copy --no-compile-bytecode --requirement OUT"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	uv := config.UvVariables("/h")
	if uv["UV_DEFAULT_INDEX"] != "https://line.example/simple" || uv["UV_INDEX"] != "https://inner.example/simple" || uv["UV_NO_CONFIG"] != "1" || uv["UV_PYTHON_DOWNLOADS"] != "never" {
		t.Errorf("variables of uv: %v", uv)
	}
	pip := config.PipVariables("/h")
	if _, set := pip["PIP_CERT"]; set || pip["PIP_INDEX_URL"] != "https://line.example/simple" || pip["PIP_EXTRA_INDEX_URL"] != "https://inner.example/simple" || pip["PIP_CONFIG_FILE"] != "/dev/null" {
		t.Errorf("variables of pip: %v", pip)
	}
}
