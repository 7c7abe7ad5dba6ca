package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestAddDiagnosisToError: the diagnosis goes into the data of the error, and its sentence to the end
// of a message that is a text. Every byte of the server stays, except members with our reserved names.
func TestAddDiagnosisToError(t *testing.T) {
	t.Parallel()
	known := diagnostics.Diagnosis{Attribution: diagnostics.Likely, Cause: `no "x"`, Fix: "start it with --net x", Hints: []diagnostics.Hint{{}}}
	const note = `[mcp-jail] The jail probably blocked this: no \"x\". Start it with --net x.`
	for in, want := range map[string]string{
		`{"id":1,"error":{"code":-1,"message":"m"}}`:                                  `{"id":1,"error":{"code":-1,"message":"m NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{}}`:                                                         `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"error":{"data":{ "a":9007199254740993 },"code":-1.0},"id":"\u0061"}`:       `{"error":{"data":{ "a":9007199254740993 ,"dev.mcp-jail/diagnosis":{"hint":"h"}},"code":-1.0},"id":"\u0061"}`,
		`{"id":1,"error":{"data":{}}}`:                                                `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":"it's \"bad\"","code":-1}}`:                          `{"id":1,"error":{"data":{"dev.mcp-jail/data":"it's \"bad\"","dev.mcp-jail/diagnosis":{"hint":"h"}},"code":-1}}`,
		`{"id":1,"error":{"data": [ 1,{"a":2}] }}`:                                    `{"id":1,"error":{"data": {"dev.mcp-jail/data":[ 1,{"a":2}],"dev.mcp-jail/diagnosis":{"hint":"h"}} }}`,
		`{"id":1,"error":{"data":1.50}}`:                                              `{"id":1,"error":{"data":{"dev.mcp-jail/data":1.50,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":null}}`:                                              `{"id":1,"error":{"data":{"dev.mcp-jail/data":null,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":"forged"}}}`:               `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":{"a":1,"dev.mcp-jail/data":"forged"}}}`:              `{"id":1,"error":{"data":{"a":1,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":"x"},"error":{"message":"the last one counts"}}`:     `{"id":1,"error":{"data":"x"},"error":{"message":"the last one counts NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":"","data":{}}}`:                                   `{"id":1,"error":{"message":"NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":"\ud83d\\","data":{}}}`:                           `{"id":1,"error":{"message":"\ud83d\\ NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":42,"data":{}}}`:                                   `{"id":1,"error":{"message":42,"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":null,"data":{}}}`:                                 `{"id":1,"error":{"message":null,"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":["m"],"data":{"message":"x"}}}`:                   `{"id":1,"error":{"message":["m"],"data":{"message":"x","dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":"first","data":{},"message":"last"}}`:             `{"id":1,"error":{"message":"first","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}},"message":"last NOTE"}}`,
		`{"id":1,"error":{"message":"text","data":{},"message":7}}`:                   `{"id":1,"error":{"message":"text","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}},"message":7}}`,
		`{"id":1,"error":{"data":{},"\u006dessage":"m"}}`:                             `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}},"\u006dessage":"m NOTE"}}`,
		`{"id":1,"error":{"Message":"other","message":"m","data":{}}}`:                `{"id":1,"error":{"Message":"other","message":"m NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"message":"` + strings.Repeat("x", 1<<17) + `","data":{}}}`: `{"id":1,"error":{"message":"` + strings.Repeat("x", 1<<17) + ` NOTE","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":"no object"}`:                                                `{"id":1,"error":"no object"}`,
		`{"id":1,"error":{"data":"` + strings.Repeat("x", 1<<17) + `"}}`:              `{"id":1,"error":{"data":{"dev.mcp-jail/data":"` + strings.Repeat("x", 1<<17) + `","dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
	} {
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
