package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// demo prints the transcript while it plays.
type demo struct {
	*site
	transcript
	lasting   bool     // the programs stay after the demonstration
	surprises []string // calls with an unexpected outcome
}

func (d *demo) title() {
	d.line("%s  %s", d.in(bold, "mcp-jail"), d.in(dim, "two MCP servers, each in a jail made by the kernel"))
}

func (d *demo) end() error {
	d.line("")
	if len(d.surprises) > 0 {
		return fmt.Errorf("not as it should be:\n  %s", strings.Join(d.surprises, "\n  "))
	}
	d.line("%s", d.in(dim, "Nothing of this is left: no process, no file."))
	if !d.lasting {
		return nil
	}
	d.line("")
	d.line("What your own servers could use in the jail (this changes nothing):")
	d.line("  %s", d.in(cyan, fmt.Sprintf(`export PATH="%s:$PATH" && mcp-jail wrap --dry-run`, filepath.Dir(d.programs.jail))))
	return nil
}

func (d *demo) expect(ok bool, format string, a ...any) {
	if !ok {
		d.surprises = append(d.surprises, d.show(fmt.Sprintf(format, a...)))
	}
}

// ask calls a tool, prints the outcome and records it if it is not the wanted one.
func (d *demo) ask(ctx context.Context, s *session, wanted bool, asked, tool string, arguments map[string]any) (answer, error) {
	a, err := s.call(ctx, tool, arguments)
	if err != nil {
		return a, err
	}
	a.text, a.jail = d.show(a.text), d.show(a.jail)
	d.step(a.ok, asked, a.text)
	if a.ok != wanted {
		d.expect(false, "%s: %s", asked, oneLine(a.text))
	}
	return a, nil
}

// notes plays the act of the honest server: it works, its mistake is harmless, and the jail names the missing grant,
// which is then added.
func (d *demo) notes(ctx context.Context) error {
	if err := d.client(); err != nil {
		return err
	}
	d.heading(1, "notes", ", an honest server that may read ./notes")
	d.command("mcp-jail wrap")
	if err := d.run(ctx, "wrap", "--yes"); err != nil {
		return err
	}
	s, err := d.asClient(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := d.ask(ctx, s, true, "search beans", "search", map[string]any{"query": "the beans"}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, true, "read garden", "read", map[string]any{"name": "garden"}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, false, "read shared", "read", map[string]any{"name": "shared"}); err != nil {
		return err
	}
	d.aside(dim, "shared.md is a link to ~/.ssh/id_ed25519, which the server would have followed")
	plan := map[string]any{"name": "plan", "text": "Water the beans.\n"}
	refused, err := d.ask(ctx, s, false, "write plan", "write", plan)
	if err != nil {
		return err
	}
	s.close()
	return d.granted(ctx, refused, plan)
}

// granted runs the command that the jail proposed, and writes again. Only a user who answers its question on a terminal
// has it reach a session that runs, so this is the next one.
func (d *demo) granted(ctx context.Context, refused answer, plan map[string]any) error {
	if why := withoutGrant(refused.jail); why != "" {
		d.aside(dim, jailMark+" "+why)
	}
	if command := grant(refused.jail); command == "" {
		d.expect(false, "write plan: the jail offered no command that grants it")
	} else {
		d.command(command)
		if err := d.run(ctx, append(strings.Fields(command)[1:], "--yes")...); err != nil {
			return err
		}
	}
	s, err := d.asClient(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := d.ask(ctx, s, true, "write plan", "write", plan); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, true, "read guests", "read", map[string]any{"name": "guests"}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, true, "write garden", "write", injected); err != nil {
		return err
	}
	d.aside(dim, "the model obeyed a line hidden in a note: the tools of one process share one policy")
	return nil
}

// injected is what a planted note tells the model to do.
var injected = map[string]any{"name": "garden", "text": "sold\n"}

// tools plays notes again with a jail for each call: each tool has a policy of its own.
func (d *demo) tools(ctx context.Context) error {
	policy, err := d.toolPolicies(ctx)
	if err != nil {
		return err
	}
	if _, err := d.write("project/notes/garden.md", garden); err != nil {
		return err
	}
	d.heading(2, "notes", ", a process for every call and a policy for each tool")
	d.command("mcp-jail run --config tools.toml notes")
	s, err := d.start(ctx, d.programs.jail, "run", "--config", policy, "notes")
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := d.ask(ctx, s, true, "read guests", "read", map[string]any{"name": "guests"}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, false, "write garden", "write", injected); err != nil {
		return err
	}
	d.aside(dim, "the same instruction: in the jail of write only notes/drafts can be written")
	if _, err := d.ask(ctx, s, true, "write a draft", "write", map[string]any{"name": "drafts/plan", "text": "Water the beans.\n"}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, true, "read the diary", "read", map[string]any{"name": "private/diary"}); err != nil {
		return err
	}
	diary, err := d.ask(ctx, s, true, "search nobody", "search", map[string]any{"query": "nobody is to find"})
	d.expect(strings.Contains(diary.text, "could not look"), "search nobody: %s", oneLine(diary.text))
	return err
}

// grant returns the command in a message of the jail that grants what was missing, or "".
func grant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "mcp-jail grant ") {
			return line
		}
	}
	return ""
}

// withoutGrant returns the first line of a message of the jail that is not the command.
func withoutGrant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && line != grant(said) {
			return line
		}
	}
	return ""
}
