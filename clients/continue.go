package clients

func continueDev() Client {
	list := []Table{{Path: []string{"mcpServers"}, List: true}}
	places := []Place{everywhere(User, "~/.continue/config.yaml", YAML, list)}
	for _, at := range []struct {
		scope Scope
		dir   string
	}{{User, "~/.continue/mcpServers/"}, {Project, ".continue/mcpServers/"}} {
		for _, ending := range []string{"yaml", "yml"} {
			places = append(places, everywhere(at.scope, at.dir+"**/*."+ending, YAML, list).called("blocks"))
		}
		dropped := everywhere(at.scope, at.dir+"**/*.json", JSONC, append(tables("mcpServers"), Table{Path: []string{"projects", Any, "mcpServers"}}))
		dropped.Label = "files of other clients"
		dropped.Single = true
		places = append(places, dropped)
	}
	for _, dir := range []string{"agents", "assistants"} {
		for _, ending := range []string{"yaml", "yml"} {
			for _, at := range []struct {
				scope Scope
				dir   string
			}{{User, "~/.continue/"}, {Project, ".continue/"}} {
				places = append(places, everywhere(at.scope, at.dir+dir+"/**/*."+ending, YAML, list).called(dir))
			}
		}
	}
	return Client{
		Name: "continue", Title: "Continue", Aliases: []string{"cn"},
		Hello:  []string{"continue-client", "continue*"},
		Places: places,
		Blind: []Blind{
			unread(User, "~/.continue/config.json", "modelContextProtocolServers", whySetting),
			unread(User, "~/.continue/config.ts", "", "it is a program"),
			unread(Project, ".continuerc.json", "modelContextProtocolServers", whySetting),
			unread(Project, ".continue/agents/**/*.md", "mcpServers", whyAgent),
			unread(Project, ".continue/assistants/**/*.md", "mcpServers", whyAgent),
		},
		Shapes: []Shape{standard().in("cwd")},
		Forms:  []Form{named(Secret, "${{ secrets.", "}}"), named(Input, "${{ inputs.", "}}")},
		Dir:    DirProject,
		Reload: "The extension reads its configuration again when it is saved. With the command line, start a new session.",
	}
}
