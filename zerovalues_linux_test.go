package house_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/jailed"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
	"github.com/mcp-jail/mcp-jail/undo"
)

// A zeroValue is the zero value of an exported type that has a text, or that a Go program may forget to
// set: its texts can be asked for, and holds tells what that program may rely on.
type zeroValue struct {
	value any // a pointer to it
	holds func(t *testing.T)
}

var zeroValues = map[string]zeroValue{
	// policy
	"policy.ConflictError": {value: new(policy.ConflictError)},
	"policy.Entry":         {new(policy.Entry), func(t *testing.T) { is(t, policy.Entry{}.Rights == 0) }},
	"policy.EnvRule":       {new(policy.EnvRule), func(t *testing.T) { is(t, !policy.EnvRule{}.Read && policy.CheckEnvName("") != nil) }},
	"policy.Harm":          {new(policy.Harm), func(t *testing.T) { is(t, policy.Harm{}.Never+policy.Harm{}.Ask == "") }},
	"policy.FsRule":        {new(policy.FsRule), func(t *testing.T) { is(t, policy.FsRule{}.Rights() == 0) }},
	"policy.Kind":          {value: new(policy.Kind)},
	"policy.Limits":        {new(policy.Limits), zeroPolicy},
	"policy.NetRule":       {new(policy.NetRule), func(t *testing.T) { _, err := policy.NormalizeHost(""); is(t, !policy.NetRule{}.Allow && err != nil) }},
	"policy.Op":            {value: new(policy.Op)},
	"policy.Origin":        {value: new(policy.Origin)},
	"policy.Policy":        {new(policy.Policy), zeroPolicy},
	"policy.Problem":       {value: new(policy.Problem)},
	"policy.Problems":      {value: new(policy.Problems)},
	"policy.Profile":       {new(policy.Profile), zeroProfile},
	"policy.Rights":        {new(policy.Rights), func(t *testing.T) { is(t, policy.Rights(0)&policy.AllRights == 0) }},
	"policy.Setting":       {value: new(policy.Setting)},
	"policy.Undo":          {new(policy.Undo), func(t *testing.T) { is(t, !policy.Undo{}.On()) }},
	"policy.Verdict":       {new(policy.Verdict), func(t *testing.T) { is(t, policy.Verdict(0) == policy.Forbidden) }},
	"policy.Warning":       {value: new(policy.Warning)},
	// confine
	"confine.Answer":       {value: new(confine.Answer)},
	"confine.Feature":      {new(confine.Feature), func(t *testing.T) { is(t, confine.Feature{}.Answer != confine.Yes) }},
	"confine.Gap":          {new(confine.Gap), func(t *testing.T) { failsStart(t, &confine.Plan{Gaps: []confine.Gap{{}}}) }},
	"confine.GapError":     {value: new(confine.GapError)},
	"confine.Launcher":     {new(confine.Launcher), zeroProfile},
	"confine.Plan":         {new(confine.Plan), func(t *testing.T) { failsStart(t, &confine.Plan{}) }},
	"confine.Prepared":     {new(confine.Prepared), func(t *testing.T) { new(confine.Prepared).Close() }},
	"confine.PreparedPool": {(*confine.PreparedPool)(nil), func(t *testing.T) { var none *confine.PreparedPool; none.Keep([]*policy.Profile{nil}); none.Close() }},
	"confine.Process":      {new(confine.Process), func(t *testing.T) { is(t, new(confine.Process).Kill() != nil && new(confine.Process).PID() == 0) }},
	"confine.StartError":   {value: new(confine.StartError)},
	"confine.SelfTest":     {new(confine.SelfTest), func(t *testing.T) { is(t, !confine.SelfTest{}.Made) }},
	// confine/jailed
	"confine/jailed.Policy": {new(jailed.Policy), func(t *testing.T) { is(t, jailed.Command(t.Context(), jailed.Policy{}, "true").Err == nil) } /* the default policy: see package jailed */},
	// lifecycle
	"lifecycle.DiagnosedError": {value: new(lifecycle.DiagnosedError)},
	"lifecycle.Session":        {new(lifecycle.Session), zeroSession},
	"lifecycle.Stateless":      {new(lifecycle.Stateless), zeroSession},
	"lifecycle.Tool":           {new(lifecycle.Tool), zeroSession},
	// mcpproxy
	"mcpproxy.Reader": {new(mcpproxy.Reader), func(t *testing.T) { panics(t, func() { new(mcpproxy.Reader).Next() }) }},
	"mcpproxy.Writer": {new(mcpproxy.Writer), func(t *testing.T) {
		panics(t, func() { new(mcpproxy.Writer).Inject([]byte("{}")) })
	}},
	// diagnostics
	"diagnostics.Evidence": {new(diagnostics.Evidence), func(t *testing.T) { is(t, len(diagnostics.Diagnose(diagnostics.Evidence{}).Hints) == 0) }},
	"diagnostics.Redactor": {new(diagnostics.Redactor), func(t *testing.T) {
		panics(t, func() { new(diagnostics.Redactor).Redact("a text that is not redacted") })
	}},
	// undo
	"undo.Restorer": {new(undo.Restorer), func(t *testing.T) { panics(t, func() { new(undo.Restorer).Run() }) }},
	"undo.Store":    {new(undo.Store), zeroStore},
	// clients
	"clients.Host":         {new(clients.Host), func(t *testing.T) { _, _, found := clients.ByFile("", clients.Host{}); is(t, !found) }},
	"clients.UnknownError": {value: new(clients.UnknownError)},
	// presets
	"presets.Open":         {value: new(presets.Open)},
	"presets.UnknownError": {value: new(presets.UnknownError)},
}

// TestZeroValues tests the zero value of every exported type of the packages that Go programs import.
func TestZeroValues(t *testing.T) {
	for name, z := range zeroValues {
		t.Run(name, func(t *testing.T) {
			switch v := z.value.(type) { // its texts
			case error:
				_ = v.Error()
			case fmt.Stringer:
				_ = v.String()
			}
			if m, ok := z.value.(json.Marshaler); ok {
				if _, err := m.MarshalJSON(); err != nil {
					t.Error(err)
				}
			}
			if z.holds != nil {
				z.holds(t)
			}
		})
	}
}

// TestZeroValuesAreAll tests that zeroValues has every exported type with a text, on whatever system it
// exists.
func TestZeroValuesAreAll(t *testing.T) {
	texts := 0
	for _, dir := range []string{"policy", "confine", "confine/jailed", "lifecycle", "mcpproxy", "diagnostics", "undo", "clients", "presets"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		testkit.Must(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			testkit.Must(t, err)
			for _, d := range parsed.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil || !slices.Contains([]string{"Error", "String", "MarshalJSON"}, f.Name.Name) || !ast.IsExported(receiver(f)) {
					continue
				}
				texts++
				if _, ok := zeroValues[dir+"."+receiver(f)]; !ok {
					t.Errorf("%s.%s has no row in zeroValues: say what its zero value does", dir, receiver(f))
				}
			}
		}
	}
	if texts < 10 {
		t.Errorf("only %d texts were found", texts)
	}
}
