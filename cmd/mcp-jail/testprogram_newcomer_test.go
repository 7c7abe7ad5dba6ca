package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// newcomerMain is a server as a newcomer writes it: it keeps notes in ~/notes. With arguments, its one tool opens each of
// them, and fails if the first one cannot be read.
func newcomerMain() {
	if len(os.Args) > 1 {
		serveListed("opener", []map[string]any{{"name": "open", "inputSchema": map[string]string{"type": "object"}, "annotations": map[string]bool{"readOnlyHint": true}}}, func(toolCall) (string, error) {
			return openAll(os.Args[1:])
		})
		return
	}
	tool := func(name string, reads bool, arguments ...string) map[string]any {
		properties := map[string]any{}
		for _, a := range arguments {
			properties[a] = map[string]string{"type": "string"}
		}
		schema := map[string]any{"type": "object", "properties": properties, "required": append([]string{}, arguments...)}
		return map[string]any{"name": name, "inputSchema": schema, "annotations": map[string]bool{"readOnlyHint": reads}}
	}
	home, _ := os.UserHomeDir()
	dir := filepath.Join(home, "notes")
	tools := []map[string]any{tool("list_notes", true), tool("read_note", true, "name"), tool("add_note", false, "name", "text")}
	serveListed("newcomer", tools, func(c toolCall) (string, error) {
		file := filepath.Join(dir, c.Arguments["name"]+".md")
		switch c.Name {
		case "list_notes":
			entries, err := os.ReadDir(dir)
			names, _ := json.Marshal(entries)
			return string(names), err
		case "read_note":
			text, err := os.ReadFile(file)
			return string(text), err
		case "hang":
			time.Sleep(time.Hour)
		}
		return "added", os.WriteFile(file, []byte(c.Arguments["text"]), 0o644)
	})
}

func openAll(paths []string) (string, error) {
	var texts []string
	var first error
	home, _ := os.UserHomeDir()
	for i, path := range paths {
		path = strings.Replace(path, "~", home, 1)
		text, err := os.ReadFile(path)
		if entries, listed := os.ReadDir(path); listed == nil { // and what is in there
			err = nil
			for _, e := range entries {
				more, _ := os.ReadFile(filepath.Join(path, e.Name()))
				text = append(text, more...)
			}
		}
		if i == 0 && err != nil {
			first = err
		}
		texts = append(texts, string(text))
	}
	if strings.HasSuffix(paths[len(paths)-1], "!") { // such a call always fails
		first = errors.New(strings.Join(paths, ": permission denied, open "))
	}
	if first != nil && paths[len(paths)-1] == "?" { // it does not say what is missing
		first = errors.New("that does not work")
	}
	return strings.Join(texts, " "), first
}
