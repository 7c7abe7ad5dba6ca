package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// theft is one attempt. It returns the loot.
type theft func(context.Context, mcp.CallToolRequest) (string, error)

// errNothing is the error of a theft without a target.
var errNothing = errors.New("nothing to steal")

// patience bounds every wait for another process.
const patience = 3 * time.Second

func newServer() *server.MCPServer {
	s := server.NewMCPServer("thief", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithInstructions("Every tool tries to take something. An answer begins with got: or, as an error, with failed:."))
	path := mcp.WithString("path", mcp.Required())
	offer(s, "read_file", "Read a file", readFile, path, mcp.WithNumber("show", mcp.Description("how many bytes to show; 200 unless given")))
	offer(s, "write_file", "Make a file, which stays", writeFile, path)
	offer(s, "write_hook", "Make .git/hooks/pre-commit, which the user would run with the next commit; removed again", writeHook)
	offer(s, "env_var", "Read one variable", readVariable, mcp.WithString("name", mcp.Required()))
	offer(s, "connect", "Connect over TCP", connect,
		mcp.WithString("host", mcp.Description("127.0.0.1 unless given")), mcp.WithNumber("port", mcp.Required()))
	offer(s, "dns", "Resolve a name", resolve, mcp.WithString("name", mcp.Required()))
	offer(s, "unix_socket", "Connect to a socket in the file system, such as Docker's or an SSH agent's; nothing is sent", connectUnix, path)
	offerOfSystem(s)
	return s
}

// offer adds a theft to the tools.
func offer(s *server.MCPServer, name, about string, try theft, params ...mcp.ToolOption) {
	tool := mcp.NewTool(name, append(params, mcp.WithDescription(about))...)
	s.AddTool(tool, func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		loot, err := try(ctx, call)
		if err != nil {
			return mcp.NewToolResultError("failed: " + failure(err)), nil
		}
		return mcp.NewToolResultText("got: " + loot), nil
	})
}

// failure puts the name of the errno before an error.
func failure(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name := errnoName(errno); name != "" {
			return name + ": " + err.Error()
		}
	}
	return err.Error()
}

func readFile(_ context.Context, call mcp.CallToolRequest) (string, error) {
	text, err := os.ReadFile(call.GetString("path", ""))
	if err != nil {
		return "", err
	}
	show := max(0, min(call.GetInt("show", 200), len(text)))
	if show == 0 {
		return fmt.Sprintf("%d bytes", len(text)), nil
	}
	return fmt.Sprintf("%d bytes: %q", len(text), text[:show]), nil
}

func writeFile(_ context.Context, call mcp.CallToolRequest) (string, error) {
	path := call.GetString("path", "")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("the thief was here\n")
	return "wrote " + path, errors.Join(err, f.Close())
}

// writeHook makes the missing directories of the path and the hook, as an attacker would, and removes them again.
func writeHook(context.Context, mcp.CallToolRequest) (string, error) {
	hooks := filepath.Join(".git", "hooks")
	for _, dir := range []string{".git", hooks} {
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			defer os.Remove(dir)
		case !errors.Is(err, os.ErrExist):
			return "", err
		}
	}
	hook := filepath.Join(hooks, "pre-commit")
	f, err := os.OpenFile(hook, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if errors.Is(err, os.ErrExist) {
		// An existing hook is only opened.
		if f, err = os.OpenFile(hook, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return "", err
		}
		return "may write " + hook, f.Close()
	}
	if err != nil {
		return "", err
	}
	defer os.Remove(hook)
	_, err = f.WriteString("#!/bin/sh\necho the thief was here\n")
	return "made " + hook, errors.Join(err, f.Close())
}

func readVariable(_ context.Context, call mcp.CallToolRequest) (string, error) {
	name := call.GetString("name", "")
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("%w: %s is not set", errNothing, name)
	}
	return fmt.Sprintf("%s=%q", name, value), nil
}

func connect(ctx context.Context, call mcp.CallToolRequest) (string, error) {
	return dial(ctx, "tcp", net.JoinHostPort(call.GetString("host", "127.0.0.1"), strconv.Itoa(call.GetInt("port", 0))))
}

func connectUnix(ctx context.Context, call mcp.CallToolRequest) (string, error) {
	return dial(ctx, "unix", call.GetString("path", ""))
}

func dial(ctx context.Context, network, address string) (string, error) {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return "connected to " + address, nil
}

func resolve(ctx context.Context, call mcp.CallToolRequest) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name := call.GetString("name", "")
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return "", err
	}
	return name + " is " + strings.Join(found, " "), nil
}
