package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// indexName is a file, beside the directory of servers' files, with the texts of all of them. What a start asks of
// the host so does not depend on how many there are. It counts while the directory has the same time of change,
// which every new, removed and replaced name sets.
//
// An editor may write into a file and leave its name alone. So the file that a start takes its policy from is read
// itself. Of other servers the index tells what they may write: what is written into the file of one holds from its
// own next start on, which finds the difference and drops the index.
const (
	indexName    = "servers.json"
	maxIndexSize = 64 << 20
)

// settled is how long ago the directory must have changed. Two changes within a tick of the filesystem's clock,
// which may be a second or two, give one time.
var settled = 4 * time.Second // another one in tests

type serverIndex struct {
	Changed int64             `json:"changed"` // the directory, in nanoseconds since 1970
	Texts   map[string]string `json:"texts"`   // by the name of the file
}

// serverTexts returns the texts of the files of all servers. refused has an error for each that is not read.
func serverTexts(configDir string) (texts map[string]string, refused []error) {
	info, err := os.Lstat(filepath.Join(configDir, ServersDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{err}
	}
	changed := hostfs.ChangeTime(info)
	var index serverIndex
	data, err := private.ReadFile(configDir, indexName, maxIndexSize)
	if err == nil && json.Unmarshal(data, &index) == nil && index.Changed == changed.UnixNano() {
		return index.Texts, nil
	}
	index = serverIndex{changed.UnixNano(), map[string]string{}}
	err = eachServerFile(configDir, func(d *private.Dir, name string) error {
		data, err := readOwn(d, configDir, name)
		if err != nil {
			refused = append(refused, err)
			return nil
		}
		index.Texts[name] = string(data)
		return nil
	})
	if err != nil {
		refused = append(refused, err)
	}
	if refused == nil && time.Since(changed) > settled {
		index.write(configDir)
	}
	return index.Texts, refused
}

// write writes the index. Without it a start reads the files themselves, so a failure is none.
func (x serverIndex) write(configDir string) {
	text, err := json.Marshal(x)
	if err != nil {
		return
	}
	if d, err := private.Open(configDir, "."); err == nil {
		defer d.Close()
		_ = d.Replace(indexName, text, private.How{})
	}
}

func dropIndex(configDir string) {
	if d, err := private.Open(configDir, "."); err == nil {
		defer d.Close()
		_ = d.Remove(indexName)
	}
}

// eachServerText calls do for each file in the order of their names.
func eachServerText(configDir string, do func(name, text string) error) error {
	texts, _ := serverTexts(configDir)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := do(name, texts[name]); err != nil {
			return err
		}
	}
	return nil
}

// readCurrent reads the file of a name whose text the index has.
func readCurrent(configDir, name, text string) (*ServerFile, error) {
	d, err := private.Open(configDir, ServersDir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	data, err := readOwn(d, configDir, name)
	if err != nil {
		return nil, err
	}
	if string(data) != text {
		dropIndex(configDir)
	}
	return decodeServerFile(data, filepath.Join(configDir, ServersDir, name))
}

// readOwn reads the file of a name. It is refused as mcp-jail's own files are: a link, and a file that others own
// or may write.
func readOwn(d *private.Dir, configDir, name string) ([]byte, error) {
	data, err := d.ReadFile(name, reader.MaxFileSize)
	if err != nil {
		return nil, policy.Problems{{File: filepath.Join(configDir, ServersDir, name), Message: "is refused: " + cause(err)}}
	}
	return data, nil
}

// ServerPolicies returns the policies of all servers with files but the one with an id: what any server may
// write, no other one believes. broken has an error for each file that cannot be used.
func ServerPolicies(configDir, id string) (all []*policy.Policy, broken []error) {
	texts, broken := serverTexts(configDir)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f, err := decodeServerFile([]byte(texts[name]), filepath.Join(configDir, ServersDir, name))
		if err != nil {
			broken = append(broken, err)
		} else if f.Server.ID != id {
			c := Config{Servers: map[string]*Server{f.Server.Name: f.Server}}
			all = append(all, c.others(f.Server.Name, "\x00")...) // of no tool: each process counts
		}
	}
	return all, broken
}

// relevantFiles returns the files whose text a configuration may take something from: that of its id, or those that
// add to a table, which have no command.
func (o LoadOptions) relevantFiles(configDir string) (files []string) {
	eachServerText(configDir, func(name, text string) error {
		if o.ID != "" && strings.Contains(text, o.ID) || o.ID == "" && !strings.Contains(text, "\ncommand = ") {
			files = append(files, filepath.Join(configDir, ServersDir, name))
		}
		return nil
	})
	return files
}
