//go:build unix

package runtime

import (
	"strings"
	"testing"
)

func TestVersionIn(t *testing.T) {
	for answer, want := range map[string]string{
		"v20.20.2\n": "20.20.2", "Python 3.11.2": "3.11.2", "Python 3.14.0rc1\n": "3.14.0rc1", "Python 3.10.13 (x)\n[PyPy 7.3]": "3.10.13", "Python 3.13.0+": "3.13.0",
		"": "", "hello": "", "v1.2": "", "1..2": "", "v1.2.3\x1b[0m": "",
		"v24.0.0-nightly20250301a1b2c3d4e5": "24.0.0-nightly20250301a1b2c3d4e5", "v23.1.0-rc.1": "23.1.0-rc.1", "Python 3.14.0a1+dev": "3.14.0a1+dev",
		"v20.1.0;$(id)": "", "v20.1.0`id`": "", "v20.1.0/../x": "", "v20.1.0 ;": "20.1.0", "v20.1.0-": "", "v20.1.0\"": "", "v99999999999999999999.9.9": "", "v1.2.3" + strings.Repeat("-a", 100): "",
	} {
		if got := VersionIn(answer); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}

// TestHeaderVersion: header files tell the version of a release in the layout of its installation,
// and of nothing else.
func TestHeaderVersion(t *testing.T) {
	const release = "#define NODE_MAJOR_VERSION 20\n#define NODE_MINOR_VERSION 1\n#define NODE_PATCH_VERSION 3\n\n#define NODE_VERSION_IS_RELEASE "
	m := newMachine(t, nil,
		"x a/bin/node", "x a/bin/node22", "x a/node", "f a/include/node/node_version.h: "+release+"1\n", "f include/node/node_version.h: "+release+"1\n",
		"x nightly/bin/node", "f nightly/include/node/node_version.h: "+release+"0\n",
		"x half/bin/node", "f half/include/node/node_version.h: #define NODE_MAJOR_VERSION 20\n#define NODE_VERSION_IS_RELEASE 1\n",
		"x p/bin/python3.11", "x p/bin/python3.12", "x p/bin/python3", "f p/include/python3.11/patchlevel.h: #define PY_VERSION      \"3.11.2+\"\n", "f p/include/python3/patchlevel.h: #define PY_VERSION \"3.9.9\"\n",
		"x evil/bin/python3.11", "f evil/include/python3.11/patchlevel.h: #define PY_VERSION \"hello\"\n",
		"x none/bin/node", "l none/include -> @/nowhere", "x dir/bin/node", "f dir/include/node/node_version.h/x: ",
	)
	for file, want := range map[string]string{
		"a/bin/node": "20.1.3", "a/bin/node22": "", "a/node": "", "nightly/bin/node": "", "half/bin/node": "",
		"p/bin/python3.11": "3.11.2", "p/bin/python3.12": "", "p/bin/python3": "", "evil/bin/python3.11": "", "none/bin/node": "", "dir/bin/node": "",
	} {
		if got := HeaderVersion(&m.host, m.at(file)); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
