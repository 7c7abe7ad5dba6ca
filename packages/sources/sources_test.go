package sources_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// user makes a host with a home directory. files are by their names below it; in them and in the
// variables, HOME stands for it.
func user(t *testing.T, files map[string]string, environ ...string) *hostfs.Host {
	t.Helper()
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Home = testkit.ShortDir(t)
	host.Environ = nil
	read := host.ReadHead
	host.ReadHead = func(file string, n int) ([]byte, error) {
		if strings.HasPrefix(file, "/etc/") { // what this machine has
			return nil, fs.ErrNotExist
		}
		return read(file, n)
	}
	for _, v := range environ {
		host.Environ = append(host.Environ, strings.ReplaceAll(v, "HOME/", host.Home+"/"))
	}
	for name, text := range files {
		name = filepath.Join(host.Home, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.WriteFile(t, name, strings.ReplaceAll(text, "HOME/", host.Home+"/"))
	}
	return &host
}

// printed is what sources are and write: Chosen, Proxy, NotUsed, and the variables and the input of
// Written, a line each. A registry that is the default is left out, and so is what says where the input is.
func printed(t *testing.T, s *sources.Sources, home string) string {
	t.Helper()
	variables, input := s.Written(home)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !slices.Contains([]string{"NETRC", "PIP_CONFIG_FILE", "UV_NO_CONFIG", "npm_config_userconfig", "npm_config_globalconfig"}, name) {
			lines = append(lines, name+"="+variables[name])
		}
	}
	lines = append(lines, strings.Split(strings.TrimSpace(input), "\n")...)
	for _, name := range slices.Sorted(maps.Keys(s.Proxy)) {
		lines = append(lines, "proxy "+name+"="+s.Proxy[name])
	}
	for _, name := range s.NotUsed {
		lines = append(lines, "not used: "+name)
	}
	for _, option := range s.Chosen() {
		lines = append(lines, "chosen: "+option)
	}
	for _, file := range s.Certificates {
		lines = append(lines, "reads "+file)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return line == "" || strings.Contains(line, "registry.npm") || strings.Contains(line, "//pypi.") && !strings.HasPrefix(line, "chosen")
	})
	return strings.ReplaceAll(strings.Join(lines, "\n"), home+"/", "HOME/")
}

func show(tool sources.Tool, reader sources.Reader, t *testing.T) string {
	s, err := reader.Read(tool)
	if err != nil {
		return "error: " + err.Error()
	}
	return printed(t, s, reader.Host.Home)
}

// shape is a configuration, and what comes of it for a line of the user's own.
type shape struct {
	name    string
	files   map[string]string
	environ string // names and values, a line each
	want    string
}

func (s shape) host(t *testing.T) *hostfs.Host {
	return user(t, s.files, strings.FieldsFunc(s.environ, func(r rune) bool { return r == '\n' })...)
}

func rc(lines ...string) map[string]string {
	return map[string]string{".npmrc": strings.Join(lines, "\n")}
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func conf(text string) map[string]string { return map[string]string{".config/pip/pip.conf": text} }

func uvToml(text string) map[string]string { return map[string]string{".config/uv/uv.toml": text} }

// TestRead tests what is written for a line of the user's own, and what is said not to be used.
func TestRead(t *testing.T) {
	for _, row := range testkit.Rows(t, "shapes.txt", 12) {
		tool, s := sources.Tool(row[0]), shape{row[1], map[string]string{}, row[2], row[3]}
		for i := 4; i < len(row) && row[i] != ""; i += 2 {
			s.files[row[i]] = row[i+1]
		}
		t.Run(row[0]+" "+s.name, func(t *testing.T) {
			testkit.Equal(t, "", show(tool, sources.Reader{Host: s.host(t), Logins: true}, t), s.want)
		})
	}
}

// TestReadNotOwn tests what is left for a line that is not the user's own: registries, and no secret.
func TestReadNotOwn(t *testing.T) {
	for _, c := range testkit.Table[struct {
		tool sources.Tool
		shape
	}](t, "read-not-own.txt") {
		s, err := sources.Reader{Host: c.host(t)}.Read(c.tool)
		if err == nil && len(s.Secrets()) > 0 {
			t.Errorf("%s %s: %v", c.tool, c.name, s.Secrets())
		}
		testkit.Equal(t, fmt.Sprintf("%s %s", c.tool, c.name), show(c.tool, sources.Reader{Host: c.host(t)}, t), c.want)
	}
}

// TestReadFiles tests that each file that counts is asked for, and which files are as good as none.
func TestReadFiles(t *testing.T) {
	host := user(t, merged(rc("cafile=~/ca.pem", "prefix=~/p", "//registry.test/:certfile=HOME/no.pem", "//registry.test/:keyfile=HOME/no.pem"), map[string]string{"ca.pem": "x", "no.pem": "x", "p/etc/npmrc": "registry=https://a.test/"}))
	testkit.Must(t, os.Rename(filepath.Join(host.Home, ".npmrc"), filepath.Join(host.Home, "rc")))
	testkit.Must(t, os.Symlink("rc", filepath.Join(host.Home, ".npmrc")))
	var asked []string
	reader := sources.Reader{Host: host, Believe: func(file string) error { asked = append(asked, strings.TrimPrefix(file, host.Home)); return nil }}
	s := testkit.Get(reader.Read(sources.NPM))(t)
	if want := []string{"/.npmrc", "/p/etc/npmrc", "/ca.pem"}; !slices.Equal(asked, want) || s.Index != "https://a.test/" {
		t.Errorf("asked for %q, want %q; %+v", asked, want, s)
	}
	for _, refused := range asked {
		reader.Believe = func(file string) error {
			if strings.HasSuffix(file, refused) {
				return os.ErrPermission
			}
			return nil
		}
		if s, err := reader.Read(sources.NPM); !errors.Is(err, os.ErrPermission) || s != nil {
			t.Errorf("%s: %v, %v", refused, s, err)
		}
	}
	reader.Believe = nil
	file := filepath.Join(host.Home, ".npmrc")
	testkit.Must(t, os.Remove(file))
	testkit.Must(t, os.Mkdir(file, 0o755))
	testkit.Equal(t, "a directory", show(sources.NPM, reader, t), "")
	testkit.Must(t, os.Remove(file))
	testkit.WriteFile(t, file, "registry=https://a.test/\n"+strings.Repeat("#", 1<<20))
	testkit.Equal(t, "too large", show(sources.NPM, reader, t), "error: ~/.npmrc has more than 1048576 bytes: mcp-jail does not read it, and npm would")
}

// TestAs tests that uv's sources are written for pip, and what pip has no word for is named.
func TestAs(t *testing.T) {
	host := user(t, uvToml("index-url='https://me:pw@a.test/s'\nallow-insecure-host=['a.test']\nnative-tls=true"))
	s := testkit.Get(sources.Reader{Host: host, Logins: true}.Read(sources.Uv))(t)
	want := "PIP_INDEX_URL=https://a.test/s\nPIP_TRUSTED_HOST=a.test\nmachine a.test login me password pw\nnot used: native-tls of uv"
	if got := printed(t, s.As(sources.Pip), host.Home); got != want || !s.Configured {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRegistries tests which hosts may be reached: that of Python's files only beside its own index.
func TestRegistries(t *testing.T) {
	for want, c := range map[string]struct {
		tool  sources.Tool
		files map[string]string
	}{
		"https://pypi.org/simple https://files.pythonhosted.org/": {sources.Uv, nil},
		"https://a.test/1 https://a.test:444/3":                   {sources.Pip, conf("[global]\nindex-url=https://a.test/1\nextra-index-url=https://a.test/2 https://a.test:444/3")},
		"https://a.test/ https://b.test/ https://c.test/":         {sources.NPM, rc("registry=https://a.test/", "@b:registry=https://b.test/", "@c:registry=https://c.test/", "@d:registry=https://b.test/x/")},
	} {
		s := testkit.Get(sources.Reader{Host: user(t, c.files)}.Read(c.tool))(t)
		testkit.Equal(t, "", strings.Trim(fmt.Sprint(s.Registries()), "[]"), want)
	}
}
