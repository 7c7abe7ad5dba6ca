package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// writePages puts the table into docs/performance.md and four of its figures into README.md,
// between the comments that mark their places.
func writePages(t table) error {
	today := time.Now().Format(time.DateOnly)
	page, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	figures, err := t.readme()
	if err != nil {
		return err
	}
	attacks := regexp.MustCompile(`(?m)^\| attacks .*\n`).Find(page) // which confine/attacks counts
	figures = "| | |\n|---|---|\n" + figures + string(attacks) + "\nMeasured on " + today + ". [Performance](docs/performance.md) has the machine and the method.\n"
	return errors.Join(
		replaceMarked("docs/performance.md", "bench", fmt.Sprintf("%s\nMeasured on %s in %d rounds:\n%s.\n", t.markdown(false), today, t.Runs, strings.Replace(t.Machine.String(), ", load", ",\nload", 1))),
		replaceMarked("README.md", "figures", figures))
}

// readme returns the rows of the README that the benchmark measures.
func (t table) readme() (string, error) {
	start, err := t.row("`true`, all of `mcp-jail run`")
	call, err2 := t.row("`tools/call`, 200 B")
	npx, err3 := t.row("`initialize`, server-memory, `npx -y`, later starts")
	memory, err4 := t.row("memory of the jail, PSS")
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return "", err
	}
	return fmt.Sprintf("| a start in the jail | %s ms more |\n| a call of a tool | %s µs more |\n", figure(*start.Added), figure(*call.Added)) +
		fmt.Sprintf("| an `npx` server's first answer, from its second start on | %s ms, and %s ms without mcp-jail |\n", figure(npx.Jailed.Median), figure(npx.Bare.Median)) +
		fmt.Sprintf("| memory | %s MB a session |\n", figure(memory.Jailed.Median)), nil
}

// row returns the row of a measure that has figures.
func (t table) row(measure string) (row, error) {
	for _, r := range t.Rows {
		if r.Measure == measure && r.Jailed != nil {
			return r, nil
		}
	}
	return row{}, fmt.Errorf("no figure of %s", measure)
}

// replaceMarked replaces what a file has between the comments <!-- mark --> and <!-- /mark -->.
func replaceMarked(name, mark, text string) error {
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(file), "<!-- "+mark+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /"+mark+" -->")
	if !ok || !closed {
		return fmt.Errorf("%s has no place %s", name, mark)
	}
	return os.WriteFile(name, []byte(before+"<!-- "+mark+" -->\n"+text+"<!-- /"+mark+" -->"+after), 0o644)
}
