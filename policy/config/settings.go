package config

import (
	"reflect"
	"strconv"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// A setting is a key that a server's table and [defaults] share, with its place in one table. It grants no file,
// host, program or variable.
type setting struct {
	key       string
	value     any      // *string, **int or **bool
	words     []string // of a text
	low, high int      // of a number
	preset    int      // of a limit; 0: none
}

const (
	maxSeconds = 7 * 24 * 3600
	maxCount   = 1 << 20
	maxWarm    = 8 // workers of one tool: a session keeps no more for all of its tools
)

// settings returns the settings of a table, without limits, in the order in which a file has them.
func (s *Server) settings() []setting {
	return []setting{
		s.startup(),
		{key: "call_timeout_secs", value: &s.CallTimeoutSecs, high: maxSeconds},
		{key: "roots", value: &s.Roots, words: []string{"off", "narrow", "advertise"}},
		{key: "pin_tools", value: &s.PinTools, words: []string{"off", "warn", "enforce"}},
		{key: "undo", value: &s.Undo, words: []string{policy.UndoOff, policy.UndoSession, policy.UndoCall}},
		{key: "undo_total_mb", value: &s.UndoTotalMB, low: 1, high: 1 << 24},
		{key: "leaks", value: &s.Leaks, words: []string{policy.LeaksOff, policy.LeaksWarn, policy.LeaksBlock}},
		{key: "leak_patterns", value: &s.LeakPatterns},
		{key: "warm", value: &s.Warm, high: maxWarm},
	}
}

func (s *Server) startup() setting {
	return setting{key: "startup_timeout_secs", value: &s.StartupTimeoutSecs, high: maxSeconds}
}

// settings returns the limits of a table.
func (t *LimitsTable) settings() []setting {
	preset := policy.DefaultLimits
	return []setting{
		{key: "memory_mb", value: &t.MemoryMB, low: 1, high: 1 << 24, preset: preset.MemoryMB},
		{key: "processes", value: &t.Processes, low: 1, high: maxCount, preset: preset.Processes},
		{key: "open_files", value: &t.OpenFiles, low: 32, high: maxCount, preset: preset.OpenFiles}, // the start itself takes some 20
		{key: "file_size_mb", value: &t.FileSizeMB, low: 1, high: 1 << 24, preset: preset.FileSizeMB},
		{key: "message_mb", value: &t.MessageMB, low: 1, high: 2047, preset: preset.MessageMB},
	}
}

// allSettings returns the settings and the limits of a table.
func (s *Server) allSettings() []setting {
	all := s.settings()
	for _, l := range s.Limits.settings() {
		l.key = "limits." + l.key
		all = append(all, l)
	}
	return all
}

// read decodes the setting.
func (s setting) read(in *reader.Reader, n *toml.Node, key string) {
	switch v := s.value.(type) {
	case *string:
		*v = in.Choice(n, key, s.words...)
	case **int:
		*v = in.Pointer(n, key, int64(s.low), int64(s.high))
	case **bool:
		*v = in.FlagPointer(n, key)
	}
}

// text returns the value as TOML writes it; "" if the table has none.
func (s setting) text() string {
	switch v := s.value.(type) {
	case *string:
		if *v != "" {
			return strconv.Quote(*v)
		}
	case **int:
		if *v != nil {
			return strconv.Itoa(**v)
		}
	case **bool:
		if *v != nil {
			return strconv.FormatBool(**v)
		}
	}
	return ""
}

// overlaySettings gives settings the values that another table has.
func overlaySettings(to, from []setting) {
	for i, s := range from {
		if s.text() != "" {
			reflect.ValueOf(to[i].value).Elem().Set(reflect.ValueOf(s.value).Elem())
		}
	}
}

// clear makes the setting one that is not written.
func (s setting) clear() { reflect.ValueOf(s.value).Elem().SetZero() }

// number returns the value of a number, or 0.
func (s setting) number() int {
	if v, ok := s.value.(**int); ok && *v != nil {
		return **v
	}
	return 0
}

func (s setting) exceedsDefault() bool { return s.preset != 0 && s.number() > s.preset }

// settingTexts returns the settings that a table has, as TOML writes their values.
func (s *Server) settingTexts() map[string]string {
	out := map[string]string{}
	for _, set := range s.allSettings() {
		if text := set.text(); text != "" {
			out[set.key] = text
		}
	}
	return out
}
