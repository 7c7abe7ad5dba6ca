package installed

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestVersionIn(t *testing.T) {
	for answer, want := range map[string]string{
		"v20.20.2\n": "20.20.2", "Python 3.11.2": "3.11.2", "Python 3.14.0rc1\n": "3.14.0rc1", "Python 3.10.13 (x)\n[PyPy 7.3]": "3.10.13", "Python 3.13.0+": "3.13.0",
		"": "", "hello": "", "v1.2": "", "1..2": "", "v1.2.3\x1b[0m": "",
		"v24.0.0-nightly20250301a1b2c3d4e5": "24.0.0-nightly20250301a1b2c3d4e5", "v23.1.0-rc.1": "23.1.0-rc.1", "Python 3.14.0a1+dev": "3.14.0a1+dev",
		"v20.1.0;$(id)": "", "v20.1.0`id`": "", "v20.1.0/../x": "", "v20.1.0 ;": "20.1.0", "v20.1.0-": "", "v20.1.0\"": "", "v99999999999999999999.9.9": "", "v1.2.3" + strings.Repeat("-a", 100): "",
	} {
		testkit.Equal(t, answer, versionIn(answer), want)
	}
}
