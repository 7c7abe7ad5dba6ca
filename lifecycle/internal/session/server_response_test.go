package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestAddDiagnosisToError: the diagnosis goes into the data of the error, and its sentence to the end
// of a message that is a text. Every byte of the server stays, except members with our reserved names.
func TestAddDiagnosisToError(t *testing.T) {
	t.Parallel()
	known := diagnostics.Diagnosis{Attribution: diagnostics.Likely, Cause: `no "x"`, Fix: "start it with --net x", Hints: []diagnostics.Hint{{}}}
	const note = `[mcp-jail] The jail probably blocked this: no \"x\". Start it with --net x.`
	for in, want := range testkit.Named[string](t, "errors.txt", "<128 KiB>", strings.Repeat("x", 1<<17)) {
		f := mcpproxy.Parse([]byte(in + "\n"))
		e := &f.Messages[0]
		StripReserved(f, e)
		addDiagnosisToError(f, e, known)
		got, _ := f.AppendTo(nil)
		want = strings.ReplaceAll(strings.ReplaceAll(want, `{"hint":"h"}`, string(known.ErrorData())), "NOTE", note)
		if string(got) != want+"\n" || !json.Valid(got) {
			t.Errorf("%.200s\n got %.300s\nwant %.300s", in, got, want)
		}
	}
	const plain = `{"id":1,"error":{"code":-1,"data":"x"}}`
	f := mcpproxy.Parse([]byte(plain))
	addDiagnosisToError(f, &f.Messages[0], diagnostics.Diagnosis{})
	if got, _ := f.AppendTo(nil); string(got) != plain {
		t.Error("nothing to say, and said")
	}
}

func TestRootsIn(t *testing.T) {
	p := &policy.Profile{Entries: []policy.Entry{
		{Path: "/a", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/a/in", Kind: policy.KindDir, Rights: policy.Read | policy.Update, Origin: policy.OriginRule},
		{Path: "/a/off", Kind: policy.KindDir, Origin: policy.OriginRule},
		{Path: "/a/off/on", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/ab", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/b", Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/home", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginHome},
		{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline},
		{Path: "/w", Kind: policy.KindDir, Rights: policy.Write, Origin: policy.OriginRule},
	}}
	for dir, want := range map[string]string{"/": "[/a /a/off/on /ab]", "/a": "[/a /a/off/on]", "/a/off": "[/a/off/on]", "/w": "[]"} {
		if got := fmt.Sprint(rootsIn(p, dir)); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}
