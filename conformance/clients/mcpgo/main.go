// Command mcpgo is a client made with mcp-go, in the mode that the plan names:
// legacy, or auto. It plays a plan, as ../play does.
package main

import (
	"context"
	"errors"
	"os/exec"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/conformance/clients/play"
)

func main() {
	play.Main(open)
}

type answers struct {
	plan *play.Plan
	log  *play.Log
}

func (a answers) CreateMessage(_ context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	a.log.Asked("sampling/createMessage", r.CreateMessageParams)
	return &mcp.CreateMessageResult{Model: "none", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: play.Sample},
	}}, nil
}

func (a answers) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.log.Asked("elicitation/create", r.Params)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: play.Content(r.Params.RequestedSchema),
	}}, nil
}

func (a answers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	a.log.Asked("roots/list", nil)
	result := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, root := range a.plan.Roots {
		result.Roots = append(result.Roots, mcp.Root{URI: root.URI, Name: root.Name})
	}
	return result, nil
}

type session struct{ *client.Client }

func open(ctx context.Context, plan *play.Plan, log *play.Log) (play.Client, any, error) {
	stdio := transport.NewStdioWithOptions(plan.Server.Command, nil, plan.Server.Args,
		transport.WithCommandFunc(func(ctx context.Context, command string, _ []string, args []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, command, args...)
			cmd.Dir, cmd.Env = plan.Server.Dir, plan.Server.Environ()
			return cmd, nil
		}))
	a := answers{plan, log}
	options := []client.ClientOption{client.WithSamplingHandler(a), client.WithElicitationHandler(a), client.WithRootsHandler(a)}
	if plan.Mode == "legacy" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	c := client.NewClient(stdio, options...)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		params := n.Params.AdditionalFields
		if n.Method == "notifications/progress" {
			log.Progress(params)
			return
		}
		log.Heard(n.Method, params)
	})
	if err := c.Start(ctx); err != nil {
		return nil, nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "mcpgo", Version: "1.0.0"}
	result, err := c.Initialize(ctx, request)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return session{c}, result, nil
}

// Fault has only the message: the library drops the code and the data.
func (s session) Fault(err error) play.Fault { return play.Fault{Message: err.Error()} }

func (s session) Do(ctx context.Context, a *play.Action, token string) (any, error) {
	switch a.Do {
	case "tools":
		return s.ListTools(ctx, mcp.ListToolsRequest{})
	case "resources":
		return s.ListResources(ctx, mcp.ListResourcesRequest{})
	case "templates":
		return s.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	case "prompts":
		return s.ListPrompts(ctx, mcp.ListPromptsRequest{})
	case "call":
		var r mcp.CallToolRequest
		r.Params.Name, r.Params.Arguments = a.Name, a.With
		if token != "" {
			r.Params.Meta = &mcp.Meta{ProgressToken: token}
		}
		return s.CallTool(ctx, r)
	case "read":
		var r mcp.ReadResourceRequest
		r.Params.URI = a.URI
		return s.ReadResource(ctx, r)
	case "prompt":
		var r mcp.GetPromptRequest
		r.Params.Name, r.Params.Arguments = a.Name, a.Words()
		return s.GetPrompt(ctx, r)
	case "complete":
		var r mcp.CompleteRequest
		r.Params.Ref = a.Ref
		r.Params.Argument = mcp.CompleteArgument{Name: a.Argument.Name, Value: a.Argument.Value}
		return s.Complete(ctx, r)
	case "ping":
		return nil, s.Ping(ctx)
	case "level":
		var r mcp.SetLevelRequest
		r.Params.Level = mcp.LoggingLevel(a.Level)
		return nil, s.SetLevel(ctx, r)
	case "subscribe":
		var r mcp.SubscribeRequest
		r.Params.URI = a.URI
		return nil, s.Subscribe(ctx, r)
	case "unsubscribe":
		var r mcp.UnsubscribeRequest
		r.Params.URI = a.URI
		return nil, s.Unsubscribe(ctx, r)
	case "roots changed":
		return nil, s.RootListChanges(ctx)
	}
	return nil, errors.ErrUnsupported
}
