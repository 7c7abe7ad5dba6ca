//go:build linux

package main

import (
	"path/filepath"
	"testing"
)

// TestSQLite tests that a database needs a rule for its directory, where SQLite writes
// other files.
func TestSQLite(t *testing.T) {
	need(t, "node", "sqlite3")
	t.Parallel()
	database := func(t *testing.T, w *world) recipe {
		w.plant(t, w.work, map[string]string{"data/": ""})
		return nodeServer(t, w, "sqlite")
	}
	checkRecipe(t, database, func(t *testing.T, w *world, s *clientSession) toolResult {
		return useRun("sqlite3", "-bail", filepath.Join(w.work, "data", "app.db"), `
		pragma journal_mode = wal;
		create table if not exists t (x);
		insert into t values (1);
		delete from t;
	`)(t, w, s)
	})
}
