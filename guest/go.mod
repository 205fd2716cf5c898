module emergent.dev/guest

go 1.24.0

require (
	connectrpc.com/connect v1.19.2
	google.golang.org/protobuf v1.36.12
)

tool (
	connectrpc.com/connect/cmd/protoc-gen-connect-go
	google.golang.org/protobuf/cmd/protoc-gen-go
)
