package table

import (
	"errors"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// settings are the keys of a server with one value that flags set.
func settings(s *config.Server) []setting {
	all := []setting{
		{"preset", text(s.Preset), func(t, g *config.Server) { t.Preset = g.Preset }},
		{"workspace", text(s.Workspace), func(t, g *config.Server) { t.Workspace = g.Workspace }},
		{"home", text(s.Home), func(t, g *config.Server) { t.Home = g.Home }},
		{"gpu", flag(s.GPU), func(t, g *config.Server) { t.GPU = g.GPU }},
		{"startup_timeout_secs", number(s.StartupTimeoutSecs), func(t, g *config.Server) { t.StartupTimeoutSecs = g.StartupTimeoutSecs }},
	}
	for _, l := range []struct {
		name string
		of   func(*config.LimitsTable) **int
	}{
		{"memory_mb", func(l *config.LimitsTable) **int { return &l.MemoryMB }}, {"processes", func(l *config.LimitsTable) **int { return &l.Processes }},
		{"open_files", func(l *config.LimitsTable) **int { return &l.OpenFiles }}, {"file_size_mb", func(l *config.LimitsTable) **int { return &l.FileSizeMB }},
		{"message_mb", func(l *config.LimitsTable) **int { return &l.MessageMB }}, {"net_out_mb", func(l *config.LimitsTable) **int { return &l.NetOutMB }},
		{"connections", func(l *config.LimitsTable) **int { return &l.Connections }},
	} {
		all = append(all, setting{"limits." + l.name, number(*l.of(&s.Limits)), func(t, g *config.Server) { *l.of(&t.Limits) = *l.of(&g.Limits) }})
	}
	return all
}

// A setting is a key with one value, "" for none, and how a table takes it from another.
type setting struct {
	key, value string
	take       func(to, from *config.Server)
}

func text(s string) string {
	if s == "" {
		return ""
	}
	return show.TOML(s)
}

func flag(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func (w *work) addSettings(g *config.Server) error {
	own := w.before.Servers[w.Change.Server]
	if own == nil {
		own = &config.Server{}
	}
	has := settings(own)
	for i, s := range settings(g) {
		key := w.server(strings.Split(s.key, ".")...)
		var err error
		switch {
		case s.value == "":
			continue
		case has[i].value == s.value:
			w.has(own.Where, s.key+" = "+s.value)
			continue
		case has[i].value == "":
			err = w.addKey(key, s.value)
		default:
			at, _ := w.root.Find(key)
			err = w.change(splice{at.Start, at.End, s.value})
		}
		if err != nil {
			return err
		}
		s.take(w.wanted(), g)
	}
	return nil
}

func (w *work) removeSettings(g *config.Server) error {
	own := w.wanted()
	has := settings(own)
	for i, s := range settings(g) {
		switch {
		case s.value == "":
			continue
		case has[i].value != s.value:
			return w.notGranted(s.key + " = " + s.value)
		}
		path := w.server(strings.Split(s.key, ".")...)
		at, _ := w.root.Find(path[:len(path)-1])
		block := w.header(at)
		if block >= 0 && strings.HasPrefix(s.key, "limits.") && len(at.Keys) == 1 {
			if err := w.removeBlock(at, ""); err != nil {
				return err
			}
		} else if err := errors.Join(w.removeKey(path), w.removeBraces(path)); err != nil {
			return err
		}
		s.take(own, &config.Server{})
	}
	return nil
}
