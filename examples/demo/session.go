package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	startPatience = 30 * time.Second
	callPatience  = 15 * time.Second
	// A cancelled server gets SIGTERM first, so that the jail can clean up.
	endPatience = 3 * time.Second
)

// jailMark begins the text block that mcp-jail adds to a result with isError.
const jailMark = "[mcp-jail]"

// session is an MCP client and the server that it started.
type session struct {
	client *client.Client
	stderr string // path of the server's standard error
}

// answer is the outcome of a call.
type answer struct {
	ok   bool
	text string // of the server, or of the error
	jail string // of the jail, without jailMark; "" if it added none
}

// start runs a program in the project and initializes the session.
func (s *site) start(ctx context.Context, program string, arguments ...string) (*session, error) {
	stderr, err := os.CreateTemp(s.dir, "stderr-")
	if err != nil {
		return nil, err
	}
	defer stderr.Close() // the child has its own

	command := func(ctx context.Context, program string, _, arguments []string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, program, arguments...)
		cmd.Dir, cmd.Env, cmd.Stderr = s.path("project"), s.environment(), stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = endPatience
		return cmd, nil
	}
	started := &session{
		client: client.NewClient(transport.NewStdioWithOptions(program, nil, arguments, transport.WithCommandFunc(command))),
		stderr: stderr.Name(),
	}
	if err := started.client.Start(ctx); err != nil {
		return nil, err
	}
	handshake, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "mcp-jail-demo", Version: "1"}
	if _, err := started.client.Initialize(handshake, request); err != nil {
		started.close()
		return nil, fmt.Errorf("%s did not answer: %w\n%s", strings.Join(append([]string{program}, arguments...), " "), err, started.said())
	}
	return started, nil
}

// run runs a command of mcp-jail in the project.
func (s *site) run(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, s.programs.jail, arguments...)
	cmd.Dir, cmd.Env = s.path("project"), s.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endPatience
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mcp-jail %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// close ends the server and ignores its exit status.
func (s *session) close() { _ = s.client.Close() }

// said returns the end of what the server wrote to its standard error.
func (s *session) said() string {
	const end = 2000
	text, _ := os.ReadFile(s.stderr)
	return strings.TrimSpace(string(text[max(0, len(text)-end):]))
}

func (s *session) tools(ctx context.Context) (map[string]bool, error) {
	listed, err := s.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, tool := range listed.Tools {
		names[tool.Name] = true
	}
	return names, nil
}

// call returns the answer of a tool, also if it is a refusal. An answer that does not come from the tool is an error: a
// dead server must not look like a refused one.
func (s *session) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	limited, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := s.client.CallTool(limited, request)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return answer{}, fmt.Errorf("%s has not answered for %v\n%s", tool, callPatience, s.said())
	}
	if err != nil {
		return answer{}, fmt.Errorf("calling %s: %w\n%s", tool, err, s.said())
	}
	a := answer{ok: !result.IsError}
	for _, content := range result.Content {
		text := mcp.GetTextFromContent(content)
		if rest, ok := strings.CutPrefix(text, "\n"+jailMark); ok {
			a.jail = strings.TrimSpace(rest)
			continue
		}
		a.text += text
	}
	return a, nil
}
