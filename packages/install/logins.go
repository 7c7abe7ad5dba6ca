package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// fetchHome is the HOME of the jail that has the logins, below the directory of a stage.
func fetchHome(stageDir string) string {
	return (&Installer{}).jail(stageDir, "installer", nil).Home()
}

// forgetLogins removes the files in the HOME of a fetch: those with the logins, the tool's log, and the
// lists of what is fetched from where. The directories stay: they hold what was fetched.
func forgetLogins(stage *store.Stage) error {
	home := fetchHome(stage.Dir)
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if !e.IsDir() {
			errs = append(errs, stage.Remove(filepath.Join(home, e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("a login may be left below %s: %w", stage.Dir, err)
	}
	return nil
}

// forgetOldLogins does for the fetches that were killed what they could not do.
func forgetOldLogins(i *Installer) {
	i.Store.Idle(0, func(stage *store.Stage) {
		_ = forgetLogins(stage) // else the next installation does it
	})
}

// useSources names what the user's configuration says and is not used, and makes its proxy that of this
// process, whose egress connects for the jail. A variable that is set already wins.
func (i *Installer) useSources(from *sources.Sources) error {
	if len(from.NotUsed) > 0 && i.NotUsed != nil {
		i.NotUsed("not used of the configuration of " + string(from.Tool) + ": " + strings.Join(from.NotUsed, ", "))
	}
	for name, value := range from.Proxy {
		if os.Getenv(name) != "" || os.Getenv(strings.ToLower(name)) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
