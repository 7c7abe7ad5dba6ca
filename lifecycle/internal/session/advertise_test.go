//go:build unix

package session

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// FuzzAdvertise: an advertised message has the policy once, and all other bytes are the
// client's.
func FuzzAdvertise(f *testing.F) {
	for _, s := range testkit.Table[string](f, "advertise.txt") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		frame, err := mcpproxy.NewReader(bytes.NewReader(line), 0).Next()
		if err != nil || len(frame.Messages) != 1 || frame.Batch || frame.Messages[0].Kind() != mcpproxy.Request {
			return
		}
		e := &frame.Messages[0]
		roots := roots{mode: RootsAdvertise, statement: []byte(`{"version":1}`)}
		strict, method, modern := frame.Flaws.IsStrict(), string(e.Method), e.Era() == mcpproxy.Modern
		roots.Advertise(frame, e)
		got, _ := frame.AppendTo(nil)
		if !strict {
			if !bytes.Equal(got, line) {
				t.Fatalf("%q became %q", line, got)
			}
			return
		}
		var before, after map[string]any
		if json.Unmarshal(line, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", line, got, err)
		}
		if strings.Count(string(got), `"version":1`) > 2+strings.Count(string(line), `"version":1`) {
			t.Fatalf("%q became %q", line, got)
		}
		told := wanted(before, method, modern)
		if !reflect.DeepEqual(after, told) {
			t.Fatalf("%q became %q, want %v", line, got, told)
		}
	})
}

// wanted returns a message with the policy added, by decoding it.
func wanted(m map[string]any, method string, modern bool) map[string]any {
	statement := map[string]any{"version": 1.0}
	object := func(in map[string]any, name string) map[string]any {
		v, there := in[name]
		if !there {
			v = map[string]any{}
			in[name] = v
		}
		o, _ := v.(map[string]any)
		return o
	}
	told := func(in map[string]any) {
		for name := range in {
			if strings.HasPrefix(name, mcpproxy.ReservedPrefix) && name != mcpproxy.ReservedPrefix {
				delete(in, name)
			}
		}
		in[metaPolicy] = statement
	}
	initialize := method == "initialize"
	if !initialize && method != "server/discover" && !(method == "tools/call" && modern) {
		return m
	}
	params := object(m, "params")
	if params == nil {
		return m
	}
	if meta := object(params, "_meta"); meta != nil {
		told(meta)
	}
	if !initialize {
		return m
	}
	caps := object(params, "capabilities")
	if caps == nil {
		return m
	}
	if experimental := object(caps, "experimental"); experimental != nil {
		told(experimental)
	}
	if _, there := caps["roots"]; !there {
		caps["roots"] = map[string]any{}
	}
	return m
}
