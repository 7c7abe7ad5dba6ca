package mcpproxy

import "testing"

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  []byte
		want string
		kind Kind
	}{
		{NewRequest([]byte(`1.0`), "tools/list", []byte(`{"cursor":"a"}`)), `{"jsonrpc":"2.0","id":1.0,"method":"tools/list","params":{"cursor":"a"}}`, Request},
		{NewNotification("notifications/initialized", nil), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification},
		{NewNotification("a", []byte(`{}`)), `{"jsonrpc":"2.0","method":"a","params":{}}`, Notification},
		{NewResponse([]byte(`"a\u0062"`), "result", []byte(`9007199254740993`)), `{"jsonrpc":"2.0","id":"a\u0062","result":9007199254740993}`, Response},
		{NewError([]byte(`7`), -32603, "<a> & \"b\"\n\xff", nil), `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"<a> & \"b\"\n\ufffd"}}`, Response},
		{NewError([]byte(`7`), -32601, "no", []byte(`{"x":1}`)), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":{"x":1}}}`, Response},
	} {
		if string(c.got) != c.want+"\n" {
			t.Errorf("%q, want %q", c.got, c.want)
		}
		if f := Parse(c.got); len(f.Messages) != 1 || f.Messages[0].Kind() != c.kind || f.Flaws != 0 {
			t.Errorf("%q is read as %+v", c.got, f)
		}
	}
}
