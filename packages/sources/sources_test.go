package sources_test

import (
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestSmoke(t *testing.T) {
	host := hostfs.Host{Home: testkit.ShortDir(t), Environ: []string{"TOKEN=a;b", "PIP_INDEX_URL=https://me:pw@x.test/simple"}}
	testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), "registry=https://a.test/npm\n//a.test/:_authToken=${TOKEN}\n//b.test/:_authToken=x\nfoo=1\n")
	for _, tool := range []sources.Tool{sources.NPM, sources.Pip, sources.Uv} {
		s, err := sources.Reader{Host: &host, Logins: true}.Read(tool)
		testkit.Must(t, err)
		home := testkit.ShortDir(t)
		v, err := s.Write(home)
		testkit.Must(t, err)
		t.Logf("%+v\n%v\n%s\n%v %v", s, v, testkit.ReadFile(t, s.Files(home)[0]), s.Chosen(), s.Secrets())
	}
}
