package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

// TestConfigAsPip compares what is read of pip's configuration with what pip reads.
func TestConfigAsPip(t *testing.T) {
	host := hostWith(t)
	found, err := installed.Interpreters(t.Context(), host, nil, nil, runtime.Python)
	testkit.Must(t, err)
	at := slices.IndexFunc(found.Interpreters, func(i runtime.Interpreter) bool {
		return exec.Command(i.Path, "-I", "-m", "pip", "--version").Run() == nil
	})
	if at < 0 {
		testkit.Skip(t, "pip", "no Python has it")
	}
	kit := testkit.ShortDir(t)
	testkit.WriteFile(t, filepath.Join(kit, "own.conf"), "[install]\nindex-url = https://own.test/\n")
	const user = "[global]\n# a remark\nindex-url: https://user.test/simple#x ; y\nextra_index_url =\n  https://a.test/\n\n  # another\n  https://b.test/\ntrusted-host =\nproxy = http://global.test:1\n[download]\ncert = /no\n[install]\nPRE=1\nproxy = http://install.test:1\n"
	cases := map[string][]string{
		"files":       nil,
		"variables":   {"PIP_INDEX_URL=https://env.test/", "PIP_EXTRA_INDEX_URL=", "PIP_NO_INDEX=true"},
		"own file":    {"PIP_CONFIG_FILE=" + kit + "/own.conf"},
		"no file":     {"PIP_CONFIG_FILE=/dev/null", "PIP_CERT=/c.pem"},
		"other HOME":  {"XDG_CONFIG_HOME=" + kit},
		"gone file":   {"PIP_CONFIG_FILE=" + kit + "/none"},
		"other roots": {"XDG_CONFIG_DIRS=" + kit + "/a:" + kit + "/b"},
	}
	environs, ours := map[string]map[string]string{}, map[string][]string{}
	for name, env := range cases {
		host := hostWith(t, env...)
		for file, text := range map[string]string{
			filepath.Join(host.Home, ".pip/pip.conf"): "[global]\nindex-url=https://legacy.test/\nproxy=http://legacy.test:1\n", filepath.Join(host.Home, ".config/pip/pip.conf"): user,
			filepath.Join(kit, "pip/pip.conf"): "[global]\nindex-url=https://kit.test/\n", filepath.Join(kit, "a/pip/pip.conf"): "[global]\nfind-links=/a\ncert=/a.pem\n", filepath.Join(kit, "b/pip/pip.conf"): "[global]\nfind-links=/b\n",
		} {
			testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			testkit.WriteFile(t, file, text)
		}
		p := &pythonFetch{Installer: &Installer{Host: *host}, line: &runline.Line{Launcher: runline.Uvx}, python: found.Interpreters[at]}
		got, err := p.readConfig()
		testkit.Must(t, err)
		ours[name] = []string{cmp.Or(got.Index, "https://pypi.org/simple"), strings.Join(got.Extra, " "), strings.Join(got.FindLinks, " "), got.Cert, strconv.FormatBool(got.NoIndex), strconv.FormatBool(got.Pre), strings.Join(got.Trusted, " "), got.Proxy}
		environs[name] = map[string]string{}
		for _, v := range host.Environ {
			variable, value, _ := strings.Cut(v, "=")
			environs[name][variable] = value
		}
	}
	// pip itself pools sections and variables when it makes the parser of a command.
	const ask = `
import json, os, sys
from pip._internal.commands import create_command
told = {}
for name, env in json.load(sys.stdin).items():
    os.environ.clear()
    os.environ.update(env)
    o, _ = create_command("install").parse_args(["x"])
    told[name] = [o.index_url, " ".join(o.extra_index_urls), " ".join(o.find_links), o.cert or "", "true" if o.no_index else "false", "true" if o.pre else "false", " ".join(o.trusted_hosts), o.proxy or ""]
print(json.dumps(told))`
	given, err := json.Marshal(environs)
	testkit.Must(t, err)
	cmd := exec.Command(found.Interpreters[at].Path, "-I", "-c", ask)
	cmd.Dir, cmd.Stdin = "/", bytes.NewReader(given)
	out, err := cmd.Output()
	testkit.Must(t, err)
	var pips map[string][]string
	testkit.Must(t, json.Unmarshal(out, &pips))
	for name := range cases {
		if !slices.Equal(ours[name], pips[name]) {
			t.Errorf("%s: read\n%q\nand pip has\n%q", name, ours[name], pips[name])
		}
	}
}
