//go:build unix

package sessiontest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// clerk has tasks in both eras, and loses them with its process. "report" answers with a task if the
// client asks for one (legacy) or knows the extension (modern), "slow" with tasks alone in the legacy
// era, and "always" with a task in any case. Its answers quote what it was asked.
func clerk() {
	serve(func(m message) bool {
		var params struct {
			Name         string
			Task         json.RawMessage
			Capabilities json.RawMessage
			Meta         map[string]json.RawMessage `json:"_meta"`
		}
		json.Unmarshal(m.Params, &params)
		modern := params.Meta["io.modelcontextprotocol/protocolVersion"] != nil
		knows := strings.Contains(string(params.Meta["io.modelcontextprotocol/clientCapabilities"]), "io.modelcontextprotocol/tasks")
		answer := func(result string) bool {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			return true
		}
		const extensions = `"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{}}`
		switch m.Method {
		case "initialize":
			return answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}},` + extensions + `},"serverInfo":{"name":"clerk","version":"1"}}`)
		case "server/discover":
			return answer(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},` + extensions + `}}`)
		case "tools/list":
			return answer(`{"tools":[{"name":"report","execution":{"taskSupport":"optional"}}, {"name":"slow","execution":{"taskSupport":"required"}},{"name":"always","execution":{"taskSupport":"forbidden"}}]}`)
		case "tools/call":
			switch asked := params.Task != nil && !modern || modern && knows; {
			case !asked && params.Name != "always":
				quoted, _ := json.Marshal(string(m.Params))
				return answer(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
			case modern:
				return answer(`{"resultType":"task","taskId":"t1","status":"working","ttlMs":60000}`)
			default:
				return answer(`{"task":{"taskId":"t1","status":"working","ttl":60000}}`)
			}
		}
		return false
	})
	os.Exit(0)
}
