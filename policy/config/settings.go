package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// Settings are the values that a table has for the keys which a server's table and [defaults] share, by key. They
// grant no file, host, program or variable.
type Settings map[string]policy.Setting

// A setting is such a key. That of a limit begins with limitsTable.
type setting struct {
	reader.Key
	stricter order
}

// An order says which values of a setting are stricter. A project's file may only make a setting stricter.
type order int

const (
	unordered order = iota // any other value may be weaker
	neutral                // none is weaker
	more                   // a later word, a larger number, or true
	less                   // a smaller number
)

const limitsTable = "limits."

const (
	maxSeconds = 7 * 24 * 3600
	maxCount   = 1 << 20
	maxWarm    = 8 // workers of one tool: a session keeps no more for all of its tools
)

// settings are in the order in which a file has them.
var settings = []setting{
	{row("startup_timeout_secs", bounds(0, maxSeconds), "How many seconds the first answer of the server may take. 0 waits for ever.", 60), neutral},
	{row("call_timeout_secs", bounds(0, maxSeconds), "How many seconds one call of a tool may take. 0 is no limit.", 0), neutral},
	{row("roots", words("off", "narrow", "advertise"), "What becomes of the client's roots. off passes them on. narrow leaves those that the server may read. "+
		"advertise also answers for a client that has none, and puts the policy into messages to the server.", "off"), unordered},
	{row("pin_tools", words(policy.PinOff, policy.PinWarn, policy.PinEnforce), "What happens when the tools of a server are not the pinned ones: "+
		"off does nothing, warn tells you, enforce gives the client an error.", policy.PinWarn), more},
	{row("undo", words(policy.UndoOff, policy.UndoSession, policy.UndoCall), "Keep what is in your files before the server changes it: for the whole session, or for each call.", policy.UndoOff), more},
	{row("undo_total_mb", bounds(1, 1<<24), "MiB that undo keeps for a session, and for all sessions of the server together.", policy.DefaultUndoTotalMB), more},
	{row("leaks", words(policy.LeaksOff, policy.LeaksWarn, policy.LeaksBlock), "What happens when the server sends a secret to the client: "+
		"off does nothing, warn tells you, block sends an error in its place.", policy.LeaksWarn), more},
	{row("leak_patterns", reader.Value{Kind: show.Bool}, "Look for well-known kinds of tokens too, not only for the secrets that the server was granted.", false), more},
	{row("ask", reader.Value{Kind: show.Bool}, "Ask in the client, where it can show a form, whether the server may have for this session what the jail blocked.", true), less},
	{row("log", words("off", "on"), "Write down what the server does, for mcp-jail log: which tools were called, which hosts it reached, what was blocked. No arguments and no answers.", "on"), more},
	{row("warm", bounds(0, maxWarm), "How many spare processes are kept ready for each tool, of a server with stateful = false.", 0), neutral},
	{row("limits.memory_mb", bounds(1, 1<<24), "MiB of memory for all processes together, /tmp included.", policy.DefaultLimits.MemoryMB), less},
	{row("limits.processes", bounds(1, maxCount), "Processes and threads.", policy.DefaultLimits.Processes), less},
	{row("limits.open_files", bounds(32, maxCount), "Open files of one process.", policy.DefaultLimits.OpenFiles), less}, // the start itself takes some 20
	{row("limits.file_size_mb", bounds(1, 1<<24), "MiB of one file that the server writes.", policy.DefaultLimits.FileSizeMB), less},
	{row("limits.message_mb", bounds(1, 2047), "MiB of one MCP message.", policy.DefaultLimits.MessageMB), less},
}

func settingOf(key string) *setting {
	at := slices.IndexFunc(settings, func(s setting) bool { return s.Name == key })
	if at < 0 {
		return nil
	}
	return &settings[at]
}

// LimitNames returns the keys of the table limits.
func LimitNames() (names []string) {
	for _, s := range settings {
		if name, ok := strings.CutPrefix(s.Name, limitsTable); ok {
			names = append(names, name)
		}
	}
	return names
}

// keys returns the settings of a table, but for the limits, as keys that are kept in it.
func (s *Settings) keys() []reader.Key { return s.keysIn("") }

// limits returns the key with the table of limits.
func (s *Settings) limits() reader.Key {
	return row("limits", reader.Value{Kind: show.Table, Keys: s.keysIn(limitsTable)}, "What the server may use. See the keys of the table.")
}

// HasLimits reports whether the table has a limit.
func (s Settings) HasLimits() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s)), func(key string) bool { return strings.HasPrefix(key, limitsTable) })
}

func (s *Settings) keysIn(table string) (keys []reader.Key) {
	for _, set := range settings {
		if strings.HasPrefix(set.Name, limitsTable) != (table == limitsTable) {
			continue
		}
		k, name := set.Key, set.Name
		k.Name = strings.TrimPrefix(name, table)
		k.Value.Keep = func(n *node, where string) { s.set(policy.Setting{Key: name, Value: written(n), Where: where}) }
		k.Value.Write = func() string { return (*s)[name].Value }
		keys = append(keys, k)
	}
	return keys
}

func (s *Settings) set(value policy.Setting) {
	if *s == nil {
		*s = Settings{}
	}
	(*s)[value.Key] = value
}

// written returns a setting as TOML writes it.
func written(n *node) string {
	switch n.Kind {
	case show.Integer:
		return strconv.FormatInt(n.Int, 10)
	case show.Bool:
		return strconv.FormatBool(n.Bool)
	}
	return strconv.Quote(n.Text)
}

// over returns the settings of a table on top of those of a lower one.
func (s Settings) over(lower Settings) Settings {
	out := maps.Clone(lower)
	if out == nil {
		out = Settings{}
	}
	maps.Copy(out, s)
	return out
}

// without returns the settings but those that drop names.
func (s Settings) without(drop func(policy.Setting) bool) (kept Settings, dropped []policy.Setting) {
	kept = Settings{}
	for _, set := range settings {
		switch value, has := s[set.Name]; {
		case has && drop(value):
			dropped = append(dropped, value)
		case has:
			kept[set.Name] = value
		}
	}
	return kept, dropped
}

// text returns a value as TOML writes it: that of the table, or what holds without one.
func (s Settings) text(key string) string {
	if set, has := s[key]; has {
		return set.Value
	}
	return settingOf(key).presetText()
}

func (s Settings) word(key string) string { return strings.Trim(s.text(key), `"`) }

func (s Settings) number(key string) int {
	n, _ := strconv.Atoi(s.text(key)) // the reader has checked it
	return n
}

func (s setting) presetText() string {
	if word, ok := s.Preset.(string); ok {
		return strconv.Quote(word)
	}
	return fmt.Sprint(s.Preset)
}

// loosens reports whether a value is weaker than another one, or may be. "" is one that is not written.
func (s setting) loosens(before, after string) bool {
	switch s.stricter {
	case neutral:
		return false
	case more:
		return s.rank(after) < s.rank(before)
	case less:
		return s.rank(after) > s.rank(before)
	}
	return true
}

func (s setting) rank(text string) int {
	if text == "" {
		text = s.presetText()
	}
	switch n, err := strconv.Atoi(text); {
	case err == nil:
		return n
	case text == "true":
		return 1
	}
	return slices.Index(s.Value.Words, strings.Trim(text, `"`))
}
