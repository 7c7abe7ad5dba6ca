package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Plugin is a plugin of which a file has servers in jails.
type Plugin struct {
	Client string   `json:"client"` // its name
	Title  string   `json:"title"`  // of the client
	ID     string   `json:"id"`
	Name   string   `json:"name"` // in words
	Root   string   `json:"root"` // its folder
	File   seenFile `json:"file"` // that has the servers
	List   seenFile `json:"list"` // the file or directory that an update changes, too; its Path may be ""
}

// seenFile is a file as it was when it was remembered.
type seenFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Time int64  `json:"time"`
	Hash string `json:"hash,omitempty"` // of its text, if it is to be compared
}

// SeeFile returns a file as it is, without its hash.
func SeeFile(path string) seenFile {
	s := seenFile{Path: path}
	if info, err := os.Stat(path); err == nil {
		s.Size, s.Time = info.Size(), info.ModTime().UnixNano()
	}
	return s
}

// SeeText returns a file with this text as it is.
func SeeText(path string, text []byte) seenFile {
	s := SeeFile(path)
	s.Hash = hash(text)
	return s
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const (
	dirName  = "wrapped"
	fileName = "plugins"
	most     = 1 << 20 // of what is read
)

// load returns what is remembered. dir is the state directory.
func load(dir string) (all []Plugin, err error) {
	text, err := private.ReadFile(dir, dirName+"/"+fileName, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(text, &all)
}

// RememberPlugin notes that a file of a plugin has servers in jails now, or that it has none any more. What
// was noted of another version of the plugin is forgotten.
func RememberPlugin(dir string, p Plugin, jailed bool) error {
	all, err := load(dir)
	if err != nil {
		return err
	}
	before := len(all)
	all = slices.DeleteFunc(all, func(o Plugin) bool {
		return o.Client == p.Client && o.ID == p.ID && (o.Root != p.Root || o.File.Path == p.File.Path)
	})
	if jailed {
		all = append(all, p)
	} else if len(all) == before {
		return nil
	}
	d, err := private.Make(dir, dirName)
	if err != nil {
		return err
	}
	defer d.Close()
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return d.Replace(fileName, append(text, '\n'), private.How{})
}

// CheckPlugins returns the remembered plugins that an update has replaced since.
func CheckPlugins(dir string) (updated []Plugin) {
	all, _ := load(dir) // wrap and status say what is wrong with it
	for _, p := range all {
		if p.updated() {
			updated = append(updated, p)
		}
	}
	return updated
}

// PluginWarning returns a line about updated plugins.
func PluginWarning(updated []Plugin) string {
	if len(updated) == 0 {
		return ""
	}
	var names []string
	for _, p := range updated {
		if name := show.Line(p.Name) + " of " + p.Title; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	verb, its := "has", "its"
	if len(names) > 1 {
		verb, its = "have", "their"
	}
	return strings.Join(names, ", ") + " " + verb + " changed since wrap, and " + its + " servers may start without a jail: mcp-jail wrap --client " + updated[0].Client
}

func (p *Plugin) updated() bool {
	info, err := os.Stat(p.File.Path)
	switch {
	case err != nil:
		// It is gone with the plugin, or another version has another folder.
		return p.replaced()
	case info.Size() != p.File.Size || info.ModTime().UnixNano() != p.File.Time:
		if text, ok := readPlugin(p.File.Path); !ok || hash(text) != p.File.Hash {
			return true
		}
	}
	return SeeFile(p.List.Path) != p.List && p.replaced()
}

// replaced reports whether the list has the plugin in another folder, or its directory has another one.
func (p *Plugin) replaced() bool {
	if p.List.Path == "" {
		return false
	}
	if entries, err := os.ReadDir(p.List.Path); err == nil {
		other := func(e fs.DirEntry) bool { return e.IsDir() && e.Name() != filepath.Base(p.Root) }
		return slices.ContainsFunc(entries, other)
	}
	text, ok := readPlugin(p.List.Path)
	quoted, err := json.Marshal(p.ID)
	root, _ := json.Marshal(p.Root) // on Windows the list has two backslashes for each
	root = bytes.Trim(root, `"`)
	return ok && err == nil && bytes.Contains(text, quoted) && !bytes.Contains(text, []byte(p.Root)) && !bytes.Contains(text, root)
}

// readPlugin reads a small regular file. Another kind of file could have the start wait.
func readPlugin(path string) ([]byte, bool) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(file, most))
	return text, err == nil
}
