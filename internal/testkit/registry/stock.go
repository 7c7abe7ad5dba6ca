package registry

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Stock is what a registry has, and how it behaves. The zero Stock is an empty registry.
type Stock struct {
	Packages   []Package             `json:"packages,omitempty"`
	Wheels     []Wheel               `json:"wheels,omitempty"`
	Faults     []Fault               `json:"faults,omitempty"`
	Advisories map[string][]Advisory `json:"advisories,omitempty"` // by name of package

	Token  string `json:"token,omitempty"`   // demanded for everything, see Package.Token
	MaxAge int    `json:"max_age,omitempty"` // seconds that packuments may be kept; none: they are asked for again
	Base   string `json:"base,omitempty"`    // what addresses in answers begin with; otherwise as the client came
}

// Advisory is a known vulnerability, as `npm audit` asks for them.
type Advisory struct {
	ID                 int    `json:"id"`
	URL                string `json:"url"`
	Title              string `json:"title"`
	Severity           string `json:"severity"` // low, moderate, high, critical
	VulnerableVersions string `json:"vulnerable_versions"`
}

// WriteFile writes the stock for [ReadStock]. The file appears whole or not at all.
func (s Stock) WriteFile(file string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".stock")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// ReadStock reads a stock from a JSON file, or from a directory: its *.json files are
// stocks, and its folders with a package.json are packages.
func ReadStock(name string) (Stock, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Stock{}, err
	}
	if !info.IsDir() {
		return readFile(name)
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return Stock{}, err
	}
	var all Stock
	for _, e := range entries {
		file := filepath.Join(name, e.Name())
		switch {
		case e.IsDir():
			if _, err := os.Stat(filepath.Join(file, "package.json")); err != nil {
				continue
			}
			p, err := FromDir(file)
			if err != nil {
				return Stock{}, err
			}
			all.Packages = append(all.Packages, p)
		case strings.HasSuffix(e.Name(), ".json"):
			s, err := readFile(file)
			if err != nil {
				return Stock{}, err
			}
			all.add(s)
		}
	}
	return all, nil
}

func readFile(name string) (s Stock, err error) {
	f, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	decode := json.NewDecoder(f)
	decode.DisallowUnknownFields()
	if err := decode.Decode(&s); err != nil {
		return s, fmt.Errorf("%s is not a stock of packages: %w", name, err)
	}
	return s, nil
}

// add adds what another stock has; its settings win where they are set.
func (s *Stock) add(o Stock) {
	s.Packages = append(s.Packages, o.Packages...)
	s.Wheels = append(s.Wheels, o.Wheels...)
	s.Faults = append(s.Faults, o.Faults...)
	for name, list := range o.Advisories {
		if s.Advisories == nil {
			s.Advisories = map[string][]Advisory{}
		}
		s.Advisories[name] = append(s.Advisories[name], list...)
	}
	if o.Token != "" {
		s.Token = o.Token
	}
	if o.MaxAge != 0 {
		s.MaxAge = o.MaxAge
	}
	if o.Base != "" {
		s.Base = o.Base
	}
}
