// Command gosdk is a client made with the Go SDK. It plays a plan, as ../play does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-jail/mcp-jail/conformance/clients/play"
)

func main() {
	play.Main(open)
}

type client struct{ *mcp.ClientSession }

func open(ctx context.Context, plan *play.Plan, log *play.Log) (play.Client, any, error) {
	options := &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			log.Asked("sampling/createMessage", r.Params)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: &mcp.TextContent{Text: play.Sample}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			log.Asked("elicitation/create", r.Params)
			return &mcp.ElicitResult{Action: "accept", Content: play.Content(r.Params.RequestedSchema)}, nil
		},
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			log.Heard("notifications/tools/list_changed", r.Params)
		},
		PromptListChangedHandler: func(_ context.Context, r *mcp.PromptListChangedRequest) {
			log.Heard("notifications/prompts/list_changed", r.Params)
		},
		ResourceListChangedHandler: func(_ context.Context, r *mcp.ResourceListChangedRequest) {
			log.Heard("notifications/resources/list_changed", r.Params)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			log.Heard("notifications/resources/updated", r.Params)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			log.Heard("notifications/message", r.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			log.Progress(r.Params)
		},
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1.0.0"}, options)
	for _, root := range plan.Roots {
		c.AddRoots(&mcp.Root{URI: root.URI, Name: root.Name})
	}
	command := exec.Command(plan.Server.Command, plan.Server.Args...)
	command.Dir, command.Env = plan.Server.Dir, plan.Server.Environ()
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return nil, nil, err
	}
	return client{session}, session.InitializeResult(), nil
}

func (c client) Fault(err error) play.Fault {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return play.Fault{Code: wire.Code, Message: err.Error(), Data: json.RawMessage(wire.Data)}
	}
	return play.Fault{Message: err.Error()}
}

func (c client) Do(ctx context.Context, a *play.Action, token string) (any, error) {
	switch a.Do {
	case "tools":
		return c.ListTools(ctx, nil)
	case "resources":
		return c.ListResources(ctx, nil)
	case "templates":
		return c.ListResourceTemplates(ctx, nil)
	case "prompts":
		return c.ListPrompts(ctx, nil)
	case "call":
		params := &mcp.CallToolParams{Name: a.Name, Arguments: a.With}
		if token != "" {
			params.SetProgressToken(token)
		}
		return c.CallTool(ctx, params)
	case "read":
		return c.ReadResource(ctx, &mcp.ReadResourceParams{URI: a.URI})
	case "prompt":
		return c.GetPrompt(ctx, &mcp.GetPromptParams{Name: a.Name, Arguments: a.Words()})
	case "complete":
		return c.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: a.Ref.Type, Name: a.Ref.Name, URI: a.Ref.URI},
			Argument: mcp.CompleteParamsArgument{Name: a.Argument.Name, Value: a.Argument.Value},
		})
	case "ping":
		return nil, c.Ping(ctx, nil)
	case "level":
		return nil, c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(a.Level)})
	case "subscribe":
		return nil, c.Subscribe(ctx, &mcp.SubscribeParams{URI: a.URI})
	case "unsubscribe":
		return nil, c.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: a.URI})
	}
	return nil, errors.ErrUnsupported
}
