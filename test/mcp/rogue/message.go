package main

import "encoding/json"

// message is any of JSON-RPC's: a request has a method and an id, a notification a method, an answer an id.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

const (
	methodNotFound     = -32601
	invalidParams      = -32602
	internalError      = -32603
	unsupportedVersion = -32004
)

type object map[string]any

// params of every kind, as far as the server looks at them.
type params struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Name            string          `json:"name"`
	Arguments       map[string]any  `json:"arguments"`
	RequestID       json.RawMessage `json:"requestId"`
	Level           string          `json:"level"`
	Meta            struct {
		ProgressToken any    `json:"progressToken"`
		Revision      string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

func text(content string) object {
	return object{"content": []object{{"type": "text", "text": content}}}
}

func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		fail(err)
	}
	return encoded
}
