package house_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/jailed"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
	"github.com/mcp-jail/mcp-jail/undo"
)

// A zeroValue is the zero value of an exported type. Each is tested: its texts can be asked for, and
// holds tells what a Go program that forgets to set it may rely on. Without holds, it is a value that
// mcp-jail returns, or a name, and grants nothing.
type zeroValue struct {
	value any // a pointer to it
	holds func(t *testing.T)
}

var zeroValues = map[string]zeroValue{
	// policy
	"policy.Axis":          {value: new(policy.Axis)},
	"policy.Command":       {value: new(policy.Command)},
	"policy.CommandMatch":  {value: new(policy.CommandMatch)},
	"policy.CommandRule":   {value: new(policy.CommandRule)},
	"policy.ConflictError": {value: new(policy.ConflictError)},
	"policy.Denial":        {value: new(policy.Denial)},
	"policy.DenialReason":  {value: new(policy.DenialReason)},
	"policy.Entry":         {new(policy.Entry), func(t *testing.T) { is(t, policy.Entry{}.Rights == 0) }},
	"policy.EnvRule":       {new(policy.EnvRule), func(t *testing.T) { is(t, !policy.EnvRule{}.Read && policy.CheckEnvName("") != nil) }},
	"policy.FileID":        {value: new(policy.FileID)},
	"policy.FoldedName":    {value: new(policy.FoldedName)},
	"policy.FsRule":        {new(policy.FsRule), func(t *testing.T) { is(t, policy.FsRule{}.Rights() == 0) }},
	"policy.HostFailure":   {value: new(policy.HostFailure)},
	"policy.InboundRule":   {value: new(policy.InboundRule)},
	"policy.Kind":          {value: new(policy.Kind)},
	"policy.Limits":        {new(policy.Limits), zeroPolicy},
	"policy.HomeLink":      {value: new(policy.HomeLink)},
	"policy.Link":          {value: new(policy.Link)},
	"policy.NetRule":       {new(policy.NetRule), func(t *testing.T) { _, err := policy.NormalizeHost(""); is(t, !policy.NetRule{}.Allow && err != nil) }},
	"policy.Op":            {value: new(policy.Op)},
	"policy.Origin":        {value: new(policy.Origin)},
	"policy.Packages":      {new(policy.Packages), func(t *testing.T) { is(t, !policy.Packages{}.AutoInstall && !policy.Packages{}.InstallScripts) }},
	"policy.Part":          {value: new(policy.Part)},
	"policy.Policy":        {new(policy.Policy), zeroPolicy},
	"policy.Problem":       {value: new(policy.Problem)},
	"policy.Problems":      {value: new(policy.Problems)},
	"policy.Profile":       {new(policy.Profile), zeroProfile},
	"policy.ProgramStart":  {value: new(policy.ProgramStart)},
	"policy.Reach":         {value: new(policy.Reach)},
	"policy.Rights":        {new(policy.Rights), func(t *testing.T) { is(t, policy.Rights(0)&policy.AllRights == 0) }},
	"policy.Secret":        {value: new(policy.Secret)},
	"policy.Setting":       {value: new(policy.Setting)},
	"policy.Start":         {value: new(policy.Start)},
	"policy.Unanswered":    {value: new(policy.Unanswered)},
	"policy.Undo":          {new(policy.Undo), func(t *testing.T) { is(t, !policy.Undo{}.On()) }},
	"policy.Variable":      {value: new(policy.Variable)},
	"policy.Verdict":       {new(policy.Verdict), func(t *testing.T) { is(t, policy.Verdict(0) == policy.Forbidden) }},
	"policy.Warning":       {value: new(policy.Warning)},
	"policy.WriteGrant":    {value: new(policy.WriteGrant)},
	"policy.Writer":        {value: new(policy.Writer)},
	"policy.WriterRules":   {value: new(policy.WriterRules)},
	// confine
	"confine.Answer":       {value: new(confine.Answer)},
	"confine.Enforcement":  {value: new(confine.Enforcement)},
	"confine.Exit":         {value: new(confine.Exit)},
	"confine.Feature":      {new(confine.Feature), func(t *testing.T) { is(t, confine.Feature{}.Answer != confine.Yes) }},
	"confine.Features":     {value: new(confine.Features)},
	"confine.Gap":          {new(confine.Gap), func(t *testing.T) { failsStart(t, &confine.Plan{Gaps: []confine.Gap{{}}}) }},
	"confine.GapError":     {value: new(confine.GapError)},
	"confine.Kept":         {value: new(confine.Kept)},
	"confine.Launcher":     {new(confine.Launcher), zeroProfile},
	"confine.Leak":         {value: new(confine.Leak)},
	"confine.NamedFeature": {value: new(confine.NamedFeature)},
	"confine.Notice":       {value: new(confine.Notice)},
	"confine.Plan":         {new(confine.Plan), func(t *testing.T) { failsStart(t, &confine.Plan{}) }},
	"confine.Prepared":     {new(confine.Prepared), func(t *testing.T) { new(confine.Prepared).Close() }},
	"confine.PreparedPool": {(*confine.PreparedPool)(nil), func(t *testing.T) { var none *confine.PreparedPool; none.Keep([]*policy.Profile{nil}); none.Close() }},
	"confine.Process":      {new(confine.Process), func(t *testing.T) { is(t, new(confine.Process).Kill() != nil && new(confine.Process).PID() == 0) }},
	"confine.StartError":   {value: new(confine.StartError)},
	"confine.SelfTest":     {new(confine.SelfTest), func(t *testing.T) { is(t, !confine.SelfTest{}.Made) }},
	"confine.Stdio":        {value: new(confine.Stdio)},
	// confine/jailed
	"confine/jailed.Policy": {new(jailed.Policy), func(t *testing.T) { is(t, jailed.Command(t.Context(), jailed.Policy{}, "true").Err == nil) } /* the default policy: see package jailed */},
	// lifecycle
	"lifecycle.CallObserver":   {value: new(lifecycle.CallObserver)},
	"lifecycle.DiagnosedError": {value: new(lifecycle.DiagnosedError)},
	"lifecycle.Launcher":       {value: new(lifecycle.Launcher)},
	"lifecycle.LauncherFunc":   {value: new(lifecycle.LauncherFunc)},
	"lifecycle.Pins":           {value: new(lifecycle.Pins)},
	"lifecycle.Process":        {value: new(lifecycle.Process)},
	"lifecycle.Refreshed":      {value: new(lifecycle.Refreshed)},
	"lifecycle.Session":        {new(lifecycle.Session), zeroSession},
	"lifecycle.Stateless":      {new(lifecycle.Stateless), zeroSession},
	"lifecycle.Tool":           {new(lifecycle.Tool), zeroSession},
	// mcpproxy
	"mcpproxy.Budget":   {new(mcpproxy.Budget), func(t *testing.T) { is(t, !new(mcpproxy.Budget).Share(0).Take(1)) }},
	"mcpproxy.Share":    {new(mcpproxy.Share), func(t *testing.T) { panics(t, func() { new(mcpproxy.Share).Take(1) }) }},
	"mcpproxy.Batch":    {value: new(mcpproxy.Batch)},
	"mcpproxy.Call":     {value: new(mcpproxy.Call)},
	"mcpproxy.Conn":     {value: new(mcpproxy.Conn)},
	"mcpproxy.Envelope": {value: new(mcpproxy.Envelope)},
	"mcpproxy.Era":      {value: new(mcpproxy.Era)},
	"mcpproxy.Flaw":     {value: new(mcpproxy.Flaw)},
	"mcpproxy.Frame":    {value: new(mcpproxy.Frame)},
	"mcpproxy.Hooks":    {value: new(mcpproxy.Hooks)},
	"mcpproxy.Kind":     {value: new(mcpproxy.Kind)},
	"mcpproxy.Pending":  {value: new(mcpproxy.Pending)},
	"mcpproxy.Proxy":    {value: new(mcpproxy.Proxy)},
	"mcpproxy.Reader":   {new(mcpproxy.Reader), func(t *testing.T) { panics(t, func() { new(mcpproxy.Reader).Next() }) }},
	"mcpproxy.Scanner":  {value: new(mcpproxy.Scanner)},
	"mcpproxy.Side":     {value: new(mcpproxy.Side)},
	"mcpproxy.Span":     {value: new(mcpproxy.Span)},
	"mcpproxy.Upstream": {value: new(mcpproxy.Upstream)},
	"mcpproxy.Writer": {new(mcpproxy.Writer), func(t *testing.T) {
		panics(t, func() { new(mcpproxy.Writer).Inject([]byte("{}")) })
	}},
	// diagnostics
	"diagnostics.Attribution": {value: new(diagnostics.Attribution)},
	"diagnostics.ClientList":  {value: new(diagnostics.ClientList)},
	"diagnostics.Code":        {value: new(diagnostics.Code)},
	"diagnostics.Diagnosis":   {value: new(diagnostics.Diagnosis)},
	"diagnostics.Evidence":    {new(diagnostics.Evidence), func(t *testing.T) { is(t, len(diagnostics.Remedies(diagnostics.Evidence{})) == 0) }},
	"diagnostics.Exit":        {value: new(diagnostics.Exit)},
	"diagnostics.Hint":        {value: new(diagnostics.Hint)},
	"diagnostics.TableError":  {value: new(diagnostics.TableError)},
	"diagnostics.Taken":       {value: new(diagnostics.Taken)},
	"diagnostics.Leak":        {value: new(diagnostics.Leak)},
	"diagnostics.LostRecord":  {value: new(diagnostics.LostRecord)},
	"diagnostics.Page":        {value: new(diagnostics.Page)},
	"diagnostics.Record":      {value: new(diagnostics.Record)},
	"diagnostics.Redactor": {new(diagnostics.Redactor), func(t *testing.T) {
		panics(t, func() { new(diagnostics.Redactor).Redact("a text that is not redacted") })
	}},
	"diagnostics.Stage":        {value: new(diagnostics.Stage)},
	"diagnostics.Start":        {value: new(diagnostics.Start)},
	"diagnostics.StderrFilter": {value: new(diagnostics.StderrFilter)},
	"diagnostics.Tail":         {value: new(diagnostics.Tail)},
	"diagnostics.Tools":        {value: new(diagnostics.Tools)},
	// undo
	"undo.Action":    {value: new(undo.Action)},
	"undo.Call":      {value: new(undo.Call)},
	"undo.Change":    {value: new(undo.Change)},
	"undo.Event":     {value: new(undo.Event)},
	"undo.Files":     {value: new(undo.Files)},
	"undo.Gap":       {value: new(undo.Gap)},
	"undo.Head":      {value: new(undo.Head)},
	"undo.History":   {value: new(undo.History)},
	"undo.ID":        {value: new(undo.ID)},
	"undo.Keeper":    {value: new(undo.Keeper)},
	"undo.Kind":      {value: new(undo.Kind)},
	"undo.Operation": {value: new(undo.Operation)},
	"undo.Outcome":   {value: new(undo.Outcome)},
	"undo.Record":    {value: new(undo.Record)},
	"undo.Restorer":  {new(undo.Restorer), func(t *testing.T) { panics(t, func() { new(undo.Restorer).Run(undo.Store{}) }) }},
	"undo.Selection": {value: new(undo.Selection)},
	"undo.Session":   {value: new(undo.Session)},
	"undo.State":     {value: new(undo.State)},
	"undo.Step":      {value: new(undo.Step)},
	"undo.Store":     {new(undo.Store), zeroStore},
	"undo.Writer":    {value: new(undo.Writer)},
	// clients
	"clients.Blind":        {value: new(clients.Blind)},
	"clients.Brings":       {value: new(clients.Brings)},
	"clients.Client":       {value: new(clients.Client)},
	"clients.Dir":          {value: new(clients.Dir)},
	"clients.Edit":         {value: new(clients.Edit)},
	"clients.Entry":        {value: new(clients.Entry)},
	"clients.Form":         {value: new(clients.Form)},
	"clients.Format":       {value: new(clients.Format)},
	"clients.Host":         {new(clients.Host), func(t *testing.T) { _, _, found := clients.ByFile("", clients.Host{}); is(t, !found) }},
	"clients.Item":         {value: new(clients.Item)},
	"clients.Kind":         {value: new(clients.Kind)},
	"clients.Location":     {value: new(clients.Location)},
	"clients.Move":         {value: new(clients.Move)},
	"clients.Place":        {value: new(clients.Place)},
	"clients.Reach":        {value: new(clients.Reach)},
	"clients.Reason":       {value: new(clients.Reason)},
	"clients.Reference":    {value: new(clients.Reference)},
	"clients.Scope":        {value: new(clients.Scope)},
	"clients.Shape":        {value: new(clients.Shape)},
	"clients.Shared":       {value: new(clients.Shared)},
	"clients.Table":        {value: new(clients.Table)},
	"clients.UnknownError": {value: new(clients.UnknownError)},
	"clients.Variable":     {value: new(clients.Variable)},
	"clients.Wrapped":      {value: new(clients.Wrapped)},
	"clients.Wrapping":     {value: new(clients.Wrapping)},
	// presets
	"presets.Applied":      {value: new(presets.Applied)},
	"presets.Argument":     {value: new(presets.Argument)},
	"presets.Chosen":       {value: new(presets.Chosen)},
	"presets.Ecosystem":    {value: new(presets.Ecosystem)},
	"presets.Each":         {value: new(presets.Each)},
	"presets.Elsewhere":    {value: new(presets.Elsewhere)},
	"presets.Entry":        {value: new(presets.Entry)},
	"presets.Jail":         {value: new(presets.Jail)},
	"presets.Kind":         {value: new(presets.Kind)},
	"presets.Login":        {value: new(presets.Login)},
	"presets.Open":         {value: new(presets.Open)},
	"presets.Package":      {value: new(presets.Package)},
	"presets.Preset":       {value: new(presets.Preset)},
	"presets.Sent":         {value: new(presets.Sent)},
	"presets.UnknownError": {value: new(presets.UnknownError)},
	"presets.Value":        {value: new(presets.Value)},
	"presets.Variable":     {value: new(presets.Variable)},
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

// TestZeroValuesAreAll tests that zeroValues has every exported type, on whatever system it exists,
// and no other.
func TestZeroValuesAreAll(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range []string{"policy", "confine", "confine/jailed", "lifecycle", "mcpproxy", "diagnostics", "undo", "clients", "presets"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, f.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				types, ok := d.(*ast.GenDecl)
				if !ok || types.Tok != token.TYPE {
					continue
				}
				for _, s := range types.Specs {
					if name := s.(*ast.TypeSpec).Name.Name; ast.IsExported(name) {
						seen[dir+"."+name] = true
						if _, ok := zeroValues[dir+"."+name]; !ok {
							t.Errorf("%s.%s has no row in zeroValues: say what its zero value does", dir, name)
						}
					}
				}
			}
		}
	}
	for name := range zeroValues {
		if !seen[name] {
			t.Errorf("zeroValues has %s, which does not exist", name)
		}
	}
}
